"""Topics in a broker's memory: producers, publishing, fencing, and the window in which the ledger is closed.

Source: ``PersistentTopic``, ``AbstractTopic.addProducer``, ``ManagedLedgerImpl.asyncMigrate``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from tests.migration.clusters.answers import ClusterUrl, Refusal
from tests.migration.clusters.connection import ConnectedHandler, Connection
from tests.migration.clusters.ledger import Entry, Ledger, LedgerState
from tests.migration.clusters.limiter import PublishLimiter
from tests.migration.clusters.subscription import Subscription
from tests.migration.clusters.timeline import Timeline

if TYPE_CHECKING:
    from tests.migration.clusters.broker import Broker

BOOKIE_MS: Final = (1, 4)
REMEMBERED_MS: Final = 30_000
"""For so long a broker drops what a producer sends that it has closed; later it closes the connection."""


class ProducerHandler(ConnectedHandler, Protocol):
    """A producer as its process knows it."""

    name: str
    version: str
    host: str

    def receipt(self, attached: AttachedProducer, entry: Entry) -> None:
        """An entry is stored."""

    def send_error(self, attached: AttachedProducer, error: Refusal) -> None:
        """An entry is not."""

    def closed(self, attached: AttachedProducer) -> None:
        """The broker has closed it."""

    def redirected(self, url: ClusterUrl) -> None:
        """The broker sends it to another cluster."""


class AttachedProducer:
    """A producer at its broker."""

    def __init__(self, topic: Topic, connection: Connection, handler: ProducerHandler, *, encrypts: bool) -> None:
        self.topic = topic
        self.connection = connection
        self.handler = handler
        self.name = handler.name
        self.encrypts = encrypts
        self.since = topic.timeline.now
        self.messages = 0
        self.size = 0
        self._closed_at: int | None = None
        connection.attached.append(self)
        topic.producers[self.name] = self

    def publish(self, entry: Entry) -> None:
        """A message of it is read."""
        if self._closed_at is None:
            self.messages += entry.count
            self.size += entry.size
            self.topic.publish(self, entry)
        elif self.topic.timeline.now - self._closed_at > REMEMBERED_MS:
            self.connection.close()

    def leave(self) -> None:
        """The client closes it."""
        self._detach()

    def dropped(self) -> None:
        """Its connection is no more."""
        self._detach()

    def disconnect(self, url: ClusterUrl | None = None) -> None:
        """Close it at once, without its receipts; with a URL it is sent there first."""
        if self._closed_at is None:
            self._detach()
            if url is not None:
                self.connection.reply(self.handler.redirected, url)
            self.connection.reply(self.handler.closed, self)

    @property
    def is_open(self) -> bool:
        """Whether the topic takes messages from it."""
        return self._closed_at is None

    def _detach(self) -> None:
        if self._closed_at is not None:
            return
        self._closed_at = self.topic.timeline.now
        if self.topic.producers.get(self.name) is self:
            del self.topic.producers[self.name]
        self.topic.active_at = self.topic.timeline.now


class Topic:
    """One topic, or one partition, that a broker has loaded."""

    def __init__(self, broker: Broker, name: str, ledger: Ledger) -> None:
        self.broker = broker
        self.timeline: Timeline = broker.timeline
        self.name = name
        self.ledger = ledger
        self.producers: dict[str, AttachedProducer] = {}
        self.subscriptions = {each: Subscription(self, each, cursor) for each, cursor in ledger.cursors.items()}
        self.replicators: dict[str, int] = {}
        """Remote cluster → entries that have yet to be sent there."""
        self.limiter = PublishLimiter(self.timeline)
        self.migrated = ledger.marked
        self.pending = 0
        self.fenced = False
        self.active_at = self.timeline.now
        self.resources_made = False
        self._loaded = True
        self._flying: deque[tuple[AttachedProducer, Entry]] = deque()
        self._stored_at = 0
        self._term = 0

    @property
    def namespace(self) -> str:
        """``tenant/namespace``."""
        return "/".join(self.name.removeprefix("persistent://").split("/")[:2])

    @property
    def terminated(self) -> bool:
        """Whether the ledger takes nothing any more."""
        return self.ledger.state is LedgerState.TERMINATED

    @property
    def redirect(self) -> ClusterUrl | None:
        """Where its clients are sent."""
        return self.broker.cluster.redirect(self.namespace)

    @property
    def replication_backlog(self) -> bool:
        """Whether a replicator has yet to send something."""
        return any(self.replicators.values())

    # Producers

    def refuses(self, handler: ProducerHandler, *, encrypts: bool) -> Refusal | None:
        """Why a producer cannot come in; ``None``: it can."""
        cluster = self.broker.cluster
        if cluster.holds_producers(self):
            return Refusal.QUOTA
        if not encrypts and cluster.namespaces[self.namespace].policies.get("encryption_required"):
            return Refusal.ENCRYPTION
        if self.fenced:
            return Refusal.FENCED
        if self.migrated:
            return Refusal.MIGRATED
        if self.terminated:
            return Refusal.TERMINATED
        there = self.producers.get(handler.name)
        return Refusal.BUSY if there is not None and there.handler is not handler else None

    def producer_may_leave(self) -> bool:
        """Whether producers are sent to the other cluster, not only away."""
        return not self.replication_backlog and self.resources_made

    def publish(self, producer: AttachedProducer, entry: Entry) -> None:
        """Take a message, or fail as the window makes it fail."""
        self.limiter.published(producer.connection, entry.size, entry.count)
        if self.fenced:
            producer.connection.reply(producer.handler.send_error, producer, Refusal.PERSISTENCE)
            return
        if self.terminated:
            self._add_failed(producer)
            return
        self.pending += 1
        self._flying.append((producer, entry))
        self._stored_at = max(self._stored_at, self.timeline.now + self.timeline.between(*BOOKIE_MS))
        self.timeline.after(self._stored_at - self.timeline.now, self._stored, self._term)

    def _stored(self, term: int) -> None:
        """The bookies have an entry; what was in flight when the ledger was closed is never answered."""
        if term != self._term:
            return
        producer, entry = self._flying.popleft()
        self.pending -= 1
        self.ledger.append(entry, self.timeline.now)
        self.active_at = self.timeline.now
        for cluster in self.replicators:
            self.replicators[cluster] += 1
        if producer.is_open:
            producer.connection.reply(producer.handler.receipt, producer, entry)
        for subscription in self.subscriptions.values():
            subscription.dispatch()

    def _add_failed(self, producer: AttachedProducer) -> None:
        self.fenced = True
        self.timeline.tell(self.name, "fenced: a publish after the end")
        url = self.redirect if self.migrated and self.producer_may_leave() else None
        for each in tuple(self.producers.values()):
            each.disconnect(url)
        error = Refusal.PERSISTENCE if self.migrated else Refusal.TERMINATED
        producer.connection.reply(producer.handler.send_error, producer, error)
        if self.pending:
            self.timeline.tell(self.name, "fenced for good: an add was in flight")
        else:
            self.fenced = False

    # The window

    def terminate(self) -> None:
        """Close the ledger: the window begins. Adds in flight are lost, and nobody is told."""
        self.ledger.state = LedgerState.TERMINATED
        self._term += 1
        lost = len(self._flying)
        self._flying.clear()
        self.timeline.tell(self.name, f"terminated, {lost} adds in flight")

    def mark(self, *, stored: bool) -> None:
        """It was migrated, in this broker's memory; where that is stored too, the window is over."""
        if not self._loaded:
            return
        self.migrated = True
        if stored:
            self.ledger.marked = True
            self.ledger.terminated = self.ledger.last
            self.timeline.tell(self.name, f"migrated at {self.ledger.last}")

    # Policies, and the end

    def policies_changed(self) -> None:
        """A policy of the topic or of its namespace was written, whichever: buckets are made anew."""
        if not self._loaded:
            return
        cluster = self.broker.cluster
        self.limiter.set(*cluster.publish_rate(self))
        if cluster.namespaces[self.namespace].policies.get("encryption_required"):
            for producer in tuple(self.producers.values()):
                if not producer.encrypts:
                    self.send_away(producer)

    def send_away(self, producer: AttachedProducer) -> None:
        """Close a producer; what it has on its way is stored, and it is never told so."""
        if any(each is producer for each, _ in self._flying):
            self.timeline.tell(self.name, f"{producer.name} is sent away with something on its way")
        producer.disconnect()

    def close(self) -> None:
        """Unload it: everybody is disconnected."""
        self._loaded = False
        self._term += 1
        self._flying.clear()
        for producer in tuple(self.producers.values()):
            producer.disconnect()
        for subscription in self.subscriptions.values():
            for consumer in tuple(subscription.consumers):
                consumer.disconnect()
        self.ledger.close()

    @property
    def is_loaded(self) -> bool:
        """Whether a broker still has it."""
        return self._loaded
