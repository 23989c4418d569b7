"""Picking: one plan of a front, by a rule that has a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from syncer.balancer.planner.leveling import EXACT

if TYPE_CHECKING:
    from syncer.balancer.planner.search import Sketch


class PickRule(StrEnum):
    """Rules by which a plan is picked."""

    CHEAPEST_WITHIN = "cheapest-within"
    """The cheapest plan whose spread is within the aim; the flattest where none is."""
    KNEE = "knee"
    """The plan beyond which a client-second buys less than on the average of the whole front."""
    FLATTEST = "flattest"
    """The plan with the smallest spread, whatever it costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """When a cluster is worth moving anything, how far to go, and the rule of the pick.

    A spread up to ``act_above`` is left alone, unless a broker is overloaded; ``reach`` is the spread to come to. Plans
    that lower it by less than ``least_gain`` are not worth any outage. Clusters in which none of Pulsar's strategies
    would act are left alone, too, unless ``where_pulsar_rests``.
    """

    act_above: float = 0.1
    reach: float = 0.08
    least_gain: float = 0.02
    rule: PickRule = PickRule.CHEAPEST_WITHIN
    where_pulsar_rests: bool = False


def pick(front: Sequence[Sketch], aim: Aim) -> Sketch:
    """Pick a plan.

    Args:
        front: Plans, the cheapest and least balanced first, which moves nothing.
        aim: The rule, and the spread that it asks for.
    """
    first = front[0]
    worthy = [each for each in front if each.spread <= first.spread - aim.least_gain]
    if not worthy or not worthy[-1].targets:
        return first
    match aim.rule:
        case PickRule.CHEAPEST_WITHIN:
            return next((each for each in (first, *worthy) if each.spread <= aim.reach + EXACT), worthy[-1])
        case PickRule.KNEE:
            return _knee(first, worthy)
        case PickRule.FLATTEST:
            return worthy[-1]
        case _:
            assert_never(aim.rule)


def _knee(first: Sketch, plans: Sequence[Sketch]) -> Sketch:
    """The plan farthest below the line from not moving to the last one."""
    last = plans[-1]
    fall, rise = first.spread - last.spread, last.weight - first.weight
    if not fall > 0 or not rise > 0:
        return last
    return max(plans, key=lambda each: (first.spread - each.spread) / fall - (each.weight - first.weight) / rise)
