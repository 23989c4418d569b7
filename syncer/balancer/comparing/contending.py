"""Contending: strategies of Pulsar with the settings that they are compared in.

The rest of the settings is the cluster's own. Under a strategy of the other manager all brokers run that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.price import MoveKind, move_kind
from syncer.balancer.rounds.extensible import ExtensibleLeader
from syncer.balancer.rounds.modular import ModularLeader
from syncer.balancer.rounds.naming import simple_name
from syncer.balancer.settings import BalancerSettings, changed_settings
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight

if TYPE_CHECKING:
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.placement.decision import Draw
    from syncer.balancer.rounds.playing import RoundLeader
    from syncer.balancer.settings import Properties
    from syncer.balancer.versions import BalancerRules

IMPL: Final = "org.apache.pulsar.broker.loadbalance.impl."
EXTENSIONS: Final = "org.apache.pulsar.broker.loadbalance.extensions."
TRANSFER: Final = "TransferShedder"

_PLACEMENTS: Final[tuple[Properties, ...]] = (
    {"loadBalancerLoadPlacementStrategy": IMPL + "LeastLongTermMessageRate"},
    {
        "loadBalancerLoadPlacementStrategy": IMPL + "LeastLongTermMessageRate",
        "loadBalancerDistributeBundlesEvenlyEnabled": False,
    },
    {
        "loadBalancerLoadPlacementStrategy": IMPL + "LeastResourceUsageWithWeight",
        "loadBalancerDistributeBundlesEvenlyEnabled": False,
    },
)
_BY_PAIRS: Final[Properties] = {
    "loadBalancerLoadPlacementStrategy": IMPL + "AvgShedder",
    "loadBalancerDistributeBundlesEvenlyEnabled": False,
}
_VARIANTS: Final[Mapping[str, tuple[Properties, ...]]] = {
    "ThresholdShedder": (
        {},
        {"loadBalancerBrokerThresholdShedderPercentage": 5},
        {"loadBalancerBrokerThresholdShedderPercentage": 20},
        {"loadBalancerBundleUnloadMinThroughputThreshold": 0},
        {"loadBalancerBundleUnloadMinThroughputThreshold": 0, "lowerBoundarySheddingEnabled": True},
    ),
    "OverloadShedder": ({}, {"loadBalancerBrokerOverloadedThresholdPercentage": 70}),
    "UniformLoadShedder": ({}, {"maxUnloadPercentage": 0.5}),
    "AvgShedder": (
        {},
        {"loadBalancerAvgShedderLowThreshold": 10},
        {"loadBalancerAvgShedderHitCountLowThreshold": 4, "maxUnloadPercentage": 0.4},
    ),
    TRANSFER: (
        {},
        {"loadBalancerBrokerLoadTargetStd": 0.1},
        {"loadBalancerBrokerLoadTargetStd": 0.1, "loadBalancerMaxNumberOfBrokerSheddingPerCycle": 10},
        {"loadBalancerBrokerLoadTargetStd": 0.1, "loadBalancerDebugModeEnabled": True},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A strategy of shedding with the properties that are set for it, over the cluster's own."""

    properties: Properties = field(default_factory=dict)
    base: BalancerSettings = field(default_factory=BalancerSettings)

    @property
    def settings(self) -> BalancerSettings:
        """What the brokers would be told.

        Raises:
            SettingInvalid: A value is not of its property's type.
        """
        return changed_settings(self.base, self.properties)

    @property
    def strategy(self) -> str:
        """The name of the strategy of shedding, without its package."""
        return simple_name(self.settings.shedding.strategy)

    @property
    def placement(self) -> str:
        """The name of the strategy of placement, without its package; the extensible manager has one alone."""
        return (
            LeastResourceUsageWithWeight.__name__ if self.extensible else simple_name(self.settings.placement.strategy)
        )

    @property
    def extensible(self) -> bool:
        """Whether it is one of the extensible manager."""
        return self.strategy == TRANSFER

    @property
    def variation(self) -> dict[str, object]:
        """The properties that are set for it, besides the strategies themselves and their manager."""
        told = ("loadBalancerLoadSheddingStrategy", "loadBalancerLoadPlacementStrategy", "loadManagerClassName")
        return {name: value for name, value in self.properties.items() if name not in told}

    @property
    def kind(self) -> MoveKind:
        """How bundles change their broker under it."""
        own = self.settings.transfer
        return move_kind(extensible=self.extensible, transfer=own.transfer, multi_phase=own.multi_phase)

    def leader(self, constraints: Constraints, rules: BalancerRules, draw: Draw) -> RoundLeader:
        """Make a leader with empty memories.

        Args:
            constraints: The cluster's.
            rules: Those of its brokers' version.
            draw: Draws one of equally good brokers.

        Raises:
            SettingInvalid: A value is not of its property's type, or the strategy is not known here.
        """
        kind = ExtensibleLeader if self.extensible else ModularLeader
        return kind(self.as_if(constraints), self.settings, rules, draw)

    def as_if(self, constraints: Constraints) -> Constraints:
        """Have every broker register the manager that this strategy belongs to.

        Args:
            constraints: The cluster's.
        """
        manager = self.settings.placement.manager
        traits = {broker: replace(known, manager=manager) for broker, known in constraints.traits.items()}
        return replace(constraints, traits=traits)


def contenders(base: BalancerSettings) -> Iterator[Contender]:
    """Yield the cluster's own settings first, where they are not the defaults, then every strategy in each variant.

    Args:
        base: What the cluster's brokers were told.
    """
    if base != BalancerSettings():
        yield Contender(base=base)
    for strategy, variants in _VARIANTS.items():
        for variant in variants:
            if strategy == TRANSFER:
                places: tuple[Properties, ...] = ({"loadManagerClassName": EXTENSIONS + "ExtensibleLoadManagerImpl"},)
                strategy_class = EXTENSIONS + "scheduler." + strategy
            else:
                places = (_BY_PAIRS,) if strategy == "AvgShedder" else _PLACEMENTS
                strategy_class = IMPL + strategy
            for place in places:
                properties = {"loadBalancerLoadSheddingStrategy": strategy_class, **place, **variant}
                if strategy != TRANSFER:
                    properties["loadManagerClassName"] = IMPL + "ModularLoadManagerImpl"
                yield Contender(properties=properties, base=base)
