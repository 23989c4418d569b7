"""Copysets: sets of bookies whose loss loses an entry, and sets whose loss keeps a ledger from being recovered.

A set of bookies harms a cluster if it holds one of them. There are few, whatever the number of ledgers: so that loss
need not be tried ledger by ledger. Sets are integers, a bit for each bookie.

Source: Cidon et al., "Copysets: Reducing the Frequency of Data Loss in Cloud Storage", 2013.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from math import comb
from typing import Final

from syncer.ledgers.judging.replicas import extents
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.placement.write_sets import entries_alike, write_set

MOST_STEPS: Final = 1_000_000
"""To find the sets of one ledger; one that needs more has absurd quorums, or absurdly many segments."""

_MISSING: Final = 1 / 3


class BookieBits(dict[str, int]):
    """Bookie → its bit; a bookie that is met for the first time gets the next one."""

    def __init__(self, bookies: Iterable[str] = ()) -> None:
        super().__init__()
        for bookie in bookies:
            self.bit(bookie)

    def bit(self, bookie: str) -> int:
        """The bit of a bookie.

        Args:
            bookie: Its id.
        """
        found = self.get(bookie)
        if found is None:
            found = self[bookie] = 1 << len(self)
        return found

    def bits(self, bookies: Sequence[str]) -> int:
        """The bits of some bookies, of which one may be named twice.

        Args:
            bookies: Their ids.
        """
        total = 0
        for bookie in bookies:
            total |= self.bit(bookie)
        return total

    def named(self, bits: int) -> tuple[str, ...]:
        """The bookies of a set, in the order in which they were met.

        Args:
            bits: The set.
        """
        return tuple(bookie for bookie, bit in self.items() if bits & bit)


def losing_sets(ledger: LedgerMetadata, bits: BookieBits) -> frozenset[int] | None:
    """The least sets of bookies whose loss loses an entry of a ledger that is certain.

    Args:
        ledger: The ledger.
        bits: Of the bookies.

    Returns:
        None where there are absurdly many.
    """
    found = set()
    write = max(ledger.quorums.write, 0)
    if ledger.quorums.ensemble * write * len(ledger.segments) > MOST_STEPS:
        return None
    for (first, bookies), last in extents(ledger):
        ensemble = len(bookies)
        for residue in range(ensemble):
            if entries_alike(residue, first, last, ensemble):
                found.add(bits.bits([bookies[index] for index in write_set(residue, ensemble, write)]))
    return least(found)


def blocking_sets(ledger: LedgerMetadata, bits: BookieBits) -> frozenset[int] | None:
    """The least sets of bookies whose loss keeps a ledger from being recovered; a closed one has none.

    Args:
        ledger: The ledger.
        bits: Of the bookies.

    Returns:
        None where there are absurdly many.
    """
    if ledger.is_closed:
        return frozenset()
    ensemble, write, ack = ledger.quorums
    if not 0 < ack <= write:
        return frozenset()
    if ensemble * ack > MOST_STEPS or ensemble * ack * comb(write, ack) > MOST_STEPS:
        return None
    bookies = ledger.segments[-1].bookies
    found: set[int] = set()
    for residue in range(ensemble):
        within = write_set(residue, ensemble, write)
        # a bookie that is named twice is lost twice: fewer bookies may do
        found.update(bits.bits([bookies[index] for index in some]) for some in combinations(within, ack))
    return least(found)


def least(sets: Iterable[int]) -> frozenset[int]:
    """The sets that have no other one within them; the empty one, which needs no loss, is left out.

    Args:
        sets: The sets.
    """
    by_size = sorted(set(sets) - {0}, key=int.bit_count)
    kept: list[int] = []
    for _, alike in groupby(by_size, key=int.bit_count):
        kept += [bits for bits in alike if not any(bits & smaller == smaller for smaller in kept)]
    return frozenset(kept)


@dataclass(slots=True)
class Copysets:
    """The copysets of a cluster: set → ledgers that it harms, each ledger in as many sets as it has."""

    bits: BookieBits = field(default_factory=BookieBits)
    losing: Counter[int] = field(default_factory=Counter)
    blocking: Counter[int] = field(default_factory=Counter)
    left_out: int = 0

    def add(self, ledger: LedgerMetadata) -> None:
        """Count the sets of a ledger.

        Args:
            ledger: The ledger.
        """
        losing, blocking = losing_sets(ledger, self.bits), blocking_sets(ledger, self.bits)
        self.left_out += losing is None or blocking is None
        self.losing.update(losing or ())
        self.blocking.update(blocking or ())

    def worst_guess(self, size: int) -> tuple[str, ...]:
        """Gather bookies whose loss harms many ledgers: always the next one that completes, or nears, the most sets.

        A guess, for sizes of which not every set can be tried.

        Args:
            size: Number of bookies.
        """
        chosen = 0
        for _ in range(min(size, len(self.bits))):
            rest = (bit for bit in self.bits.values() if not chosen & bit)
            chosen |= max(rest, key=lambda bit: self._weight(chosen | bit))
        return self.bits.named(chosen)

    def _weight(self, chosen: int) -> float:
        """Ledgers by sets: each set counts a third for each bookie that is missing, so that one is worth completing."""
        sets: Iterator[tuple[int, int]] = iter([*self.losing.items(), *self.blocking.items()])
        return sum(ledgers * _MISSING ** (bits & ~chosen).bit_count() for bits, ledgers in sets if bits & chosen)
