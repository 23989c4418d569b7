"""A drained broker keeps nothing but its own, and nobody else is overloaded by it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.fleet import FleetBundle
from syncer.balancer.goals.veto import VetoReason
from syncer.balancer.load import BundleStats, Rates
from syncer.balancer.planner.advice import AdviceAnswer, AdviceReason, MoveReason
from syncer.balancer.planner.drain import drain
from syncer.errors import LoadDataInvalid
from tests.unit.balancer.planner.scenes import bounds_of, fleet_of, name_of

A, B, C = "a:8080", "b:8080", "c:8080"


def test_every_bundle_leaves_once_and_goes_where_it_is_borne_best() -> None:
    fleet = fleet_of({A: [(20.0, 1), (10.0, 1)], B: [(30.0, 1)], C: [(15.0, 1)]})
    found = drain(fleet, bounds_of(fleet), Tariff(), [A])
    assert (found.answer, found.reason, found.subject) == (AdviceAnswer.MOVES, AdviceReason.ASKED_FOR, A)
    assert found.plan is not None
    assert [(move.bundle, move.target) for move in found.plan.moves] == [(name_of(0), C), (name_of(1), B)]
    assert {move.reason for move in found.plan.moves} == {MoveReason.DRAINED}


def test_a_grace_period_or_an_excluded_namespace_keeps_nothing_and_a_brokers_own_bundle_ends_with_it() -> None:
    fleet = fleet_of({A: [(20.0, 1)], B: []})
    heartbeat = "pulsar/c/a:8080/0x00000000_0xffffffff"
    fleet.split(
        name_of(0),
        [FleetBundle(name=name, owner=A, stats=BundleStats(Rates())) for name in (heartbeat, name_of(0) + "1")],
    )
    found = drain(fleet, bounds_of(fleet, recently_unloaded=frozenset(fleet.bundles)), Tariff(), [A])
    assert found.plan is not None
    assert [move.bundle for move in found.plan.moves] == [name_of(0) + "1"]


def test_where_there_is_no_room_the_bundles_that_are_left_are_named() -> None:
    fleet = fleet_of({A: [(60.0, 1), (10.0, 1)], B: [(40.0, 1)]})
    found = drain(fleet, bounds_of(fleet), Tariff(), [A])
    assert found.answer is AdviceAnswer.NO_ROOM
    assert [(veto.bundle, veto.reason) for veto in found.left] == [(name_of(0), VetoReason.OVER_CAPACITY)]
    assert found.plan is not None
    assert [move.bundle for move in found.plan.moves] == [name_of(1)]


def test_the_only_broker_cannot_be_drained() -> None:
    fleet = fleet_of({A: [(60.0, 1)]})
    found = drain(fleet, bounds_of(fleet), Tariff(), [A])
    assert (found.answer, len(found.left)) == (AdviceAnswer.NO_ROOM, 1)


def test_an_empty_broker_needs_nothing_and_one_that_is_not_there_is_refused() -> None:
    fleet = fleet_of({A: [], B: [(60.0, 1)]})
    assert drain(fleet, bounds_of(fleet), Tariff(), [A]).answer is AdviceAnswer.NOTHING_TO_DO
    with pytest.raises(LoadDataInvalid, match="c:8080 cannot be drained"):
        drain(fleet, bounds_of(fleet), Tariff(), [C])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([0.0, 1.0, 7.0, 20.0]), st.integers(0, 9)), max_size=6),
        min_size=2,
        max_size=5,
    ),
    st.integers(1, 2),
)
def test_what_is_drained_is_empty_where_there_is_room_and_every_bundle_moves_once(
    loads: list[list[tuple[float, int]]], count: int
) -> None:
    fleet = fleet_of({f"b{number}:8080": held for number, held in enumerate(loads)})
    gone = sorted(fleet.brokers)[:count]
    found = drain(fleet, bounds_of(fleet), Tariff(), gone)
    moves = found.plan.moves if found.plan is not None else ()
    assert len({move.bundle for move in moves}) == len(moves)
    after = fleet.copy()
    for move in moves:
        assert move.source in gone
        assert move.target not in gone
        after.move(move.bundle, move.target)
        assert after.usages[move.target] <= 0.85 + 1e-9
    held = {bundle for broker in gone for bundle in after.bundles_of(broker)}
    assert held == {veto.bundle for veto in found.left}
    assert (found.answer is AdviceAnswer.NO_ROOM) == bool(held)
