"""Pulsar's strategies are asked for their next round over a fleet, as it would see it."""

from __future__ import annotations

from syncer.balancer.fleet import Fleet, FleetBroker, FleetBundle
from syncer.balancer.goals.stability import SHEDDERS, cluster_load, next_round
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.settings import balancer_settings

B1, B2 = "b1:8080", "b2:8080"
X, Y = "t/x/0x00000000_0x80000000", "t/y/0x00000000_0x80000000"
SETTINGS = balancer_settings({})
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."


def fleet(cpu: float) -> Fleet:
    stats = BundleStats(Rates(9e4, 0.0, 5e8, 0.0), topics=3)
    return Fleet(
        [FleetBroker(name=name, base=Usages(cpu=Usage(0.0, 100.0))) for name in (B1, B2)],
        [FleetBundle(name=name, owner=B1, stats=stats, cpu=cpu) for name in (X, Y)],
    )


def test_strategies_answer_for_their_first_round() -> None:
    found = next_round(cluster_load(fleet(45.0)), SETTINGS, SHEDDERS)
    acting = {name.removeprefix(PACKAGE) for name, unloads in found.items() if unloads}
    assert acting == {"ThresholdShedder", "OverloadShedder"}


def test_avg_shedder_does_not_wait_for_its_hits() -> None:
    many = Fleet(
        fleet(0.0).brokers.values(),
        [
            FleetBundle(name=f"t/x/{number}", owner=B1, stats=BundleStats(Rates(1e3, 0.0, 1e6)), cpu=1.0)
            for number in range(30)
        ],
    )
    name = PACKAGE + "AvgShedder"
    assert next_round(cluster_load(many), SETTINGS, [name])[name][B1]


def test_a_strategy_that_is_not_known_does_not_answer() -> None:
    assert next_round(cluster_load(fleet(45.0)), SETTINGS, ["org.example.Other"]) == {}


def test_bundles_in_their_grace_period_are_not_shed() -> None:
    name = PACKAGE + "OverloadShedder"
    assert next_round(cluster_load(fleet(45.0), {X}), SETTINGS, [name])[name] == {B1: [Y]}
