"""Reporting: when a broker reports its load anew, and the bundles that it names.

A leader decides by the last report, not by the load: a broker with many bundles that lost one may not say so for 15
minutes.

Source: ModularLoadManagerImpl.needBrokerDataUpdate, BrokerLoadDataReporter, TopKBundles, NamespaceBundleStats,
Pulsar 4.0.8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from syncer.balancer.load import BundleStats, Rates
    from syncer.balancer.settings import ReportSettings

MINUTE_MS: Final = 60_000
_BYTES_STEP: Final = 1e5
_RATE_STEP: Final = 100.0
_CONNECTIONS_STEP: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedLoad:
    """Figures of a report by whose change the next one is due: ``usage`` is the weighted one, a fraction."""

    at_ms: int
    usage: float
    traffic: Rates
    bundles: int


def report_due(last: ReportedLoad, now: ReportedLoad, settings: ReportSettings) -> bool:
    """Say whether a broker reports again.

    Args:
        last: Its last report.
        now: What it would report.
        settings: What the brokers were told.
    """
    if now.at_ms - last.at_ms > settings.max_interval_min * MINUTE_MS:
        return True
    change = max(
        100 * abs(last.usage - now.usage),
        _percent(last.traffic.rate, now.traffic.rate),
        _percent(last.traffic.throughput, now.traffic.throughput),
        _percent(last.bundles, now.bundles),
    )
    return change > settings.threshold_percent


def _percent(before: float, now: float) -> float:
    if before == 0:
        return math.inf if now else 0.0
    return 100 * abs((before - now) / before)


def top_bundles(bundles: Iterable[tuple[str, BundleStats]], count: int) -> list[tuple[str, float]]:
    """Name a broker's busiest bundles with their bytes a second, from the least busy of them on.

    Figures within a step of each other count as equal. Java's partial sort may order such bundles otherwise.

    Args:
        bundles: Those that may be shed.
        count: How many are named.
    """
    busy = [(name, stats) for name, stats in bundles if stats.traffic.rate or stats.traffic.throughput]
    busy.sort(key=cmp_to_key(_compared), reverse=True)
    return [(name, stats.traffic.throughput) for name, stats in reversed(busy[:count])]


def _compared(former: tuple[str, BundleStats], latter: tuple[str, BundleStats]) -> int:
    one, other = former[1], latter[1]
    for own, its, step in (
        (one.traffic.throughput_in, other.traffic.throughput_in, _BYTES_STEP),
        (one.traffic.throughput_out, other.traffic.throughput_out, _BYTES_STEP),
        (one.traffic.rate, other.traffic.rate, _RATE_STEP),
        (one.producers + one.consumers, other.producers + other.consumers, _CONNECTIONS_STEP),
    ):
        if abs(own - its) > step:
            return 1 if own > its else -1
    return 0
