"""The JSON of the admin API of Pulsar 4.0.8, made evidence; no I/O.

Whatever is not as Pulsar writes it is an ``AdminError`` that names the call and the field. Fields that are null are not
written by Pulsar: where nothing is a value of its own, a field may be absent, and nowhere else.
Source: ``TopicStatsImpl``, ``SubscriptionStatsImpl``, ``PublisherStatsImpl``, ``ConsumerStatsImpl``,
``ReplicatorStatsImpl``, ``ManagedLedgerInternalStats``, ``ManagedLedgerInfo``, ``ClusterDataImpl``,
``ClusterPoliciesImpl``, ``TenantInfoImpl``, ``BrokerService.getRuntimeConfiguration``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote_plus

from syncer.errors import AdminError
from syncer.migration.evidence import (
    ClientSeen,
    ClusterUrls,
    Flow,
    LedgerSeen,
    Mark,
    ReplicatorSeen,
    StatsAnswer,
    SubscriptionSeen,
    TenantSeen,
    TopicSeen,
)
from syncer.migration.reading.answers import AnswerPart

_REPLICATORS: Final = "pulsar.repl"
"""What the names of replicators' cursors begin with (``replicatorPrefix``); a dot and a cluster's name follow."""
_OF_THE_BROKER: Final = frozenset({"__compaction", "pulsar.dedup"})
_NOT_DEDUPLICATING: Final = frozenset({"Initialized", "Disabled", "Removing"})
_POSITION: Final = re.compile(r"\d+:-?\d+")
_LONGEST_VERSION: Final = 100


# Clusters, brokers and tenants


def version(call: str, answer: object) -> str:
    """A broker's version."""
    text = AnswerPart(call, answer).text().strip()
    if not text or len(text) > _LONGEST_VERSION or not text.isprintable():
        raise AdminError(f"{call}: the answer is {text[:_LONGEST_VERSION]!r} and not a version")
    return text


def texts(call: str, answer: object) -> dict[str, str]:
    """Settings by key."""
    return AnswerPart(call, answer).texts()


def urls(call: str, answer: object) -> ClusterUrls:
    """A cluster's four addresses; it need not have all."""
    return _urls(AnswerPart(call, answer))


def mark(call: str, answer: object) -> Mark:
    """A cluster's own migration state."""
    told = AnswerPart(call, answer)
    target = told.find("migratedClusterUrl")
    return Mark(migrated=told.part("migrated").flag(), target=ClusterUrls() if target is None else _urls(target))


def _urls(told: AnswerPart) -> ClusterUrls:
    return ClusterUrls(
        http=told.text_of("serviceUrl"),
        https=told.text_of("serviceUrlTls"),
        pulsar=told.text_of("brokerServiceUrl"),
        pulsar_ssl=told.text_of("brokerServiceUrlTls"),
    )


def tenant(call: str, answer: object) -> TenantSeen:
    """A tenant."""
    told = AnswerPart(call, answer)
    roles, clusters = told.find("adminRoles"), told.find("allowedClusters")
    return TenantSeen(
        admin_roles=frozenset() if roles is None else frozenset(each.text() for each in roles.parts()),
        allowed_clusters=frozenset() if clusters is None else frozenset(each.text() for each in clusters.parts()),
    )


def loaded_topics(call: str, answer: object) -> frozenset[str]:
    """Names of the topics of both domains that a broker has loaded."""
    found: set[str] = set()
    for namespace in AnswerPart(call, answer).fields().values():
        for bundle in namespace.fields().values():
            for domain in bundle.fields().values():
                found.update(domain.fields())
    return frozenset(found)


# Namespaces


def marked(call: str, policies: object) -> bool:
    """Whether a namespace is marked; brokers before 3.2 know no such mark."""
    found = AnswerPart(call, policies).find("migrated")
    return found is not None and found.flag()


def policy(call: str, answer: object, form: type) -> object | None:
    """A policy of a topic's own as it was told; ``None``: nothing is set.

    Args:
        call: In words.
        answer: JSON.
        form: What it has to be: ``dict``, ``list``, ``str``, ``int`` or ``bool``.
    """
    if answer is None or answer in ({}, []):
        return None
    if not isinstance(answer, form) or (form is int and isinstance(answer, bool)):
        raise AdminError(f"{call}: the answer is {str(answer)[:_LONGEST_VERSION]!r} and not of type {form.__name__}")
    return answer


def publish_rate(call: str, policies: Mapping[str, object]) -> int | None:
    """A topic's own rate in bytes, of its policies; ``None``: it has none."""
    told = policies.get("publishRate")
    if told is None:
        return None
    rate = AnswerPart(call, told).part("publishThrottlingRateInByte").whole()
    return rate if rate > 0 else None


def schema(call: str, answer: object) -> dict[str, object]:
    """A topic's latest schema, as told."""
    told = AnswerPart(call, answer)
    told.part("type").text()
    told.part("version").whole()
    return {name: each.value for name, each in told.fields().items()}


# Topics


def ledger(call: str, answer: object) -> LedgerSeen:
    """What the store holds of a topic (``internal-info``)."""
    told = AnswerPart(call, answer)
    end = told.find("terminatedPosition")
    cursors = {name: _mark_delete(each) for name, each in told.part("cursors").fields().items()}
    stored = told.part("ledgers").parts()
    return LedgerSeen(
        terminated=None if end is None else _position(end),
        migrated=told.texts_of("properties").get("migrated") == "true",
        cursors={
            unquote_plus(name): at
            for name, at in cursors.items()
            if name not in _OF_THE_BROKER and not name.startswith(_REPLICATORS)
        },
        replicators={
            name[len(_REPLICATORS) + 1 :]: at for name, at in cursors.items() if name.startswith(_REPLICATORS)
        },
        ledgers={each.part("ledgerId").whole(): _entries(each) for each in stored},
    )


def _mark_delete(cursor: AnswerPart) -> str | None:
    """A cursor's position; one that is kept in a ledger of its own is not in the store."""
    at = cursor.find("markDelete")
    return None if at is None or cursor.part("cursorsLedgerId").whole() != -1 else _position(at)


def _position(told: AnswerPart) -> str:
    return f"{told.part('ledgerId').whole()}:{told.part('entryId').whole()}"


def _entries(told: AnswerPart) -> int | None:
    found = told.find("entries")
    return None if found is None else found.whole()


def flow(call: str, answer: object) -> Flow:
    """What passes through a loaded topic (``internalStats``)."""
    told = AnswerPart(call, answer)
    last = told.part("lastConfirmedEntry").text()
    if not _POSITION.fullmatch(last):
        raise AdminError(f"{call}: 'lastConfirmedEntry' is {last[:_LONGEST_VERSION]!r} and not a position")
    return Flow(
        entries_added=told.part("entriesAddedCounter").whole(),
        pending_adds=told.part("pendingAddEntriesCount").whole(),
        last=last,
        ledger_state=told.part("state").text(),
        entries=told.part("numberOfEntries").whole(),
        size_bytes=told.part("totalSize").whole(),
    )


def loaded_topic(call: str, name: str, answer: object, ledger: LedgerSeen, flow: Flow | None) -> TopicSeen:
    """A topic by its statistics; subscriptions that are not durable are left out."""
    told = AnswerPart(call, answer)
    subscriptions = told.part("subscriptions").fields()
    return TopicSeen(
        name=name,
        ledger=ledger,
        answer=StatsAnswer.LOADED,
        flow=flow,
        producers=tuple(_producer(each) for each in told.part("publishers").parts()),
        waiting_producers=told.part("waitingPublishers").whole(),
        subscriptions={
            each: _subscription(seen)
            for each, seen in subscriptions.items()
            if each not in _OF_THE_BROKER and seen.part("isDurable").flag()
        },
        replicators={
            remote: ReplicatorSeen(
                backlog=seen.part("replicationBacklog").whole(), connected=seen.part("connected").flag()
            )
            for remote, seen in told.part("replication").fields().items()
        },
        deduplicates=told.part("deduplicationStatus").text() not in _NOT_DEDUPLICATING,
        ongoing_transactions=told.part("ongoingTxnCount").whole(),
    )


def _producer(told: AnswerPart) -> ClientSeen:
    return ClientSeen(
        name=told.part("producerName").text(),
        address=told.text_of("address"),
        version=told.text_of("clientVersion"),
        chunks_per_s=told.part("chunkedMessageRate").number(),
        mean_entry_bytes=told.part("averageMsgSize").number(),
    )


def _subscription(told: AnswerPart) -> SubscriptionSeen:
    consumers = told.part("consumers").parts()
    return SubscriptionSeen(
        kind=told.text_of("type"),
        backlog=told.part("msgBacklog").whole(),
        unacked=told.part("unackedMessages").whole(),
        delayed=told.part("msgDelayed").whole(),
        given=told.part("msgOutCounter").whole(),
        replicated=told.part("isReplicated").flag(),
        properties=told.texts_of("subscriptionProperties"),
        consumers=tuple(_consumer(each) for each in consumers),
    )


def _consumer(told: AnswerPart) -> ClientSeen:
    return ClientSeen(
        name=told.text_of("consumerName"), address=told.text_of("address"), version=told.text_of("clientVersion")
    )
