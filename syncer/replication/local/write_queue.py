"""Batches of writes on their way to the store: packed, sent one at a time, each carrying the fence and its receipt.

    decided ─▶ waiting ─▶ sent ─▶ answered ─▶ (its answer is stored) done

The next batch is sent while the answers of former ones are still being stored; their receipts stand in the fence.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from syncer.model import MetaPath
from syncer.stores.contract import Delete, Put, Write, never, size_of


@dataclass(slots=True)
class Batch:
    """Writes that go out as one transaction. ``number`` is its id in the intents and in the receipt.

    ``weight``: as how many writes they count. ``stretch``: when it was sent, see
    :class:`syncer.replication.local.own_writes.OwnWrites`. ``untold``: its answer was lost, and it cannot be told yet
    whether it landed.
    """

    number: str
    writes: list[Put | Delete] = field(default_factory=list)
    size_bytes: int = 0
    weight: int = 0
    stretch: int = -1
    untold: bool = False

    @property
    def paths(self) -> tuple[MetaPath, ...]:
        """The paths that it writes, in order."""
        return tuple(write.path for write in self.writes)


class WriteQueue:
    """Batches whose intents are stored, and whose answers are not. The first that waits may be in flight.

    Together they are never more than the receipts that a fence keeps: after a crash it tells of each whether it landed.

    Args:
        max_writes: Of one batch, the fence's included.
        max_bytes: Of one batch.
        max_batches: Of the queue.
        delete_weight: As how many writes a delete counts.
        alone: Paths that share a batch with nothing but the fence.
    """

    def __init__(
        self,
        *,
        max_writes: int,
        max_bytes: int,
        max_batches: int = 8,
        delete_weight: int = 1,
        alone: Callable[[MetaPath], bool] = never,
    ) -> None:
        self._alone = alone
        self._max_writes = max(1, max_writes - 1)  # the fence is one of them
        self._max_bytes = max_bytes
        self._max_batches = max_batches
        self._delete_weight = delete_weight
        self._waiting: deque[Batch] = deque()
        self._answered: dict[str, Batch] = {}
        self._in_flight: dict[MetaPath, None] = {}
        self._made = 0

    @property
    def in_flight(self) -> dict[MetaPath, None]:
        """Paths with a write that was decided, and whose answer is not yet stored."""
        return self._in_flight

    @property
    def vacant(self) -> int:
        """How many more batches may be decided; a receipt is kept only for so many."""
        return self._max_batches - self._open

    @property
    def vacancy(self) -> int:
        """About how many writes may be decided now; none until half of the queue is free, so that batches are full."""
        return self.vacant * self._max_writes if self.vacant * 2 >= self._max_batches else 0

    def takes(self, writes: int, size_bytes: int) -> bool:
        """Whether so many writes, of so many bytes together, have room now, or the queue is empty."""
        batches = max(-(-writes // self._max_writes), -(-size_bytes // self._max_bytes))
        return self.vacant >= min(batches, self._max_batches) and bool(self.vacancy)

    @property
    def head(self) -> Batch | None:
        """The batch to send next, or the one being sent."""
        return self._waiting[0] if self._waiting else None

    @property
    def waiting(self) -> tuple[Batch, ...]:
        """The batches that were not yet answered, oldest first."""
        return tuple(self._waiting)

    @property
    def _open(self) -> int:
        return len(self._waiting) + len(self._answered)

    def packer(self, incarnation: int) -> Packer:
        """Begin to pack batches; nothing is queued before :meth:`commit`."""
        return Packer(self, incarnation)

    def number(self, incarnation: int) -> str:
        """A batch id that no other batch of the region ever had."""
        self._made += 1
        return f"{incarnation}.{self._made}"

    def fits(self, batch: Batch, write: Write) -> bool:
        """Whether the batch can take one more write; an empty one takes any."""
        if not batch.writes:
            return True
        if self._alone(write.path) or self._alone(batch.writes[0].path):
            return False
        fits = batch.weight + self.weight(write) <= self._max_writes
        return fits and batch.size_bytes + size_of(write) <= self._max_bytes

    def weight(self, write: Write) -> int:
        """As how many writes of a batch it counts."""
        return self._delete_weight if isinstance(write, Delete) else 1

    def commit(self, batches: list[Batch]) -> None:
        """The intents of these batches are stored: they may be sent."""
        for batch in batches:
            self._waiting.append(batch)
            self._in_flight.update(dict.fromkeys(batch.paths))

    def answered(self, batch: Batch) -> None:
        """The first batch was applied: the next one may be sent."""
        if not self._waiting or self._waiting[0] is not batch:
            raise ValueError(f"batch {batch.number} is not the first of the queue")
        self._answered[batch.number] = self._waiting.popleft()

    def done(self, batch: Batch) -> None:
        """What became of a batch is stored."""
        if self._answered.pop(batch.number, None) is None:
            self.answered(batch)
            del self._answered[batch.number]
        for path in batch.paths:
            self._in_flight.pop(path, None)

    def clear(self) -> None:
        """Forget all; their receipts tell what landed."""
        self._waiting.clear()
        self._answered.clear()
        self._in_flight.clear()


class Packer:
    """Packs writes into batches within the store's bounds, in the order of the decisions."""

    def __init__(self, queue: WriteQueue, incarnation: int) -> None:
        self._queue = queue
        self._incarnation = incarnation
        self.batches: list[Batch] = []

    @property
    def number(self) -> str:
        """Id of the batch that the next write goes into, if it fits."""
        if not self.batches:
            self._begin()
        return self.batches[-1].number

    @property
    def room(self) -> bool:
        """Whether one more batch may be begun: those in the queue and those packed here count."""
        return self._queue.vacant > len(self.batches)

    def fits(self, write: Write) -> bool:
        """Whether the write fits into the present batch; if not, :meth:`begin` another one, which it must name."""
        return self._queue.fits(self.batches[-1], write)

    def begin(self) -> bool:
        """Begin another batch; ``False``: there is no room for one."""
        if not self.room:
            return False
        self._begin()
        return True

    def add(self, write: Write) -> None:
        """Put the write into the present batch."""
        batch = self.batches[-1]
        batch.writes.append(write)
        batch.size_bytes += size_of(write)
        batch.weight += self._queue.weight(write)

    def packed(self) -> list[Batch]:
        """The batches that hold something."""
        return [batch for batch in self.batches if batch.writes]

    def _begin(self) -> None:
        self.batches.append(Batch(self._queue.number(self._incarnation)))
