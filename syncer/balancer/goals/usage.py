"""Usage: the emptier broker is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet


@dataclass(frozen=True, slots=True)
class UsageGoal:
    """Weighs the usage that a broker would have."""

    fleet: Fleet

    def loss(self, bundle: str, target: str) -> float:
        """Reckon the target's usage with the bundle, a fraction."""
        return self.fleet.with_bundle(target, bundle)
