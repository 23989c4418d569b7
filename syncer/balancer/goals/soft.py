"""Soft goals together: how good a move is that no hard goal forbids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from syncer.balancer.goals.namespaces import NamespacesGoal
from syncer.balancer.goals.stability import StabilityGoal
from syncer.balancer.goals.traffic import RateGoal, ThroughputGoal
from syncer.balancer.goals.usage import UsageGoal

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.settings import BalancerSettings


class SoftGoal(Protocol):
    """A goal that weighs."""

    def loss(self, bundle: str, target: str) -> float:
        """Reckon how bad a target is for a bundle: 0 is best, 1 is bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalWeights:
    """How much each soft goal counts where several brokers would do."""

    usage: float = 1.0
    throughput: float = 0.1
    rate: float = 0.1
    namespaces: float = 0.05
    stability: float = 0.2


class SoftGoals:
    """All soft goals over one fleet."""

    def __init__(self, fleet: Fleet, settings: BalancerSettings, weights: GoalWeights) -> None:
        """Make the goals that count.

        Args:
            fleet: As it stands at the beginning.
            settings: What the brokers were told.
            weights: How much each counts.
        """
        goals: tuple[tuple[float, SoftGoal], ...] = (
            (weights.usage, UsageGoal(fleet)),
            (weights.throughput, ThroughputGoal(fleet)),
            (weights.rate, RateGoal(fleet)),
            (weights.namespaces, NamespacesGoal(fleet)),
            (weights.stability, StabilityGoal(fleet, settings)),
        )
        self._goals = tuple((weight, goal) for weight, goal in goals if weight > 0)

    def loss(self, bundle: str, target: str) -> float:
        """Add up how bad a target is for a bundle, each goal by its weight."""
        return sum(weight * goal.loss(bundle, target) for weight, goal in self._goals)
