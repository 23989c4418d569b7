"""Plans reach the spread that was asked for, by the cheapest moves, or come as near as anything can."""

from __future__ import annotations

from itertools import pairwise

import pytest

from syncer.balancer.fleet import FleetBroker
from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.load import Usage, Usages
from syncer.balancer.planner.search import Search, Sketch, undominated
from tests.unit.balancer.planner.scenes import bounds_of, fleet_of, name_of, scene_of

A, B, C = "a:8080", "b:8080", "c:8080"


def test_the_bundle_with_much_traffic_and_few_clients_moves() -> None:
    fleet = fleet_of({A: [(30.0, 50), (30.0, 2), (10.0, 1)], B: []})
    found = Search(scene_of(fleet)).to_spread(0.1)
    assert found.targets == ((name_of(1), B),)
    assert found.spread == pytest.approx(0.05)


def test_a_balanced_fleet_stays() -> None:
    fleet = fleet_of({A: [(30.0, 5)], B: [(30.0, 5)]})
    assert Search(scene_of(fleet)).to_spread(0.0).targets == ()
    assert [each.targets for each in Search(scene_of(fleet)).front()] == [()]


@pytest.mark.parametrize("loads", [{}, {A: []}, {A: [(50.0, 3)]}, {A: [], B: []}])
def test_where_there_is_nothing_to_move_nothing_moves(loads: dict[str, list[tuple[float, int]]]) -> None:
    search = Search(scene_of(fleet_of(loads)))
    assert search.to_spread(0.0).targets == ()
    assert len(search.front()) == 1


def test_one_bundle_that_makes_up_the_whole_load_is_not_thrown_about() -> None:
    assert Search(scene_of(fleet_of({A: [(80.0, 1)], B: [], C: []}))).to_spread(0.1).targets == ()


def test_beside_a_broker_that_cannot_be_helped_nothing_moves_in_vain() -> None:
    fleet = fleet_of({A: [(80.0, 1)], B: [(20.0, 1), (20.0, 1), (10.0, 1)], C: []})
    assert Search(scene_of(fleet)).to_spread(0.1).targets == ()


def test_two_bundles_are_exchanged_where_none_fits() -> None:
    fleet = fleet_of({A: [(40.0, 1), (40.0, 1)], B: [(20.0, 1), (20.0, 1)]})
    found = Search(scene_of(fleet)).to_spread(0.0)
    assert len(found.targets) == 2
    assert {target for _, target in found.targets} == {A, B}
    assert found.spread == pytest.approx(0.0)


def test_room_is_made_for_a_large_bundle() -> None:
    small = [(5.0, 1)] * 4
    fleet = fleet_of({A: [(50.0, 1), (30.0, 400)], B: small, C: small})
    found = Search(scene_of(fleet)).to_spread(0.17)
    assert name_of(0) in dict(found.targets)
    assert name_of(1) not in dict(found.targets)
    assert found.spread <= 0.17


def test_the_front_rises_in_price_and_falls_in_spread_and_begins_with_no_move() -> None:
    fleet = fleet_of({A: [(float(1 + n % 7), 1 + n % 5) for n in range(20)], B: [(3.0, 2)] * 4, C: []})
    front = Search(scene_of(fleet)).front()
    assert front[0] == Sketch((), fleet.spread, 0.0)
    assert len(front) > 3
    for cheaper, dearer in pairwise(front):
        assert (cheaper.weight < dearer.weight, cheaper.spread > dearer.spread) == (True, True)


def test_searching_leaves_the_fleet_as_it_was() -> None:
    fleet = fleet_of({A: [(30.0, 5), (30.0, 2), (10.0, 1)], B: []})
    before = dict(fleet.usages)
    scene = scene_of(fleet)
    Search(scene).front()
    assert (fleet.usages, scene.fleet.usages) == (before, before)


def test_a_closed_broker_gets_nothing_and_may_give() -> None:
    fleet = fleet_of({A: [(30.0, 5), (30.0, 2)], B: [], C: []})
    found = Search(scene_of(fleet, closed=frozenset([B]))).to_spread(0.1)
    assert {target for _, target in found.targets} == {C}


def test_bundles_that_stay_are_not_moved_though_they_are_cheaper() -> None:
    fleet = fleet_of({A: [(30.0, 50), (30.0, 2)], B: []})
    found = Search(scene_of(fleet, recently_unloaded=frozenset([name_of(1)]))).to_spread(0.1)
    assert found.targets == ((name_of(0), B),)


def test_only_what_no_other_plan_beats_is_kept() -> None:
    plans = [Sketch((), 0.5, 0.0), Sketch((("x", A),), 0.2, 2.0), Sketch((("y", A),), 0.3, 3.0)]
    assert undominated(plans) == plans[:2]


def test_bounds_are_kept_whatever_the_price() -> None:
    fleet = fleet_of({A: [(30.0, 5), (30.0, 2)], B: [(20.0, 1)]})
    bounds: MoveBounds = bounds_of(fleet, ceiling=0.4)
    assert Search(scene_of(fleet, ceiling=bounds.ceiling)).to_spread(0.0).targets == ()


def test_moves_that_are_known_are_lightened_and_never_lost() -> None:
    fleet = fleet_of({A: [(30.0, 50), (30.0, 2), (10.0, 1)], B: [], C: [(60.0, 1)]})
    wasteful = [(name_of(0), B), (name_of(2), B)]
    bound = 0.6 - (0.7 + 0.6) / 3
    found = Search(scene_of(fleet)).to_spread(bound, wasteful)
    assert found.targets == ((name_of(2), B),)
    forbidden = Search(scene_of(fleet, closed=frozenset([B, C]))).to_spread(0.1, wasteful)
    assert forbidden.targets == ()
    tight = Search(scene_of(fleet, ceiling=0.05)).to_spread(0.1, wasteful)
    assert tight.targets == ()
    gone = [("t/n/0xeeeeeeee_0xffffffff", B)]
    assert Search(scene_of(fleet)).to_spread(bound, gone).targets == found.targets


def test_a_spread_is_reached_though_the_moves_lower_the_mean() -> None:
    fleet = fleet_of({A: [(8.0, 1)] * 10})
    fleet.add_broker(FleetBroker(name=B, base=Usages(cpu=Usage(0.0, 400.0))))
    spreads = [each.spread for each in Search(scene_of(fleet)).front(0.12)]
    assert 0.05 < spreads[-1] <= 0.12
    assert Search(scene_of(fleet)).front()[-1].spread > 0.12
