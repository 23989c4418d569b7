"""Forms of the admin REST API: what a simulated cluster tells, by the JSON names of Pulsar 4.0.8."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.migration.clusters.broker import Broker
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.ledger import Ledger, Position
from tests.migration.clusters.namespace import Namespace
from tests.migration.clusters.subscription import AttachedConsumer, Subscription
from tests.migration.clusters.timeline import BEGINNING_MS
from tests.migration.clusters.topic import AttachedProducer, Topic

Json = dict[str, Any]
VERSION = "4.0.8"


def when(at_ms: int) -> str:
    """A moment, as brokers write it."""
    return datetime.fromtimestamp((BEGINNING_MS + at_ms) / 1000, UTC).isoformat(timespec="milliseconds")


def runtime(broker: Broker) -> dict[str, str]:
    """A broker's run-time configuration, all values as text."""
    settings = broker.settings
    return {
        "clusterName": broker.cluster.name,
        "metadataStoreUrl": f"zk:{broker.cluster.name}:2181",
        "clusterMigrationCheckDurationSeconds": str(settings.check_period_s),
        "clusterMigrationAutoResourceCreation": str(settings.makes_resources).lower(),
        "backlogQuotaCheckIntervalInSeconds": str(settings.quota_check_s),
        "brokerDeleteInactiveTopicsEnabled": "true",
        "brokerDeleteInactiveTopicsFrequencySeconds": str(settings.gc_s),
        "numExecutorThreadPoolSize": str(settings.executor_threads),
        "topicLevelPoliciesEnabled": "true",
        "systemTopicEnabled": "true",
        "transactionCoordinatorEnabled": "false",
        "functionsWorkerEnabled": "false",
        "keySharedLookAheadMsgInReplayThresholdPerSubscription": "20000",
        "loadBalancerSheddingEnabled": "true",
        "loadBalancerAutoBundleSplitEnabled": "true",
        "loadBalancerAutoUnloadSplitBundlesEnabled": "true",
        **broker.cluster.dynamic,
    }


def namespace(cluster: Cluster, found: Namespace) -> Json:
    """A namespace's policies, with the mark that the broker fills in, and the cluster that alone has it."""
    step = 0x1_0000_0000 // found.bundles
    here, allowed = found.policies.get("replication_clusters") or (), found.policies.get("allowed_clusters") or ()
    edges = [f"0x{min(number * step, 0xFFFF_FFFF):08x}" for number in range(found.bundles)]
    return {
        "auth_policies": {"namespace_auth": {}, "subscription_auth_roles": {}},
        **found.policies,
        "bundles": {"boundaries": [*edges, "0xffffffff"], "numBundles": found.bundles},
        "migrated": found.marked,
        **({"clusterThatCanDeleteNamespace": next(iter(here))} if len(here) == 1 and len(allowed) <= 1 else {}),
    }


def stats(topic: Topic) -> Json:
    """A loaded topic's statistics."""
    ledger = topic.ledger
    return {
        "msgInCounter": sum(entry.count for entry in ledger.entries[-ledger.added :] if ledger.added),
        "bytesInCounter": sum(entry.size for entry in ledger.entries[-ledger.added :] if ledger.added),
        "storageSize": ledger.size,
        "backlogSize": ledger.backlog_bytes,
        "publishers": [_publisher(each, number) for number, each in enumerate(topic.producers.values())],
        "waitingPublishers": 0,
        "subscriptions": {name: _subscription(each) for name, each in topic.subscriptions.items()},
        "replication": {
            name: {"replicationBacklog": backlog, "connected": True} for name, backlog in topic.replicators.items()
        },
        "deduplicationStatus": "Disabled",
        "ongoingTxnCount": 0,
        "ownerBroker": topic.broker.address,
    }


def _publisher(producer: AttachedProducer, number: int) -> Json:
    return {
        "accessMode": "Shared",
        "producerId": number,
        "producerName": producer.name,
        "address": f"/{producer.handler.host}:{producer.connection.port}",
        "connectedSince": when(producer.since),
        "clientVersion": producer.handler.version,
        "averageMsgSize": producer.size / producer.messages if producer.messages else 0.0,
        "chunkedMessageRate": 0.0,
        "metadata": {},
    }


def _subscription(subscription: Subscription) -> Json:
    form: Json = {
        "msgBacklog": subscription.backlog,
        "unackedMessages": sum(len(each.unacked) for each in subscription.consumers),
        "msgDelayed": 0,
        "msgOutCounter": subscription.given,
        "consumers": [_consumer(each) for each in subscription.consumers],
        "isDurable": True,
        "isReplicated": subscription.cursor.replicated,
        "subscriptionProperties": dict(subscription.cursor.properties),
    }
    return form if subscription.kind is None else {**form, "type": subscription.kind.value}


def _consumer(consumer: AttachedConsumer) -> Json:
    return {
        "consumerName": consumer.handler.name,
        "address": f"/{consumer.handler.host}:{consumer.connection.port}",
        "connectedSince": when(consumer.since),
        "clientVersion": consumer.handler.version,
        "unackedMessages": len(consumer.unacked),
        "metadata": {},
    }


def internal_stats(topic: Topic) -> Json:
    """A loaded topic's managed ledger, as it is in memory."""
    ledger = topic.ledger
    return {
        "entriesAddedCounter": ledger.added,
        "numberOfEntries": len(ledger.entries),
        "totalSize": ledger.size,
        "currentLedgerEntries": ledger.last.entry + 1,
        "pendingAddEntriesCount": topic.pending,
        "lastConfirmedEntry": str(ledger.last),
        "state": ledger.state.value,
        "ledgers": _ledgers(ledger),
        "cursors": {
            name: {
                "markDeletePosition": str(ledger.position(cursor.mark)),
                "waitingReadOp": not ledger.backlog(cursor),
            }
            for name, cursor in ledger.cursors.items()
        },
    }


def internal_info(ledger: Ledger) -> Json:
    """What the store holds of a topic: nothing of a window that is not over, and cursors as they were stored last."""
    form: Json = {
        "version": 1,
        "ledgers": _ledgers(ledger),
        "cursors": {
            name: {"version": 1, "cursorsLedgerId": -1, "markDelete": _position(ledger.position(cursor.stored))}
            for name, cursor in ledger.cursors.items()
        },
        "properties": {"migrated": "true"} if ledger.marked else {},
    }
    return form if ledger.terminated is None else {**form, "terminatedPosition": _position(ledger.terminated)}


def _position(position: Position) -> Json:
    return {"ledgerId": position.ledger, "entryId": position.entry}


def _ledgers(ledger: Ledger) -> list[Json]:
    found: dict[int, list[int]] = {}
    for position, entry in zip(ledger.positions, ledger.entries, strict=True):
        found.setdefault(position.ledger, []).append(entry.size)
    found.setdefault(ledger.ledger_id, [])
    return [{"ledgerId": number, "entries": len(sizes), "size": sum(sizes)} for number, sizes in found.items()]
