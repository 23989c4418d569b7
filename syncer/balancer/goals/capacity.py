"""Capacity: no move fills a broker beyond its threshold of overload, unless it takes as much from one that is worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.goals.veto import Veto, VetoReason

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet


@dataclass(frozen=True, slots=True)
class CapacityGoal:
    """Forbids a target whose usage would be above the ceiling, a fraction.

    Unless it is ``strict``, a target may be above it as long as it stays below where the source is now: in a cluster
    that is too full, an overload may become smaller.
    """

    fleet: Fleet
    ceiling: float
    strict: bool = False

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Forbid brokers that the bundle would overload."""
        usage = self.fleet.with_bundle(target, bundle)
        if usage <= self.ceiling or (not self.strict and usage < self.fleet.usages[self.fleet.owners[bundle]]):
            return None
        said = f"{usage:.1%} of at most {self.ceiling:.1%}"
        return Veto(reason=VetoReason.OVER_CAPACITY, bundle=bundle, target=target, detail=said)
