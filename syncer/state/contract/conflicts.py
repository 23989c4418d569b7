"""What the shell needs of a database to keep the losers of conflicts, and to make room for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from syncer.conflict.acts import FillConflict, RecordConflict
    from syncer.model import Millis, Region
    from syncer.state.contract.transaction import Amount, ConflictRow


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
