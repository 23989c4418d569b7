"""The writer's cache of its database between transactions, valid because nobody else writes."""

from __future__ import annotations

import sys
from collections import Counter as Tally
from collections import OrderedDict
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.register import Register
from syncer.model import MetadataChangeEvent, MetaPath
from syncer.state.contract.conflicts import Amount
from syncer.state.contract.identity import Identity

MAX_REGISTERS: Final = 50_000
"""About 2 KB each. Paths that change in turn miss every time once there are more of them than places."""

MAX_REGISTERS_BYTES: Final = 128 << 20
"""Of registers in memory, about: as many as above have room where paths are as long as people make them."""

MAX_VALUE_BYTES: Final = 4096
"""A register that carries more value than this is read again each time; so the cache is bounded in bytes too."""

MAX_OPEN: Final = 10_000
"""Paths of a longer outbox are asked of the database."""

MAX_EVENTS: Final = 1000
"""Events that wait beyond these are read back when their turn comes."""


_ENTRY_BYTES: Final = 500
_VERSION_BYTES: Final = 500
_COUNTER_BYTES: Final = 160
"""Of a counter and its time; a name has 255 signs at the most, and all of a vector together 16 KiB."""


class Unknown:
    """The type of :data:`UNKNOWN`."""


UNKNOWN: Final = Unknown()
"""The cache cannot tell; ``None`` means that the database has no such register."""


class RegisterCache:
    """The registers used last, and paths known to have none.

    Args:
        size: How many at most.
        room_bytes: About how much memory they may take: paths, vectors and values are as long as others make them.
    """

    def __init__(self, size: int = MAX_REGISTERS, room_bytes: int = MAX_REGISTERS_BYTES) -> None:
        self._size = size
        self._room_bytes = room_bytes
        self._bytes = 0
        self._kept: OrderedDict[MetaPath, tuple[Register | None, int]] = OrderedDict()
        """Registers with how many bytes each takes."""

    def get(self, path: MetaPath) -> Register | Unknown | None:
        """The register of a path, ``None`` when it has none, ``UNKNOWN`` when the database must be asked."""
        kept = self._kept.get(path)
        if kept is None:
            return UNKNOWN
        self._kept.move_to_end(path)
        return kept[0]

    def put(self, path: MetaPath, register: Register | None) -> None:
        """Remember what the database now holds."""
        kept = self._kept
        former = kept.pop(path, None)
        if former is not None:
            self._bytes -= former[1]
        valued = _value_bytes(register) if register is not None else 0
        if valued > MAX_VALUE_BYTES:
            return
        taken = valued + _bytes(path, register)
        kept[path] = register, taken
        self._bytes += taken
        while len(kept) > self._size or self._bytes > self._room_bytes:
            self._bytes -= kept.popitem(last=False)[1][1]

    def forget(self, paths: Iterable[MetaPath]) -> None:
        """Ask the database again for these paths."""
        for path in paths:
            former = self._kept.pop(path, None)
            if former is not None:
                self._bytes -= former[1]

    def clear(self) -> None:
        """Ask the database again for every path."""
        self._kept.clear()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)


class OpenPaths:
    """Which paths have an event in the outbox, while these are few, and whether any event is held back.

    The events put in last are kept as well, so that they are published without being read back.
    """

    def __init__(self, waiting: int, outbox: Iterable[tuple[int, MetaPath]], *, holding: bool) -> None:
        self._events: dict[int, MetadataChangeEvent] = {}
        self.waiting = waiting
        self.holding = holding
        self._whole = waiting <= MAX_OPEN
        self._paths: dict[int, MetaPath] = dict(outbox) if self._whole else {}
        self._tally: Tally[MetaPath] = Tally(self._paths.values())

    def among(self, paths: Collection[MetaPath]) -> set[MetaPath] | None:
        """Those of the paths that are open; ``None``: ask the database."""
        if self.holding or not self._whole:
            return None
        return {path for path in paths if path in self._tally} if self._tally else set()

    def events(self, limit: int, after: int) -> list[tuple[int, MetadataChangeEvent]] | None:
        """The oldest events of the outbox above a number, in order; ``None``: ask the database."""
        if not self._whole:
            return None
        numbers = list(islice((number for number in self._paths if number > after), limit))
        try:
            return [(number, self._events[number]) for number in numbers]
        except KeyError:
            return None

    def enqueued(self, numbered: Collection[tuple[int, MetadataChangeEvent]]) -> None:
        """These were added to the outbox, numbered in order and above all before."""
        self.waiting += len(numbered)
        if self._whole and self.waiting <= MAX_OPEN:
            self._paths.update((number, event.path) for number, event in numbered)
            self._tally.update(event.path for _, event in numbered)
            if len(self._events) + len(numbered) <= MAX_EVENTS:
                self._events.update(pair for pair in numbered if len(pair[1].value or b"") <= MAX_VALUE_BYTES)
        elif self._whole:
            self._whole = False
            self._paths.clear()
            self._tally.clear()
            self._events.clear()

    def acknowledged(self, sequences: Iterable[int], removed: int) -> None:
        """These left the outbox; ``removed`` of them had still been there."""
        self.waiting -= removed
        for sequence in sequences:
            self._events.pop(sequence, None)
            path = self._paths.pop(sequence, None)
            if path is not None:
                self._tally[path] -= 1
                if not self._tally[path]:
                    del self._tally[path]
        if not self.waiting:
            self._whole = True


Facts = tuple[Identity | None, int, int | None, bool | None]
"""What a transaction that is undone leaves as it was before: the identity, both counts, whether events are held."""


class Cache:
    """All that is remembered. ``None`` for a part means: not read yet."""

    def __init__(self) -> None:
        self.registers: Final = RegisterCache()
        self.consumed: dict[str, Consumed] = {}
        self.identity: Identity | None = None
        self.alive = 0
        self.open: OpenPaths | None = None
        self.tree_number: int | None = None
        """Of the last row of the digest tree's log."""
        self.value_missing: bool | None = None
        """Whether some conflict still lacks its loser's value."""
        self.conflicts: Amount | None = None
        """How many conflicts are kept, and of how many bytes."""
        self.holds_future: bool | None = None
        """Whether some event from the future is held."""
        self.unfolded: int | None = None
        """How many messages in quarantine could not be folded."""

    @property
    def facts(self) -> Facts:
        """What is remembered whole."""
        return self.identity, self.alive, self.unfolded, self.holds_future

    @facts.setter
    def facts(self, before: Facts) -> None:
        self.identity, self.alive, self.unfolded, self.holds_future = before

    def clear(self) -> None:
        """Forget everything."""
        self.registers.clear()
        self.consumed.clear()
        self.identity = None
        self.alive = 0
        self.open = None
        self.value_missing = None
        self.conflicts = None
        self.holds_future = None
        self.unfolded = None
        self.tree_number = None


def _bytes(path: MetaPath, register: Register | None) -> int:
    """About how much memory a register takes beside its values, or the knowledge that there is none."""
    taken = _ENTRY_BYTES + sys.getsizeof(path)
    if register is None:
        return taken
    if (known := register.known) is not None:
        taken += _VERSION_BYTES + _COUNTER_BYTES * len(known.seen)
    if (stored := register.stored) is not None:
        taken += _VERSION_BYTES + _COUNTER_BYTES * len(stored.seen)
    if (intent := register.intent) is not None:
        taken += _VERSION_BYTES + _COUNTER_BYTES * len(intent.version.seen)
    return taken + (len(register.hold.detail) if register.hold is not None else 0)


def _value_bytes(register: Register) -> int:
    known, intent = register.known, register.intent
    return (len(known.value) if known is not None and known.value is not None else 0) + (
        len(intent.version.value) if intent is not None and intent.version.value is not None else 0
    )
