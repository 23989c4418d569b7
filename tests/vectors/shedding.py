"""Play ``shedding.json``: rounds of every strategy of shedding, each strategy with its memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.settings import BalancerSettings, balancer_settings
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.overload import OverloadShedder
from syncer.balancer.strategies.threshold import ThresholdShedder
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport, TransferShedder
from syncer.balancer.strategies.uniform import UniformLoadShedder
from tests.vectors.comparing import RELATIVE_STD, same, same_number, same_numbers
from tests.vectors.reading import averages, report

Row = Mapping[str, Any]
FORGETFUL: Final[dict[str, type[OverloadShedder | UniformLoadShedder]]] = {
    "OverloadShedder": OverloadShedder,
    "UniformLoadShedder": UniformLoadShedder,
}
"""Strategies that keep nothing from round to round."""


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    settings = balancer_settings(case["conf"])
    play = {"ThresholdShedder": _threshold, "AvgShedder": _avg, "TransferShedder": _transfer}.get(case["strategy"])
    rounds = case["rounds"]
    if play is not None:
        yield from play(settings, rounds)
    else:
        shedder = FORGETFUL[case["strategy"]](settings)
        for row in rounds:
            yield from _unloads(row, shedder.round(_load(row)))
            yield from _usages(row, settings)


def _load(row: Row) -> ClusterLoad:
    return ClusterLoad(
        brokers={each["broker"]: report(each) for each in row["brokers"]},
        bundles={each["bundle"]: averages(each) for each in row["bundles"]},
        recently_unloaded=frozenset(row["recentlyUnloadedBundles"]),
    )


def _unloads(row: Row, found: Mapping[str, list[str]]) -> Iterator[str]:
    yield from same("unloads", row["expected"]["unload"], dict(found))


def _usages(row: Row, settings: BalancerSettings) -> Iterator[str]:
    wanted = row["expected"].get("maxResourceUsageWithWeight")
    if wanted is not None:
        found = {each["broker"]: report(each).usages.weighted(settings.usage) for each in row["brokers"]}
        yield from same_numbers("usage", wanted, found)


def _threshold(settings: BalancerSettings, rounds: list[Row]) -> Iterator[str]:
    shedder = ThresholdShedder(settings)
    for row in rounds:
        load = _load(row)
        if row.get("onActiveBrokersChange"):
            shedder.brokers_changed(load.brokers.keys())
        yield from _unloads(row, shedder.round(load))
        yield from _usages(row, settings)
        yield from same_numbers("average usage", row["expected"]["brokerAvgResourceUsage"], shedder.usages)


def _avg(settings: BalancerSettings, rounds: list[Row]) -> Iterator[str]:
    shedder = AvgShedder(settings)
    for row in rounds:
        wanted = row["expected"]
        yield from _unloads(row, shedder.round(_load(row)))
        yield from same_numbers("score", wanted["brokerScores"], shedder.scores)
        yield from same("high hits", wanted["hitCountHighAfter"], shedder.high_hits)
        yield from same("low hits", wanted["hitCountLowAfter"], shedder.low_hits)
        yield from same("targets", wanted["destinations"], shedder.targets)


def _transfer(settings: BalancerSettings, rounds: list[Row]) -> Iterator[str]:
    shedder = TransferShedder(settings)
    mean = std = 0.0
    for row in rounds:
        wanted = row["expected"]
        load = _extensible(row)
        found = shedder.round(load)
        if shedder.spread.brokers:
            usages = [each for each in load.brokers.values() if each.age_ms <= settings.transfer.report_ttl_s * 1000]
            mean, std = shedder.spread.mean, shedder.spread.of([each.usage for each in usages]).std
        rows = [
            {"sourceBroker": each.source, "bundle": each.bundle, "destBroker": each.target, "reason": each.reason.value}
            for each in sorted(found, key=lambda each: (each.source, each.bundle))
        ]
        skipped = {f"Skip/{shedder.skipped.value}": 1} if shedder.skipped else {}
        yield from same("decisions", wanted["decisions"], rows)
        yield from same("counters", wanted["counterDelta"], skipped)
        yield from same("hits", wanted["hitCountAfter"], shedder.hits)
        yield from same_number("mean at the start", wanted["avgAtStart"], mean)
        yield from same_number("std at the start", wanted["stdAtStart"], std, RELATIVE_STD)
        yield from same_number("std at the end", wanted["stdAtEnd"], shedder.spread.std, RELATIVE_STD)


def _extensible(row: Row) -> ExtensibleLoad:
    return ExtensibleLoad(
        brokers={each["broker"]: _report(each) for each in row["brokers"]},
        available=frozenset(row["availableBrokers"]),
        recently_unloaded=frozenset(row["recentlyUnloadedBundles"]),
    )


def _report(row: Row) -> ExtensibleReport:
    top = row["topBundles"]
    return ExtensibleReport(
        usage=row["weightedMaxEMA"],
        throughput=row["msgThroughputIn"] + row["msgThroughputOut"],
        average_throughput=row["msgThroughputEMA"],
        age_ms=row["ageMs"],
        since_unload_ms=row["recentlyUnloadedElapsedMs"],
        top_bundles=None
        if top is None
        else [(each["bundleName"], each["msgThroughputIn"] + each["msgThroughputOut"]) for each in top],
    )
