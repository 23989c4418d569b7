"""Capacity: no move fills a broker beyond its threshold of overload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.goals.veto import Veto, VetoReason

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet


@dataclass(frozen=True, slots=True)
class CapacityGoal:
    """Forbids a target whose usage would be above the ceiling, a fraction."""

    fleet: Fleet
    ceiling: float

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Forbid brokers that the bundle would overload."""
        usage = self.fleet.with_bundle(target, bundle)
        if usage <= self.ceiling:
            return None
        said = f"{usage:.1%} of at most {self.ceiling:.1%}"
        return Veto(reason=VetoReason.OVER_CAPACITY, bundle=bundle, target=target, detail=said)
