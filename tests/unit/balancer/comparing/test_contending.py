"""Contenders: the cluster's own settings first, then every strategy in its variants, under its own manager."""

from __future__ import annotations

import pytest

from syncer.balancer.comparing.contending import Contender, contenders
from syncer.balancer.rounds.extensible import ExtensibleLeader
from syncer.balancer.rounds.modular import ModularLeader
from syncer.balancer.settings import balancer_settings
from syncer.balancer.versions import BalancerRules
from syncer.errors import SettingInvalid
from tests.support.balancing import SHEDDERS, conf_of, drawn_cluster


def test_every_strategy_contends_in_several_variants_and_none_twice() -> None:
    found = list(contenders(balancer_settings({})))
    assert {each.strategy for each in found} == set(SHEDDERS)
    assert len({(each.strategy, each.placement, *sorted(each.variation.items())) for each in found}) == len(found) > 25


def test_the_clusters_own_settings_come_first_and_below_all_others() -> None:
    base = {"loadBalancerBrokerThresholdShedderPercentage": 7, "loadBalancerCPUResourceWeight": 0.5}
    first, *others = contenders(balancer_settings(base))
    assert (first.strategy, first.variation) == ("ThresholdShedder", {})
    assert first.settings.threshold.threshold_percent == 7
    assert all(each.settings.usage.cpu == 0.5 for each in others)
    assert {each.settings.threshold.threshold_percent for each in others} == {5, 7, 20}


def test_a_variation_tells_what_was_set_besides_the_strategies() -> None:
    by_pairs = next(each for each in contenders(balancer_settings({})) if each.strategy == "AvgShedder")
    assert by_pairs.placement == "AvgShedder"
    assert by_pairs.variation == {"loadBalancerDistributeBundlesEvenlyEnabled": False}
    transfer = next(each for each in contenders(balancer_settings({})) if each.extensible)
    assert (transfer.placement, transfer.variation) == ("LeastResourceUsageWithWeight", {})


def test_all_brokers_run_the_manager_of_the_strategy() -> None:
    constraints = drawn_cluster(1).constraints
    for contender in contenders(balancer_settings({})):
        leader = contender.leader(constraints, BalancerRules(), lambda brokers: brokers[0])
        assert isinstance(leader, ExtensibleLeader if contender.extensible else ModularLeader)
        managers = {each.manager for each in contender.as_if(constraints).traits.values()}
        assert managers == {contender.settings.placement.manager}
        assert ("Extensible" in contender.settings.placement.manager) is contender.extensible


def test_a_strategy_that_is_not_known_is_refused() -> None:
    with pytest.raises(SettingInvalid, match="NoShedder"):
        Contender(properties=conf_of("NoShedder")).leader(
            drawn_cluster(1).constraints, BalancerRules(), lambda brokers: brokers[0]
        )
