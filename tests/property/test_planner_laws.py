"""Laws of plans, whatever the fleet: no hard goal is broken, nothing gets worse, and what is promised comes true."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.fleet import Fleet
from syncer.balancer.goals.hard import HardGoals, MoveBounds
from syncer.balancer.moving.bounds import RunBounds
from syncer.balancer.moving.planning import planned
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.planner.balance import balance
from syncer.balancer.planner.drain import drain
from syncer.balancer.planner.paring import pared
from syncer.balancer.planner.picking import Aim, PickRule
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search
from syncer.balancer.ranges import range_of_bundle
from syncer.balancer.running import plan_file
from syncer.model import Millis
from tests.unit.balancer.planner.scenes import MANAGER, bounds_of, fleet_of
from tests.unit.balancer.planner.topics import GivenTopics, topic

EXACT = 1e-9
FEW = settings(max_examples=60, deadline=None)
BUNDLES = st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.5, 7.0, 20.0, 45.0]), st.integers(0, 60)), max_size=9)


@st.composite
def fleets(draw: st.DrawFn, width: int = 1) -> Fleet:
    return fleet_of({f"b{number}:8080": draw(BUNDLES) for number in range(draw(st.integers(1, 5)))}, width=width)


@st.composite
def bounds(draw: st.DrawFn, fleet: Fleet) -> MoveBounds:
    names, brokers = sorted(fleet.bundles), sorted(fleet.brokers)
    traits = {
        broker: BrokerTraits(version="4.0.8", manager=draw(st.sampled_from([MANAGER, MANAGER, "other"])))
        for broker in brokers
    }
    policies = [IsolationPolicy(namespaces=["t/n"], primary=[f"b[{draw(st.sampled_from(['0-9', '02', '13']))}]"])]
    return replace(
        bounds_of(fleet),
        constraints=Constraints(traits=traits, policies=policies if draw(st.booleans()) else ()),
        recently_unloaded=frozenset(draw(st.sets(st.sampled_from(names), max_size=3))) if names else frozenset(),
        ceiling=draw(st.none() | st.floats(0.2, 1.0)),
    )


def moved(fleet: Fleet, targets: tuple[tuple[str, str], ...]) -> Fleet:
    after = fleet.copy()
    for bundle, target in targets:
        after.move(bundle, target)
    return after


@FEW
@given(st.data())
def test_no_plan_breaks_a_hard_goal(data: st.DataObject) -> None:
    fleet = data.draw(fleets())
    own = data.draw(bounds(fleet))
    for sketch in Search(Scene(fleet, own, Tariff())).front():
        after = moved(fleet, sketch.targets)
        goals = HardGoals(after, replace(own, ceiling=float("inf")))
        most = max(fleet.greatest, own.settings.usage.overloaded_percent / 100) if own.ceiling is None else own.ceiling
        for bundle, target in sketch.targets:
            assert goals.stays(bundle) is None
            assert goals.forbids(bundle, target) is None
            assert after.usages[target] <= most + EXACT


@FEW
@given(st.data())
def test_the_front_only_gets_better_for_more_and_replaying_a_plan_gives_what_it_promised(data: st.DataObject) -> None:
    fleet = data.draw(fleets())
    front = Search(Scene(fleet, data.draw(bounds(fleet)), Tariff())).front()
    assert front[0].targets == ()
    assert all(more.weight > less.weight and more.spread < less.spread for less, more in pairwise(front))
    for sketch in front:
        assert moved(fleet, sketch.targets).spread == pytest.approx(sketch.spread, abs=EXACT)
        assert all(fleet.owners[bundle] != target for bundle, target in sketch.targets)


@FEW
@given(st.data(), st.sampled_from(PickRule))
def test_advice_is_the_same_for_equal_fleets_and_its_figures_follow_from_move_to_move(
    data: st.DataObject, rule: PickRule
) -> None:
    fleet = data.draw(fleets())
    own, aim = data.draw(bounds(fleet)), Aim(rule=rule, where_pulsar_rests=True)
    found = balance(fleet, own, Tariff(), aim)
    assert found == balance(fleet.copy(), own, Tariff(), aim)
    if found.plan is None:
        return
    assert found.plan.spread.before - found.plan.spread.after >= aim.least_gain - EXACT
    after = fleet.copy()
    for move in found.plan.moves:
        assert after.usages[move.source] == pytest.approx(move.source_usage.before)
        after.move(move.bundle, move.target)
        assert after.usages[move.target] == pytest.approx(move.target_usage.after)
        assert after.spread == pytest.approx(move.spread.after, abs=EXACT)
    assert after.spread == pytest.approx(found.plan.spread.after, abs=EXACT)
    assert found.plan.spread.before == pytest.approx(fleet.spread)


@FEW
@given(fleets(), st.floats(0, 0.5))
def test_a_spread_that_was_asked_for_never_gets_worse(fleet: Fleet, spread: float) -> None:
    found = Search(Scene(fleet, bounds_of(fleet), Tariff())).to_spread(spread)
    assert found.spread <= max(fleet.spread, spread) + EXACT
    if fleet.spread <= spread:
        assert found.targets == ()


@FEW
@given(st.data())
def test_with_moves_that_are_known_no_plan_is_dearer_than_they_are(data: st.DataObject) -> None:
    fleet = data.draw(fleets())
    names, brokers = sorted(fleet.bundles), sorted(fleet.brokers)
    if not names:
        return
    known = data.draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(brokers)), max_size=4))
    tariff, own = Tariff(), bounds_of(fleet, ceiling=float("inf"))
    after = moved(fleet, tuple(known))
    found = Search(Scene(fleet, own, tariff)).to_spread(after.spread, known)
    changed = [name for name in names if after.owners[name] != fleet.owners[name]]
    assert found.spread <= max(after.spread, fleet.spread) + EXACT
    if after.spread < fleet.spread - EXACT:
        assert found.spread <= after.spread + EXACT
        assert found.weight <= sum(tariff.weight(fleet.bundles[name]) for name in changed) + EXACT


@st.composite
def topics_of(draw: st.DrawFn, fleet: Fleet) -> GivenTopics:
    """Deal out the clients of each bundle to topics of any load, and sometimes forget some of them."""
    given_topics = {}
    for name, bundle in fleet.bundles.items():
        lower, upper = range_of_bundle(name)
        places = draw(st.lists(st.integers(lower, upper - 1), max_size=6))
        given_topics[name] = [
            topic(place, draw(st.floats(0.0, 50.0)), draw(st.integers(0, bundle.stats.producers + 1)))
            for place in places
        ]
    return GivenTopics(given=given_topics, count=draw(st.none() | st.integers(1, 130)))


@FEW
@given(st.data(), st.floats(0, 0.5))
def test_cuts_never_make_a_plan_dearer_or_break_a_goal_and_lose_no_load(data: st.DataObject, spread: float) -> None:
    fleet = data.draw(fleets(width=1 << 20))
    own, tariff = data.draw(bounds(fleet)), Tariff()
    topics = data.draw(topics_of(fleet))
    whole = Search(Scene(fleet, own, tariff)).to_spread(spread)
    found = pared(Scene(fleet, own, tariff), topics, spread, whole)
    assert found.spread <= max(whole.spread, spread) + EXACT
    if whole.spread <= spread + EXACT:
        assert found.weight <= whole.weight + EXACT
    after = fleet.copy()
    for cut in found.cuts:
        before, usages = fleet.bundles[cut.bundle].stats, dict(after.usages)
        after.split(cut.bundle, cut.parts)
        assert sum(part.stats.producers for part in cut.parts) >= before.producers
        assert after.usages == pytest.approx(usages, abs=EXACT)
    cuts = sum(len(cut.positions) for cut in found.cuts)
    assert not cuts or cuts + (topics.count or 0) <= own.settings.split.max_bundles
    for bundle, target in found.targets:
        after.move(bundle, target)
    assert after.spread == pytest.approx(found.spread, abs=EXACT)
    goals = HardGoals(after, replace(own, ceiling=float("inf")))
    most = max(fleet.greatest, own.settings.usage.overloaded_percent / 100) if own.ceiling is None else own.ceiling
    for bundle, target in found.targets:
        assert goals.stays(bundle) is None
        assert goals.forbids(bundle, target) is None
        assert after.usages[target] <= most + EXACT


@FEW
@given(st.data())
def test_a_plan_that_is_kept_says_what_was_advised(data: st.DataObject) -> None:
    """Whatever is asked: its moves are the advised ones in order, from their owners, and it survives its file."""
    fleet = data.draw(fleets())
    limits = data.draw(bounds(fleet))
    if data.draw(st.booleans()):
        advice = drain(fleet, limits, Tariff(), [data.draw(st.sampled_from(sorted(fleet.brokers)))])
    else:
        advice = balance(fleet, limits, Tariff(), Aim(act_above=0.0, reach=0.0, where_pulsar_rests=True))
    assume(advice.plan is not None and advice.plan.moves)
    assert advice.plan is not None
    kept = planned(advice.plan, fleet, table="t", cluster="c", taken_ms=Millis(1), bounds=RunBounds(per_broker=2))
    told = [(move.bundle, move.source, move.target, move.price.client_seconds.value) for move in advice.plan.moves]
    assert [(each.bundle, each.source, each.target, each.prediction.client_seconds) for each in kept.moves] == told
    assert all(each.source == fleet.owners[each.bundle] for each in kept.moves)
    assert all(each.throughput == fleet.bundles[each.bundle].stats.traffic.throughput for each in kept.moves)
    assert plan_file.from_text(plan_file.to_text(kept).encode()) == kept


def tried_one_by_one(fleet: Fleet, own: MoveBounds, tariff: Tariff) -> list[tuple[float, float]]:
    """Try every single move that no hard goal forbids and that helps; the spread that each comes to, and its weight."""
    goals, found = HardGoals(fleet, own), list[tuple[float, float]]()
    for bundle, broker in product(fleet.bundles, fleet.brokers):
        if fleet.owners[bundle] == broker or goals.stays(bundle) or goals.forbids(bundle, broker):
            continue
        spread = moved(fleet, ((bundle, broker),)).spread
        if spread < fleet.spread:
            found.append((spread, tariff.weight(fleet.bundles[bundle])))
    return found


SOME_BUNDLES = st.lists(
    st.tuples(st.sampled_from([1.0, 2.5, 7.0, 20.0, 33.0]), st.integers(1, 60)), min_size=2, max_size=3
)
FEW_BUNDLES = st.lists(st.tuples(st.sampled_from([1.0, 2.5, 7.0, 20.0, 33.0]), st.integers(1, 60)), max_size=3)


@FEW
@given(
    st.tuples(SOME_BUNDLES, st.lists(FEW_BUNDLES, min_size=1, max_size=2)).map(
        lambda held: fleet_of({f"b{number}:8080": each for number, each in enumerate([held[0], *held[1]])})
    ),
    st.data(),
)
def test_where_one_move_suffices_no_dearer_plan_is_found_than_by_trying_all(fleet: Fleet, data: st.DataObject) -> None:
    own, tariff = bounds_of(fleet), Tariff()
    singles = tried_one_by_one(fleet, own, tariff)
    assume(singles)
    spread = data.draw(st.sampled_from(sorted({spread for spread, _ in singles})))
    referee = min(weight for reached, weight in singles if reached <= spread + EXACT)
    found = Search(Scene(fleet, own, tariff)).to_spread(spread)
    assert found.spread <= spread + EXACT
    assert found.weight <= referee + EXACT
