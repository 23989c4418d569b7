"""LeastLongTermMessageRate: a bundle goes to the broker with the fewest messages, none that is overloaded.

Source: LeastLongTermMessageRate, Pulsar 4.0.8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncer.balancer.cluster import ClusterLoad
    from syncer.balancer.settings import BalancerSettings


@dataclass(slots=True)
class LeastLongTermMessageRate:
    """Places by long averages of messages; it remembers nothing."""

    settings: BalancerSettings

    def score(self, broker: str, load: ClusterLoad) -> float:
        """Reckon a broker's messages a second, with bundles that are on their way to it; infinite if overloaded."""
        usage = load.usages(self.settings.usage)[broker]
        if usage > self.settings.usage.overloaded_percent / 100.0:
            return math.inf
        coming = 0.0
        for averages in load.preallocated.get(broker, {}).values():
            coming += averages.long.traffic.rate
        return coming + load.broker_rates.get(broker, 0.0)

    def best(self, candidates: Iterable[str], load: ClusterLoad) -> list[str]:
        """List the brokers of which Pulsar draws one by lot.

        Args:
            candidates: Brokers that may get the bundle.
            load: The cluster as the leader sees it.
        """
        known = list(candidates)
        found: list[str] = []
        least = math.inf
        for broker in known:
            score = self.score(broker, load)
            if score < least:
                found, least = [broker], score
            elif score == least:
                found.append(broker)
        return found or known
