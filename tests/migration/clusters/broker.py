"""One broker: it loads topics or refuses to, lets clients in, and looks after quotas and idle topics.

Source: ``BrokerService``, ``ServerCnx.handleProducer`` and ``handleSubscribe``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from tests.migration.clusters.answers import ClusterUrl, Refusal
from tests.migration.clusters.connection import Connection
from tests.migration.clusters.ledger import Cursor, Ledger
from tests.migration.clusters.namespace import EVICTS
from tests.migration.clusters.rounds import check_migration
from tests.migration.clusters.subscription import AttachedConsumer, ConsumerHandler, Subscription
from tests.migration.clusters.topic import AttachedProducer, ProducerHandler, Topic

if TYPE_CHECKING:
    from tests.migration.clusters.cluster import Cluster

_BLOCKED_MS: Final = 30_000
_LOAD_MS: Final = (1, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """The configuration of all brokers of a cluster; only a restart would change it.

    Attributes:
        check_period_s: ``clusterMigrationCheckDurationSeconds``; 0: marks have no effect on what is loaded.
        makes_resources: ``clusterMigrationAutoResourceCreation``.
        quota_check_s: ``backlogQuotaCheckIntervalInSeconds``.
        gc_s: ``brokerDeleteInactiveTopicsFrequencySeconds``.
        executor_threads: ``numExecutorThreadPoolSize``: as many refused loads at once block each other.
        deadlocks: Chance, 0 to 1, that a shared subscription of a migrated topic, drained by an acknowledgement, stops
            its broker for ever.
    """

    check_period_s: int = 2
    makes_resources: bool = False
    quota_check_s: int = 60
    gc_s: int = 60
    executor_threads: int = 8
    deadlocks: float = 1 / 3


class Attempt(Protocol):
    """One attempt of a client to be let in."""

    def refused(self, reason: Refusal) -> None:
        """It is not."""

    def redirected(self, url: ClusterUrl) -> None:
        """It is sent to another cluster, and closed."""


class ProducerAttempt(Attempt, Protocol):
    """A producer's."""

    handler: ProducerHandler
    encrypts: bool

    def accepted(self, attached: AttachedProducer) -> None:
        """It is let in."""


class ConsumerAttempt(Attempt, Protocol):
    """A consumer's."""

    handler: ConsumerHandler
    subscription: str
    earliest: bool

    def accepted(self, attached: AttachedConsumer) -> None:
        """It is let in."""


class Broker:
    """One broker of a cluster."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster = cluster
        self.timeline = cluster.timeline
        self.settings = cluster.settings
        self.address = f"{cluster.name}-{number}:8080"
        self.topics: dict[str, Topic] = {}
        self.topics_of: dict[str, dict[str, Topic]] = {}
        """The same by their namespace."""
        self.connections: list[Connection] = []
        self.running = False
        self.warm = False
        """Whether this process has migrated a topic: the first time is slow."""
        self.deadlocked = False
        """Whether two of its threads wait for each other: only a restart ends that."""
        self._life = 0
        self._refusals: list[Callable[[], None]] = []
        self._blocked_until = 0
        self.start()

    # Its life

    def start(self) -> None:
        """Start it: it has loaded nothing, and has migrated nothing."""
        self.running = True
        self.warm = self.deadlocked = False
        self._life += 1
        self._blocked_until = 0
        self._refusals.clear()
        settings = self.settings
        for period_s, action in (
            (settings.check_period_s, partial(check_migration, self)),
            (settings.quota_check_s, self.check_quotas),
            (settings.gc_s, self.delete_idle),
        ):
            if period_s > 0:
                period_ms = period_s * 1000
                self.timeline.within(1, period_ms, self._again, self._life, period_ms, action)

    def stop(self) -> None:
        """End it: its connections break, and its bundles belong to nobody."""
        self.running = False
        self._life += 1
        self.timeline.tell(self.address, "stops")
        for connection in tuple(self.connections):
            connection.close()
        self.connections.clear()
        for name in tuple(self.topics):
            self.unload(name)
        self.cluster.disown(self)

    def restart(self, down_ms: int) -> None:
        """End it, and start it later."""
        self.stop()
        self.timeline.after(down_ms, self.start)

    def connect(self, port: int) -> Connection:
        """A client connects."""
        connection = Connection(self.timeline, port)
        self.connections = [each for each in self.connections if each.is_open]
        self.connections.append(connection)
        return connection

    def _again(self, life: int, period_ms: int, action: Callable[[], None]) -> None:
        if life == self._life and not self.deadlocked:
            action()
            self.timeline.after(period_ms, self._again, life, period_ms, action)

    def drained_by_many(self) -> None:
        """A subscription that several share was drained: who sends its consumers away may meet who reads for them.

        Each has the lock that the other waits for.
        Source: ``PersistentSubscription.acknowledgeMessage``, ``PersistentDispatcherMultipleConsumers``.
        """
        if self.deadlocked or self.timeline.rng.random() >= self.settings.deadlocks:
            return
        self.deadlocked = True
        self.timeline.tell(self.address, "is deadlocked")
        for connection in self.connections:
            connection.stop()

    # Topics

    def load(self, name: str, *, create: bool) -> Topic | Refusal:
        """A topic in memory, loaded if it has to be; where clients are sent away nothing is loaded."""
        loaded = self.topics.get(name)
        if loaded is not None:
            return loaded
        namespace = self.cluster.namespace_of(name)
        if namespace is None:
            return Refusal.NOT_FOUND
        if self.cluster.redirect(namespace.name) is not None:
            return Refusal.MIGRATED
        ledger = self.cluster.ledgers.get(name)
        if ledger is None:
            if not create:
                return Refusal.NOT_FOUND
            ledger = self.cluster.ledgers[name] = Ledger(self.cluster.next_ledger())
        ledger.open(self.cluster.next_ledger())
        topic = self.topics[name] = Topic(self, name, ledger)
        self.topics_of.setdefault(namespace.name, {})[name] = topic
        topic.replicators = dict.fromkeys(self.cluster.remotes(namespace.name), 0)
        topic.policies_changed()
        return topic

    def unload(self, name: str) -> None:
        """Take a topic out of memory."""
        topic = self.topics.pop(name, None)
        if topic is not None:
            del self.topics_of[topic.namespace][name]
            topic.close()
            self.timeline.tell(name, "unloaded")

    def delete(self, name: str) -> None:
        """Delete a topic and all that it holds."""
        self.unload(name)
        self.cluster.ledgers.pop(name, None)
        self.timeline.tell(name, "deleted")

    def subscribe(self, topic: Topic, name: str, *, earliest: bool) -> Subscription:
        """A subscription, made at one end of the topic if there is none."""
        found = topic.subscriptions.get(name)
        if found is None:
            start = 0 if earliest else len(topic.ledger.entries)
            cursor = topic.ledger.cursors[name] = Cursor(mark=start, stored=start)
            found = topic.subscriptions[name] = Subscription(topic, name, cursor)
            self.timeline.tell(topic.name, f"subscription {name} made at {'earliest' if earliest else 'latest'}")
        return found

    def unsubscribe(self, topic: Topic, name: str) -> None:
        """Delete a subscription."""
        del topic.subscriptions[name]
        del topic.ledger.cursors[name]
        topic.active_at = self.timeline.now
        self.timeline.tell(topic.name, f"subscription {name} deleted")

    # Clients

    @property
    def is_blocked(self) -> bool:
        """Whether threads wait for each other, for a while or for ever: nothing that needs one is answered."""
        return self.deadlocked or self.timeline.now < self._blocked_until

    def look_up(self, connection: Connection, name: str, answer: Callable[[Broker | Refusal], None]) -> None:
        """Tell who owns a topic."""
        if not self.is_blocked:
            connection.reply(answer, self.cluster.owner(name))

    def let_in_producer(self, connection: Connection, name: str, attempt: ProducerAttempt) -> None:
        """PRODUCER: a loaded topic's quota is looked at first, and its end last."""
        topic = self._for_client(connection, name, attempt)
        if topic is None:
            return
        reason = topic.refuses(attempt.handler, encrypts=attempt.encrypts)
        if reason is Refusal.MIGRATED and topic.redirect is not None and topic.producer_may_leave():
            connection.reply(attempt.redirected, topic.redirect)
        elif reason is not None:
            connection.reply(attempt.refused, reason)
        else:
            attached = AttachedProducer(topic, connection, attempt.handler, encrypts=attempt.encrypts)
            connection.reply(attempt.accepted, attached)

    def let_in_consumer(self, connection: Connection, name: str, attempt: ConsumerAttempt) -> None:
        """SUBSCRIBE: who comes to a drained subscription of a migrated topic is let in, and sent away."""
        topic = self._for_client(connection, name, attempt)
        if topic is None:
            return
        if topic.fenced:
            connection.reply(attempt.refused, Refusal.FENCED)
            return
        subscription = self.subscribe(topic, attempt.subscription, earliest=attempt.earliest)
        if subscription.is_busy(attempt.handler.kind):
            connection.reply(attempt.refused, Refusal.BUSY)
            return
        attached = AttachedConsumer(subscription, connection, attempt.handler)
        connection.reply(attempt.accepted, attached)
        subscription.add(attached)

    def _for_client(self, connection: Connection, name: str, attempt: Attempt) -> Topic | None:
        if self.is_blocked:
            return None
        owner = self.cluster.owner(name)
        if owner is not self:
            connection.reply(attempt.refused, Refusal.NOT_READY if isinstance(owner, Broker) else owner)
            return None
        found = self.load(name, create=True)
        if isinstance(found, Topic):
            return found
        if found is Refusal.MIGRATED:
            self._refuse_load(connection, name, attempt)
        else:
            connection.reply(attempt.refused, found)
        return None

    def _refuse_load(self, connection: Connection, name: str, attempt: Attempt) -> None:
        """A refusal holds one thread and needs another: as many at once as there are threads block each other."""
        starve = partial(connection.reply, attempt.refused, Refusal.STARVED)
        self._refusals.append(starve)
        if len(self._refusals) >= self.settings.executor_threads:
            self.timeline.tell(self.address, f"{len(self._refusals)} refused loads block each other")
            self._blocked_until = self.timeline.now + _BLOCKED_MS
            for each in self._refusals:
                self.timeline.after(_BLOCKED_MS, each)
            self._refusals.clear()
            return
        self.timeline.within(*_LOAD_MS, self._refused, connection, name, attempt, starve)

    def _refused(self, connection: Connection, name: str, attempt: Attempt, starve: Callable[[], None]) -> None:
        if starve not in self._refusals:
            return
        self._refusals.remove(starve)
        namespace = self.cluster.namespace_of(name)
        url = None if namespace is None else self.cluster.redirect(namespace.name)
        if url is None:
            connection.reply(attempt.refused, Refusal.NOT_READY)
        else:
            connection.reply(attempt.redirected, url)

    # What it looks after

    def check_quotas(self) -> None:
        """Send producers away where they are held, and throw backlog away where that is the policy."""
        for topic in tuple(self.topics.values()):
            quota = self.cluster.exceeded_quota(topic)
            if quota is None:
                continue
            if quota["policy"] == EVICTS:
                self.timeline.tell(topic.name, "backlog evicted")
                for subscription in topic.subscriptions.values():
                    subscription.skip()
                continue
            for producer in tuple(topic.producers.values()):
                topic.send_away(producer)

    def delete_idle(self) -> None:
        """Delete topics that nobody uses, unless retention keeps them."""
        if self.cluster.dynamic.get("brokerDeleteInactiveTopicsEnabled", "true") != "true":
            return
        for topic in tuple(self.topics.values()):
            idle_ms = self.timeline.now - topic.active_at
            if topic.producers or topic.subscriptions or idle_ms < self.settings.gc_s * 1000:
                continue
            namespace = self.cluster.namespaces[topic.namespace]
            kept_min = namespace.retention_min(topic.name)
            if namespace.deletes_idle and 0 <= kept_min * 60_000 <= idle_ms:
                self.delete(topic.name)
