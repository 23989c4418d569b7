"""Strategies are made by the names that settings give, and one that cannot be played is refused by name."""

from __future__ import annotations

import pytest

from syncer.balancer.rounds.extensible import ExtensibleLeader
from syncer.balancer.rounds.naming import modular_placement, modular_shedder
from syncer.balancer.settings import balancer_settings
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.versions import BalancerRules
from syncer.errors import SettingInvalid
from tests.support.balancing import IMPL, SHEDDERS, conf_of, drawn_cluster

PLACEMENTS = ("LeastLongTermMessageRate", "LeastResourceUsageWithWeight", "RoundRobinBrokerSelector", "AvgShedder")


@pytest.mark.parametrize("shedder", SHEDDERS[:-1])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_both_are_made_by_name(shedder: str, placement: str) -> None:
    settings = balancer_settings(conf_of(shedder, loadBalancerLoadPlacementStrategy=IMPL + placement))
    found = modular_shedder(settings, BalancerRules())
    assert type(found).__name__ == shedder
    assert type(modular_placement(settings, BalancerRules(), found)).__name__ == placement


def test_avg_shedder_is_one_object_for_both_with_the_plan_of_its_version() -> None:
    settings, rules = balancer_settings(conf_of("AvgShedder")), BalancerRules(plan_by_name=True)
    found = modular_shedder(settings, rules)
    assert isinstance(found, AvgShedder)
    assert found.plan_by_name
    assert modular_placement(settings, rules, found) is found


def test_a_strategy_of_somebody_else_is_refused() -> None:
    settings = balancer_settings(conf_of("OurShedder", loadBalancerLoadPlacementStrategy="x.Ours"))
    with pytest.raises(SettingInvalid, match=r"impl\.OurShedder, whose rounds cannot be played; those of Threshold"):
        modular_shedder(settings, BalancerRules())
    shedder = modular_shedder(balancer_settings({}), BalancerRules())
    with pytest.raises(SettingInvalid, match=r"PlacementStrategy is x\.Ours"):
        modular_placement(settings, BalancerRules(), shedder)
    with pytest.raises(SettingInvalid, match="extensible manager those of TransferShedder"):
        ExtensibleLeader(drawn_cluster(1).constraints, settings, BalancerRules(), lambda brokers: brokers[0])
