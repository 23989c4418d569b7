"""Splits: which bundles a load manager splits by itself.

The modular manager's leader goes by long averages of all brokers' bundles, the extensible manager's owners by the
current figures of their own, and only after several hits.

Source: BundleSplitterTask, DefaultNamespaceBundleSplitStrategyImpl, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from syncer.balancer.boundaries import can_split
from syncer.balancer.java import MIB, int32
from syncer.balancer.load import Rates
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle, range_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.load import BundleStats
    from syncer.balancer.settings import SplitSettings

_FEWEST_TOPICS: Final = 2
_NOTHING: Final = Rates()


class SplitReason(StrEnum):
    """Which limit a bundle is over."""

    TOPICS = "Topics"
    SESSIONS = "Sessions"
    RATE = "MsgRate"
    BANDWIDTH = "Bandwidth"


@dataclass(frozen=True, slots=True)
class BundleSplit:
    """A bundle that its owner splits, and into which ranges."""

    bundle: str
    reason: SplitReason
    children: tuple[str, str]


def over_limit(stats: BundleStats, traffic: Rates, settings: SplitSettings) -> SplitReason | None:
    """Name the first limit that a bundle is over.

    Args:
        stats: Its topics and sessions.
        traffic: Its traffic, current or averaged.
        settings: The limits; the one of bytes wraps at 2048 MiB, as Pulsar's int does.
    """
    if stats.topics > settings.max_topics:
        return SplitReason.TOPICS
    if 0 < settings.max_sessions < int32(stats.consumers + stats.producers):
        return SplitReason.SESSIONS
    if traffic.rate > settings.max_rate:
        return SplitReason.RATE
    if traffic.throughput > int32(settings.max_bandwidth_mib * MIB):
        return SplitReason.BANDWIDTH
    return None


def modular_splits(
    reports: Mapping[str, Mapping[str, BundleStats]],
    averages: Mapping[str, Rates],
    bundle_counts: Mapping[str, int],
    settings: SplitSettings,
) -> dict[str, str]:
    """Choose the bundles that the modular manager's leader splits in one round.

    Args:
        reports: Broker to its bundles' figures, in the leader's order, which decides
            who is split under a namespace's limit.
        averages: Bundle to its long average; a bundle without one counts as idle.
        bundle_counts: Namespace to the number of its bundles; one that is not there is never split.
        settings: The limits.

    Returns:
        Bundle to its broker.
    """
    chosen: dict[str, str] = {}
    more: dict[str, int] = {}
    for broker, bundles in reports.items():
        for bundle, stats in bundles.items():
            if stats.topics < _FEWEST_TOPICS or over_limit(stats, averages.get(bundle, _NOTHING), settings) is None:
                continue
            namespace = namespace_of_bundle(bundle)
            count = bundle_counts.get(namespace)
            if count is not None and count + more.get(namespace, 0) < settings.max_bundles:
                chosen[bundle] = broker
                more[namespace] = more.get(namespace, 0) + 1
    return chosen


@dataclass(slots=True)
class ExtensibleSplitter:
    """How an owner of the extensible manager splits: what it counted is kept from round to round."""

    settings: SplitSettings
    hits: dict[str, int] = field(default_factory=dict)

    def round(
        self,
        bundles: Mapping[str, BundleStats],
        bundle_counts: Mapping[str, int],
        boundaries_of: Callable[[str], Sequence[int] | None],
        *,
        not_owned: AbstractSet[str] = frozenset(),
        splitting: AbstractSet[str] = frozenset(),
    ) -> list[BundleSplit]:
        """Choose the bundles that are split in this round.

        Args:
            bundles: The broker's bundles and their figures, in its order.
            bundle_counts: Namespace to the number of its bundles; one that is not there is never split.
            boundaries_of: Bundle to where the algorithm would cut it; only exactly one position will do.
            not_owned: Bundles that it reports and does not own.
            splitting: Bundles of any broker whose split is under way.
        """
        self.hits = {bundle: count for bundle, count in self.hits.items() if bundle in bundles}
        chosen: list[BundleSplit] = []
        more: dict[str, int] = {}
        for bundle, stats in bundles.items():
            if stats.topics < _FEWEST_TOPICS or bundle in not_owned or not can_split(bundle):
                continue
            reason = self._counted(bundle, stats)
            namespace = namespace_of_bundle(bundle)
            count = bundle_counts.get(namespace)
            if reason is None or self.hits[bundle] <= self.settings.hits or count is None:
                continue
            if count + more.get(namespace, 0) >= self.settings.max_bundles or _beside(bundle, splitting):
                continue
            cuts = boundaries_of(bundle)
            if cuts is None or len(cuts) != 1:
                continue
            lower, upper = range_of_bundle(bundle)
            chosen.append(BundleSplit(bundle, reason, (range_text(lower, cuts[0]), range_text(cuts[0], upper))))
            more[namespace] = more.get(namespace, 0) + 1
            del self.hits[bundle]
            if len(chosen) == self.settings.max_splits:
                break
        return chosen

    def _counted(self, bundle: str, stats: BundleStats) -> SplitReason | None:
        reason = over_limit(stats, stats.traffic, self.settings)
        if reason is None:
            self.hits.pop(bundle, None)
        else:
            self.hits[bundle] = self.hits.get(bundle, 0) + 1
        return reason


def _beside(bundle: str, splitting: AbstractSet[str]) -> bool:
    """Say whether a parent or a sibling is being split, as Pulsar tells by the texts: a longer namespace counts too."""
    namespace, _, own = bundle.rpartition("/")
    lower, upper = own.split("_")
    for other in splitting:
        known = other.rpartition("/")[2]
        if other.startswith(namespace) and (known.startswith(lower) or known.endswith(upper)):
            return True
    return False
