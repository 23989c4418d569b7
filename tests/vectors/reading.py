"""Read what cases hold in common: figures of traffic, bundles, brokers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncer.balancer.averages import LONG_SAMPLES, SHORT_SAMPLES, UNSEEN, BundleAverages, TimeAverage
from syncer.balancer.load import BrokerReport, BundleStats, Rates, Usage, Usages


def traffic(row: Mapping[str, Any]) -> Rates:
    """Read rates and throughputs."""
    return Rates(
        float(row.get("msgRateIn", 0.0)),
        float(row.get("msgRateOut", 0.0)),
        float(row.get("msgThroughputIn", 0.0)),
        float(row.get("msgThroughputOut", 0.0)),
    )


def stats(row: Mapping[str, Any]) -> BundleStats:
    """Read a bundle's figures."""
    return BundleStats(traffic(row), row["topics"], row["producerCount"], row["consumerCount"])


def averages(row: Mapping[str, Any]) -> BundleAverages:
    """Read a bundle's averages, of which a case may give one."""
    short, long = row.get("shortTermData"), row.get("longTermData")
    return BundleAverages(
        TimeAverage(traffic(short) if short else UNSEEN, SHORT_SAMPLES),
        TimeAverage(traffic(long) if long else UNSEEN, LONG_SAMPLES),
    )


def usages(row: Mapping[str, Any]) -> Usages:
    """Read what a broker uses."""
    names = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
    return Usages(*(Usage(float(row[name]["usage"]), float(row[name]["limit"])) for name in names))


def report(row: Mapping[str, Any]) -> BrokerReport:
    """Read a broker's report."""
    return BrokerReport(usages=usages(row), traffic=traffic(row), bundles=frozenset(row.get("bundles", ())))
