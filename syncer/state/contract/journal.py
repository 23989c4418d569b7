"""The journal: every decision, for those who ask why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from syncer.conflict.acts import Journal
from syncer.model import Millis


class JournalTransaction(Protocol):
    """The part of a transaction that is about the journal."""

    def journal(self, rows: Sequence[Journal], now: Millis) -> None:
        """Append decisions."""
        ...

    def deletes_passed(self, since: Millis, limit: int) -> list[Millis]:
        """When the latest local deletes were journaled as published, after ``since``, oldest first; not those held."""
        ...
