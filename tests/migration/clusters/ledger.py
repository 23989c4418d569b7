"""Managed ledgers: a topic's entries, their positions, and the durable cursors of its subscriptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class LedgerState(StrEnum):
    """Pulsar's word for what can be done with a ledger."""

    OPENED = "LedgerOpened"
    TERMINATED = "Terminated"
    CLOSED = "Closed"


class Position(NamedTuple):
    """Where an entry is."""

    ledger: int
    entry: int

    def __str__(self) -> str:
        """As the admin API writes it."""
        return f"{self.ledger}:{self.entry}"


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A message or a batch of them.

    Attributes:
        producer: Its producer's name, and its messages' key.
        first: Sequence of its first message.
        count: Of messages.
        size: Bytes.
        made_at: When its producer made it.
    """

    producer: str
    first: int
    count: int
    size: int
    made_at: int


@dataclass(slots=True, eq=False)
class Cursor:
    """How far a subscription has acknowledged, by indices of entries.

    Attributes:
        mark: Everything before it is acknowledged.
        stored: The same, as the metadata store has it: behind while the topic is loaded.
        beyond: Acknowledged entries behind the first that is not.
        replicated: Whether it is told to other clusters how far it is.
    """

    mark: int
    stored: int
    properties: dict[str, str] = field(default_factory=dict)
    beyond: set[int] = field(default_factory=set)
    replicated: bool = False

    def acknowledge(self, index: int) -> None:
        """Take an acknowledgement, which may come again."""
        if index < self.mark:
            return
        self.beyond.add(index)
        while self.mark in self.beyond:
            self.beyond.remove(self.mark)
            self.mark += 1

    def acknowledged(self, index: int) -> bool:
        """Whether an entry is."""
        return index < self.mark or index in self.beyond

    def skip_to(self, index: int) -> None:
        """Take everything before an entry for acknowledged."""
        self.mark = max(self.mark, index)
        self.beyond = {each for each in self.beyond if each >= self.mark}


@dataclass(slots=True, eq=False)
class Ledger:
    """What a cluster stores of a topic, loaded or not.

    Attributes:
        ledger_id: Of the ledger that is written; each load begins another.
        terminated: Behind it nothing is ever written; ``None`` in the store while the window lasts.
        marked: The property ``migrated`` in the store.
        added: Entries since the topic was loaded.
        written_at: When the last entry was.
    """

    ledger_id: int
    state: LedgerState = LedgerState.CLOSED
    entries: list[Entry] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    cursors: dict[str, Cursor] = field(default_factory=dict)
    terminated: Position | None = None
    marked: bool = False
    added: int = 0
    size: int = 0
    written_at: int = 0

    def append(self, entry: Entry, now: int) -> None:
        """Store an entry."""
        last = self.last
        number = last.entry + 1 if last.ledger == self.ledger_id else 0
        self.entries.append(entry)
        self.positions.append(Position(self.ledger_id, number))
        self.added += 1
        self.size += entry.size
        self.written_at = now

    @property
    def last(self) -> Position:
        """Of the last entry; before the first one there is a position too."""
        if self.positions and self.positions[-1].ledger == self.ledger_id:
            return self.positions[-1]
        return Position(self.ledger_id, -1)

    def position(self, mark: int) -> Position:
        """The position up to which a cursor has acknowledged; a cursor at the end stands at the ledger's own end."""
        if mark >= len(self.entries):
            return self.terminated or self.last
        return self.positions[mark - 1] if mark else Position(self.positions[0].ledger, -1)

    def backlog(self, cursor: Cursor) -> int:
        """Entries that a cursor has not acknowledged."""
        return len(self.entries) - cursor.mark - len(cursor.beyond)

    @property
    def backlog_bytes(self) -> int:
        """Of the slowest cursor."""
        slowest = min((each.mark for each in self.cursors.values()), default=len(self.entries))
        return sum(each.size for each in self.entries[slowest:])

    def open(self, ledger_id: int) -> None:
        """Load it: what is not terminated gets a new ledger to write to."""
        self.added = 0
        if self.terminated is not None:
            self.state = LedgerState.TERMINATED
            return
        self.ledger_id = ledger_id
        self.state = LedgerState.OPENED

    def close(self) -> None:
        """Unload it: cursors are stored as they are."""
        for cursor in self.cursors.values():
            cursor.stored = cursor.mark
        self.state = LedgerState.CLOSED
