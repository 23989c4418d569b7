"""Tally: for each set of k bookies, the ledgers that its loss harms; each ledger is counted once.

Ledgers are taken one by one and not kept, so that the tally is as large as there are sets, not ledgers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

from syncer.ledgers.losses.copysets import BookieBits, blocking_sets, losing_sets
from syncer.ledgers.metadata import LedgerMetadata

MOST_SETS: Final = 250_000
"""Sets that are tallied: all of 3 out of 115 bookies."""


@dataclass(frozen=True, slots=True)
class SetLoss:
    """A set of bookies, and what its loss harms: ledgers with entries lost, their bytes, ledgers not recoverable."""

    bookies: tuple[str, ...]
    lost_ledgers: int
    lost_bytes: int
    blocked_ledgers: int


def can_tally(bookies: int, size: int) -> bool:
    """Tell whether there are few enough sets.

    Args:
        bookies: Number of bookies.
        size: Of the sets.
    """
    return 0 < size <= bookies and comb(bookies, size) <= MOST_SETS


class LossTally:
    """The ledgers that each set of ``size`` out of some bookies harms.

    ``left_out`` counts ledgers with absurd quorums, whose sets are not looked for.

    Args:
        bookies: Those that may be lost; a ledger on others is harmed only by sets that are wholly among these.
        size: Of the sets; see :func:`can_tally`.
    """

    def __init__(self, bookies: Sequence[str], size: int) -> None:
        self.size = size
        self.left_out = 0
        self._bits = BookieBits(bookies)
        self._all = list(self._bits.values())
        self._everybody = sum(self._all)
        self._lost: dict[int, list[int]] = {}
        self._blocked: dict[int, int] = {}

    def add(self, ledger: LedgerMetadata) -> None:
        """Count a ledger.

        Args:
            ledger: The ledger.
        """
        losing, blocking = losing_sets(ledger, self._bits), blocking_sets(ledger, self._bits)
        self.left_out += losing is None or blocking is None
        for bits in self._supersets(losing or ()):
            row = self._lost.setdefault(bits, [0, 0])
            row[0] += 1
            row[1] += ledger.length_bytes or 0
        for bits in self._supersets(blocking or ()):
            self._blocked[bits] = self._blocked.get(bits, 0) + 1

    def worst(self, count: int) -> list[SetLoss]:
        """The sets that harm most: by ledgers lost or not recoverable, then by bytes.

        Args:
            count: How many sets.
        """
        found = [self._loss(bits) for bits in self._lost.keys() | self._blocked.keys()]
        found.sort(key=lambda each: (-each.lost_ledgers - each.blocked_ledgers, -each.lost_bytes, each.bookies))
        return found[:count]

    @property
    def harmful_sets(self) -> int:
        """Sets whose loss harms any ledger."""
        return len(self._lost.keys() | self._blocked.keys())

    def _loss(self, bits: int) -> SetLoss:
        ledgers, size = self._lost.get(bits, (0, 0))
        return SetLoss(self._bits.named(bits), ledgers, size, self._blocked.get(bits, 0))

    def _supersets(self, sets: Iterable[int]) -> set[int]:
        """All sets of the size that hold one of these."""
        found: set[int] = set()
        for bits in sets:
            missing = self.size - bits.bit_count()
            if missing < 0 or bits & ~self._everybody:
                continue
            if missing == 0:
                found.add(bits)
                continue
            others = [each for each in self._all if not bits & each]
            found.update(bits | sum(some) for some in combinations(others, missing))
        return found
