"""Rounds of the modular manager: by reports, with grace, as its strategies choose."""

from __future__ import annotations

import pytest

from syncer.balancer.attribution import read_fleet
from syncer.balancer.fleet import Fleet
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.rounds.modular import ModularLeader
from syncer.balancer.rounds.reporting import MINUTE_MS
from syncer.balancer.settings import balancer_settings
from syncer.balancer.versions import BalancerRules, balancer_rules
from tests.support.balancing import conf_of

A, B = "a:8080", "b:8080"
MANAGER = balancer_settings({}).placement.manager
CONSTRAINTS = Constraints(traits={broker: BrokerTraits(version="4.0.8", manager=MANAGER) for broker in (A, B)})


def bundle(number: int) -> str:
    return f"t/n/0x{number}0000000_0x{number + 1}0000000"


def two_brokers(cpu: float = 90.0) -> Fleet:
    usages = [(A, Usages(cpu=Usage(cpu, 100.0))), (B, Usages(cpu=Usage(5.0, 100.0)))]
    rates = Rates(100.0, 100.0, 1e7, 1e7)
    return read_fleet(usages, [(bundle(number), A, BundleStats(rates, topics=3)) for number in range(8)])


def leader(shedder: str, **more: object) -> ModularLeader:
    settings = balancer_settings(conf_of(shedder, **more))
    return ModularLeader(CONSTRAINTS, settings, BalancerRules(), lambda brokers: brokers[0])


def test_an_overloaded_broker_gives_a_bundle_to_the_other_one() -> None:
    fleet, found = two_brokers(), leader("OverloadShedder")
    assert found.round(fleet, MINUTE_MS) == ([(bundle(0), B)], 0)
    assert fleet.owners[bundle(0)] == A


def test_a_bundle_that_was_unloaded_stays_for_the_time_of_grace() -> None:
    fleet, found = two_brokers(), leader("OverloadShedder", loadBalancerSheddingGracePeriodMinutes=2)
    chosen = [found.round(fleet, number * MINUTE_MS)[0] for number in range(1, 5)]
    # Nobody moves them here: the leader goes on, and comes back to the first when its grace is over.
    assert chosen == [[(bundle(number), B)] for number in (0, 1, 2, 0)]


def test_a_leader_decides_by_the_last_report_while_the_load_changes_little() -> None:
    fleet, found = two_brokers(), leader("OverloadShedder", loadBalancerReportUpdateThresholdPercentage=20)
    for number, expected in ((1, bundle(0)), (2, bundle(1))):
        [(chosen, target)], _ = found.round(fleet, number * MINUTE_MS)
        assert chosen == expected
        fleet.move(chosen, target)
    # Two of eight bundles are gone from what was reported: that is told, and the broker is not overloaded any more.
    assert found.round(fleet, 3 * MINUTE_MS) == ([], 0)


@pytest.mark.parametrize("off", ["loadBalancerEnabled", "loadBalancerSheddingEnabled"])
def test_nothing_is_shed_where_that_is_switched_off(off: str) -> None:
    assert leader("OverloadShedder", **{off: False}).round(two_brokers(), MINUTE_MS) == ([], 0)


def test_nothing_is_shed_by_a_broker_that_is_alone() -> None:
    fleet = read_fleet(
        [(A, Usages(cpu=Usage(95.0, 100.0)))], [(bundle(n), A, BundleStats(Rates(1.0, 1.0, 1e7, 1e7))) for n in (0, 1)]
    )
    assert leader("OverloadShedder").round(fleet, MINUTE_MS) == ([], 0)


def test_a_choice_that_leads_back_to_the_same_broker_is_futile() -> None:
    turns = leader(
        "ThresholdShedder",
        loadBalancerBundleUnloadMinThroughputThreshold=0,
        loadBalancerDistributeBundlesEvenlyEnabled=False,
        loadBalancerLoadPlacementStrategy="x.RoundRobinBrokerSelector",
    )
    # Two bundles make up what is too much; the first turn is that of the broker that has them.
    assert turns.round(two_brokers(60.0), MINUTE_MS) == ([(bundle(1), B)], 1)


def test_averages_of_brokers_that_left_are_forgotten() -> None:
    fleet, found = two_brokers(30.0), leader("ThresholdShedder")
    found.round(fleet, MINUTE_MS)
    other = read_fleet([(A, fleet.resources(A))], [(name, A, each.stats) for name, each in fleet.bundles.items()])
    assert found.round(other, 2 * MINUTE_MS) == ([], 0)
    assert found.round(fleet, 3 * MINUTE_MS)[0]


def test_what_is_chosen_of_excluded_namespaces_stays_and_nothing_is_chosen_in_its_place() -> None:
    fleet = two_brokers()
    settings = balancer_settings(conf_of("OverloadShedder", loadBalancerSheddingExcludedNamespaces="t/n"))
    assert ModularLeader(CONSTRAINTS, settings, balancer_rules("4.2.4"), min).round(fleet, MINUTE_MS) == ([], 1)
    assert ModularLeader(CONSTRAINTS, settings, balancer_rules("4.0.8"), min).round(fleet, MINUTE_MS)[1] == 0
