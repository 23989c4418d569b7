"""Plans of what was advised: the same moves in the same order, each with the load and the price by which it was."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Final

import pytest

from syncer.balancer.cost.estimate import UNKNOWN, assumed
from syncer.balancer.cost.price import Price
from syncer.balancer.fleet import Fleet, FleetBundle
from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.move_plan import MovePlan, MovePrediction, PlannedMove
from syncer.balancer.moving.planning import planned
from syncer.balancer.planner.advice import AdvisedMove, AdvisedPlan, MoveReason, UsageChange
from syncer.balancer.planner.cutting import CutAdvice, CutAnswer, CutPart
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle, range_text
from syncer.errors import PlanInvalid
from syncer.model import Millis
from tests.unit.balancer.planner.scenes import fleet_of, name_of

FLEET: Final = fleet_of({"a:8080": [(20.0, 1), (10.0, 1)], "b:8080": []})
BOUNDS: Final = RunBounds(per_hour=7)


def advised(number: int, price: Price, after: float = 0.1) -> AdvisedMove:
    return AdvisedMove(
        bundle=name_of(number),
        source="a:8080",
        target="b:8080",
        reason=MoveReason.SOURCE_TOO_FULL,
        source_usage=UsageChange(before=0.3, after=0.1),
        target_usage=UsageChange(before=0.0, after=0.2),
        spread=UsageChange(before=0.15, after=after),
        price=price,
    )


def plan_of(*moves: AdvisedMove, fleet: Fleet = FLEET, cuts: tuple[CutAdvice, ...] = ()) -> MovePlan:
    whole = AdvisedPlan(moves=moves, spread=UsageChange(before=0.15, after=0.1))
    return planned(whole, fleet, table="green", cluster="east-1", taken_ms=Millis(5), bounds=BOUNDS, cuts=cuts)


def test_a_plan_has_the_moves_with_their_load_price_and_bounds() -> None:
    dear = Price(ready=assumed(0.4), client_seconds=assumed(3.0))
    found = plan_of(advised(1, dear), advised(0, Price(ready=UNKNOWN)))
    assert (found.table, found.cluster, found.taken_ms, found.bounds) == ("green", "east-1", 5, BOUNDS)
    assert found.moves == (
        PlannedMove(
            bundle=name_of(1),
            source="a:8080",
            target="b:8080",
            throughput=10 * 1e7,
            prediction=MovePrediction(ready_s=0.4, client_seconds=3.0, spread=0.1),
            reason="source-too-full",
        ),
        PlannedMove(
            bundle=name_of(0),
            source="a:8080",
            target="b:8080",
            throughput=20 * 1e7,
            prediction=MovePrediction(spread=0.1),
            reason="source-too-full",
        ),
    )


def test_cuts_become_splits_one_of_what_the_one_before_has_left() -> None:
    bundle, stats = "t/n/0x40000000_0x80000000", FLEET.bundles[name_of(0)].stats
    fleet = Fleet(FLEET.brokers.values(), [FleetBundle(name=bundle, owner="a:8080", stats=stats)])
    low, high = range_of_bundle(bundle)
    first, second = low + 16, low + 32
    names = [f"{namespace_of_bundle(bundle)}/{range_text(*pair)}" for pair in pairwise((low, first, second, high))]
    parts = tuple(
        CutPart(bundle=each, share=share, topics=1) for each, share in zip(names, (0.25, 0.5, 0.25), strict=True)
    )
    cut = CutAdvice(bundle=bundle, answer=CutAnswer.CUT, cuts=(first, second), parts=parts, goes=names[1])
    found = plan_of(replace(advised(0, Price(ready=UNKNOWN)), bundle=names[1]), fleet=fleet, cuts=(cut,))
    assert [(each.bundle, each.position, each.throughput) for each in found.splits] == [
        (bundle, first, 20 * 1e7),
        (f"{namespace_of_bundle(bundle)}/{range_text(first, high)}", second, 15 * 1e7),
    ]
    assert {each.source for each in found.splits} == {"a:8080"}
    assert (found.moves[0].bundle, found.moves[0].throughput) == (names[1], 10 * 1e7)
    assert found.makers[names[1]] == 1


def test_a_spread_that_rounding_brings_below_zero_is_none() -> None:
    assert plan_of(advised(0, Price(ready=UNKNOWN), after=-1e-17)).moves[0].prediction.spread == 0.0


def test_advice_without_a_move_is_no_plan() -> None:
    with pytest.raises(PlanInvalid, match="from 1 to 5000 moves, and not 0"):
        plan_of()
