"""Answers of the admin API as Pulsar 4.0.8 writes them; fields that nobody reads are here too, as they are there."""

from __future__ import annotations

from typing import Any, Final

TOPIC: Final = "persistent://acme/orders/created"

URLS: Final = {
    "serviceUrl": "http://green:8080",
    "serviceUrlTls": "https://green:8443",
    "brokerServiceUrl": "pulsar://green:6650",
    "brokerServiceUrlTls": "pulsar+ssl://green:6651",
}
CLUSTER: Final = {**URLS, "brokerClientTlsEnabled": False, "authenticationParameters": "secret"}
MARK: Final = {"migrated": False, "migratedClusterUrl": {**URLS, "empty": False}}
TENANT: Final = {"adminRoles": ["ops"], "allowedClusters": ["blue", "green"]}
SCHEMA: Final = {"version": 3, "type": "JSON", "timestamp": 1_790_000_000_000, "data": "{}", "properties": {}}
LOADED: Final = {
    "acme/orders": {
        "0x00000000_0x40000000": {
            "persistent": {TOPIC: {"publishers": []}},
            "non-persistent": {"non-persistent://acme/orders/ticks": {}},
        },
        "0x40000000_0x80000000": {},
    }
}
PUBLISHER: Final = {
    "accessMode": "Shared",
    "msgRateIn": 1.0,
    "averageMsgSize": 120.5,
    "chunkedMessageRate": 0.0,
    "producerId": 0,
    "supportsPartialProducer": False,
    "producerName": "blue-0-1",
    "address": "/10.0.0.1:50001",
    "connectedSince": "2026-09-21T10:00:00.000Z",
    "clientVersion": "Pulsar-Java-v4.0.8",
    "metadata": {},
}
CONSUMER: Final = {
    "msgRateOut": 0.0,
    "consumerName": "ab1x",
    "availablePermits": 1000,
    "unackedMessages": 3,
    "address": "/10.0.0.2:50002",
    "clientVersion": "Pulsar-CPP-v3.7.2",
    "metadata": {},
}
SUBSCRIPTION: Final = {
    "msgBacklog": 4,
    "msgBacklogNoDelayed": 4,
    "msgDelayed": 1,
    "msgOutCounter": 7,
    "unackedMessages": 3,
    "type": "Shared",
    "consumers": [CONSUMER],
    "isDurable": True,
    "isReplicated": True,
    "subscriptionProperties": {"team": "billing"},
    "durable": True,
    "replicated": True,
}
STATS: Final[dict[str, Any]] = {
    "msgRateIn": 1.0,
    "averageMsgSize": 120.5,
    "ongoingTxnCount": 2,
    "publishers": [PUBLISHER],
    "waitingPublishers": 1,
    "subscriptions": {
        "audit": SUBSCRIPTION,
        "reader-7": {**SUBSCRIPTION, "isDurable": False},
        "__compaction": SUBSCRIPTION,
    },
    "replication": {"north": {"msgRateIn": 0.0, "replicationBacklog": 5, "connected": True}},
    "deduplicationStatus": "Enabled",
    "ownerBroker": "blue-0:8080",
}
INTERNAL_STATS: Final = {
    "entriesAddedCounter": 9,
    "numberOfEntries": 12,
    "totalSize": 1_800,
    "currentLedgerEntries": 9,
    "pendingAddEntriesCount": 0,
    "lastConfirmedEntry": "7:8",
    "state": "LedgerOpened",
    "ledgers": [{"ledgerId": 7, "entries": 0, "size": 0, "offloaded": False, "underReplicated": False}],
    "cursors": {"audit": {"markDeletePosition": "7:4", "waitingReadOp": False}},
}
INTERNAL_INFO: Final[dict[str, Any]] = {
    "version": 4,
    "creationDate": "2026-09-21T10:00:00Z",
    "ledgers": [
        {"ledgerId": 5, "entries": 10, "size": 800, "timestamp": 1_790_000_000_000, "isOffloaded": False},
        {"ledgerId": 7, "isOffloaded": False},
    ],
    "terminatedPosition": {"ledgerId": 7, "entryId": 8},
    "cursors": {
        "audit": {"version": 1, "cursorsLedgerId": -1, "markDelete": {"ledgerId": 7, "entryId": 4}},
        "a%2Fb+c": {"version": 1, "cursorsLedgerId": -1, "markDelete": {"ledgerId": 7, "entryId": 8}},
        "kept-apart": {"version": 1, "cursorsLedgerId": 9, "markDelete": {"ledgerId": 5, "entryId": 0}},
        "new": {"version": 0, "cursorsLedgerId": -1},
        "pulsar.repl.north": {"version": 1, "cursorsLedgerId": -1, "markDelete": {"ledgerId": 7, "entryId": 3}},
        "pulsar.dedup": {"version": 1, "cursorsLedgerId": -1, "markDelete": {"ledgerId": 5, "entryId": 1}},
        "__compaction": {"version": 1, "cursorsLedgerId": -1, "markDelete": {"ledgerId": 5, "entryId": 1}},
    },
    "properties": {"migrated": "true"},
}
