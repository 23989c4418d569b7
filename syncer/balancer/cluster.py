"""Cluster: all that the leader of the modular manager decides by.

Source: LoadData, BrokerData, TimeAverageBrokerData, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from syncer.balancer.averages import BundleAverages
from syncer.balancer.load import BrokerReport
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.settings import UsageSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLoad:
    """Reports of the brokers and averages of the bundles, each mapping in its order at the leader: it decides ties.

    ``preallocated`` are the bundles that a broker was chosen for and does not report yet; ``broker_rates`` the sum of
    a broker's long averages, in messages a second. The mappings must stay as they are: what is reckoned is kept.
    """

    brokers: Mapping[str, BrokerReport]
    bundles: Mapping[str, BundleAverages] = field(default_factory=dict)
    recently_unloaded: AbstractSet[str] = frozenset()
    preallocated: Mapping[str, Mapping[str, BundleAverages]] = field(default_factory=dict)
    broker_rates: Mapping[str, float] = field(default_factory=dict)
    _served: dict[str, dict[str, int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _usages: dict[UsageSettings, dict[str, float]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def usages(self, weights: UsageSettings) -> Mapping[str, float]:
        """Reckon the weighted usage of every broker, once for all placements of a round.

        Args:
            weights: How much each resource counts.
        """
        found = self._usages.get(weights)
        if found is None:
            found = {broker: report.usages.weighted(weights) for broker, report in self.brokers.items()}
            self._usages[weights] = found
        return found

    def served(self, namespace: str) -> Mapping[str, int]:
        """Count a namespace's bundles of each broker that has some, with those on their way to it.

        Args:
            namespace: Its full name.
        """
        return self._by_namespace().get(namespace, {})

    def namespaces(self) -> Iterator[tuple[str, str]]:
        """Yield each broker with each namespace of which it has a bundle."""
        for namespace, counts in self._by_namespace().items():
            for broker in counts:
                yield broker, namespace

    def _by_namespace(self) -> Mapping[str, Mapping[str, int]]:
        if not self._served:
            for broker, report in self.brokers.items():
                for bundle in {*report.bundles, *self.preallocated.get(broker, {})}:
                    counts = self._served.setdefault(namespace_of_bundle(bundle), {})
                    counts[broker] = counts.get(broker, 0) + 1
        return self._served
