"""Naming: the strategies that settings name, made anew with empty memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.least_rate import LeastLongTermMessageRate
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight
from syncer.balancer.strategies.overload import OverloadShedder
from syncer.balancer.strategies.round_robin import RoundRobinBrokerSelector
from syncer.balancer.strategies.threshold import ThresholdShedder
from syncer.balancer.strategies.uniform import UniformLoadShedder
from syncer.errors import SettingInvalid

if TYPE_CHECKING:
    from syncer.balancer.placement.modular import PlacementStrategy
    from syncer.balancer.settings import BalancerSettings
    from syncer.balancer.versions import BalancerRules

ModularShedder = ThresholdShedder | OverloadShedder | UniformLoadShedder | AvgShedder


def simple_name(class_name: str) -> str:
    """Take the package off a class name."""
    return class_name.rpartition(".")[2]


def modular_shedder(settings: BalancerSettings, rules: BalancerRules) -> ModularShedder:
    """Make the strategy of shedding that the modular manager was told.

    Args:
        settings: What the brokers were told.
        rules: Those of their version.

    Raises:
        SettingInvalid: It is a strategy that is not known here.
    """
    match simple_name(settings.shedding.strategy):
        case "ThresholdShedder":
            return ThresholdShedder(settings)
        case "OverloadShedder":
            return OverloadShedder(settings)
        case "UniformLoadShedder":
            return UniformLoadShedder(settings, surplus=rules.uniform_surplus)
        case "AvgShedder":
            return AvgShedder(settings, plan_by_name=rules.plan_by_name)
    raise SettingInvalid(
        f"loadBalancerLoadSheddingStrategy is {settings.shedding.strategy}, whose rounds cannot be played; those of"
        " ThresholdShedder, OverloadShedder, UniformLoadShedder and AvgShedder can"
    )


def modular_placement(settings: BalancerSettings, rules: BalancerRules, shedder: ModularShedder) -> PlacementStrategy:
    """Make the strategy of placement that the modular manager was told; AvgShedder is one object for both.

    Args:
        settings: What the brokers were told.
        rules: Those of their version.
        shedder: The strategy of shedding.

    Raises:
        SettingInvalid: It is a strategy that is not known here.
    """
    match simple_name(settings.placement.strategy):
        case "LeastLongTermMessageRate":
            return LeastLongTermMessageRate(settings)
        case "LeastResourceUsageWithWeight":
            return LeastResourceUsageWithWeight(settings)
        case "RoundRobinBrokerSelector":
            return RoundRobinBrokerSelector()
        case "AvgShedder":
            return shedder if isinstance(shedder, AvgShedder) else AvgShedder(settings, plan_by_name=rules.plan_by_name)
    raise SettingInvalid(
        f"loadBalancerLoadPlacementStrategy is {settings.placement.strategy}, whose rounds cannot be played; those of"
        " LeastLongTermMessageRate, LeastResourceUsageWithWeight, RoundRobinBrokerSelector and AvgShedder can"
    )
