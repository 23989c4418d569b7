"""Returning: bundles that came back to a former owner, and bundles of equal range that moved at once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from syncer.balancer.ranges import namespace_of_bundle

if TYPE_CHECKING:
    from syncer.balancer.history.changes import OwnerChange

ROUNDS: Final = 60
"""Rounds of shedding within which a bundle that comes back is taken for one that goes to and fro."""


def returning(changes: Iterable[OwnerChange], within_ms: int) -> dict[str, tuple[OwnerChange, ...]]:
    """Find bundles that came back to a broker soon after they had left it, with all their changes.

    Args:
        changes: Of any bundles.
        within_ms: From leaving a broker to being back there, at most.
    """
    found = {}
    ordered = sorted(changes, key=lambda each: (each.bundle, each.by_ms))
    for bundle, group in groupby(ordered, lambda each: each.bundle):
        own = tuple(group)
        if any(came_back(own, number, within_ms) for number in range(1, len(own))):
            found[bundle] = own
    return found


def came_back(own: tuple[OwnerChange, ...], number: int, within_ms: int) -> bool:
    """Say whether a change brought its bundle back to a broker that it had left soon before.

    Args:
        own: Changes of one bundle, the earliest first.
        number: Which of them.
        within_ms: From leaving a broker to being back there, at most.
    """
    back = own[number]
    return any(left.source == back.target and back.by_ms - left.by_ms <= within_ms for left in own[:number])


def together(changes: Iterable[OwnerChange]) -> dict[str, tuple[OwnerChange, ...]]:
    """Find ranges of which bundles of several namespaces were under way at once, as far as looks can tell.

    Args:
        changes: Of any bundles.
    """
    found = {}
    ordered = sorted(changes, key=lambda each: (each.bundle.rpartition("/")[2], each.after_ms, each.by_ms))
    for cut, group in groupby(ordered, lambda each: each.bundle.rpartition("/")[2]):
        met: dict[OwnerChange, None] = {}
        for one, other in pairwise(group):
            apart = namespace_of_bundle(one.bundle) != namespace_of_bundle(other.bundle)
            if apart and other.after_ms < one.by_ms:
                met |= dict.fromkeys((one, other))
        if met:
            found[cut] = tuple(met)
    return found
