"""Covering: the cheapest bundles of a broker that together bring it down by so much, a knapsack turned over.

A table over needs in small steps finds the cheapest choice; parts are rounded down, so that it always is enough. Where
the rounding hides a cheaper one, the greedy choice by weight for its part may find it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS: Final = 120
_BEST_BY_RATIO: Final = 48
_CHEAPEST_ENOUGH: Final = 4
_SLACK: Final = 1e-12


class Giveable(NamedTuple):
    """A bundle: the part that it makes up, and what it weighs to move it."""

    bundle: str
    pull: float
    weight: float


def cheapest_cover(parts: Sequence[Giveable], need: float) -> list[Giveable] | None:
    """Choose parts that make up a need and weigh little; None where all of them do not.

    Args:
        parts: To choose from; those that pull nothing are never chosen.
        need: What they shall make up.
    """
    if need <= 0:
        return []
    useful = sorted((part for part in parts if part.pull > 0), key=lambda part: (part.weight / part.pull, part.bundle))
    if sum(part.pull for part in useful) < need:
        return None
    greedy = _without_needless(_first_enough(useful, need), need)
    few = useful[:_BEST_BY_RATIO]
    alone = sorted(part for part in useful[_BEST_BY_RATIO:] if part.pull >= need)
    few += sorted(alone, key=lambda part: part.weight)[:_CHEAPEST_ENOUGH]
    tabled = _tabled(few, need)
    if tabled is None:
        return greedy
    return min(greedy, _without_needless(tabled, need), key=_weight)


def _first_enough(parts: Sequence[Giveable], need: float) -> list[Giveable]:
    taken: list[Giveable] = []
    made = 0.0
    for part in parts:
        if made >= need:
            break
        taken.append(part)
        made += part.pull
    return taken


def _without_needless(taken: list[Giveable], need: float) -> list[Giveable]:
    spare = sum(part.pull for part in taken) - need
    left = []
    for part in sorted(taken, key=lambda part: (-part.weight, part.bundle)):
        if part.pull <= spare - _SLACK:
            spare -= part.pull
        else:
            left.append(part)
    return left


def _tabled(parts: Sequence[Giveable], need: float) -> list[Giveable] | None:
    infinite = float("inf")
    row = [0.0] + [infinite] * _STEPS
    rows = [row]
    sizes = [min(_STEPS, int(part.pull / need * _STEPS)) for part in parts]
    for part, size in zip(parts, sizes, strict=True):
        if size:
            weight = part.weight
            moved = [0.0] * size + row[:-size]
            row = list(map(min, row, [before + weight for before in moved]))
        rows.append(row)
    if row[_STEPS] == infinite:
        return None
    taken = []
    left = _STEPS
    for number in range(len(parts) - 1, -1, -1):
        if rows[number + 1][left] < rows[number][left]:
            taken.append(parts[number])
            left = max(0, left - sizes[number])
    return taken


def _weight(parts: Sequence[Giveable]) -> float:
    return sum(part.weight for part in parts)
