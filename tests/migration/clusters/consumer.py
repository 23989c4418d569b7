"""Consumers: they take messages in order, work at their own pace, and acknowledge in groups."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from tests.migration.clusters.answers import ClusterUrl
from tests.migration.clusters.broker import Broker
from tests.migration.clusters.connection import Connection
from tests.migration.clusters.ledger import Entry
from tests.migration.clusters.process import Attempt, ClientProcess, ClientState, Handler
from tests.migration.clusters.subscription import AttachedConsumer, SubscriptionKind
from tests.migration.clusters.verdict import Receipts

ACK_GROUP_MS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionWish:
    """What a consumer subscribes to.

    Attributes:
        earliest: Where the subscription begins if this consumer makes it.
    """

    name: str
    kind: SubscriptionKind = SubscriptionKind.FAILOVER
    earliest: bool = True


class Consumer(Handler):
    """A consumer and its application.

    Attributes:
        work_ms: That the application spends on one entry.
        longest_gap_ms: Between two entries.
        ended: Whether it was told that the topic has come to its end.
    """

    def __init__(
        self,
        process: ClientProcess,
        topic: str,
        name: str,
        wish: SubscriptionWish,
        receipts: Receipts,
        *,
        work_ms: int = 0,
    ) -> None:
        super().__init__(process, topic, name)
        self.subscription = wish.name
        self.kind = wish.kind
        self.earliest = wish.earliest
        self.work_ms = work_ms
        self.longest_gap_ms = 0
        self.ended = False
        self._receipts = receipts
        self._attached: AttachedConsumer | None = None
        self._queue: deque[tuple[int, Entry]] = deque()
        self._works = False
        self._to_acknowledge: list[int] = []
        self._flushes = False
        self._last: int | None = None

    def start(self) -> None:
        """Connect."""
        self.connect()

    def ask(self, owner: Broker, connection: Connection, attempt: int) -> None:
        """SUBSCRIBE."""
        connection.send(owner.let_in_consumer, connection, self.topic, _Asked(self, attempt, connection))

    def accepted(self, attached: AttachedConsumer) -> None:
        """It is let in: what it had not worked on comes again."""
        self._attached = attached
        self._queue.clear()
        self.let_in()
        self._flush()

    def detached(self) -> None:
        """It is not at a broker any more."""
        self._attached = None

    def redirected(self, url: ClusterUrl) -> None:
        """Another cluster's messages have other positions: what waits here is of no use there."""
        super().redirected(url)
        self._to_acknowledge.clear()
        self._queue.clear()

    def message(self, attached: AttachedConsumer, index: int, entry: Entry) -> None:
        """An entry comes; one that waits to be acknowledged is not shown again."""
        if attached is not self._attached or index in self._to_acknowledge:
            return
        if not self.work_ms:
            self._take(index, entry)
            return
        self._queue.append((index, entry))
        self._work()

    def reached_end(self, attached: AttachedConsumer) -> None:
        """REACHED_END_OF_TOPIC: C++ does not know it, and closes its connection."""
        if attached is not self._attached:
            return
        self.ended = True
        if self.process.library.is_cpp:
            self.drop_connection()

    def closed(self, attached: AttachedConsumer) -> None:
        """The broker has closed it."""
        if attached is self._attached:
            self.detached()
            self.retry()

    def _work(self) -> None:
        if not self._works and self._queue:
            self._works = True
            self.timeline.after(self.work_ms, self._worked)

    def _worked(self) -> None:
        self._works = False
        if self._queue and self.state is not ClientState.DEAD:
            self._take(*self._queue.popleft())
        self._work()

    def _take(self, index: int, entry: Entry) -> None:
        self._receipts.take(entry, in_order=self.kind is not SubscriptionKind.SHARED)
        now = self.timeline.now
        if self._last is not None:
            self.longest_gap_ms = max(self.longest_gap_ms, now - self._last)
        self._last = now
        self._to_acknowledge.append(index)
        if not self._flushes:
            self._flushes = True
            self.timeline.after(ACK_GROUP_MS, self._flush)

    def _flush(self) -> None:
        self._flushes = False
        if self._attached is not None and self._to_acknowledge:
            self._attached.connection.send(self._attached.acknowledge, tuple(self._to_acknowledge))
            self._to_acknowledge.clear()


@dataclass(frozen=True, slots=True, eq=False)
class _Asked(Attempt):
    """A consumer's."""

    handler: Consumer

    @property
    def subscription(self) -> str:
        return self.handler.subscription

    @property
    def earliest(self) -> bool:
        return self.handler.earliest

    def accepted(self, attached: AttachedConsumer) -> None:
        if self.attempt == self.handler.attempt:
            self.handler.accepted(attached)
        else:
            self.connection.send(attached.dropped)
