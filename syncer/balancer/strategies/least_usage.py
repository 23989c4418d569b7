"""LeastResourceUsageWithWeight, of both managers: a bundle goes to a broker whose usage is well below the mean.

Source: impl.LeastResourceUsageWithWeight, extensions.strategy.LeastResourceUsageWithWeight, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from syncer.balancer.averages import moved

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from syncer.balancer.cluster import ClusterLoad
    from syncer.balancer.settings import BalancerSettings


@dataclass(slots=True)
class LeastResourceUsageWithWeight:
    """Places by moving averages of usage, which every placement moves; they are kept from call to call."""

    settings: BalancerSettings
    usages: dict[str, float] = field(default_factory=dict)

    def brokers_changed(self, active: AbstractSet[str]) -> None:
        """Forget brokers that are gone."""
        self.usages = {broker: usage for broker, usage in self.usages.items() if broker in active}

    def best(self, candidates: Iterable[str], load: ClusterLoad) -> list[str]:
        """List the brokers of which Pulsar draws one by lot, and move their averages.

        Args:
            candidates: Brokers that may get the bundle.
            load: The cluster as the leader sees it.
        """
        known, usages = list(candidates), load.usages(self.settings.usage)
        for broker in known:
            report = load.brokers[broker]
            idle = not report.bundles or (report.traffic.rate_in == 0 and report.traffic.rate_out == 0)
            history = None if idle else self.usages.get(broker)
            usage = usages[broker]
            self.usages[broker] = moved(history, usage, self.settings.usage.history)
        return well_below_mean(known, self.usages, self.settings.placement.usage_gap_percent)


def well_below_mean(candidates: Iterable[str], usages: Mapping[str, float], gap_percent: int) -> list[str]:
    """List the brokers whose usage is below the mean by a gap; all of them where none is.

    Args:
        candidates: Brokers that may get the bundle.
        usages: Their averages; a broker without one counts neither for the mean nor among the found.
        gap_percent: The gap, in points of usage.
    """
    known = list(candidates)
    judged = [broker for broker in known if broker in usages]
    if not judged:
        return known
    total = 0.0
    for broker in judged:
        total += usages[broker]
    mean = total / len(judged)
    return [broker for broker in judged if usages[broker] + gap_percent / 100.0 <= mean] or known
