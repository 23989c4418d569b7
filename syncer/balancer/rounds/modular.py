"""Rounds of the modular manager: brokers report, its leader sheds and places.

The leader's maps have no order that could be told from outside: ties go by the order of the fleet. While it sheds, it
sees the reports of before: several bundles may go to the same broker, which is not full in any of them.

Source: ModularLoadManagerImpl.updateBundleData, doLoadShedding, Pulsar 4.0.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.balancer.averages import SHORT_SAMPLES, BundleAverages, TimeAverage
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.placement.modular import select_broker
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.rounds.naming import modular_placement, modular_shedder
from syncer.balancer.rounds.pausing import Grace, may_leave
from syncer.balancer.rounds.reporting import ReportedLoad, report_due
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight
from syncer.balancer.strategies.threshold import ThresholdShedder

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.load import BrokerReport, BundleStats
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.placement.decision import Draw
    from syncer.balancer.settings import BalancerSettings
    from syncer.balancer.versions import BalancerRules


_MOST_COUNTED: Final = SHORT_SAMPLES
"""So often a round's reports are counted at most: enough to make a short average what is reported."""


class ModularLeader:
    """A leader of the modular manager with its memories: reports, averages, strategies, grace."""

    def __init__(self, constraints: Constraints, settings: BalancerSettings, rules: BalancerRules, draw: Draw) -> None:
        """Begin with empty memories.

        Args:
            constraints: Policies, groups, domains and traits.
            settings: What the brokers were told.
            rules: Those of their version.
            draw: Draws one of equally good brokers.

        Raises:
            SettingInvalid: A strategy is not known here.
        """
        self.settings = rules.effective(settings)
        self._constraints = constraints
        self._draw = draw
        self._shedder = modular_shedder(self.settings, rules)
        self._placement = modular_placement(self.settings, rules, self._shedder)
        self._grace = Grace(self.settings.shedding.grace_min)
        self._reported: dict[str, ReportedLoad] = {}
        self._reports: dict[str, BrokerReport] = {}
        self._stats: dict[str, dict[str, BundleStats]] = {}
        self._averages: dict[str, BundleAverages] = {}

    def round(self, fleet: Fleet, now_ms: int) -> tuple[list[tuple[str, str]], int]:
        """Play a round: bundles with their new brokers, and how many choices came to nothing. It moves no bundle.

        Args:
            fleet: As it is now.
            now_ms: The time.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read, or traffic cannot be true.
        """
        self._take_reports(fleet, now_ms)
        own = self.settings.shedding
        if len(self._reports) <= 1 or not (own.balancer_enabled and own.enabled):
            return [], 0
        load = self._load(now_ms)
        moves, futile = [], 0
        for source, bundles in self._shedder.round(load).items():
            for bundle in bundles:
                excluded = namespace_of_bundle(bundle) in own.excluded_namespaces
                target = None if excluded else self._target(bundle, source, load)
                if target is None or target == source:
                    futile += 1
                else:
                    moves.append((bundle, target))
                    self._grace.begin(bundle, now_ms)
        return moves, futile

    def _target(self, bundle: str, source: str, load: ClusterLoad) -> str | None:
        namespace = namespace_of_bundle(bundle)
        if not may_leave(namespace, source, load.brokers, load.namespaces(), self._constraints):
            return None
        return select_broker(bundle, load, self._constraints, self.settings, self._placement, self._draw).chosen

    def _load(self, now_ms: int) -> ClusterLoad:
        return ClusterLoad(
            brokers=self._reports,
            bundles=self._averages,
            recently_unloaded=self._grace.current(now_ms),
            broker_rates={
                broker: sum(self._averages[bundle].long.traffic.rate for bundle in stats)
                for broker, stats in self._stats.items()
            },
        )

    def _take_reports(self, fleet: Fleet, now_ms: int) -> None:
        """Take the reports that are due, each of which makes the leader count every bundle once more."""
        gone = self._reports.keys() - fleet.brokers.keys()
        came = fleet.brokers.keys() - self._reports.keys()
        for broker in gone:
            del self._reports[broker], self._reported[broker], self._stats[broker]
        due = [broker for broker in fleet.brokers if broker in came or self._due(fleet, broker, now_ms)]
        for broker in due:
            self._reported[broker] = _reported(fleet, broker, now_ms)
            self._reports[broker] = fleet.report(broker)
            self._stats[broker] = {bundle: fleet.bundles[bundle].stats for bundle in fleet.bundles_of(broker)}
        if gone or came:
            for strategy in (self._shedder, self._placement):
                if isinstance(strategy, ThresholdShedder | LeastResourceUsageWithWeight):
                    strategy.brokers_changed(self._reports.keys())
        if due:
            self._averages = {
                bundle: _counted(self._averages.get(bundle, BundleAverages()), stats, min(len(due), _MOST_COUNTED))
                for reported in self._stats.values()
                for bundle, stats in reported.items()
            }

    def _due(self, fleet: Fleet, broker: str, now_ms: int) -> bool:
        return report_due(self._reported[broker], _reported(fleet, broker, now_ms), self.settings.report)


def _reported(fleet: Fleet, broker: str, now_ms: int) -> ReportedLoad:
    return ReportedLoad(
        at_ms=now_ms,
        usage=fleet.usages[broker],
        traffic=fleet.traffic(broker),
        bundles=len(fleet.bundles_of(broker)),
    )


def _counted(known: BundleAverages, stats: BundleStats, times: int) -> BundleAverages:
    """Count a report several times; an average that is what is reported stays so, but for its samples."""
    while times and (known.short.traffic != stats.traffic or known.long.traffic != stats.traffic):
        known, times = known.updated(stats), times - 1
    short, long = _more_samples(known.short, times), _more_samples(known.long, times)
    if short is known.short and long is known.long and known.topics == stats.topics:
        return known
    return BundleAverages(short, long, stats.topics)


def _more_samples(average: TimeAverage, times: int) -> TimeAverage:
    samples = min(average.samples + times, average.max_samples)
    return average if samples == average.samples else TimeAverage(average.traffic, average.max_samples, samples)
