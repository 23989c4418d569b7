"""Search: the cheapest plan that is found for a spread, and the front of balance against cost.

A spread is brought about by a level, the mean plus the spread, that no broker may be above. A level that cannot be
reached is given up for the lowest one that was, so that nothing moves in vain beside a broker that cannot be helped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.balancer.planner.leveling import EXACT, Leveling

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from syncer.balancer.planner.cutting import BundleCut
    from syncer.balancer.planner.scene import Scene

RUNGS: Final = (0.8, 0.6, 0.45, 0.3, 0.2, 0.1)
"""Parts of the spread that a front's plans are sought for."""
_FINE: Final = 5
_COARSE: Final = 3
_SHIFTS: Final = 3
_TARGETS_TRIED: Final = 8
_MEAN_MOVES: Final = 0.02
"""By so much the mean may rise with one move, at most, of those that are tried alone."""
_HIGHER: Final = (0.01, 0.02, 0.04, 0.08, 0.16)


@dataclass(frozen=True, slots=True)
class Sketch:
    """A plan as it was found: target of each bundle in the order of the moves, the spread then, and its weight.

    ``cuts`` come before all moves; the parts that they make are moved as other bundles are.
    """

    targets: tuple[tuple[str, str], ...]
    spread: float
    weight: float
    cuts: tuple[BundleCut, ...] = ()


class Search:
    """Seeks plans in a scene; each search begins with the fleet as it was given."""

    def __init__(self, scene: Scene) -> None:
        """Take the scene.

        Args:
            scene: Fleet, goals and tariff.
        """
        self._scene = scene
        self.unmoved = Sketch((), scene.fleet.spread, 0.0)

    def to_spread(self, spread: float, known: Sequence[tuple[str, str]] = ()) -> Sketch:
        """Seek the cheapest plan that brings the spread to a bound; where none does, the best that was found.

        Args:
            spread: The bound, a fraction.
            known: Moves that are known to come near it, such as Pulsar's own; they are lightened where they can be.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        best = self.unmoved
        if best.spread <= spread + EXACT:
            return best
        around = self._around(self._scene.fleet.mean + spread, spread)
        for sketch in (*around, *self.lightened(known), *self._alone(spread)):
            if better(sketch, best, spread):
                best = sketch
        return best

    def _alone(self, spread: float) -> list[Sketch]:
        """Try the bundles of the fullest broker alone, the lightest first, until one of them suffices."""
        scene, fleet = self._scene, self._scene.fleet
        source = min(fleet.usages, key=lambda name: (-fleet.usages[name], name))
        highest = fleet.mean + spread + _MEAN_MOVES
        if any(usage > highest for name, usage in fleet.usages.items() if name != source):
            return []
        order = sorted(fleet.usages, key=lambda name: (fleet.usages[name], name))
        for weight, bundle in scene.by_weight(source):
            if fleet.without_bundle(source, bundle) > highest:
                continue
            receivers = scene.receivers(bundle) - {source}
            for target in [name for name in order if name in receivers][:_TARGETS_TRIED]:
                if fleet.with_bundle(target, bundle) > highest or scene.forbids(bundle, target) is not None:
                    continue
                fleet.move(bundle, target)
                reached = fleet.spread
                fleet.rewind()
                if reached <= spread + EXACT:
                    return [Sketch(((bundle, target),), reached, weight)]
        return []

    def lightened(self, known: Sequence[tuple[str, str]]) -> list[Sketch]:
        """Take known moves as they are, and without what they do not need to keep every broker as low.

        Args:
            known: Bundles and targets; where a hard goal forbids one, nothing comes of all of them.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        fleet = self._scene.fleet
        if not known or any(bundle not in fleet.bundles or target not in fleet.brokers for bundle, target in known):
            return []
        for bundle, target in known:
            fleet.move(bundle, target)
        level = fleet.greatest
        fleet.rewind()
        leveling, found = Leveling(self._scene, level), []
        if leveling.adopt(known):
            found.append(self._sketched(leveling))
            leveling.lighten()
            found.append(self._sketched(leveling))
        fleet.rewind()
        return found

    def reaches(self, level: float) -> bool:
        """Say whether moves are found that bring every broker to a usage or below it.

        Args:
            level: The usage.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        return self._to_level(level)[1] <= level + EXACT

    def _around(self, level: float, spread: float) -> Iterator[Sketch]:
        """Try levels near the one that the spread asks for: moves shift the mean, and so the level.

        Where it cannot be reached, the lowest level that can is closed in on.
        """
        sketch, reached = self._to_level(level)
        yield sketch
        nearer = level
        if reached > level + EXACT:
            for sketch in self._closing_in(level, _FINE):
                yield sketch
                nearer = max(level, self._scene.fleet.mean + sketch.spread)
        for _ in range(_SHIFTS):
            sketch, reached = self._to_level(nearer)
            yield sketch
            if abs(sketch.spread - spread) <= EXACT or reached > nearer + EXACT:
                break
            nearer += spread - sketch.spread
        for part in _HIGHER:
            yield self._to_level(level + part * (self._scene.fleet.greatest - level))[0]

    def _closing_in(self, level: float, times: int) -> list[Sketch]:
        """Close in on the lowest level that can be reached, above one that cannot; the lowest found is last."""
        lowest, highest = level, self._scene.fleet.greatest
        found: list[Sketch] = []
        for _ in range(times):
            middle = (lowest + highest) / 2
            sketch, reached = self._to_level(middle)
            if reached > middle + EXACT:
                lowest = middle
                found.insert(0, sketch)
            else:
                highest = reached
                found.append(sketch)
        return found

    def front(self, reach: float | None = None) -> list[Sketch]:
        """Seek plans for ever smaller spreads, and keep those that no other one beats; not to move is the first.

        Args:
            reach: A spread that is sought besides the rungs.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        before, mean = self.unmoved.spread, self._scene.fleet.mean
        wanted = {before * rung for rung in RUNGS}
        if reach is not None and reach < before:
            wanted.add(reach)
        found = [self.unmoved]
        for spread in sorted(wanted, reverse=True):
            level = mean + spread
            sketch, reached = self._to_level(level)
            found.append(sketch)
            if reached > level + EXACT:
                found += self._closing_in(level, _COARSE)
                break
            for _ in range(_SHIFTS if spread == reach else 0):
                if sketch.spread <= spread + EXACT:
                    break
                level -= sketch.spread - spread
                sketch, _ = self._to_level(level)
                found.append(sketch)
        return undominated(found)

    def _to_level(self, level: float) -> tuple[Sketch, float]:
        leveling = Leveling(self._scene, level)
        leveling.run()
        sketch, reached = self._sketched(leveling), self._scene.fleet.greatest
        self._scene.fleet.rewind()
        return sketch, reached

    def _sketched(self, leveling: Leveling) -> Sketch:
        targets = tuple(leveling.targets().items())
        return Sketch(targets, self._scene.fleet.spread, sum(self._scene.weight(bundle) for bundle, _ in targets))


def undominated(sketches: list[Sketch]) -> list[Sketch]:
    """Keep the plans that no other one beats in both, the cheapest first.

    Args:
        sketches: Plans of one fleet.
    """
    kept: list[Sketch] = []
    for sketch in sorted(sketches, key=lambda each: (each.weight, each.spread, each.targets)):
        if not kept or sketch.spread < kept[-1].spread - EXACT:
            kept.append(sketch)
    return kept


def better(sketch: Sketch, other: Sketch, spread: float) -> bool:
    """Say whether a plan is better than another for a spread: within it, and cheaper; else nearer to it.

    Args:
        sketch: The plan.
        other: The other one.
        spread: The bound, a fraction.
    """
    within, before = sketch.spread <= spread + EXACT, other.spread <= spread + EXACT
    if within != before:
        return within
    if within:
        return sketch.weight < other.weight - EXACT
    return (sketch.spread, sketch.weight) < (other.spread, other.weight)
