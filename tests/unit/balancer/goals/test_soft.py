"""Each soft goal weighs one thing, and together they prefer the better target."""

from __future__ import annotations

import pytest

from syncer.balancer.fleet import Fleet, FleetBroker, FleetBundle
from syncer.balancer.goals.namespaces import NamespacesGoal
from syncer.balancer.goals.soft import GoalWeights, SoftGoals
from syncer.balancer.goals.stability import StabilityGoal
from syncer.balancer.goals.traffic import RateGoal, ThroughputGoal
from syncer.balancer.goals.usage import UsageGoal
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.settings import balancer_settings

B1, B2, B3 = "b1:8080", "b2:8080", "b3:8080"
X, X2, Y = "t/x/0x00000000_0x80000000", "t/x/0x80000000_0xffffffff", "t/y/0x00000000_0x80000000"
SETTINGS = balancer_settings({})


def bundle(name: str, owner: str, cpu: float, traffic: Rates) -> FleetBundle:
    return FleetBundle(name=name, owner=owner, stats=BundleStats(traffic), cpu=cpu)


def fleet() -> Fleet:
    return Fleet(
        [FleetBroker(name=name, base=Usages(cpu=Usage(0.0, 100.0))) for name in (B1, B2, B3)],
        [
            bundle(X, B1, 60.0, Rates(30.0, 30.0, 100.0, 100.0)),
            bundle(X2, B2, 30.0, Rates(30.0, 0.0, 0.0, 50.0)),
            bundle(Y, B3, 30.0, Rates(60.0, 0.0, 0.0, 100.0)),
        ],
    )


def test_the_emptier_broker_is_better() -> None:
    assert UsageGoal(fleet()).loss(X, B2) == pytest.approx(0.9)


def test_traffic_is_weighed_against_the_busiest_broker() -> None:
    assert ThroughputGoal(fleet()).loss(X2, B3) == pytest.approx(0.75)
    assert RateGoal(fleet()).loss(X2, B3) == pytest.approx(1.5)


def test_traffic_does_not_count_where_there_is_none() -> None:
    still = Fleet([FleetBroker(name=B1, base=Usages())], [bundle(X, B1, 0.0, Rates())])
    assert (ThroughputGoal(still).loss(X, B1), RateGoal(still).loss(X, B1)) == (0.0, 0.0)


def test_a_namespace_is_better_spread() -> None:
    goal = NamespacesGoal(fleet())
    assert (goal.loss(X, B2), goal.loss(X, B3)) == (1.0, 0.5)


def test_a_target_far_above_the_mean_is_shed_from_again() -> None:
    goal = StabilityGoal(fleet(), SETTINGS)
    assert goal.loss(X2, B3) == pytest.approx(2.0)
    assert StabilityGoal(fleet(), balancer_settings({"loadBalancerBrokerThresholdShedderPercentage": 20})).loss(
        X2, B3
    ) == pytest.approx(1.0)


def test_together_they_prefer_the_broker_with_less_of_everything_and_weights_decide() -> None:
    alike = SoftGoals(fleet(), SETTINGS, GoalWeights())
    assert alike.loss(X2, B3) < alike.loss(X2, B1)
    spread = SoftGoals(fleet(), SETTINGS, GoalWeights(usage=0, throughput=0, rate=0, stability=0))
    assert spread.loss(X, B3) < spread.loss(X, B2)
    bytes_alone = SoftGoals(fleet(), SETTINGS, GoalWeights(usage=0, namespaces=0, rate=0, stability=0))
    assert bytes_alone.loss(X, B2) < bytes_alone.loss(X, B3)
