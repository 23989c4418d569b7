"""Subscriptions of a loaded topic: who gets which entry, what is acknowledged, and the end of the topic.

Source: ``PersistentSubscription``, the dispatchers of ``org.apache.pulsar.broker.service.persistent``, Pulsar 4.0.8.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol
from zlib import crc32

from tests.migration.clusters.answers import ClusterUrl
from tests.migration.clusters.connection import ConnectedHandler, Connection
from tests.migration.clusters.ledger import Cursor, Entry

if TYPE_CHECKING:
    from tests.migration.clusters.topic import Topic


class SubscriptionKind(StrEnum):
    """How consumers share a subscription; the value is what the admin API writes."""

    EXCLUSIVE = "Exclusive"
    FAILOVER = "Failover"
    SHARED = "Shared"
    KEY_SHARED = "Key_Shared"


SHARED_BY_MANY: Final = frozenset({SubscriptionKind.SHARED, SubscriptionKind.KEY_SHARED})
"""Whose consumers are served by one dispatcher at the same time."""


class ConsumerHandler(ConnectedHandler, Protocol):
    """A consumer as its process knows it."""

    name: str
    version: str
    host: str
    kind: SubscriptionKind

    def message(self, attached: AttachedConsumer, index: int, entry: Entry) -> None:
        """An entry is delivered."""

    def reached_end(self, attached: AttachedConsumer) -> None:
        """REACHED_END_OF_TOPIC."""

    def closed(self, attached: AttachedConsumer) -> None:
        """The broker has closed it."""

    def redirected(self, url: ClusterUrl) -> None:
        """The broker sends it to another cluster."""


class AttachedConsumer:
    """A consumer at its broker."""

    def __init__(self, subscription: Subscription, connection: Connection, handler: ConsumerHandler) -> None:
        self.subscription = subscription
        self.connection = connection
        self.handler = handler
        self.since = subscription.topic.timeline.now
        self.unacked: dict[int, Entry] = {}
        self.is_open = True
        connection.attached.append(self)

    def acknowledge(self, indices: tuple[int, ...]) -> None:
        """Its acknowledgements are read."""
        if self.is_open:
            self.subscription.acknowledge(self, indices)

    def dropped(self) -> None:
        """Its connection is no more."""
        if self.is_open:
            self.is_open = False
            self.subscription.remove(self)

    def disconnect(self, url: ClusterUrl | None = None) -> None:
        """Close it; with a URL it is sent there first."""
        if not self.is_open:
            return
        self.dropped()
        if url is not None:
            self.connection.reply(self.handler.redirected, url)
        self.connection.reply(self.handler.closed, self)


class Subscription:
    """A durable subscription of a loaded topic.

    Attributes:
        given: Messages that its consumers were given.
        stalled: Whether nothing is delivered, though nobody is told so.
    """

    def __init__(self, topic: Topic, name: str, cursor: Cursor) -> None:
        self.topic = topic
        self.name = name
        self.cursor = cursor
        self.kind: SubscriptionKind | None = None
        self.consumers: list[AttachedConsumer] = []
        self.given = 0
        self.stalled = False
        self._read = cursor.mark
        self._replay: list[int] = []
        self._turn = 0
        self._keys: dict[str, AttachedConsumer] = {}
        self._held: Counter[str] = Counter()

    @property
    def backlog(self) -> int:
        """Entries that are not acknowledged."""
        return self.topic.ledger.backlog(self.cursor)

    def is_busy(self, kind: SubscriptionKind) -> bool:
        """Whether another consumer cannot come in."""
        if not self.consumers:
            return False
        return kind is SubscriptionKind.EXCLUSIVE or self.kind is not kind

    def add(self, consumer: AttachedConsumer) -> None:
        """Let a consumer in."""
        self.kind = consumer.handler.kind
        self.consumers.append(consumer)
        if self.kind is not SubscriptionKind.SHARED:
            self.consumers.sort(key=lambda each: each.handler.name)
        self._at_end()
        self.dispatch()

    def remove(self, consumer: AttachedConsumer) -> None:
        """A consumer is gone: what it had is delivered again."""
        self.consumers.remove(consumer)
        for index, entry in consumer.unacked.items():
            if not self.cursor.acknowledged(index):
                insort(self._replay, index)
            self._let_go(entry)
        consumer.unacked.clear()
        self.topic.active_at = self.topic.timeline.now
        self.dispatch()

    def acknowledge(self, consumer: AttachedConsumer, indices: tuple[int, ...]) -> None:
        """Take acknowledgements; the last ones of a closed topic end the subscription's work."""
        for index in indices:
            self.cursor.acknowledge(index)
            entry = consumer.unacked.pop(index, None)
            if entry is not None:
                self._let_go(entry)
        if indices and self.topic.migrated and self.kind in SHARED_BY_MANY and not self.backlog:
            self.topic.broker.drained_by_many()
        if self.topic.broker.deadlocked:
            return
        self._at_end()
        if self.kind is SubscriptionKind.KEY_SHARED:
            self.dispatch()

    def skip(self) -> None:
        """Give everything up that is left."""
        self.cursor.skip_to(len(self.topic.ledger.entries))
        self._read = len(self.topic.ledger.entries)
        self._replay.clear()

    def leave_if_drained(self) -> None:
        """The topic was migrated: consumers that have nothing left are sent away."""
        if self.topic.migrated and self.backlog == 0:
            url = self.topic.redirect
            if url is not None:
                for consumer in tuple(self.consumers):
                    consumer.disconnect(url)

    def dispatch(self) -> None:
        """Deliver what is due to whoever gets it."""
        entries = self.topic.ledger.entries
        while not self.stalled and self.consumers and (self._replay or self._read < len(entries)):
            index = self._replay[0] if self._replay else self._read
            entry = entries[index]
            due = not self.cursor.acknowledged(index)
            consumer = self._chosen(entry) if due else None
            if due and consumer is None:
                return
            if self._replay:
                self._replay.pop(0)
            else:
                self._read += 1
            if consumer is None:
                continue
            consumer.unacked[index] = entry
            self.given += entry.count
            consumer.connection.reply(consumer.handler.message, consumer, index, entry)

    def _chosen(self, entry: Entry) -> AttachedConsumer | None:
        """The consumer that an entry is for; ``None``: its key is still in another's hands."""
        match self.kind:
            case SubscriptionKind.SHARED:
                self._turn += 1
                return self.consumers[self._turn % len(self.consumers)]
            case SubscriptionKind.KEY_SHARED:
                chosen = self.consumers[crc32(entry.producer.encode()) % len(self.consumers)]
                if self._held[entry.producer] and self._keys[entry.producer] is not chosen:
                    return None
                self._keys[entry.producer] = chosen
                self._held[entry.producer] += 1
                return chosen
            case _:
                return self.consumers[0]

    def _let_go(self, entry: Entry) -> None:
        if self._held[entry.producer]:
            self._held[entry.producer] -= 1

    def _at_end(self) -> None:
        """Tell the consumers of a closed topic that nothing is left: in the window it is the wrong word."""
        if not self.topic.terminated or self.backlog:
            return
        if self.topic.migrated:
            self.leave_if_drained()
            return
        for consumer in tuple(self.consumers):
            consumer.connection.reply(consumer.handler.reached_end, consumer)
