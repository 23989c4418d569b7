"""Producers: they send in order, wait for receipts, and send again what was not answered wherever they come to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from tests.migration.clusters.answers import Refusal
from tests.migration.clusters.broker import Broker
from tests.migration.clusters.connection import Connection
from tests.migration.clusters.ledger import Entry
from tests.migration.clusters.process import Attempt, ClientProcess, ClientState, Handler
from tests.migration.clusters.topic import AttachedProducer

SEND_TIMEOUT_MS: Final = 30_000
_MOST_PENDING: Final = 200
_OVERTAKES: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class SimTraffic:
    """What an application publishes.

    Attributes:
        every_ms: Between two entries, a tenth more or less.
        size: Bytes of a message, least and most.
        batch: Messages of an entry, fewest and most.
        pipelined: It does not wait for the receipt of one entry before it sends the next.
    """

    every_ms: int = 50
    size: tuple[int, int] = (200, 200)
    batch: tuple[int, int] = (1, 1)
    pipelined: bool = False


class Producer(Handler):
    """A producer and its application.

    Attributes:
        acked: Sequences of messages of which the application knows that they are stored.
        failed: Messages that were given up after the time-out of a send, or with the producer.
        longest_gap_ms: Between two receipts.
    """

    def __init__(
        self, process: ClientProcess, topic: str, name: str, traffic: SimTraffic, *, encrypts: bool = False
    ) -> None:
        super().__init__(process, topic, name)
        self.traffic = traffic
        self.encrypts = encrypts
        self.acked: list[int] = []
        self.failed = 0
        self.longest_gap_ms = 0
        self._pending: deque[Entry] = deque()
        self._attached: AttachedProducer | None = None
        self._next = 0
        self._last_receipt: int | None = None
        self._writes = False
        self._broken = False

    def start(self) -> None:
        """Connect, and begin to publish."""
        self._writes = True
        self.connect()
        self.timeline.within(1, max(2, self.traffic.every_ms), self._tick)

    def stop(self) -> None:
        """Publish nothing more; what was sent is still seen through."""
        self._writes = False

    def leave(self) -> None:
        """Its application closes it."""
        self.stop()
        if self._attached is not None:
            self._attached.connection.send(self._attached.leave)
        self.detached()
        self.state = ClientState.CLOSED

    @property
    def unanswered(self) -> int:
        """Messages that the application still waits for."""
        return sum(entry.count for entry in self._pending)

    def ask(self, owner: Broker, connection: Connection, attempt: int) -> None:
        """PRODUCER."""
        connection.send(owner.let_in_producer, connection, self.topic, _Asked(self, attempt, connection))

    def accepted(self, attached: AttachedProducer) -> None:
        """It is let in: what was not answered is sent again."""
        self._attached = attached
        self.let_in()
        self._overtake()
        for entry in self._pending:
            attached.connection.send(attached.publish, entry)

    def detached(self) -> None:
        """It is not at a broker any more; a dead one has failed all that was pending."""
        self._attached = None
        if self.state is ClientState.DEAD:
            self.failed += self.unanswered
            self._pending.clear()

    def receipt(self, attached: AttachedProducer, entry: Entry) -> None:
        """The oldest entry is stored; what is answered twice was sent twice."""
        if attached is not self._attached or not self._pending or self._pending[0] is not entry:
            return
        self._pending.popleft()
        self.acked.extend(range(entry.first, entry.first + entry.count))
        now = self.timeline.now
        if self._last_receipt is not None:
            self.longest_gap_ms = max(self.longest_gap_ms, now - self._last_receipt)
        self._last_receipt = now

    def send_error(self, attached: AttachedProducer, error: Refusal) -> None:
        """An entry is not stored: C++ closes its connection, Java comes again unless it was closed already."""
        self.refusals.append(error)
        if self.process.library.is_cpp:
            self.drop_connection()
        elif attached is self._attached:
            attached.connection.send(attached.leave)
            self.detached()
            self.retry()

    def disconnected(self, connection: Connection) -> None:
        """Its connection broke with whatever was on the way."""
        self._broken = True
        super().disconnected(connection)

    def closed(self, attached: AttachedProducer) -> None:
        """The broker has closed it."""
        if attached is self._attached:
            self.detached()
            self.retry()

    def _overtake(self) -> None:
        """After a broken connection a batch of C++ may be sent before older ones.

        That batches were out of order is measured, and why is not known: this is a guess that shows the same.
        """
        broken, self._broken = self._broken, False
        may = broken and self.process.library.is_cpp and self.traffic.pipelined and len(self._pending) > 1
        if may and self.timeline.rng.random() < _OVERTAKES:
            self._pending.rotate(1)

    def _tick(self) -> None:
        if self.state is ClientState.DEAD or not self._writes:
            return
        every = self.traffic.every_ms
        self.timeline.within(every - every // 10, every + every // 10, self._tick)
        self._expire()
        if len(self._pending) >= (_MOST_PENDING if self.traffic.pipelined else 1):
            return
        count = self._any(self.traffic.batch)
        size = count * self._any(self.traffic.size)
        entry = Entry(self.name, self._next, count, size, self.timeline.now)
        self._next += count
        self._pending.append(entry)
        if self._attached is not None:
            self._attached.connection.send(self._attached.publish, entry)

    def _any(self, bounds: tuple[int, int]) -> int:
        least, most = bounds
        return least if least == most else self.timeline.between(least, most)

    def _expire(self) -> None:
        if self._pending and self.timeline.now - self._pending[0].made_at > SEND_TIMEOUT_MS:
            self.failed += self.unanswered
            self._pending.clear()


@dataclass(frozen=True, slots=True, eq=False)
class _Asked(Attempt):
    """A producer's."""

    handler: Producer

    @property
    def encrypts(self) -> bool:
        return self.handler.encrypts

    def accepted(self, attached: AttachedProducer) -> None:
        if self.attempt == self.handler.attempt:
            self.handler.accepted(attached)
        else:
            self.connection.send(attached.leave)
