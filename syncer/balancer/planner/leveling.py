"""Leveling: one try to bring every broker of a fleet to a level or below it, by few and cheap moves.

    relieve   each broker above the level gives its cheapest bundles that suffice to brokers that stay below it
    room      a large bundle that fits nowhere goes to a broker that gives others away for it
    exchange  where none of them fits, a bundle is exchanged for a smaller one of its target
    lighten   moves that are not needed after all are taken back, and dear ones replaced by cheaper ones

Ties go by names, so that equal fleets get equal moves.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from syncer.balancer.planner.covering import Giveable, cheapest_cover

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from syncer.balancer.planner.scene import Scene

EXACT: Final = 1e-12
_TRIES: Final = 6
_DEPTH: Final = 2
_ROOMS_SOUGHT: Final = 5
_TARGETS_CLEARED: Final = 5
_TARGETS_WEIGHED: Final = 3
_MISFITS_SEEN: Final = 24
_BUNDLES_EXCHANGED: Final = 12
_TARGETS_EXCHANGED: Final = 4


class Leveling:
    """A try over a scene, whose fleet it moves; ``targets`` are its moves, bundle to broker."""

    def __init__(self, scene: Scene, level: float) -> None:
        """Begin without moves.

        Args:
            scene: Fleet, goals and tariff; the fleet is as it shall be judged.
            level: The usage that no broker shall be above.
        """
        self.scene, self.fleet, self.level = scene, scene.fleet, level
        self.sources: dict[str, str] = {}
        self._order = sorted((usage, name) for name, usage in scene.fleet.usages.items() if name not in scene.closed)

    def run(self) -> None:
        """Move until no broker is above the level, or no move helps any more."""
        hot = sorted(
            (broker for broker, usage in self.fleet.usages.items() if usage > self.level + EXACT),
            key=lambda broker: (-self.fleet.usages[broker], broker),
        )
        for broker in hot:
            self._relieve(broker)
            while self.fleet.usages[broker] > self.level + EXACT and self._exchange(broker):
                pass
        self.lighten()

    def adopt(self, targets: Iterable[tuple[str, str]]) -> bool:
        """Begin with somebody else's moves; say whether the hard goals let them all be.

        Args:
            targets: Bundles and brokers, in the order in which they would be moved.
        """
        for bundle, target in targets:
            if self.scene.stays(bundle) is not None or target not in self.scene.receivers(bundle):
                return False
            if self.scene.forbids(bundle, target) is not None:
                return False
            self._move(bundle, target)
        return True

    def lighten(self) -> None:
        """Take back moves that are not needed, and move lighter bundles instead of others."""
        self._take_back_needless()
        self._replace_dear()

    def targets(self) -> dict[str, str]:
        """Name the target of each bundle that was moved, in the order of the moves."""
        return {bundle: self.fleet.owners[bundle] for bundle in self.sources}

    def _relieve(self, broker: str, depth: int = 0) -> None:
        fleet = self.fleet
        stuck: set[str] = set()
        for _ in range(_TRIES):
            need = fleet.usages[broker] - self.level
            if need <= EXACT:
                return
            parts = self._parts(broker, stuck)
            rooms = self._rooms(broker, parts) if depth < _DEPTH else {}
            weighed = [
                part if part.bundle not in rooms else part._replace(weight=part.weight + rooms[part.bundle][0])
                for part in parts
            ]
            chosen = cheapest_cover(weighed, need)
            if chosen is None:
                return
            for part in sorted(chosen, key=lambda part: (-part.pull, part.bundle)):
                target = self._target(part.bundle, broker)
                if target is not None:
                    self._move(part.bundle, target)
                elif part.bundle in rooms and fleet.usages[broker] > self.level + EXACT:
                    target = rooms[part.bundle][1]
                    self._move(part.bundle, target)
                    self._relieve(target, depth + 1)
                else:
                    stuck.add(part.bundle)

    def _parts(self, broker: str, stuck: AbstractSet[str] = frozenset()) -> list[Giveable]:
        return [
            Giveable(bundle, self.fleet.pull(broker, bundle), weight)
            for weight, bundle in self.scene.by_weight(broker)
            if bundle not in self.sources and bundle not in stuck
        ]

    def _rooms(self, broker: str, parts: list[Giveable]) -> dict[str, tuple[float, str]]:
        """Find a target for large bundles that fit nowhere, and what it weighs to make room for them there."""
        rooms = {}
        for part in sorted(parts, key=lambda part: (-part.pull, part.bundle))[:_ROOMS_SOUGHT]:
            receivers = self.scene.receivers(part.bundle)
            targets = [name for _, name in self._order if name != broker and name in receivers][:_TARGETS_CLEARED]
            if not targets or self.fleet.with_bundle(targets[0], part.bundle) <= self.level + EXACT:
                break
            found = []
            for target in targets:
                excess = self.fleet.with_bundle(target, part.bundle) - self.level
                cleared = cheapest_cover(self._parts(target), excess)
                if cleared is not None and self.scene.forbids(part.bundle, target) is None:
                    found.append((sum(each.weight for each in cleared), target))
            if found:
                rooms[part.bundle] = min(found)
        return rooms

    def _target(self, bundle: str, source: str) -> str | None:
        fitting = []
        misfits = 0
        receivers = self.scene.receivers(bundle)
        for usage, broker in self._order:
            if usage >= self.level or misfits > _MISFITS_SEEN:
                break
            if broker == source or broker not in receivers:
                continue
            if self.fleet.with_bundle(broker, bundle) > self.level + EXACT:
                misfits += 1
            elif self.scene.forbids(bundle, broker) is None:
                fitting.append((self.scene.loss(bundle, broker), broker))
                if len(fitting) == _TARGETS_WEIGHED:
                    break
        return min(fitting)[1] if fitting else None

    def _exchange(self, broker: str) -> bool:
        """Exchange one bundle of a broker for a smaller one elsewhere; say whether any exchange helped."""
        best: tuple[float, str, str, str] | None = None
        for bundle in self._largest(broker):
            for other, target in self._smaller(bundle, broker):
                weight = self.scene.weight(bundle) + self.scene.weight(other)
                found = (weight, bundle, other, target)
                if (best is None or found < best) and self._may_exchange(bundle, other, broker, target):
                    best = found
        if best is None:
            return False
        _, bundle, other, target = best
        self._move(bundle, target)
        self._move(other, broker)
        return True

    def _largest(self, broker: str) -> list[str]:
        own = [bundle for bundle in self.scene.movable(broker) if bundle not in self.sources]
        return sorted(own, key=lambda bundle: (-self.fleet.pull(broker, bundle), bundle))[:_BUNDLES_EXCHANGED]

    def _smaller(self, bundle: str, broker: str) -> Iterator[tuple[str, str]]:
        receivers = self.scene.receivers(bundle)
        targets = [name for _, name in self._order if name != broker and name in receivers][:_TARGETS_EXCHANGED]
        for target in targets:
            for other in self.scene.movable(target):
                if (
                    other not in self.sources
                    and broker in self.scene.receivers(other)
                    and self.fleet.exchanged(target, other, bundle) <= self.level + EXACT
                    and self.fleet.exchanged(broker, bundle, other) <= self.level + EXACT
                ):
                    yield other, target

    def _may_exchange(self, bundle: str, other: str, broker: str, target: str) -> bool:
        """Ask the hard goals about either move as if the other one had been made."""
        self.fleet.move(other, broker)
        forbidden = self.scene.forbids(bundle, target) is not None
        self.fleet.move(bundle, target)
        self.fleet.move(other, target)
        forbidden = forbidden or self.scene.forbids(other, broker) is not None
        self.fleet.move(bundle, broker)
        return not forbidden

    def _take_back_needless(self) -> None:
        for bundle in sorted(self.sources, key=lambda bundle: (-self.scene.weight(bundle), bundle)):
            source = self.sources[bundle]
            if source in self.scene.closed or self.fleet.with_bundle(source, bundle) > self.level + EXACT:
                continue
            if self.scene.forbids(bundle, source) is None:
                self._move(bundle, source)

    def _replace_dear(self) -> None:
        for bundle in sorted(self.sources, key=lambda bundle: (-self.scene.weight(bundle), bundle)):
            self._replace(bundle, self.sources[bundle])

    def _replace(self, bundle: str, source: str) -> None:
        """Move a lighter bundle instead of this one, if one of the same broker will do."""
        limit = self.scene.weight(bundle) - EXACT
        for _, other in takewhile(lambda pair: pair[0] < limit, self.scene.by_weight(source)):
            if other in self.sources or self.fleet.exchanged(source, other, bundle) > self.level + EXACT:
                continue
            target = self.fleet.owners[bundle]
            self._move(bundle, source)
            instead = self._target(other, source)
            if instead is not None:
                self._move(other, instead)
                return
            self._move(bundle, target)

    def _move(self, bundle: str, target: str) -> None:
        source = self.fleet.owners[bundle]
        for name in (source, target):
            self._forget(name)
        self.fleet.move(bundle, target)
        for name in (source, target):
            if name not in self.scene.closed:
                insort(self._order, (self.fleet.usages[name], name))
        if self.sources.setdefault(bundle, source) == target:
            del self.sources[bundle]

    def _forget(self, broker: str) -> None:
        entry = (self.fleet.usages[broker], broker)
        place = bisect_left(self._order, entry)
        if place < len(self._order) and self._order[place] == entry:
            del self._order[place]
