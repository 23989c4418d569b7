"""Plans of moves: what no cluster could do is refused, and the fingerprint names exactly this plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.move_plan import MovePlan, MovePrediction, PlannedMove
from syncer.balancer.moving.split import PlannedSplit
from syncer.errors import PlanInvalid
from syncer.model import Millis

MOVE: Final = PlannedMove(
    bundle="acme/orders/0x00000000_0x80000000",
    source="a:80",
    target="b:80",
    throughput=2e7,
    prediction=MovePrediction(ready_s=0.3, client_seconds=12.5, spread=0.1),
    reason="a:80 is the fullest",
)
PLAN: Final = MovePlan(table="east", cluster="east-1", taken_ms=Millis(1_764_000_000_000), moves=(MOVE,))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bundle": "acme/orders"}, "is no bundle"),
        ({"bundle": "0x00000000_0x80000000"}, "is no bundle"),
        ({"bundle": "acme/orders/0x80000000_0x80000000"}, "is no bundle"),
        ({"source": "b:80"}, "would go from"),
        ({"target": ""}, "would go from"),
        ({"throughput": float("inf")}, "no number"),
        ({"prediction": MovePrediction(client_seconds=-1.0)}, "below zero"),
    ],
)
def test_a_move_that_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanInvalid, match=words):
        replace(MOVE, **changes)


def test_a_plan_moves_something_and_each_bundle_once() -> None:
    with pytest.raises(PlanInvalid, match="not 0"):
        replace(PLAN, moves=())
    with pytest.raises(PlanInvalid, match="would move 2 times"):
        replace(PLAN, moves=(MOVE, replace(MOVE, target="c:80")))


def test_what_is_split_is_not_moved_as_a_whole_nor_split_twice() -> None:
    split = PlannedSplit(bundle=MOVE.bundle, source="a:80", position=0x40000000, throughput=None)
    plan = replace(PLAN, moves=(replace(MOVE, bundle=split.halves[0]),), splits=(split,))
    assert plan.makers == {split.halves[0]: 0, split.halves[1]: 0}
    elsewhere = replace(plan, splits=(replace(split, position=1),))
    assert len({plan.fingerprint, elsewhere.fingerprint, PLAN.fingerprint}) == 3
    for splits, moves in (((split,), (MOVE,)), ((split, replace(split, position=9)), plan.moves)):
        with pytest.raises(PlanInvalid, match="as a whole"):
            replace(PLAN, moves=moves, splits=splits)
    many = (replace(split, bundle=f"acme/n{number}/0x00000000_0x80000000") for number in range(201))
    with pytest.raises(PlanInvalid, match="at most 200 splits, and not 201"):
        replace(PLAN, splits=tuple(many))


def test_the_fingerprint_names_exactly_this_plan() -> None:
    assert replace(PLAN).fingerprint == PLAN.fingerprint
    others = (
        replace(PLAN, table="west"),
        replace(PLAN, taken_ms=Millis(1)),
        replace(PLAN, bounds=RunBounds(per_hour=1)),
        replace(PLAN, moves=(replace(MOVE, reason=""),)),
    )
    assert len({PLAN.fingerprint, *(each.fingerprint for each in others)}) == 1 + len(others)


@pytest.mark.parametrize(
    ("now", "fits"), [(None, True), (2e7, True), (1e7, True), (4e7, True), (9e6, False), (4.1e7, False), (0.0, False)]
)
def test_a_load_fits_within_a_factor_of_two(now: float | None, *, fits: bool) -> None:
    assert MOVE.fits(now) is fits


def test_a_small_load_and_an_unknown_one_fit_any_small_one() -> None:
    assert replace(MOVE, throughput=0.0).fits(1e6)
    assert not replace(MOVE, throughput=0.0).fits(2e6)
    assert replace(MOVE, throughput=None).fits(1e12)
