"""In a rolling restart each bundle moves once, to brokers that were restarted before."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.planner.advice import AdviceAnswer, MoveReason
from syncer.balancer.planner.rolling import rolling_restart
from tests.unit.balancer.planner.scenes import bounds_of, fleet_of, name_of

A, B, C = "a:8080", "b:8080", "c:8080"


def test_with_an_empty_broker_each_bundle_moves_once() -> None:
    fleet = fleet_of({A: [(20.0, 1), (10.0, 1)], B: [(30.0, 1)], C: []})
    found = rolling_restart(fleet, bounds_of(fleet), Tariff())
    assert [step.broker for step in found.steps] == [C, A, B]
    assert (found.answer, found.twice) == (AdviceAnswer.MOVES, frozenset())
    moves = [move for step in found.steps for move in step.plan.moves]
    assert sorted(move.bundle for move in moves) == sorted(fleet.bundles)
    assert {move.reason for move in moves} == {MoveReason.RESTARTED}


def test_without_one_the_cheapest_broker_comes_first_and_its_bundles_alone_move_twice() -> None:
    fleet = fleet_of({A: [(20.0, 50), (10.0, 10)], B: [(30.0, 1)], C: [(25.0, 30)]})
    found = rolling_restart(fleet, bounds_of(fleet), Tariff())
    assert found.steps[0].broker == B
    assert found.twice == {name_of(2)}
    last = found.steps[-1].broker
    assert [move.target for move in found.steps[0].plan.moves] == [last]


def test_of_a_bundle_that_moves_twice_the_bystanders_are_known_at_its_first_broker_alone() -> None:
    fleet = fleet_of({A: [(20.0, 50), (10.0, 10)], B: [(30.0, 1)], C: [(25.0, 30)]})
    found = rolling_restart(fleet, bounds_of(fleet), Tariff(bystanders={(B, name_of(2)): 7}))
    moves = [move for step in found.steps for move in step.plan.moves if move.bundle == name_of(2)]
    assert [(move.source == B, move.price.bystanders.value) for move in moves] == [(True, 7.0), (False, None)]


def test_a_bundle_for_which_no_broker_has_room_is_left() -> None:
    fleet = fleet_of({A: [(60.0, 1)], B: [(60.0, 2)]})
    found = rolling_restart(fleet, bounds_of(fleet), Tariff())
    assert found.answer is AdviceAnswer.NO_ROOM
    assert [veto.bundle for veto in found.steps[0].left] == [name_of(0)]


def test_empty_brokers_are_restarted_without_any_move() -> None:
    fleet = fleet_of({A: [], B: []})
    found = rolling_restart(fleet, bounds_of(fleet), Tariff())
    assert (found.answer, [step.broker for step in found.steps]) == (AdviceAnswer.NOTHING_TO_DO, [A, B])
    assert rolling_restart(fleet_of({}), bounds_of(fleet), Tariff()).steps == ()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([0.0, 1.0, 4.0, 8.0]), st.integers(0, 9)), max_size=4),
        min_size=1,
        max_size=5,
    )
)
def test_every_broker_is_empty_when_it_restarts_and_with_an_empty_one_nothing_moves_twice(
    loads: list[list[tuple[float, int]]],
) -> None:
    fleet = fleet_of({**{f"b{number}:8080": held for number, held in enumerate(loads)}, "spare:8080": []})
    found = rolling_restart(fleet, bounds_of(fleet), Tariff())
    assert sorted(step.broker for step in found.steps) == sorted(fleet.brokers)
    after, counts = fleet.copy(), dict.fromkeys(fleet.bundles, 0)
    for step in found.steps:
        for move in step.plan.moves:
            after.move(move.bundle, move.target)
            counts[move.bundle] += 1
        assert set(after.bundles_of(step.broker)) == {veto.bundle for veto in step.left}
    if found.answer is not AdviceAnswer.NO_ROOM:
        assert set(counts.values()) <= {1}
        assert found.twice == frozenset()
