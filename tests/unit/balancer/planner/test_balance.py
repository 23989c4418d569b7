"""The answer names few moves with their reasons, or says why nothing moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.cost.estimate import Basis
from syncer.balancer.cost.tariff import BundleClients, Tariff
from syncer.balancer.fleet import Fleet, FleetBroker
from syncer.balancer.goals.veto import VetoReason
from syncer.balancer.load import Rates, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.planner.advice import (
    Advice,
    AdviceAnswer,
    AdviceReason,
    Assumption,
    CutReason,
    MoveReason,
    RejectReason,
)
from syncer.balancer.planner.balance import balance
from syncer.balancer.planner.picking import Aim, PickRule
from syncer.balancer.settings import balancer_settings
from tests.unit.balancer.planner.scenes import bounds_of, fleet_of, name_of
from tests.unit.balancer.planner.topics import GivenTopics, topic

A, B, C = "a:8080", "b:8080", "c:8080"
ALWAYS = Aim(where_pulsar_rests=True)
REACH_15 = replace(ALWAYS, reach=0.15)


def asked(fleet: Fleet, aim: Aim = ALWAYS, **more: object) -> Advice:
    return balance(fleet, bounds_of(fleet, **more), Tariff(), aim)


def test_a_plan_has_moves_with_reason_figures_price_and_what_was_rejected() -> None:
    found = asked(fleet_of({A: [(30.0, 50), (30.0, 2), (10.0, 1)], B: [(5.0, 1)], C: [(9.0, 1)]}), REACH_15)
    assert (found.answer, found.reason) == (AdviceAnswer.MOVES, AdviceReason.TOO_UNEQUAL)
    assert found.plan is not None
    (move,) = found.plan.moves
    assert (move.bundle, move.source, move.target, move.reason) == (name_of(1), A, B, MoveReason.SOURCE_TOO_FULL)
    assert (move.source_usage.before, move.source_usage.after) == pytest.approx((0.7, 0.4))
    assert (move.target_usage.before, move.target_usage.after) == pytest.approx((0.05, 0.35))
    assert move.gain == pytest.approx(0.3)
    assert found.plan.spread.after == pytest.approx(0.12)
    assert found.plan.client_seconds.value == pytest.approx(0.427)
    rejected = {(each.bundle, each.target): each.reason for each in move.rejected}
    assert rejected == {
        (name_of(1), C): RejectReason.TARGET_TOO_FULL,
        (name_of(0), B): RejectReason.DEARER,
        (name_of(2), B): RejectReason.TOO_LITTLE,
    }


def test_the_front_is_told_with_the_plan_that_was_chosen_and_the_rule() -> None:
    fleet = fleet_of({A: [(float(1 + n % 7), 1 + n % 5) for n in range(20)], B: [(3.0, 2)] * 4, C: []})
    for rule in PickRule:
        found = asked(fleet, replace(ALWAYS, rule=rule))
        assert found.plan is not None
        (chosen,) = [point for point in found.front if point.chosen]
        assert (found.rule, chosen.moves) == (rule, len(found.plan.moves))
        assert chosen.spread == pytest.approx(found.plan.spread.after)
        assert chosen.client_seconds.value == pytest.approx(found.plan.client_seconds.value)


@pytest.mark.parametrize(
    ("loads", "reason"),
    [
        ({}, AdviceReason.FEW_BROKERS),
        ({A: [(99.0, 1)]}, AdviceReason.FEW_BROKERS),
        ({A: [], B: []}, AdviceReason.BALANCED),
        ({A: [(30.0, 1)], B: [(15.0, 1)]}, AdviceReason.BALANCED),
    ],
)
def test_nothing_is_to_be_done(loads: dict[str, list[tuple[float, int]]], reason: AdviceReason) -> None:
    assert asked(fleet_of(loads)) == Advice(answer=AdviceAnswer.NOTHING_TO_DO, reason=reason)


def test_where_no_strategy_of_pulsars_would_act_nothing_moves_unless_asked_for() -> None:
    fleet = fleet_of({A: [(20.0, 1), (20.0, 1)], B: []})
    assert balance(fleet, bounds_of(fleet), Tariff()).reason is AdviceReason.TOO_UNEQUAL
    still = [replace(each, stats=replace(each.stats, traffic=Rates())) for each in fleet.bundles.values()]
    quiet = Fleet(fleet.brokers.values(), still)
    found = balance(quiet, bounds_of(quiet), Tariff())
    assert (found.answer, found.reason) == (AdviceAnswer.NOTHING_TO_DO, AdviceReason.PULSAR_RESTS)
    assert asked(quiet).answer is AdviceAnswer.MOVES


def test_an_overload_is_acted_on_though_all_brokers_are_alike() -> None:
    found = asked(fleet_of({A: [(60.0, 1), (29.0, 1)], B: [(60.0, 1), (22.0, 1)]}))
    assert found.reason in {AdviceReason.HARD_GOALS, AdviceReason.ONE_LARGE_BUNDLE, AdviceReason.OVERLOADED}
    assert found.answer is not AdviceAnswer.NOTHING_TO_DO


def test_no_move_is_allowed_and_the_vetoes_say_why() -> None:
    fleet = fleet_of({A: [(40.0, 1), (40.0, 1)], B: []})
    pinned = replace(bounds_of(fleet).constraints, policies=[IsolationPolicy(namespaces=["t/n"], primary=["a"])])
    assert isinstance(pinned, Constraints)
    found = asked(fleet, constraints=pinned)
    assert (found.answer, found.subject) == (AdviceAnswer.NO_MOVE_ALLOWED, A)
    assert found.vetoes == {VetoReason.ISOLATION: 2}
    just_now = asked(fleet, recently_unloaded=frozenset(fleet.bundles))
    assert just_now.vetoes == {VetoReason.MOVED_JUST_NOW: 2}


def test_one_large_bundle_is_named_since_no_move_helps() -> None:
    found = asked(fleet_of({A: [(70.0, 1), (1.0, 1)], B: []}))
    assert (found.answer, found.reason) == (AdviceAnswer.NO_MOVE_HELPS, AdviceReason.ONE_LARGE_BUNDLE)
    assert found.subject == name_of(0)


def test_usage_that_no_bundle_explains_is_named_since_no_move_helps() -> None:
    brokers = [
        FleetBroker(name=A, base=Usages(cpu=Usage(70.0, 100.0))),
        FleetBroker(name=B, base=Usages(cpu=Usage(0.0, 100.0))),
    ]
    found = asked(Fleet(brokers, ()))
    assert (found.answer, found.reason, found.subject) == (AdviceAnswer.NO_MOVE_HELPS, AdviceReason.BASE_USAGE, A)


def test_a_plan_says_what_it_takes_for_granted() -> None:
    fleet = fleet_of({A: [(30.0, 5), (30.0, 2)], B: []})
    assert asked(fleet).assumptions == {Assumption.CPU_BY_TRAFFIC, Assumption.PRICES_ASSUMED}
    clients = dict.fromkeys(fleet.bundles, BundleClients(producers={"Pulsar Go 0.14.0": 1}, consumers={}))
    found = balance(fleet, bounds_of(fleet), Tariff(clients=clients), ALWAYS)
    assert found.assumptions == {Assumption.CPU_BY_TRAFFIC, Assumption.CLIENTS_UNMEASURED}
    assert found.plan is not None
    assert (found.plan.client_seconds.basis, found.plan.at_least) == (Basis.UNKNOWN, 0.0)


def test_moves_that_pulsars_next_round_would_undo_are_named() -> None:
    fleet = fleet_of({A: [(44.0, 9), (40.0, 1)], B: [(20.0, 1)], C: []})
    here = replace(bounds_of(fleet).constraints, policies=[IsolationPolicy(namespaces=["t/n"], primary=["a|b"])])
    found = asked(fleet, replace(ALWAYS, reach=0.3), constraints=here)
    assert found.plan is not None
    assert [(move.bundle, move.target) for move in found.plan.moves] == [(name_of(1), B)]
    assert found.plan.undone == {name_of(1)}
    steady = asked(fleet_of({A: [(44.0, 9), (20.0, 1)], B: [(40.0, 1)], C: [(40.0, 1)]}), REACH_15)
    assert steady.plan is None or not steady.plan.undone


def test_under_the_extensible_manager_its_own_strategy_is_asked() -> None:
    told = {"loadBalancerLoadSheddingStrategy": "TransferShedder", "loadBalancerBrokerLoadTargetStd": 0.3}
    settings = balancer_settings(told)
    uneven = fleet_of({A: [(15.0, 1)] * 4, B: [(15.0, 1)], C: [(15.0, 1)] * 2})
    rests = balance(uneven, bounds_of(uneven, extensible=True, settings=settings), Tariff())
    assert (rests.answer, rests.reason) == (AdviceAnswer.NOTHING_TO_DO, AdviceReason.PULSAR_RESTS)
    eager = balancer_settings({**told, "loadBalancerBrokerLoadTargetStd": 0.1})
    acts = balance(uneven, bounds_of(uneven, extensible=True, settings=eager), Tariff())
    assert acts.answer is AdviceAnswer.MOVES
    other = balancer_settings({**told, "loadBalancerLoadSheddingStrategy": "org.example.Other"})
    assert balance(uneven, bounds_of(uneven, extensible=True, settings=other), Tariff()).answer is AdviceAnswer.MOVES


def test_moves_that_transfer_shedder_would_undo_are_named() -> None:
    told = {"loadBalancerLoadSheddingStrategy": "TransferShedder", "loadBalancerBrokerLoadTargetStd": 0.01}
    fleet = fleet_of({A: [(40.0, 9), (20.0, 1)], B: [(30.0, 1)], C: []})
    known = {"extensible": True, "settings": balancer_settings(told), "closed": frozenset([C])}
    found = asked(fleet, replace(ALWAYS, reach=0.2), **known)
    assert found.plan is not None
    assert [(move.bundle, move.target) for move in found.plan.moves] == [(name_of(1), B)]
    assert found.plan.undone == {name_of(1)}, "C is closed to the plan, and not to Pulsar"


def test_an_exchange_and_room_that_is_made_are_told_from_the_rest() -> None:
    found = asked(fleet_of({A: [(40.0, 1), (40.0, 1)], B: [(20.0, 1), (20.0, 1)]}))
    assert found.plan is not None
    assert {move.reason for move in found.plan.moves} == {MoveReason.EXCHANGED}
    small = [(5.0, 1)] * 4
    room = asked(
        fleet_of({A: [(50.0, 1), (30.0, 400)], B: small, C: small}),
        replace(ALWAYS, reach=0.17),
        closed=frozenset([A]),
    )
    assert room.plan is not None
    *before, last = room.plan.moves
    assert {move.reason for move in before} == {MoveReason.MAKES_ROOM}
    assert (last.bundle, last.reason) == (name_of(0), MoveReason.SOURCE_TOO_FULL)


WIDE = 1 << 16
BUSY = name_of(0, width=WIDE)
CROWD = (topic(0x100, 5.0, 60), topic(0x200, 38.0, 2), topic(0x300, 2.0, 38))


def cut_for(fleet: Fleet, aim: Aim = REACH_15, **more: object) -> Advice:
    return balance(fleet, bounds_of(fleet, **more), Tariff(), aim, topics=GivenTopics(given={BUSY: CROWD}))


def crowded() -> Fleet:
    return fleet_of({A: [(45.0, 100), (40.0, 200)], B: [(10.0, 1)], C: [(11.0, 1)]}, width=WIDE)


@pytest.mark.parametrize("rule", PickRule)
def test_by_every_rule_a_plan_with_cuts_is_cheaper_and_as_even(rule: PickRule) -> None:
    fleet, aim = crowded(), replace(REACH_15, rule=rule)
    found, whole = cut_for(fleet, aim), asked(fleet, aim)
    assert found.plan is not None
    assert whole.plan is not None
    assert found.plan.cuts
    assert (found.plan.client_seconds.value or 0) < (whole.plan.client_seconds.value or 0)
    assert found.plan.spread.after <= whole.plan.spread.after or rule is PickRule.CHEAPEST_WITHIN
    assert [each.moves for each in found.front if each.chosen] == [len(found.plan.moves)]


def test_a_bundle_is_cut_with_reason_gain_price_and_the_whole_that_stays() -> None:
    fleet = crowded()
    found, whole = cut_for(fleet), asked(fleet)
    assert found.plan is not None
    assert whole.plan is not None
    (cut,) = found.plan.cuts
    (move,) = found.plan.moves
    assert (cut.cut.bundle, cut.cut.cuts, cut.broker) == (BUSY, (0x180, 0x280), A)
    assert (move.bundle, move.source, move.target) == (cut.cut.goes, A, B)
    assert [part.topics for part in cut.cut.parts] == [2, 2, 2], "five that are reported, over three that are loaded"
    assert [part.share for part in cut.cut.parts] == pytest.approx([5 / 45, 38 / 45, 2 / 45])
    assert (cut.gain, move.gain) == pytest.approx((0.38, found.plan.spread.before - found.plan.spread.after))
    assert cut.price == found.plan.client_seconds == move.price.client_seconds
    assert (cut.price.value or 0) < (whole.plan.client_seconds.value or 0) / 10
    assert (cut.whole.client_seconds.value or 0) > 20
    (instead,) = cut.rejected
    assert (instead.bundle, instead.target) == (BUSY, B)
    assert found.plan.spread.after <= REACH_15.reach
    assert [(each.moves, each.cuts) for each in found.front if each.chosen] == [(1, 2)]
    assert Assumption.CUTS_UNNOTICED in found.assumptions
    assert not whole.plan.cuts
    assert Assumption.CUTS_UNNOTICED not in whole.assumptions


def test_why_a_bundle_does_not_move_whole_is_told() -> None:
    def reason(fleet: Fleet, aim: Aim = REACH_15, **more: object) -> tuple[CutReason, RejectReason]:
        found = cut_for(fleet, aim, **more)
        assert found.plan is not None
        return found.plan.cuts[0].reason, found.plan.cuts[0].rejected[0].reason

    cheaper = fleet_of({A: [(45.0, 100), (40.0, 200)], B: [(1.0, 1)], C: [(1.0, 1)]}, width=WIDE)
    assert reason(cheaper, replace(REACH_15, reach=0.25)) == (CutReason.PART_COSTS_LESS, RejectReason.DEARER)
    assert reason(crowded()) == (CutReason.WHOLE_DOES_NOT_FIT, RejectReason.TARGET_TOO_FULL)
    assert reason(crowded(), ceiling=0.5) == (CutReason.WHOLE_IS_FORBIDDEN, RejectReason.VETO)


def test_a_cut_helps_where_no_whole_bundle_does() -> None:
    fleet = fleet_of({A: [(90.0, 100)], B: []}, width=WIDE)
    assert asked(fleet).answer is AdviceAnswer.NO_MOVE_HELPS
    halves = GivenTopics(given={BUSY: (topic(0x100, 44.0, 50), topic(0x200, 46.0, 50))})
    found = balance(fleet, bounds_of(fleet), Tariff(), ALWAYS, topics=halves)
    assert found.answer is AdviceAnswer.MOVES
    assert found.plan is not None
    assert len(found.plan.cuts) == 1
    assert found.plan.spread.after == pytest.approx(0.01)


def test_where_nothing_shall_move_nothing_is_cut() -> None:
    fleet = fleet_of({A: [(45.0, 100)], B: [(44.0, 100)]}, width=WIDE)
    assert cut_for(fleet).answer is AdviceAnswer.NOTHING_TO_DO
    alone = fleet_of({A: [(90.0, 100)], B: []}, width=WIDE)
    hot = GivenTopics(given={BUSY: (topic(0x100, 1.0, 50), topic(0x200, 89.0, 50))})
    assert balance(alone, bounds_of(alone), Tariff(), ALWAYS, topics=hot).answer is AdviceAnswer.NO_MOVE_HELPS
