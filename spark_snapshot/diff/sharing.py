"""Sharing of paths by regions of different scopes: which of them carry a path, and how much each pair shares.

A path that only one of two regions carries is no difference between these two; it is counted. Whether a region carries
a path says :class:`syncer.conflict.classes.pairs.RegionScopes`, also in a worker of Spark, which is sent the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

from syncer.conflict.classes.pairs import RegionScopes, class_of
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, Region

NOT_SHARED: Final = "not shared"
"""Of a tally: living paths that fewer than two regions carry."""
COUNTED: Final = "counted"
"""Of a tally: all paths that are in it."""

Tally = Counter[str]
"""Living paths that are not alike in all regions, by pair of numbers of regions: those shared, and those not."""


@dataclass(frozen=True)
class CarryingRegions:
    """Regions and their rules, which are sent to a worker and compiled there.

    Args:
        rules: By region, in order of their names.
    """

    rules: tuple[tuple[Region, tuple[Rule, ...]], ...]

    def __reduce__(self) -> tuple[type[CarryingRegions], tuple[object]]:
        return CarryingRegions, (self.rules,)

    @cached_property
    def _scopes(self) -> RegionScopes:
        return RegionScopes({region: Scope(each, told=True) for region, each in self.rules})

    def sharing(self, path: MetaPath) -> dict[Region, Direction]:
        """The regions that share a path, and which way it flows there."""
        return self._scopes.sharing(path)

    def tallied(self, tally: Tally, ways: Mapping[Region, Direction], living: Sequence[bool], count: int = 1) -> None:
        """Count paths between each pair of regions of which one holds a value there.

        Args:
            tally: Where it is added.
            ways: The regions that share these paths.
            living: Of each region in order, whether it holds a value.
            count: So many paths.
        """
        tally[COUNTED] += count
        if not ways:
            tally[NOT_SHARED] += count
        for one, other in combinations(range(len(self.rules)), 2):
            if living[one] or living[other]:
                both = self.rules[one][0] in ways and self.rules[other][0] in ways
                tally[_key(one, other, shared=both)] += count


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPaths:
    """What two regions share.

    Args:
        regions: Their names, in order.
        label: Of the class of paths that both carry, as in a region's status.
        shared: Living paths that both carry.
        unshared: Living paths that only one of them carries: no difference.
    """

    regions: tuple[Region, Region]
    label: str
    shared: int
    unshared: int


def carrying(scopes: RegionScopes) -> CarryingRegions | None:
    """What tells who carries a path; ``None`` where all scopes are alike, and there is nothing to tell."""
    if scopes.alike:
        return None
    return CarryingRegions(tuple((region, scope.rules) for region, scope in sorted(scopes.scopes.items())))


def shared_paths(scopes: RegionScopes, tally: Mapping[str, int], living: int) -> tuple[SharedPaths, ...]:
    """How much each pair of regions shares.

    Args:
        scopes: Of all regions that are compared.
        tally: Of the paths that are not alike in all of them.
        living: How many paths live in some region.
    """
    named = sorted(scopes.scopes.items())
    same = living - tally.get(COUNTED, 0)  # who holds a path, carries it
    return tuple(
        SharedPaths(
            regions=(named[one][0], named[other][0]),
            label=class_of(named[one][1], named[other][1]).label,
            shared=same + tally.get(_key(one, other, shared=True), 0),
            unshared=tally.get(_key(one, other, shared=False), 0),
        )
        for one, other in combinations(range(len(named)), 2)
    )


def added(tallies: Iterable[Mapping[str, int]]) -> Tally:
    """The sum of tallies."""
    found: Tally = Counter()
    for each in tallies:
        found.update(each)
    return found


def _key(one: int, other: int, *, shared: bool) -> str:
    return f"{one} {other} {'shared' if shared else NOT_SHARED}"
