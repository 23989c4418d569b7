"""Pulsar's strategies are asked for their next round over a fleet, as it would see it."""

from __future__ import annotations

from syncer.balancer.fleet import Fleet, FleetBroker, FleetBundle
from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.goals.stability import SHEDDERS, cluster_load, next_round, next_transfers
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.settings import balancer_settings

B1, B2 = "b1:8080", "b2:8080"
X, Y = "t/x/0x00000000_0x80000000", "t/y/0x00000000_0x80000000"
SETTINGS = balancer_settings({})
TRAITS = {name: BrokerTraits(version="4.0.8", manager="x") for name in (B1, B2)}
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


def transferring(constraints: Constraints | None = None, **told: object) -> MoveBounds:
    strategy = {"loadBalancerLoadSheddingStrategy": "a.package.TransferShedder"}
    settings = balancer_settings({**strategy, **told})
    return MoveBounds(constraints=constraints or Constraints(traits=TRAITS), settings=settings, extensible=True)


def test_the_extensible_manager_is_asked_for_its_first_transfers() -> None:
    for cpu, target in ((45.0, 0.25), (2.0, 0.25), (45.0, 0.9)):
        found = next_transfers(fleet(cpu), transferring(loadBalancerBrokerLoadTargetStd=target))
        assert found is not None
        assert len(found) == 1, "the other broker is idle, whatever the deviation"


def test_nothing_is_transferred_between_brokers_that_are_alike() -> None:
    even = fleet(20.0)
    even.move(X, B2)
    assert next_transfers(even, transferring()) == frozenset()


def test_neither_grace_nor_policies_are_passed_over() -> None:
    tired = MoveBounds(
        constraints=Constraints(traits=TRAITS),
        settings=transferring().settings,
        extensible=True,
        recently_unloaded=frozenset((X, Y)),
    )
    assert next_transfers(fleet(45.0), tired) == frozenset()
    bound = Constraints(traits=TRAITS, policies=[IsolationPolicy(namespaces=["t/.*"], primary=["b1"])])
    with_policies = transferring(bound, loadBalancerSheddingBundlesWithPoliciesEnabled=True)
    assert next_transfers(fleet(45.0), with_policies) == frozenset()


def test_another_strategy_of_the_extensible_manager_is_not_known() -> None:
    assert next_transfers(fleet(45.0), transferring(loadBalancerLoadSheddingStrategy="org.example.Other")) is None
