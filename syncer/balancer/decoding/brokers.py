"""Documents of brokers: registration, reports under either manager, metrics, averages, the leader.

Source: LocalBrokerData, BrokerLookupData, BrokerLoadData with its toMetrics, TopBundlesLoadData, TimeAverageBrokerData,
LeaderBroker, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.decoding.bundles import BUNDLE, bundle_stats, rates
from syncer.balancer.decoding.fields import DocumentFields
from syncer.balancer.load import Usage
from syncer.balancer.picture import (
    BrokerFigures,
    FigureOrigin,
    Known,
    LoadFindingKind,
    LoadManager,
    SeenUsages,
)
from syncer.balancer.placement.decision import BrokerTraits

if TYPE_CHECKING:
    from syncer.balancer.decoding.parts import PictureParts

_ADDRESSES: Final = ("webServiceUrl", "webServiceUrlTls", "pulsarServiceUrl", "pulsarServiceUrlTls")
_MODULAR_REPORT: Final = "LocalBrokerData"
_WHOLE: Final = 100.0


def take_registration(broker: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a broker's entry in the registry, which under the modular manager holds its load.

    Args:
        broker: Its id.
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    manager = fields.text("loadManagerClassName")
    traits = BrokerTraits(
        version=fields.text("brokerVersionString") or fields.text("brokerVersion"),
        manager=manager,
        persistent=fields.flag("persistentTopicsEnabled", default=True),
        non_persistent=fields.flag("nonPersistentTopicsEnabled", default=True),
    )
    parts.brokers.registrations[broker] = Known(traits, origin)
    for name in _ADDRESSES:
        address = fields.text(name)
        if address is not None:
            parts.brokers.addresses[address.rstrip("/").lower()] = broker
    reports = fields.values.get("loadReportType") == _MODULAR_REPORT or "lastStats" in fields.values
    parts.brokers.managers[broker] = LoadManager.MODULAR if reports else LoadManager.EXTENSIBLE
    if reports:
        _take_local_data(broker, fields, replace(origin, written_ms=fields.time_ms("lastUpdate")), parts)


def _take_local_data(broker: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take the report of a broker of the modular manager."""
    named = fields.texts("bundles")
    parts.brokers.figures[broker] = Known(
        BrokerFigures(
            usages=_usages(fields),
            traffic=rates(fields),
            topics=fields.count("numTopics"),
            bundle_count=fields.count("numBundles"),
            bundles=None if named is None else frozenset(named),
            producers=fields.count("numProducers"),
            consumers=fields.count("numConsumers"),
        ),
        origin,
    )
    stats = fields.below("lastStats")
    for bundle in stats.values if stats is not None else ():
        if stats is not None:
            _take_stats(bundle, broker, stats.below(bundle), origin, parts)


def take_broker_load(broker: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take the report of a broker of the extensible manager.

    Args:
        broker: Its id.
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    parts.brokers.figures[broker] = Known(
        BrokerFigures(
            usages=_usages(fields),
            traffic=rates(fields),
            topics=fields.count("topics"),
            bundle_count=fields.count("bundleCount"),
            average_usage=fields.number("weightedMaxEMA"),
            average_throughput=fields.number("msgThroughputEMA"),
        ),
        replace(origin, written_ms=fields.time_ms("updatedAt")),
    )


def take_broker_metrics(
    broker: str, answer: Sequence[Mapping[str, object]], origin: FigureOrigin, parts: PictureParts
) -> None:
    """Take the usages of a broker of the extensible manager from its metrics, of which those it balances by count.

    Args:
        broker: Its id.
        answer: As the broker gave it: each with its dimensions and figures.
        origin: Where, and when.
        parts: What it becomes part of.
    """
    found: dict[str, object] = {}
    for each in answer:
        dimensions, metrics = each.get("dimensions"), each.get("metrics")
        if isinstance(dimensions, dict) and dimensions.get("metric") == "loadBalancing" and isinstance(metrics, dict):
            feature = dimensions.get("feature")
            found.update(metrics if feature is None else {f"{name} {feature}": metrics[name] for name in metrics})
    fields = DocumentFields(origin.where, found, parts.notes)
    parts.brokers.asked[broker] = Known(
        BrokerFigures(
            usages=SeenUsages(
                cpu=_percentage(fields, "brk_lb_cpu_usage"),
                memory=_percentage(fields, "brk_lb_memory_usage"),
                direct_memory=_percentage(fields, "brk_lb_directMemory_usage"),
                bandwidth_in=_percentage(fields, "brk_lb_bandwidth_in_usage"),
                bandwidth_out=_percentage(fields, "brk_lb_bandwidth_out_usage"),
            ),
            average_usage=fields.number("brk_lb_resource_usage max_ema"),
            asked=True,
        ),
        origin,
    )


def take_top_bundles(broker: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a broker's report of its busiest bundles, from the smallest to the largest.

    Args:
        broker: Its id.
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    listed = fields.values.get("topBundlesLoadData")
    if not isinstance(listed, list):
        parts.notes.note(LoadFindingKind.TORN, fields.where, "topBundlesLoadData is no list; its bundles stay unknown")
        return
    names: list[str] = []
    for each in listed:
        row = DocumentFields(fields.where, each if isinstance(each, dict) else {}, parts.notes)
        bundle, stats = row.text("bundleName"), row.below("stats")
        if bundle is None:
            parts.notes.note(LoadFindingKind.TORN, fields.where, "a row of topBundlesLoadData names no bundle")
        elif _take_stats(bundle, broker, stats, origin, parts):
            names.append(bundle)
    parts.brokers.top[broker] = Known(tuple(names), origin)


def take_broker_average(broker: str, fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take the leader's long average of a broker's messages a second.

    Args:
        broker: Its id.
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    rate_in, rate_out = fields.number("longTermMsgRateIn"), fields.number("longTermMsgRateOut")
    if rate_in is not None and rate_out is not None:
        parts.brokers.long_rates[broker] = Known(rate_in + rate_out, origin)


def take_leader(fields: DocumentFields, origin: FigureOrigin, parts: PictureParts) -> None:
    """Take who leads; an old leader is known by its address alone.

    Args:
        fields: The document.
        origin: Where it was read.
        parts: What it becomes part of.
    """
    broker = fields.text("brokerId") or (fields.text("serviceUrl") or "").rpartition("://")[2].rstrip("/")
    if broker:
        parts.brokers.leader = Known(broker, origin)
    else:
        parts.notes.note(LoadFindingKind.TORN, fields.where, "it names no leader")


def _take_stats(
    bundle: str, broker: str, fields: DocumentFields | None, origin: FigureOrigin, parts: PictureParts
) -> bool:
    if not BUNDLE.fullmatch(bundle):
        parts.notes.note(LoadFindingKind.TORN, origin.where, f"it reports {bundle!r:.80}, which is no bundle")
        return False
    stats = None if fields is None else bundle_stats(fields)
    if stats is None:
        return False
    parts.bundles.reported.setdefault(bundle, {})[broker] = Known(stats, origin)
    return True


def _usages(fields: DocumentFields) -> SeenUsages:
    return SeenUsages(
        cpu=_usage(fields.below("cpu")),
        memory=_usage(fields.below("memory")),
        direct_memory=_usage(fields.below("directMemory")),
        bandwidth_in=_usage(fields.below("bandwidthIn")),
        bandwidth_out=_usage(fields.below("bandwidthOut")),
    )


def _percentage(fields: DocumentFields, name: str) -> Usage | None:
    found = fields.number(name)
    return None if found is None else Usage(found, _WHOLE)


def _usage(fields: DocumentFields | None) -> Usage | None:
    """Read a usage; its limit may be below zero: Pulsar says so where it cannot read a network card's speed."""
    if fields is None:
        return None
    usage, limit = fields.number("usage"), fields.number("limit", below_zero=True)
    return None if usage is None or limit is None else Usage(usage, limit)
