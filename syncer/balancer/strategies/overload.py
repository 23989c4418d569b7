"""OverloadShedder: brokers over a fixed usage unload what they have too much, and at least one bundle.

Source: OverloadShedder, Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.balancer.strategies.taking import Unloads, enough, sheddable, throughput

if TYPE_CHECKING:
    from syncer.balancer.cluster import ClusterLoad
    from syncer.balancer.settings import BalancerSettings

_MARGIN: Final = 0.05


@dataclass(slots=True)
class OverloadShedder:
    """Sheds by a fixed usage; it remembers nothing."""

    settings: BalancerSettings

    def round(self, load: ClusterLoad) -> Unloads:
        """Choose what is unloaded in this round.

        Args:
            load: The cluster as the leader sees it.
        """
        threshold = self.settings.usage.overloaded_percent / 100.0
        bundles = sheddable(load)
        chosen: Unloads = {}
        for broker, report in load.brokers.items():
            usage = report.usages.weighted(self.settings.usage)
            if usage < threshold or len(report.bundles) <= 1:
                continue
            need = report.traffic.throughput * (usage - threshold + _MARGIN)
            taken = enough(bundles.falling(report.bundles, throughput), need)
            if taken:
                chosen[broker] = taken
        return chosen
