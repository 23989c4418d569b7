"""ThresholdShedder: brokers whose moving average of usage is well over the mean unload what they have too much.

Source: ThresholdShedder, Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.balancer.averages import moved
from syncer.balancer.java import MIB
from syncer.balancer.strategies.taking import Sheddable, Unloads, enough, sheddable, throughput

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from syncer.balancer.cluster import ClusterLoad
    from syncer.balancer.settings import BalancerSettings

MARGIN: Final = 0.05
"""Usage that is unloaded beyond what is over the threshold."""
LOWER_MARGIN: Final = 0.5
"""Part of the threshold that is unloaded for a broker that is well below the mean."""


@dataclass(slots=True)
class ThresholdShedder:
    """Sheds by a threshold above the mean; ``usages`` are the brokers' moving averages, kept from round to round."""

    settings: BalancerSettings
    usages: dict[str, float] = field(default_factory=dict)

    def brokers_changed(self, active: AbstractSet[str]) -> None:
        """Forget brokers that are gone; without this word their averages stay."""
        self.usages = {broker: usage for broker, usage in self.usages.items() if broker in active}

    def round(self, load: ClusterLoad) -> Unloads:
        """Choose what is unloaded in this round.

        Args:
            load: The cluster as the leader sees it.
        """
        mean = self._advanced(load)
        if mean == 0:
            return {}
        threshold = self.settings.threshold.threshold_percent / 100.0
        bundles = sheddable(load)
        chosen: Unloads = {}
        for broker, report in load.brokers.items():
            usage = self.usages[broker]
            if usage < mean + threshold:
                continue
            need = report.traffic.throughput * (usage - mean - threshold + MARGIN)
            if need < self._fewest_bytes() or len(report.bundles) <= 1:
                continue
            self._take(chosen, bundles, broker, report.bundles, need)
        if not chosen and self.settings.threshold.lower_boundary:
            self._lower_boundary(chosen, load, bundles, threshold)
        return chosen

    def _lower_boundary(self, chosen: Unloads, load: ClusterLoad, bundles: Sheddable, threshold: float) -> None:
        """Unload from the fullest broker where another is well below the mean; the averages move a second time."""
        mean = self._advanced(load)
        if not any(self.usages[broker] < mean - threshold for broker in load.brokers):
            return
        fullest, greatest = "", mean - threshold
        for broker, report in load.brokers.items():
            if self.usages[broker] > greatest and len(report.bundles) > 1:
                fullest, greatest = broker, self.usages[broker]
        if fullest not in load.brokers:
            return
        report = load.brokers[fullest]
        need = report.traffic.throughput * threshold * LOWER_MARGIN
        if not self._fewest_bytes() > need:
            self._take(chosen, bundles, fullest, report.bundles, need)

    def _advanced(self, load: ClusterLoad) -> float:
        total = 0.0
        for broker, report in load.brokers.items():
            usage = report.usages.weighted(self.settings.usage)
            self.usages[broker] = moved(self.usages.get(broker), usage, self.settings.usage.history)
            total += self.usages[broker]
        return total / len(load.brokers) if load.brokers else 0.0

    def _fewest_bytes(self) -> float:
        return self.settings.threshold.min_throughput_mib * MIB

    @staticmethod
    def _take(chosen: Unloads, bundles: Sheddable, broker: str, owned: AbstractSet[str], need: float) -> None:
        taken = enough(bundles.falling(owned, throughput), need)
        if taken:
            chosen[broker] = taken
