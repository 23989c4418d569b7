"""AvgShedder: the fullest broker unloads to the emptiest, the second fullest to the second emptiest, and so on.

It sheds after several rounds of one mind, plans the target when it sheds, and as a strategy of placement keeps to that.

Source: AvgShedder, Pulsar 4.0.8; the plan's key by its version, PR 26246.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from syncer.balancer.java import ascending
from syncer.balancer.strategies.taking import Sheddable, Unloads, messages, sheddable, throughput

if TYPE_CHECKING:
    from collections.abc import Hashable
    from collections.abc import Set as AbstractSet

    from syncer.balancer.averages import BundleAverages
    from syncer.balancer.cluster import ClusterLoad
    from syncer.balancer.settings import BalancerSettings


@dataclass(slots=True)
class AvgShedder:
    """Sheds and places by pairs of brokers; counters and the plan are kept from round to round.

    With ``plan_by_name`` the plan is kept by the bundle's name; otherwise by its averages, as versions before did: it
    is lost at their next change, and equal bundles share a target. ``targets`` are those of the last round.
    """

    settings: BalancerSettings
    plan_by_name: bool = False
    scores: dict[str, float] = field(default_factory=dict)
    high_hits: dict[str, int] = field(default_factory=dict)
    low_hits: dict[str, int] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    _plan: dict[Hashable, str] = field(default_factory=dict)

    def round(self, load: ClusterLoad) -> Unloads:
        """Choose what is unloaded in this round, and plan its targets.

        Args:
            load: The cluster as the leader sees it.
        """
        self.targets = {}
        self.scores = {
            broker: report.usages.weighted(self.settings.usage) * 100 for broker, report in load.brokers.items()
        }
        pairs = self._pairs(ascending(self.scores, self.scores.__getitem__))
        if not pairs:
            self.high_hits.clear()
            self.low_hits.clear()
            return {}
        bundles = sheddable(load)
        chosen: Unloads = {}
        for emptiest, fullest in pairs:
            if self._fires(emptiest, fullest):
                self._forget_hits(emptiest, fullest)
                self._unload(chosen, load, bundles, emptiest, fullest)
        return chosen

    def target(self, bundle: str, averages: BundleAverages, candidates: AbstractSet[str]) -> str | None:
        """Look up where a bundle was planned to go; None where Pulsar draws one of the candidates by lot.

        Args:
            bundle: The bundle.
            averages: Its averages now.
            candidates: Brokers that may get it.
        """
        planned = self._plan.get(self._key(bundle, averages))
        return planned if planned in candidates else None

    def placed(self, bundle: str, averages: BundleAverages, broker: str) -> None:
        """Keep the broker that was drawn by lot for a bundle, as Pulsar does until the plan is lost.

        Args:
            bundle: The bundle.
            averages: Its averages now.
            broker: The broker that was drawn.
        """
        self._plan[self._key(bundle, averages)] = broker

    def _key(self, bundle: str, averages: BundleAverages) -> Hashable:
        return bundle if self.plan_by_name else averages

    def _pairs(self, brokers: list[str]) -> list[tuple[str, str]]:
        pairs = []
        first, last = 0, len(brokers) - 1
        while first <= last:
            emptiest, fullest = brokers[first], brokers[last]
            difference = self.scores[fullest] - self.scores[emptiest]
            if difference < self.settings.avg.low:
                self._forget_hits(emptiest, fullest)
            else:
                pairs.append((emptiest, fullest))
                for broker in (emptiest, fullest):
                    self.low_hits[broker] = self.low_hits.get(broker, 0) + 1
                    if not difference < self.settings.avg.high:
                        self.high_hits[broker] = self.high_hits.get(broker, 0) + 1
                if difference < self.settings.avg.high:
                    self.high_hits.pop(emptiest, None)
                    self.high_hits.pop(fullest, None)
            first, last = first + 1, last - 1
        return pairs

    def _fires(self, emptiest: str, fullest: str) -> bool:
        """Say whether either broker was counted often enough; looking leaves a zero, as in Pulsar."""
        for hits, enough in (
            (self.high_hits, self.settings.avg.high_hits),
            (self.low_hits, self.settings.avg.low_hits),
        ):
            for broker in (emptiest, fullest):
                if hits.setdefault(broker, 0) >= enough:
                    return True
        return False

    def _forget_hits(self, *brokers: str) -> None:
        for broker in brokers:
            self.high_hits.pop(broker, None)
            self.low_hits.pop(broker, None)

    def _unload(self, chosen: Unloads, load: ClusterLoad, bundles: Sheddable, emptiest: str, fullest: str) -> None:
        own = self.settings.uniform
        least, most = load.brokers[emptiest].traffic, load.brokers[fullest].traffic
        need = (most.rate - least.rate) * own.max_unload_fraction
        value = messages
        if not need > own.min_unload_rate:
            need = (most.throughput - least.throughput) * own.max_unload_fraction
            value = throughput
            if not need > own.min_unload_throughput:
                return
        for bundle, traffic in bundles.falling(load.brokers[fullest].bundles, value):
            if 0 < traffic <= need:
                chosen.setdefault(fullest, []).append(bundle)
                self.targets[bundle] = emptiest
                self._plan[self._key(bundle, load.bundles[bundle])] = emptiest
                need -= traffic
