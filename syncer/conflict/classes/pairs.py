"""The class of a pair of regions: the paths that both carry, its label, and what neither of the two answers for.

A path counts as carried whichever way it flows: what is *known* of it is the same on both ends, and what is known is
what regions compare. A path that one of them leaves out is no path of the pair, whatever the other one does.

Both ends work it out by themselves, from their own rules and those that the other one has told. So the label does not
depend on who works it out; and where both carry the same paths by the same patterns it is the label that regions had
before classes were.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.digest_tree import SHAPE
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, Region

CONTRADICTIONS_SHOWN: Final = 8
"""Of one pair of regions."""
EXAMPLES_TRIED: Final = 8_192
"""Of one pair of scopes; each costs two matches."""
EXAMPLES_KEPT: Final = 256
EXAMPLES_OF_RULES: Final = 4
"""Kept of one pair of rules."""
_FILLER: Final = "some-name"
"""Stands for a wildcard where an example of a pattern is made."""


def label_of(scope: Scope) -> str:
    """Names what a tree sums and how: equal labels make sums comparable.

    Which way a path flows does not matter: what is known of it is the same on both ends.
    """
    return f"{SHAPE}/{hashlib.blake2b(_carried(scope).encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ScopeClass:
    """The paths that two scopes both carry.

    Args:
        label: Equal for the same pair of scopes, whichever of them is whose.
        ours: The scope of this region.
        theirs: That of the other one.
    """

    label: str
    ours: Scope = field(repr=False, compare=False)
    theirs: Scope = field(repr=False, compare=False)

    def contains(self, path: MetaPath) -> bool:
        """Whether both carry the path."""
        return self.ours.contains(path) and self.theirs.carries_resource(path)


def class_of(ours: Scope, theirs: Scope) -> ScopeClass:
    """The class of two scopes; of equal ones the label is that of each."""
    first, second = sorted((_carried(ours), _carried(theirs)))
    if first == second:
        return ScopeClass(label_of(ours), ours, ours)
    both = hashlib.blake2b(f"{first}\n\n{second}".encode(), digest_size=6).hexdigest()
    return ScopeClass(f"{SHAPE}/{both}", ours, theirs)


class RegionScopes:
    """The scopes of several regions: which of them carry a path, so that any two of these share it.

    Args:
        scopes: By region.
    """

    def __init__(self, scopes: Mapping[Region, Scope]) -> None:
        self.scopes = dict(scopes)
        distinct = {scope.text: scope for scope in scopes.values()}
        numbers = {text: number for number, text in enumerate(distinct)}
        self._distinct = tuple(distinct.values())
        self._number = {region: numbers[scope.text] for region, scope in scopes.items()}

    @property
    def alike(self) -> bool:
        """Whether all of them have the same rules, so that whatever one carries is shared by all."""
        return len(self._distinct) <= 1

    def sharing(self, path: MetaPath) -> dict[Region, Direction]:
        """The regions that share a resource with another one, and which way it flows there; none, or two at least."""
        ways = [scope.direction_of_resource(path) for scope in self._distinct]
        found = {region: ways[at] for region, at in self._number.items() if ways[at] is not Direction.IGNORE}
        return found if len(found) > 1 else {}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Patterns by which two regions both carry paths that flow between them in no direction.

    Args:
        ours: Pattern of this region's rule.
        theirs: That of the other region's.
        direction: Of both: ``apply`` or ``publish``.
    """

    ours: str
    theirs: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class OneWayPath:
    """A path that two scopes carry in the same single direction.

    Args:
        path: An example; there need not be a resource.
        by: The patterns that decide about it.
    """

    path: MetaPath
    by: Contradiction


def one_way_paths(ours: Scope, theirs: Scope) -> tuple[OneWayPath, ...]:
    """Examples of paths that both only apply, or both only publish; a bounded number of examples is tried.

    Args:
        ours: Scope of this region.
        theirs: That of the other one, which may be a stranger's.
    """
    return tuple(itertools.islice(_one_way_paths(ours, theirs), EXAMPLES_KEPT))


def _one_way_paths(ours: Scope, theirs: Scope) -> Iterator[OneWayPath]:
    kept = Counter[tuple[int, int]]()
    for direction in (Direction.APPLY, Direction.PUBLISH):
        mine = [rule.pattern for rule in ours.rules if rule.direction is direction]
        yours = [rule.pattern for rule in theirs.rules if rule.direction is direction]
        for path in itertools.islice(_examples(mine, yours), EXAMPLES_TRIED // 2):
            here = ours.deciding(path)
            if here is None or ours.rules[here].direction is not direction or not ours.contains(path):
                continue
            there = theirs.deciding(path)
            if there is None or theirs.rules[there].direction is not direction:
                continue
            if kept[here, there] < EXAMPLES_OF_RULES:
                kept[here, there] += 1
                by = Contradiction(ours.rules[here].pattern, theirs.rules[there].pattern, direction)
                yield OneWayPath(path, by)


def contradictions(found: Iterable[OneWayPath], others: Sequence[Scope] = ()) -> list[Contradiction]:
    """Patterns that both only apply, and nobody publishes; and those that both only publish.

    Of the former, every change anywhere waits for somebody who speaks for the path. Of the latter, each writes its own
    and none takes the other's: their stores differ for good. Each is shown by a path that meets both patterns, so
    nothing is found that is not so; what other rules narrow in a way that no such example shows, is not found.

    Args:
        found: Paths of the two regions, by :func:`one_way_paths`.
        others: Scopes of the other regions of the group.
    """
    shown: dict[Contradiction, None] = {}
    for each in found:
        if len(shown) == CONTRADICTIONS_SHOWN:
            break
        if each.by in shown:
            continue
        if each.by.direction is Direction.PUBLISH or not any(
            other.direction_of_resource(each.path).publishes for other in others
        ):
            shown[each.by] = None
    return list(shown)


def _examples(mine: Iterable[str], yours: Sequence[str]) -> Iterator[MetaPath]:
    """Paths that patterns of both sides may match: each by itself, at each depth that a resource can have."""
    for first in mine:
        begin = first.partition("*")[0]
        for second in yours:
            start = second.partition("*")[0]
            if not (begin.startswith(start) or start.startswith(begin)):
                continue  # no path begins in both ways
            for pattern, other in ((first, second), (second, first)):
                for path in _filled(pattern, other):
                    yield MetaPath(path)


def _filled(pattern: str, other: str) -> Iterator[str]:
    """Paths of a pattern: names of the other pattern, or any name, in the place of wildcards."""
    names, places = other.split("/"), pattern.split("/")
    stop = places.index("**") if "**" in places else len(places)
    for name in (_FILLER, "persistent"):
        filled = [
            place.replace("*", "") + (_FILLER if place == "*" else "")
            if place != "*" or at >= len(names) or "*" in names[at]
            else names[at]
            for at, place in enumerate(places[:stop])
        ]
        if stop == len(places):
            yield "/".join(filled)
            return
        rest = [place if "*" not in place else _FILLER for place in names[stop:]] or [_FILLER]
        for depth in range(1, 5):
            tail = (rest + [_FILLER] * 4)[:depth]
            yield "/".join([*filled, *(name if at == 2 and name != _FILLER else part for at, part in enumerate(tail))])


def _carried(scope: Scope) -> str:
    return "\n".join(f"{rule.direction is not Direction.IGNORE} {rule.pattern}" for rule in scope.rules)
