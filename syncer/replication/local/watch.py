"""The watch of the own store: which reads may decide, until when it was whole, and whether all was read since."""

from __future__ import annotations

from dataclasses import dataclass, field

from syncer.conflict.reads import ReadLedger
from syncer.model import Millis


@dataclass(slots=True)
class StoreWatch:
    """Where the watch stands.

    Args:
        ledger: Reads that are under way, and which of them may still decide.
        alive_until: When the watch was last known to be whole.
        gap_floor: When it was last known to be whole before the last gap; 0: all was read since.
        scanned: The store was read to its end since the watch was armed: which children live is known.
    """

    ledger: ReadLedger = field(default_factory=ReadLedger)
    alive_until: Millis = Millis(0)
    gap_floor: Millis = Millis(0)
    scanned: bool = False

    def begin_anew(self) -> None:
        """The database has begun anew as another one: the store is read from the beginning."""
        self.ledger.disarm()
        self.scanned = False
        self.alive_until = self.gap_floor = Millis(0)
