"""Rounds of the extensible manager: brokers move their own averages and report, its leader transfers.

A broker that gives or gets a bundle begins its averages anew. A bundle without a target is placed as any other.

Source: UnloadScheduler, BrokerLoadDataReporter, TopBundlesLoadData, Pulsar 4.0.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.averages import broker_averages
from syncer.balancer.placement.extensible import select
from syncer.balancer.rounds.candidates import reported, transferable
from syncer.balancer.rounds.naming import simple_name
from syncer.balancer.rounds.pausing import Grace
from syncer.balancer.rounds.reporting import MINUTE_MS, ReportedLoad, report_due
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport, TransferShedder
from syncer.errors import SettingInvalid

if TYPE_CHECKING:
    from syncer.balancer.averages import BrokerAverages
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.load import Rates, Usages
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.placement.decision import Draw
    from syncer.balancer.settings import BalancerSettings
    from syncer.balancer.versions import BalancerRules


class ExtensibleLeader:
    """A leader of the extensible manager and what its brokers tell it."""

    def __init__(self, constraints: Constraints, settings: BalancerSettings, rules: BalancerRules, draw: Draw) -> None:
        """Begin with empty memories.

        Args:
            constraints: Policies, groups, domains and traits.
            settings: What the brokers were told.
            rules: Those of their version.
            draw: Draws one of equally good brokers.

        Raises:
            SettingInvalid: The strategy of shedding is not known here.
        """
        self.settings = rules.effective(settings)
        if simple_name(settings.shedding.strategy) != TransferShedder.__name__:
            raise SettingInvalid(
                f"loadBalancerLoadSheddingStrategy is {settings.shedding.strategy}, whose rounds cannot be played;"
                " of the extensible manager those of TransferShedder can"
            )
        self._constraints = constraints
        self._draw = draw
        self._shedder = TransferShedder(self.settings)
        self._grace = Grace(self.settings.shedding.grace_min)
        self._unloaded_ms: dict[str, int] = {}
        self._averages: dict[str, BrokerAverages] = {}
        self._reported: dict[str, ReportedLoad] = {}
        self._reports: dict[str, ExtensibleReport] = {}

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
        if len(fleet.brokers) <= 1 or not (own.balancer_enabled and own.enabled):
            return [], 0
        load = self._load(fleet, now_ms)
        moves, futile = [], 0
        for choice in self._shedder.round(load):
            target = choice.target or self._placed(choice.bundle, choice.source, load, fleet)
            if target is None or target == choice.source:
                futile += 1
                continue
            moves.append((choice.bundle, target))
            self._grace.begin(choice.bundle, now_ms)
            self._unloaded_ms[choice.source] = now_ms
            for broker in (choice.source, target):
                self._averages.pop(broker, None)
                self._reported.pop(broker, None)
        return moves, futile

    def _placed(self, bundle: str, source: str, load: ExtensibleLoad, fleet: Fleet) -> str | None:
        excluded = frozenset((source,))
        owners, constraints, settings = fleet.owners, self._constraints, self.settings
        return select(bundle, load, owners, constraints, settings, self._draw, excluded=excluded).chosen

    def _load(self, fleet: Fleet, now_ms: int) -> ExtensibleLoad:
        return ExtensibleLoad(
            brokers=self._reports,
            available=fleet.brokers.keys(),
            recently_unloaded=self._grace.current(now_ms),
            transferable=transferable(fleet, self._constraints),
        )

    def _take_reports(self, fleet: Fleet, now_ms: int) -> None:
        """Let the time since the last round pass, in the steps in which brokers look at themselves."""
        for broker in self._reports.keys() - fleet.brokers.keys():
            self._averages.pop(broker, None)
            self._reported.pop(broker, None)
            del self._reports[broker]
        own = self.settings
        steps = range(now_ms - own.shedding.interval_min * MINUTE_MS, now_ms, own.report.min_interval_ms)
        for broker in fleet.brokers:
            usages, traffic = fleet.resources(broker), fleet.traffic(broker)
            for at_ms in steps:
                averages = broker_averages(self._averages.get(broker), usages, traffic, own.usage)
                self._averages[broker] = averages
                looked = _looked(fleet, broker, usages, traffic, at_ms)
                last = self._reported.get(broker)
                if last is None or report_due(last, looked, own.report):
                    self._reported[broker] = looked
                    self._reports[broker] = ExtensibleReport(
                        usage=averages.usage,
                        throughput=traffic.throughput,
                        average_throughput=averages.throughput,
                        topics=fleet.topics(broker),
                    )
        self._reports = {broker: self._aged(fleet, broker, now_ms) for broker in fleet.brokers}

    def _aged(self, fleet: Fleet, broker: str, now_ms: int) -> ExtensibleReport:
        known, at_ms = self._reports[broker], self._reported[broker].at_ms
        unloaded_ms = self._unloaded_ms.get(broker)
        return ExtensibleReport(
            usage=known.usage,
            throughput=known.throughput,
            average_throughput=known.average_throughput,
            topics=known.topics,
            age_ms=now_ms - at_ms,
            since_unload_ms=None if unloaded_ms is None else at_ms - unloaded_ms,
            top_bundles=reported(fleet, broker, self._constraints, self.settings),
        )


def _looked(fleet: Fleet, broker: str, usages: Usages, traffic: Rates, at_ms: int) -> ReportedLoad:
    return ReportedLoad(at_ms=at_ms, usage=usages.greatest(), traffic=traffic, bundles=len(fleet.bundles_of(broker)))
