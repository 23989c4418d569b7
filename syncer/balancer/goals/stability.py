"""Stability: Pulsar's own next rounds shall not undo a move.

A broker that is far above the mean after a move is shed from again. So a target is weighed by how far it would be above
the mean, in thresholds of the shedding; what the brokers' own strategy would do is asked of ``next_round``, under the
extensible manager of ``next_transfers``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.averages import LONG_SAMPLES, SHORT_SAMPLES, BundleAverages, TimeAverage, broker_averages
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.rounds.candidates import reported, transferable
from syncer.balancer.rounds.naming import simple_name
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.overload import OverloadShedder
from syncer.balancer.strategies.threshold import ThresholdShedder
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport, TransferShedder
from syncer.balancer.strategies.uniform import UniformLoadShedder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds
    from syncer.balancer.settings import BalancerSettings
    from syncer.balancer.strategies.taking import Unloads

_KINDS: Final = (ThresholdShedder, OverloadShedder, UniformLoadShedder, AvgShedder)
SHEDDERS: Final = {f"org.apache.pulsar.broker.loadbalance.impl.{kind.__name__}": kind for kind in _KINDS}


class StabilityGoal:
    """Weighs how far above the mean a target would be."""

    def __init__(self, fleet: Fleet, settings: BalancerSettings) -> None:
        """Take the mean, which a move hardly changes.

        Args:
            fleet: As it stands at the beginning.
            settings: What the brokers were told.
        """
        self._fleet, self._mean = fleet, fleet.mean
        self._threshold = max(settings.threshold.threshold_percent, 1) / 100

    def loss(self, bundle: str, target: str) -> float:
        """Reckon how many thresholds above the mean the target would be; 0 for one that is below it."""
        return max(0.0, self._fleet.with_bundle(target, bundle) - self._mean) / self._threshold


def cluster_load(fleet: Fleet, recently_unloaded: AbstractSet[str] = frozenset()) -> ClusterLoad:
    """Show a fleet as its leader would see it, had its load been so all the time.

    Args:
        fleet: As it stands now.
        recently_unloaded: Bundles in their grace period.
    """
    return ClusterLoad(
        brokers={broker: fleet.report(broker) for broker in fleet.brokers},
        bundles={
            name: BundleAverages(
                TimeAverage(bundle.stats.traffic, SHORT_SAMPLES, SHORT_SAMPLES),
                TimeAverage(bundle.stats.traffic, LONG_SAMPLES, LONG_SAMPLES),
                bundle.stats.topics,
            )
            for name, bundle in fleet.bundles.items()
        },
        recently_unloaded=recently_unloaded,
    )


def next_transfers(fleet: Fleet, bounds: MoveBounds) -> frozenset[str] | None:
    """Ask TransferShedder for what it would move, had the load been so all the time and counted often enough.

    None where the brokers run another strategy of the extensible manager: that is not known here.

    Args:
        fleet: As it stands now.
        bounds: Constraints, settings, and bundles in their grace period.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    constraints, settings = bounds.constraints, bounds.settings
    if simple_name(settings.shedding.strategy) != TransferShedder.__name__:
        return None
    reports = {}
    for broker in fleet.brokers:
        averages = broker_averages(None, fleet.resources(broker), fleet.traffic(broker), settings.usage)
        reports[broker] = ExtensibleReport(
            usage=averages.usage,
            throughput=averages.throughput,
            average_throughput=averages.throughput,
            topics=fleet.topics(broker),
            top_bundles=reported(fleet, broker, constraints, settings),
        )
    load = ExtensibleLoad(
        brokers=reports,
        available=fleet.brokers.keys(),
        recently_unloaded=bounds.recently_unloaded,
        transferable=transferable(fleet, constraints),
    )
    at_once = replace(settings, transfer=replace(settings.transfer, hits=0))
    return frozenset(choice.bundle for choice in TransferShedder(at_once).round(load))


def next_round(load: ClusterLoad, settings: BalancerSettings, strategies: Iterable[str]) -> dict[str, Unloads]:
    """Ask strategies of the modular manager for what they would unload, as soon as they had counted often enough.

    Args:
        load: The cluster.
        settings: What the brokers were told.
        strategies: Class names; what is asked of one that is not known here is not answered.
    """
    at_once = replace(settings, avg=replace(settings.avg, low_hits=1, high_hits=1))
    return {name: SHEDDERS[name](at_once).round(load) for name in strategies if name in SHEDDERS}
