"""Conflicts: the losers of concurrent changes, kept whole, and room for more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from syncer.conflict.acts import FillConflict, RecordConflict
from syncer.model import Digest, MetaPath, Millis, Region, Seen, Stamp


class Amount(NamedTuple):
    """How much is kept: so many things, and so many bytes that they have."""

    things: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """A conflict as kept: what lost, to whom, and its whole value where it was known."""

    id: int
    path: MetaPath
    loser: Stamp
    loser_seen: Seen
    loser_digest: Digest | None
    value: bytes | None = field(repr=False)
    winner: Stamp
    reason: str
    recorded_at_ms: Millis
    restored_at_ms: Millis | None = None


class ConflictTransaction(Protocol):
    """The part of a transaction that is about conflicts."""

    def conflict(self, record: RecordConflict, now: Millis) -> None:
        """Keep a conflict; the same path, loser stamp and digest is kept once, its value filled if it was lacking."""
        ...

    def fill_conflict(self, fill: FillConflict) -> None:
        """Give the value to conflicts of this path and digest that lack it."""
        ...

    def conflict_row(self, number: int) -> ConflictRow | None:
        """A conflict by its number."""
        ...

    def mark_restored(self, number: int, now: Millis) -> None:
        """Note that the loser of a conflict was restored."""
        ...

    def kept_conflicts(self) -> Amount:
        """How many conflicts are kept, and how many bytes of values and paths in all."""
        ...

    def drop_conflicts(
        self, limit: int, *, by: Region | None = None, until: int | None = None, restored: bool = False
    ) -> int:
        """Forget the oldest conflicts: whose loser is of that region, or was restored; how many were there.

        Args:
            limit: At most so many.
            by: Author of the loser.
            until: The greatest number of these; what was recorded later stays.
            restored: Only those whose loser was restored; its value is a later change since.
        """
        ...

    def drop_conflict(self, number: int) -> None:
        """Forget a conflict."""
        ...
