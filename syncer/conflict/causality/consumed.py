"""Deduplication: the numbers of a sender that were consumed; proof, too, that nothing before a number is missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

MAX_RANGES: Final = 10_000
"""Ranges kept beyond the first gap, per sender: the highest. What is let go counts as not consumed."""

Range = tuple[int, int]
"""First and last number, both inclusive."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """All numbers up to ``through`` (inclusive), and those in the ranges ``ahead``, beyond a gap.

    Invariant: the ranges are in order, with at least one number missing before each.
    """

    through: int = 0
    ahead: tuple[Range, ...] = ()

    def __contains__(self, sequence: int) -> bool:
        if sequence <= self.through:
            return True
        at = bisect_right(self.ahead, sequence, key=itemgetter(0))
        return at > 0 and sequence <= self.ahead[at - 1][1]

    @property
    def reached(self) -> int:
        """The highest number consumed at all, whatever is missing before it."""
        return self.ahead[-1][1] if self.ahead else self.through

    def adding(self, sequences: Iterable[int]) -> Consumed:
        """The set with these numbers; order and repetition do not matter."""
        return _joined(self.through, [*self.ahead, *((sequence, sequence) for sequence in sequences)])

    def holds(self, after: int, until: int) -> bool:
        """Whether it holds every number beyond ``after``, up to ``until``."""
        lowest = max(after, self.through) + 1
        if until < lowest:
            return True
        at = bisect_right(self.ahead, lowest, key=itemgetter(0))
        return at > 0 and until <= self.ahead[at - 1][1]

    def closed(self, until: int) -> Consumed:
        """The set with every number up to ``until``."""
        return _joined(max(self.through, until), self.ahead)


def _joined(through: int, ranges: Iterable[Range]) -> Consumed:
    """The set of all numbers up to ``through``, and of these ranges, in whatever order they are."""
    ahead: list[Range] = []
    for first, last in sorted(ranges):
        if first <= through + 1:
            through = max(through, last)
        elif ahead and first <= ahead[-1][1] + 1:
            ahead[-1] = ahead[-1][0], max(ahead[-1][1], last)
        else:
            ahead.append((first, last))
    return Consumed(through, tuple(ahead[-MAX_RANGES:]))
