"""Hard goals together: which bundle may go to which broker, as the fleet stands now."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.goals.anti_affinity import AntiAffinityGoal
from syncer.balancer.goals.capacity import CapacityGoal
from syncer.balancer.goals.exemption import ExemptionGoal
from syncer.balancer.goals.grace import GraceGoal
from syncer.balancer.goals.isolation import IsolationGoal
from syncer.balancer.goals.release import ReleaseGoal
from syncer.balancer.goals.topics import TopicsGoal

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.veto import StayingGoal, TargetGoal, Veto
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.settings import BalancerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveBounds:
    """All that hard goals go by, next to the fleet itself.

    ``non_persistent`` names bundles with topics that are not persistent; ``closed`` brokers that shall get nothing;
    ``ceiling`` the usage beyond which no broker may be filled; where it is None, that is the threshold of overload, and
    an overload may become smaller.
    """

    constraints: Constraints
    settings: BalancerSettings
    extensible: bool = False
    recently_unloaded: AbstractSet[str] = frozenset()
    non_persistent: frozenset[str] = frozenset()
    closed: AbstractSet[str] = frozenset()
    ceiling: float | None = None


class HardGoals:
    """All hard goals over one fleet, which may move on between questions."""

    def __init__(self, fleet: Fleet, bounds: MoveBounds) -> None:
        """Make the goals.

        Args:
            fleet: Whose moves are judged.
            bounds: Policies, settings and the rest.
        """
        settings, constraints = bounds.settings, bounds.constraints
        overload = settings.usage.overloaded_percent / 100
        self._closed = bounds.closed
        self._open: dict[frozenset[str], frozenset[str]] = {}
        self._isolation = IsolationGoal(tuple(fleet.brokers), constraints, bounds.non_persistent)
        self._staying: tuple[StayingGoal, ...] = (
            ExemptionGoal(excluded=settings.shedding.excluded_namespaces, extensible=bounds.extensible),
            GraceGoal(bounds.recently_unloaded),
        )
        self._targets: tuple[TargetGoal, ...] = (
            self._isolation,
            ReleaseGoal(fleet.brokers, constraints, settings.placement),
            TopicsGoal(fleet, settings.placement.max_topics),
            CapacityGoal(
                fleet, overload if bounds.ceiling is None else bounds.ceiling, strict=bounds.ceiling is not None
            ),
            AntiAffinityGoal(
                fleet=fleet,
                constraints=constraints,
                isolation=self._isolation,
                failure_domains=settings.placement.failure_domains,
                extensible=bounds.extensible,
            ),
        )

    def stays(self, bundle: str) -> Veto | None:
        """Say why a bundle may not move at all; None where it may."""
        for goal in self._staying:
            veto = goal.stays(bundle)
            if veto is not None:
                return veto
        return None

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Say why a bundle may not go to a broker; None where it may.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        for goal in self._targets:
            veto = goal.forbids(bundle, target)
            if veto is not None:
                return veto
        return None

    def receivers(self, bundle: str) -> frozenset[str]:
        """Name the brokers that policies allow a bundle, whatever their load.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        allowed = self._isolation.receivers(bundle)
        if not self._closed:
            return allowed
        found = self._open.get(allowed)
        if found is None:
            found = self._open[allowed] = allowed - self._closed
        return found
