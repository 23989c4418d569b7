"""Which numbers of a sender were consumed: for duplicates, and for proof that nothing before a number is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_AHEAD: Final = 100_000
"""Numbers kept beyond the first gap, per sender: the highest. What is let go counts as not consumed."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """All numbers up to ``through`` (inclusive), and those in ``ahead`` beyond a gap.

    Invariant: ``through + 1`` is not in ``ahead``; every member of ``ahead`` is greater than ``through``.
    """

    through: int = 0
    ahead: frozenset[int] = frozenset()

    def __contains__(self, sequence: int) -> bool:
        return sequence <= self.through or sequence in self.ahead

    @property
    def reached(self) -> int:
        """The highest number consumed at all, whatever is missing before it."""
        return max(self.ahead, default=self.through)

    def adding(self, sequences: list[int]) -> Consumed:
        """The set with these numbers; order and repetition do not matter."""
        through = self.through
        ahead = set(self.ahead)
        for sequence in sorted(sequences):
            if sequence == through + 1:
                through = sequence
            elif sequence > through:
                ahead.add(sequence)
        while through + 1 in ahead:
            through += 1
            ahead.discard(through)
        ahead = {sequence for sequence in ahead if sequence > through}
        if len(ahead) > MAX_AHEAD:
            ahead = set(sorted(ahead)[-MAX_AHEAD:])
        return Consumed(through, frozenset(ahead))

    def holds(self, after: int, until: int) -> bool:
        """Whether it holds every number beyond ``after``, up to ``until``."""
        first = max(after, self.through)
        return until <= first or sum(first < sequence <= until for sequence in self.ahead) == until - first

    def closed(self, until: int) -> Consumed:
        """The set with every number up to ``until``."""
        through = max(self.through, until)
        return Consumed(through, frozenset(each for each in self.ahead if each > through)).adding([])
