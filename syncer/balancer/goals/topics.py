"""Topics: no move gives a broker more topics than it may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.goals.veto import Veto, VetoReason

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet


@dataclass(frozen=True, slots=True)
class TopicsGoal:
    """Forbids a target that would have more topics than ``most``."""

    fleet: Fleet
    most: int

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Forbid brokers that the bundle would give too many topics."""
        topics = self.fleet.topics(target) + self.fleet.bundles[bundle].stats.topics
        if topics <= self.most:
            return None
        said = f"{topics} of at most {self.most}"
        return Veto(reason=VetoReason.TOO_MANY_TOPICS, bundle=bundle, target=target, detail=said)
