"""A rule picks the plan that its name says."""

from __future__ import annotations

import pytest

from syncer.balancer.planner.picking import Aim, PickRule, pick
from syncer.balancer.planner.search import Sketch

FRONT = [
    Sketch((), 0.5, 0.0),
    Sketch((("x", "a"),), 0.2, 2.0),
    Sketch((("y", "a"),), 0.1, 9.0),
    Sketch((("z", "a"),), 0.05, 40.0),
]


@pytest.mark.parametrize(
    ("rule", "reach", "wanted"),
    [
        (PickRule.CHEAPEST_WITHIN, 0.5, 0),
        (PickRule.CHEAPEST_WITHIN, 0.3, 1),
        (PickRule.CHEAPEST_WITHIN, 0.1, 2),
        (PickRule.CHEAPEST_WITHIN, 0.01, 3),
        (PickRule.KNEE, 0.01, 2),
        (PickRule.FLATTEST, 0.5, 3),
    ],
)
def test_each_rule_has_its_plan(rule: PickRule, reach: float, wanted: int) -> None:
    assert pick(FRONT, Aim(rule=rule, reach=reach)) == FRONT[wanted]


def test_a_gain_that_is_too_small_is_not_worth_any_outage() -> None:
    for rule in PickRule:
        assert pick(FRONT, Aim(rule=rule, reach=0.1, least_gain=0.46)) == FRONT[0]


def test_a_plan_that_costs_nothing_is_the_knee() -> None:
    free = [Sketch((), 0.5, 0.0), Sketch((("x", "a"),), 0.2, 0.0)]
    assert pick(free, Aim(rule=PickRule.KNEE)) == free[1]
    assert pick(free[:1], Aim(rule=PickRule.KNEE)) == free[0]


def test_of_a_single_plan_the_knee_is_that_plan_and_small_gains_are_no_knee() -> None:
    assert pick(FRONT[:2], Aim(rule=PickRule.KNEE)) == FRONT[1]
    assert pick([FRONT[0], Sketch((("w", "a"),), 0.49, 0.1), *FRONT[1:]], Aim(rule=PickRule.KNEE)) == FRONT[2]
