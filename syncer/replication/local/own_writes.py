"""Echo suppression: notices of what this daemon itself has written tell nothing new, so nothing is read for them.

Where the store names in a notice the transaction that it tells of, such a notice is known by that. A name is good until
the next gap of the watch: a store that is put back from a backup gives names out again.
"""

from __future__ import annotations

from typing import Final

KEPT: Final = 256
"""Names that are kept: many times the batches under way. A notice that comes later still costs a read, nothing else."""


class OwnWrites:
    """The names of this daemon's latest transactions."""

    def __init__(self) -> None:
        self._marks: dict[str, None] = {}
        self._stretch = 0

    @property
    def stretch(self) -> int:
        """Which stretch between two gaps this is; to be noted when a transaction is sent."""
        return self._stretch

    def applied(self, mark: str, stretch: int) -> bool:
        """A transaction that was sent in that stretch was applied under this name; whether it is known by it now."""
        if not mark or stretch != self._stretch:
            return False
        self._marks[mark] = None
        if len(self._marks) > KEPT:
            del self._marks[next(iter(self._marks))]
        return True

    def clear(self) -> None:
        """The watch has had a gap."""
        self._marks.clear()
        self._stretch += 1

    def __contains__(self, mark: str) -> bool:
        return mark in self._marks
