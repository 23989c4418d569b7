"""Outcome: rounds as they were played, with moves, spread and price, and the round in which it settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.cost.estimate import total

if TYPE_CHECKING:
    from syncer.balancer.cost.estimate import Estimate


@dataclass(frozen=True, slots=True)
class RoundMove:
    """A bundle that moved: from where, to where, and the seconds without service of all its clients."""

    bundle: str
    source: str
    target: str
    client_seconds: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRound:
    """A round: its moves, how many choices came to nothing, and the usages after it.

    ``spread`` is the greatest weighted usage less the mean. ``cuts`` were made before the moves, and cost no outage.
    """

    number: int
    moves: tuple[RoundMove, ...]
    futile: int
    greatest: float
    spread: float
    cuts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRounds:
    """Rounds one after another; ``spread_before`` is the spread before the first.

    ``quiet`` is how many rounds without a move mean that it has settled.
    """

    spread_before: float
    quiet: int
    rounds: Sequence[PlayedRound]

    @property
    def unloads(self) -> int:
        """How many bundles moved, each as often as it did."""
        return sum(len(each.moves) for each in self.rounds)

    @property
    def cuts(self) -> int:
        """At how many positions bundles were cut."""
        return sum(each.cuts for each in self.rounds)

    @property
    def client_seconds(self) -> Estimate:
        """Seconds without service of all clients together; unknown where one move's are."""
        return total(move.client_seconds for each in self.rounds for move in each.moves)

    @property
    def net_moves(self) -> tuple[tuple[str, str], ...]:
        """Bundles that ended with another broker than they began with, and that broker."""
        first: dict[str, str] = {}
        last: dict[str, str] = {}
        for each in self.rounds:
            for move in each.moves:
                first.setdefault(move.bundle, move.source)
                last[move.bundle] = move.target
        return tuple((bundle, target) for bundle, target in last.items() if target != first[bundle])

    @property
    def final_spread(self) -> float:
        """The spread after the last round."""
        return self.rounds[-1].spread if self.rounds else self.spread_before

    @property
    def settled(self) -> int | None:
        """How many rounds it took until nothing moved any more; None where it still moved near the end."""
        last = max((each.number for each in self.rounds if each.moves), default=0)
        played = self.rounds[-1].number if self.rounds else 0
        return last if played - last >= self.quiet else None

    @property
    def moved_again(self) -> frozenset[str]:
        """Bundles that moved more than once."""
        counts = Counter(move.bundle for each in self.rounds for move in each.moves)
        return frozenset(bundle for bundle, count in counts.items() if count > 1)

    @property
    def ping_pong(self) -> frozenset[str]:
        """Bundles that came back to a broker that they had left."""
        left: set[tuple[str, str]] = set()
        found = set()
        for each in self.rounds:
            for move in each.moves:
                left.add((move.bundle, move.source))
                if (move.bundle, move.target) in left:
                    found.add(move.bundle)
        return frozenset(found)
