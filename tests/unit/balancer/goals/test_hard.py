"""Each hard goal vetoes what Pulsar's placement would not do, with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.fleet import Fleet, FleetBroker, FleetBundle
from syncer.balancer.goals.hard import HardGoals, MoveBounds
from syncer.balancer.goals.veto import Veto, VetoReason
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.settings import balancer_settings

B1, B2, B3 = "b1:8080", "b2:8080", "b3:8080"
X, Y = "t/x/0x00000000_0x80000000", "t/y/0x00000000_0x80000000"
MANAGER = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
TRAITS = dict.fromkeys((B1, B2, B3), BrokerTraits(version="4.0.8", manager=MANAGER))
SETTINGS = balancer_settings({})
BOUNDS = MoveBounds(constraints=Constraints(traits=TRAITS), settings=SETTINGS)
QUIET = BundleStats(Rates(), topics=10)


def bundle(name: str, owner: str, cpu: float = 10.0) -> FleetBundle:
    return FleetBundle(name=name, owner=owner, stats=QUIET, cpu=cpu)


def fleet(*bundles: FleetBundle) -> Fleet:
    brokers = [FleetBroker(name=name, base=Usages(cpu=Usage(0.0, 100.0))) for name in (B1, B2, B3)]
    return Fleet(brokers, bundles or [bundle(X, B1), bundle(Y, B2)])


def bounds(constraints: Constraints, **properties: object) -> MoveBounds:
    return MoveBounds(constraints=constraints, settings=balancer_settings(properties))


def forbidden(goals: HardGoals, name: str, target: str) -> tuple[VetoReason, str] | None:
    veto = goals.forbids(name, target)
    return (veto.reason, veto.detail) if veto is not None else None


def test_where_nothing_stands_against_it_a_bundle_may_go_anywhere() -> None:
    goals = HardGoals(fleet(), BOUNDS)
    assert (goals.stays(X), goals.forbids(X, B2)) == (None, None)
    assert goals.receivers(X) == {B1, B2, B3}
    assert HardGoals(fleet(), replace(BOUNDS, closed={B3})).receivers(X) == {B1, B2}


@pytest.mark.parametrize(
    ("name", "bounds", "reason"),
    [
        ("pulsar/c/b1:8080/0x00000000_0xffffffff", BOUNDS, VetoReason.HEARTBEAT),
        ("sla-monitor/c/b1:8080/0x00000000_0xffffffff", BOUNDS, VetoReason.HEARTBEAT),
        ("sla-monitor/b1:8080/0x00000000_0xffffffff", BOUNDS, VetoReason.HEARTBEAT),
        ("pulsar/system/0x00000000_0xffffffff", replace(BOUNDS, extensible=True), VetoReason.SYSTEM_NAMESPACE),
        (
            X,
            replace(BOUNDS, settings=balancer_settings({"loadBalancerSheddingExcludedNamespaces": "t/x"})),
            VetoReason.EXCLUDED_NAMESPACE,
        ),
        (X, replace(BOUNDS, recently_unloaded={X}), VetoReason.MOVED_JUST_NOW),
    ],
)
def test_some_bundles_stay_whatever_the_target(name: str, bounds: MoveBounds, reason: VetoReason) -> None:
    veto = HardGoals(fleet(bundle(name, B1)), bounds).stays(name)
    assert veto is not None
    assert (veto.reason, veto.bundle, veto.target) == (reason, name, None)


def test_the_modular_manager_moves_the_systems_namespace() -> None:
    assert HardGoals(fleet(), BOUNDS).stays("pulsar/system/0x00000000_0xffffffff") is None


def test_isolation_keeps_brokers_from_a_namespace() -> None:
    own = Constraints(traits=TRAITS, policies=[IsolationPolicy(namespaces=["t/x"], primary=["b1"])])
    goals = HardGoals(fleet(), bounds(own))
    assert forbidden(goals, X, B2) == (VetoReason.ISOLATION, "not-in-policy")
    assert forbidden(goals, Y, B1) == (VetoReason.ISOLATION, "reserved")
    assert goals.receivers(Y) == {B2, B3}
    assert goals.receivers("t/z/0x00000000_0x80000000") == goals.receivers(Y)


def test_a_bundle_with_other_topics_goes_where_they_are_served() -> None:
    traits = {**TRAITS, B2: BrokerTraits(manager=MANAGER, non_persistent=False)}
    goals = HardGoals(fleet(), replace(bounds(Constraints(traits=traits)), non_persistent=frozenset([X])))
    assert forbidden(goals, X, B2) == (VetoReason.ISOLATION, "domain-not-served")
    assert goals.forbids(Y, B2) is None


def test_a_broker_that_is_gone_gets_nothing() -> None:
    assert HardGoals(fleet(), BOUNDS).forbids(X, "b9:8080") == Veto(
        reason=VetoReason.ISOLATION, bundle=X, target="b9:8080", detail="not-available"
    )


def test_a_group_is_not_drawn_together_and_the_bundle_itself_does_not_count() -> None:
    own = Constraints(traits=TRAITS, groups={"t/x": "apart", "t/y": "Apart"})
    goals = HardGoals(fleet(), bounds(own))
    assert forbidden(goals, X, B2) == (VetoReason.ANTI_AFFINITY, "fuller-broker")
    assert goals.forbids(X, B3) is None


def test_another_group_does_not_count() -> None:
    own = Constraints(traits=TRAITS, groups={"t/x": "apart", "t/y": "elsewhere"})
    assert HardGoals(fleet(), bounds(own)).forbids(X, B2) is None


def test_a_group_counts_as_the_fleet_stands_when_it_is_asked() -> None:
    moving = fleet()
    goals = HardGoals(moving, bounds(Constraints(traits=TRAITS, groups={"t/x": "apart", "t/y": "apart"})))
    moving.move(Y, B3)
    assert goals.forbids(X, B2) is None
    assert forbidden(goals, X, B3) == (VetoReason.ANTI_AFFINITY, "fuller-broker")


def test_bundles_of_a_group_count_one_by_one_for_the_extensible_manager() -> None:
    more = [bundle(f"t/y/0x{low}0000000_0x{high}0000000", B2) for low, high in ("04", "48")]
    own = replace(bounds(Constraints(traits=TRAITS, groups={"t/x": "apart", "t/y": "apart"})), extensible=False)
    moving = fleet(bundle(X, B1), *more, bundle(Y + "1", B1), bundle(Y + "2", B3))
    assert HardGoals(moving, own).forbids(X, B2) is None
    assert forbidden(HardGoals(moving, replace(own, extensible=True)), X, B2) is not None


def test_a_group_stays_in_the_emptiest_failure_domains() -> None:
    own = Constraints(traits=TRAITS, groups={"t/x": "apart", "t/y": "apart"}, domains={B1: "d1", B2: "d2", B3: "d2"})
    goals = HardGoals(fleet(), bounds(own, failureDomainsEnabled=True))
    assert forbidden(goals, X, B3) == (VetoReason.ANTI_AFFINITY, "fuller-domain")
    assert HardGoals(fleet(), bounds(own)).forbids(X, B3) is None


def test_no_broker_is_filled_beyond_its_ceiling() -> None:
    full = fleet(bundle(X, B1, 50.0), bundle(Y, B2, 40.0))
    assert forbidden(HardGoals(full, BOUNDS), X, B2) == (VetoReason.OVER_CAPACITY, "90.0% of at most 85.0%")
    assert HardGoals(full, replace(BOUNDS, ceiling=0.9)).forbids(X, B2) is None


def test_an_overload_may_become_smaller_unless_the_ceiling_was_given() -> None:
    full = fleet(bundle(X, B1, 60.0), bundle(X + "2", B1, 35.0), bundle(Y, B2, 30.0))
    assert HardGoals(full, BOUNDS).forbids(X, B2) is None
    assert forbidden(HardGoals(full, replace(BOUNDS, ceiling=0.85)), X, B2) is not None


def test_no_broker_gets_more_topics_than_it_may_have() -> None:
    tight = bounds(Constraints(traits=TRAITS), loadBalancerBrokerMaxTopics=19)
    assert forbidden(HardGoals(fleet(), tight), X, B2) == (VetoReason.TOO_MANY_TOPICS, "20 of at most 19")
    assert HardGoals(fleet(), tight).forbids(X, B3) is None


def test_brokers_of_another_manager_or_an_older_version_get_nothing() -> None:
    traits = {
        **TRAITS,
        B2: BrokerTraits(version="4.0.8", manager="org.example.Other"),
        B3: BrokerTraits(version="4.0.7", manager=MANAGER),
    }
    own = Constraints(traits=traits)
    assert forbidden(HardGoals(fleet(), bounds(own)), X, B2) == (VetoReason.OTHER_MANAGER, "")
    assert HardGoals(fleet(), bounds(own)).forbids(X, B3) is None
    later = HardGoals(fleet(), bounds(own, preferLaterVersions=True))
    assert forbidden(later, X, B3) == (VetoReason.OLDER_VERSION, "")
