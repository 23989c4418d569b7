"""Settings of the load balancer: Pulsar's properties, their types and defaults.

Each field names its property, and nothing else does. A property that is not given has Pulsar's default; unknown ones
are somebody else's.

Source: ServiceConfiguration, Pulsar 4.0.8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, TypeVar

from syncer.balancer.java import INT_MAX, INT_MIN
from syncer.errors import SettingInvalid

Value = TypeVar("Value", int, float, bool, str, frozenset[str])
Group = TypeVar("Group")
Properties = Mapping[str, object]

_MISSPELT: Final = {
    "loadBalancerBandwidthInResourceWeight": "loadBalancerBandwithInResourceWeight",
    "loadBalancerBandwidthOutResourceWeight": "loadBalancerBandwithOutResourceWeight",
}
"""Keys of older versions, which apply while the right one is 1.0."""


def _property(name: str, default: Value) -> Value:
    return field(default=default, metadata={"property": name})


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSettings:
    """What a broker's usage is reckoned from."""

    cpu: float = _property("loadBalancerCPUResourceWeight", 1.0)
    memory: float = _property("loadBalancerMemoryResourceWeight", 0.0)
    direct_memory: float = _property("loadBalancerDirectMemoryResourceWeight", 0.0)
    bandwidth_in: float = _property("loadBalancerBandwidthInResourceWeight", 1.0)
    bandwidth_out: float = _property("loadBalancerBandwidthOutResourceWeight", 1.0)
    history: float = _property("loadBalancerHistoryResourcePercentage", 0.9)
    overloaded_percent: int = _property("loadBalancerBrokerOverloadedThresholdPercentage", 85)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSettings:
    """Which brokers may get a bundle."""

    strategy: str = _property(
        "loadBalancerLoadPlacementStrategy", "org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate"
    )
    usage_gap_percent: int = _property("loadBalancerAverageResourceUsageDifferenceThresholdPercentage", 10)
    max_topics: int = _property("loadBalancerBrokerMaxTopics", 50_000)
    distribute_evenly: bool = _property("loadBalancerDistributeBundlesEvenlyEnabled", default=True)
    prefer_later_versions: bool = _property("preferLaterVersions", default=False)
    manager: str = _property("loadManagerClassName", "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl")
    failure_domains: bool = _property("failureDomainsEnabled", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingSettings:
    """What all shedding shares."""

    strategy: str = _property(
        "loadBalancerLoadSheddingStrategy", "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder"
    )
    excluded_namespaces: frozenset[str] = _property("loadBalancerSheddingExcludedNamespaces", frozenset[str]())
    balancer_enabled: bool = _property("loadBalancerEnabled", default=True)
    enabled: bool = _property("loadBalancerSheddingEnabled", default=True)
    interval_min: int = _property("loadBalancerSheddingIntervalMinutes", 1)
    grace_min: int = _property("loadBalancerSheddingGracePeriodMinutes", 30)
    with_policies: bool = _property("loadBalancerSheddingBundlesWithPoliciesEnabled", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSettings:
    """When a broker reports its load, and how many bundles one of the extensible manager names."""

    min_interval_ms: int = _property("loadBalancerReportUpdateMinIntervalMillis", 5000)
    max_interval_min: int = _property("loadBalancerReportUpdateMaxIntervalMinutes", 15)
    threshold_percent: int = _property("loadBalancerReportUpdateThresholdPercentage", 10)
    top_bundles: int = _property("loadBalancerMaxNumberOfBundlesInBundleLoadReport", 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdSettings:
    """ThresholdShedder's own."""

    threshold_percent: int = _property("loadBalancerBrokerThresholdShedderPercentage", 10)
    min_throughput_mib: float = _property("loadBalancerBundleUnloadMinThroughputThreshold", 10.0)
    lower_boundary: bool = _property("lowerBoundarySheddingEnabled", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformSettings:
    """UniformLoadShedder's own, of which AvgShedder uses those of an unload."""

    rate_difference_percent: float = _property("loadBalancerMsgRateDifferenceShedderThreshold", 50.0)
    throughput_multiplier: float = _property("loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold", 4.0)
    max_unload_fraction: float = _property("maxUnloadPercentage", 0.2)
    min_unload_rate: int = _property("minUnloadMessage", 1000)
    min_unload_throughput: int = _property("minUnloadMessageThroughput", 1024 * 1024)
    max_bundles: int = _property("maxUnloadBundleNumPerShedding", -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AvgSettings:
    """AvgShedder's own."""

    low: int = _property("loadBalancerAvgShedderLowThreshold", 15)
    high: int = _property("loadBalancerAvgShedderHighThreshold", 40)
    low_hits: int = _property("loadBalancerAvgShedderHitCountLowThreshold", 8)
    high_hits: int = _property("loadBalancerAvgShedderHitCountHighThreshold", 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSettings:
    """TransferShedder's own."""

    target_std: float = _property("loadBalancerBrokerLoadTargetStd", 0.25)
    transfer: bool = _property("loadBalancerTransferEnabled", default=True)
    hits: int = _property("loadBalancerSheddingConditionHitCountThreshold", 3)
    max_pairs: int = _property("loadBalancerMaxNumberOfBrokerSheddingPerCycle", 3)
    debug: bool = _property("loadBalancerDebugModeEnabled", default=False)
    delay_s: int = _property("loadBalanceSheddingDelayInSeconds", 180)
    report_ttl_s: int = _property("loadBalancerBrokerLoadDataTTLInSeconds", 1800)
    multi_phase: bool = _property("loadBalancerMultiPhaseBundleUnload", default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSettings:
    """When a bundle is split, and where."""

    max_topics: int = _property("loadBalancerNamespaceBundleMaxTopics", 1000)
    max_sessions: int = _property("loadBalancerNamespaceBundleMaxSessions", 1000)
    max_rate: int = _property("loadBalancerNamespaceBundleMaxMsgRate", 30_000)
    max_bandwidth_mib: int = _property("loadBalancerNamespaceBundleMaxBandwidthMbytes", 100)
    max_bundles: int = _property("loadBalancerNamespaceMaximumBundles", 128)
    max_splits: int = _property("loadBalancerMaxNumberOfBundlesToSplitPerCycle", 10)
    hits: int = _property("loadBalancerNamespaceBundleSplitConditionHitCountThreshold", 3)
    algorithm: str = _property("defaultNamespaceBundleSplitAlgorithm", "range_equally_divide")
    difference_percent: int = _property("flowOrQpsDifferenceThresholdPercentage", 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerSettings:
    """All that a cluster's brokers decide by."""

    usage: UsageSettings = UsageSettings()
    placement: PlacementSettings = PlacementSettings()
    shedding: SheddingSettings = SheddingSettings()
    report: ReportSettings = ReportSettings()
    threshold: ThresholdSettings = ThresholdSettings()
    uniform: UniformSettings = UniformSettings()
    avg: AvgSettings = AvgSettings()
    transfer: TransferSettings = TransferSettings()
    split: SplitSettings = SplitSettings()


def balancer_settings(properties: Properties) -> BalancerSettings:
    """Read what the brokers were told, text or JSON.

    Args:
        properties: Property name to value, of which those that are none of the load balancer's are passed over.

    Raises:
        SettingInvalid: A value is not of its property's type.
    """
    return changed_settings(BalancerSettings(), properties)


def changed_settings(settings: BalancerSettings, properties: Properties) -> BalancerSettings:
    """Set some properties, the others staying as they are.

    Args:
        settings: What the brokers were told.
        properties: Property name to value, as of :func:`balancer_settings`.

    Raises:
        SettingInvalid: A value is not of its property's type.
    """
    return BalancerSettings(
        usage=_group(settings.usage, properties),
        placement=_group(settings.placement, properties),
        shedding=_group(settings.shedding, properties),
        report=_group(settings.report, properties),
        threshold=_group(settings.threshold, properties),
        uniform=_group(settings.uniform, properties),
        avg=_group(settings.avg, properties),
        transfer=_group(settings.transfer, properties),
        split=_group(settings.split, properties),
    )


def _group(known: Group, properties: Properties) -> Group:
    given = {}
    for item in fields(known):  # type: ignore[arg-type]  # each group is a dataclass
        name, default = item.metadata["property"], item.default
        value = _parsed(name, properties[name], default) if name in properties else getattr(known, item.name)
        other = _MISSPELT.get(name)
        if other is not None and other in properties and value == default:
            value = _parsed(other, properties[other], default)
        given[item.name] = value
    return type(known)(**given)


def _parsed(name: str, value: object, default: object) -> object:
    found: object
    if isinstance(default, bool):
        found = _flag(value)
    elif isinstance(default, int):
        found = _integer(value)
    elif isinstance(default, float):
        found = _real(value)
    elif isinstance(default, frozenset):
        found = _names(value)
    else:
        found = value if isinstance(value, str) else None
    if found is None:
        kinds = {bool: "true or false", int: "a whole number of 32 bits", float: "a number", frozenset: "names"}
        raise SettingInvalid(f"{name} is {value!r}, and must be {kinds.get(type(default), 'text')}")
    return found


def _flag(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        found = int(value) if isinstance(value, str | int) else None
    except ValueError:
        return None
    return found if found is not None and INT_MIN <= found <= INT_MAX else None


def _real(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        found = float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None
    return found if found is not None and math.isfinite(found) else None


def _names(value: object) -> frozenset[str] | None:
    if isinstance(value, str):
        return frozenset(name.strip() for name in value.split(",") if name.strip())
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(name, str) for name in value):
        return frozenset(value)
    return None
