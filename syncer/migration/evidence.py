"""The evidence: all that was read of a cluster before and during a migration, each value as the brokers tell it.

Everything is read by the admin REST API of the cluster itself, nothing is remembered: a decision believes what stands
here, and an answer that could not be had is ``None``, never a guess.

Units: times in milliseconds since the epoch, sizes in bytes, rates per second, durations of settings in seconds.
Source: the admin API of Pulsar 4.0.8 (``/admin/v2``); the names of its JSON fields are given where they differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from syncer.model import Millis

NOTHING: Final[Mapping[str, object]] = MappingProxyType({})
CLAIM: Final = "pulsar-syncer.migration"
"""Property of a namespace, at both clusters, that names the migration which moves it."""


def base_of(topic: str) -> str:
    """The partitioned topic of a partition; what is no partition is its own."""
    return re.sub(r"-partition-\d+$", "", topic)


def namespace_of(topic: str) -> str:
    """The namespace of a topic, ``tenant/namespace``."""
    return topic.partition("://")[2].rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterUrls:
    """The four addresses of a cluster; an empty string: it has none.

    Attributes:
        http: Of the admin API (``serviceUrl``).
        https: The same with TLS (``serviceUrlTls``).
        pulsar: Of the brokers' binary protocol (``brokerServiceUrl``).
        pulsar_ssl: The same with TLS (``brokerServiceUrlTls``).
    """

    http: str = ""
    https: str = ""
    pulsar: str = ""
    pulsar_ssl: str = ""

    @property
    def named(self) -> dict[str, str]:
        """All four by the names that Pulsar gives them."""
        return {
            "serviceUrl": self.http,
            "serviceUrlTls": self.https,
            "brokerServiceUrl": self.pulsar,
            "brokerServiceUrlTls": self.pulsar_ssl,
        }

    @property
    def missing(self) -> tuple[str, ...]:
        """Pulsar's names of the addresses that are empty."""
        return tuple(name for name, url in self.named.items() if not url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A cluster's own migration state (``/admin/v2/clusters/{cluster}/migrate``).

    Attributes:
        migrated: Whether the whole cluster sends its clients away.
        target: Where to; a namespace's mark does nothing without it.
    """

    migrated: bool
    target: ClusterUrls


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSeen:
    """One broker.

    Attributes:
        address: ``host:port`` of its admin API, as the cluster lists it.
        version: Pulsar's version, such as ``4.0.8``; ``None``: it did not tell.
        settings: Its run-time configuration, all values as text; ``None``: it did not tell.
    """

    address: str
    version: str | None
    settings: Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSeen:
    """A tenant's roles and clusters."""

    admin_roles: frozenset[str]
    allowed_clusters: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSeen:
    """A producer or a consumer at a broker.

    Attributes:
        name: ``producerName`` or ``consumerName``: it is kept when the client is sent to the other cluster.
        address: ``/host:port`` of its connection.
        version: As the client tells it, such as ``Pulsar-Java-v4.0.8``; empty: it does not.
        chunks_per_s: Of a producer, messages in chunks (``chunkedMessageRate``).
        mean_entry_bytes: Of a producer, the mean size of what it publishes (``averageMsgSize``); 0: nothing lately.
    """

    name: str
    address: str
    version: str
    chunks_per_s: float = 0.0
    mean_entry_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionSeen:
    """A durable subscription of a topic.

    Attributes:
        kind: ``Exclusive``, ``Shared``, ``Failover``, ``Key_Shared``, or empty when nobody has used it yet.
        backlog: Entries that are not acknowledged, counted exactly.
        unacked: Messages delivered and not acknowledged.
        delayed: Messages that wait for their time (``msgDelayed``).
        given: Messages that its consumers were given since the topic was loaded (``msgOutCounter``).
    """

    kind: str
    backlog: int
    unacked: int = 0
    delayed: int = 0
    given: int = 0
    replicated: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    consumers: tuple[ClientSeen, ...] = ()

    @property
    def drained(self) -> bool:
        """Whether nothing is left for it."""
        return self.backlog == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatorSeen:
    """A topic's replicator to another cluster: entries that it has yet to send there."""

    backlog: int
    connected: bool


class StatsAnswer(StrEnum):
    """How a topic's statistics were answered."""

    LOADED = "loaded"
    """A broker owns it and tells."""
    MIGRATED = "migrated"
    """The broker refuses to load it: "already migrated". What it still holds cannot be read."""
    ABSENT = "absent"
    """There is no such topic."""
    UNASKED = "unasked"
    """It was not asked, since asking loads a topic."""
    FAILED = "failed"
    """The broker could not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSeen:
    """What the metadata store holds of a topic's managed ledger (``internal-info``): read without loading it.

    Attributes:
        terminated: Position behind which nothing can be written, ``ledger:entry``; ``None``: it is open.
        migrated: Whether the broker has finished its mark (property ``migrated``).
        cursors: Durable subscription → position up to which all is acknowledged. It is exact once the topic was
            unloaded; ``None``: the store does not know it (the broker keeps it in a ledger, while the topic is loaded).
        replicators: Remote cluster → position up to which all was sent there, told in the same way.
        ledgers: Stored ledger → its entries; ``None``: not counted yet. Of the last one the number means nothing.
    """

    terminated: str | None
    migrated: bool
    cursors: Mapping[str, str | None] = field(default_factory=dict)
    replicators: Mapping[str, str | None] = field(default_factory=dict)
    ledgers: Mapping[int, int | None] = field(default_factory=dict)

    @property
    def drained(self) -> bool:
        """Whether the ledger is closed, and every stored cursor is behind its last entry."""
        if self.terminated is None:
            return False
        last = self._last_entry(self.terminated)
        read = (*self.cursors.values(), *self.replicators.values())
        return all(each is not None and (last is None or _order(each) >= last) for each in read)

    def _last_entry(self, end: str) -> tuple[int, float] | None:
        """The last entry up to a position; an end in a ledger without entries is behind those of earlier ledgers."""
        ledger, entry = _order(end)
        if entry >= 0:
            return ledger, entry
        earlier = [number for number, entries in self.ledgers.items() if number < ledger and entries != 0]
        if not earlier:
            return None
        entries = self.ledgers[max(earlier)]
        return max(earlier), math.inf if entries is None else entries - 1


def _order(position: str) -> tuple[int, float]:
    ledger, _, entry = position.partition(":")
    return int(ledger), int(entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What passes through a loaded topic, by counters that are exact at the time of the call.

    Attributes:
        entries_added: Since the topic was loaded (``entriesAddedCounter``).
        pending_adds: Entries on their way to the bookies (``pendingAddEntriesCount``).
        last: ``lastConfirmedEntry``, ``ledger:entry``.
        ledger_state: ``LedgerOpened``, ``Terminated``, … (``state``).
    """

    entries_added: int
    pending_adds: int
    last: str
    ledger_state: str
    entries: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSeen:
    """One topic, or one partition of one; never a partitioned topic as a whole.

    Attributes:
        name: ``persistent://tenant/namespace/topic``, the partition's number included.
        ledger: What the store holds; ``None``: nothing, the topic is gone.
        answer: How its statistics were answered; where not ``LOADED``, nothing below is known.
        waiting_producers: Producers that wait for exclusive access (``waitingPublishers``).
        publish_rate: The topic's own rate in bytes (``publishRate``); ``None``: it has none, or it was not asked.
    """

    name: str
    ledger: LedgerSeen | None
    answer: StatsAnswer
    flow: Flow | None = None
    producers: tuple[ClientSeen, ...] = ()
    waiting_producers: int = 0
    subscriptions: Mapping[str, SubscriptionSeen] = field(default_factory=dict)
    replicators: Mapping[str, ReplicatorSeen] = field(default_factory=dict)
    deduplicates: bool = False
    publish_rate: int | None = None
    ongoing_transactions: int = 0

    @property
    def subscription_names(self) -> frozenset[str]:
        """Its durable subscriptions: those of the broker where it is loaded, else those that are stored."""
        if self.answer is StatsAnswer.LOADED:
            return frozenset(self.subscriptions)
        return frozenset() if self.ledger is None else frozenset(self.ledger.cursors)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSeen:
    """A namespace and what is in it.

    Attributes:
        policies: As the broker tells them, unchanged.
        marked: Whether its topics are sent to the target (local policies, ``migrated``).
        partitions: Partitioned topic → number of partitions, persistent ones.
        topics: Persistent topics that are stored, partitions each for itself, by name.
        non_persistent: Names of those that are loaded.
        topic_policies: Partitioned or plain topic → policies that are set for it, by their REST name.
        schemas: Partitioned or plain topic → latest schema's version, type and data, as told.
    """

    name: str
    policies: Mapping[str, object]
    marked: bool = False
    partitions: Mapping[str, int] = field(default_factory=dict)
    topics: Mapping[str, TopicSeen] = field(default_factory=dict)
    non_persistent: frozenset[str] = frozenset()
    topic_policies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    schemas: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSeen:
    """One cluster, of what a migration needs to know.

    Attributes:
        name: The cluster's name in Pulsar (``clusterName``); blue and green may share one.
        urls: Its addresses, as configured here.
        clusters: Clusters that it knows, by name.
        mark: Its own migration state; ``None``: never set.
        dynamic: Dynamic settings that were set, by key.
        functions_worker: Whether a functions worker runs in it or beside it; ``None``: unknown.
        transactions: Whether it coordinates transactions.
    """

    name: str
    urls: ClusterUrls
    read_at_ms: Millis
    brokers: tuple[BrokerSeen, ...] = ()
    clusters: Mapping[str, ClusterUrls] = field(default_factory=dict)
    mark: Mark | None = None
    dynamic: Mapping[str, str] = field(default_factory=dict)
    functions_worker: bool | None = None
    transactions: bool | None = None
    tenants: Mapping[str, TenantSeen] = field(default_factory=dict)
    namespaces: Mapping[str, NamespaceSeen] = field(default_factory=dict)
