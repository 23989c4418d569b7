"""Play ``placement.json``: strategies of placement, filters of candidates, averages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from syncer.balancer.averages import BrokerAverages, BundleAverages, broker_averages
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.load import Rates
from syncer.balancer.placement.candidates import with_few_topics, with_fewest_bundles
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.settings import balancer_settings
from syncer.balancer.strategies.least_rate import LeastLongTermMessageRate
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight, well_below_mean
from syncer.balancer.strategies.round_robin import RoundRobinBrokerSelector
from tests.vectors.comparing import same, same_number, same_numbers
from tests.vectors.reading import averages, report, stats, usages

Row = Mapping[str, Any]


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    return STRATEGIES[case["strategy"]](case)


def _load(row: Row) -> ClusterLoad:
    brokers = row["brokers"]
    return ClusterLoad(
        brokers={each["broker"]: report(each) for each in brokers},
        preallocated={
            each["broker"]: {name: averages(data) for name, data in each.get("preallocatedBundleData", {}).items()}
            for each in brokers
        },
        broker_rates={each["broker"]: _long_rate(each.get("timeAverageData") or {}) for each in brokers},
    )


def _long_rate(row: Row) -> float:
    return float(row.get("longTermMsgRateIn", 0.0) + row.get("longTermMsgRateOut", 0.0))


def _least_rate(case: Row) -> Iterator[str]:
    strategy = LeastLongTermMessageRate(balancer_settings(case["conf"]))
    load = _load(case)
    found = {broker: strategy.score(broker, load) for broker in case["candidates"]}
    yield from same_numbers("score", case["expected"]["scores"], found)
    yield from _best(case["expected"], strategy.best(case["candidates"], load))


def _best(wanted: Row, found: list[str]) -> Iterator[str]:
    yield from same("best brokers", sorted(wanted["bestBrokers"]), sorted(found))
    yield from same("whether one is selected", wanted["selectedPresent"], bool(found))


def _least_usage(case: Row) -> Iterator[str]:
    settings = balancer_settings(case["conf"])
    if case["loadManager"] == "extensible":
        known = {row["broker"]: row["weightedMaxEMA"] for row in case["brokers"] if row["weightedMaxEMA"] is not None}
        gap = settings.placement.usage_gap_percent
        yield from _best(case["expected"], well_below_mean(case["candidates"], known, gap))
        return
    strategy = LeastResourceUsageWithWeight(settings)
    for row in case["rounds"]:
        yield from _best(row["expected"], strategy.best(row["candidates"], _load(row)))
        yield from same_numbers("usage", row["expected"]["brokerAvgResourceUsageWithWeight"], strategy.usages)


def _round_robin(case: Row) -> Iterator[str]:
    selector = RoundRobinBrokerSelector()
    for row in case["rounds"]:
        yield from same("broker", row["expected"], selector.next(row["candidatesInIterationOrder"]))


def _filters(case: Row) -> Iterator[str]:
    namespace = namespace_of_bundle(case["bundle"])
    owned = case["ownedBundles"]
    counts = {
        name: len({each for each in own if namespace_of_bundle(each) == namespace}) for name, own in owned.items()
    }
    topics = {row["broker"]: row["numTopics"] + row["preallocatedTopics"] for row in case["topicCounts"]}
    fewest = with_fewest_bundles(list(owned), counts).left
    yield from same("with the fewest bundles", sorted(case["expected"]["afterRemoveMostServicing"]), sorted(fewest))
    few = with_few_topics(list(owned), topics, case["loadBalancerBrokerMaxTopics"]).left
    yield from same("with few topics", sorted(case["expected"]["afterLargeTopicCount"]), sorted(few))


def _averages(case: Row) -> Iterator[str]:
    settings = balancer_settings(case["conf"]).usage
    known: BrokerAverages | None = None
    bundle = BundleAverages()
    for row in case["rounds"]:
        wanted, used, sample = row["expected"], usages(row["systemResourceUsage"]), stats(row["bundleStats"])
        known = broker_averages(known, used, sample.traffic, settings)
        bundle = bundle.updated(sample)
        names = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
        each = (used.cpu, used.memory, used.direct_memory, used.bandwidth_in, used.bandwidth_out)
        percents = {name: usage.percent() for name, usage in zip(names, each, strict=True)}
        yield from same_numbers("percentage", wanted["percentUsage"], percents)
        yield from same_number("greatest usage", wanted["maxResourceUsage"], used.greatest())
        yield from same_number("average usage", wanted["weightedMaxEMA"], known.usage)
        yield from same_number("average throughput", wanted["msgThroughputEMA"], known.throughput)
        yield from same_numbers("short average", wanted["bundleShortTerm"], _figures(bundle.short.traffic))
        yield from same_numbers("long average", wanted["bundleLongTerm"], _figures(bundle.long.traffic))


def _figures(rates: Rates) -> dict[str, float]:
    return {
        "msgRateIn": rates.rate_in,
        "msgRateOut": rates.rate_out,
        "msgThroughputIn": rates.throughput_in,
        "msgThroughputOut": rates.throughput_out,
    }


STRATEGIES: Mapping[str, Callable[[Row], Iterator[str]]] = {
    "LeastLongTermMessageRate": _least_rate,
    "LeastResourceUsageWithWeight": _least_usage,
    "RoundRobinBrokerSelector": _round_robin,
    "candidate-filters": _filters,
    "ema": _averages,
}
