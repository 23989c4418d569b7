"""Soundness: figures of load that cannot be true, before anything is decided by them.

Pulsar's own strategies go on with them, and so do ours, which give the same answers: NaN is never the greatest, an
average that took it once stays NaN. An advisor must refuse or leave the broker or bundle out as unknown; 0 is a figure
like any other and never stands for one that is missing. A limit below zero is sound: Pulsar reports one for a network
card whose speed it cannot read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.cluster import ClusterLoad
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from syncer.balancer.load import Rates, Usages
    from syncer.balancer.strategies.transfer import ExtensibleLoad


@dataclass(frozen=True, slots=True)
class UnsoundFigure:
    """A figure that cannot be true: of which broker or bundle, which one, and its value."""

    whose: str
    figure: str
    value: float


def unsound(load: ClusterLoad | ExtensibleLoad) -> list[UnsoundFigure]:
    """List the figures of a cluster's load that cannot be true.

    Args:
        load: The cluster as the leader of either manager sees it.
    """
    return list(_modular(load) if isinstance(load, ClusterLoad) else _extensible(load))


def refuse_unsound(load: ClusterLoad | ExtensibleLoad) -> None:
    """Refuse load with a figure that cannot be true.

    Args:
        load: The cluster as the leader of either manager sees it.

    Raises:
        LoadDataInvalid: There is one; the message names the first and says how many there are.
    """
    found = unsound(load)
    if found:
        first = found[0]
        more = f"; {len(found) - 1} more figures cannot be true either" if len(found) > 1 else ""
        raise LoadDataInvalid(f"{first.figure} of {first.whose} is {first.value}, which no broker can measure{more}")


def _modular(load: ClusterLoad) -> Iterator[UnsoundFigure]:
    for broker, report in load.brokers.items():
        yield from _usages(broker, report.usages)
        yield from _rates(broker, "", report.traffic)
        yield from _below_zero(broker, topics=report.topics)
    for broker, rate in load.broker_rates.items():
        yield from _below_zero(broker, long_rate=rate)
    for averages in (load.bundles, *load.preallocated.values()):
        for bundle, known in averages.items():
            yield from _rates(bundle, "short ", known.short.traffic)
            yield from _rates(bundle, "long ", known.long.traffic)
            yield from _below_zero(bundle, topics=known.topics)


def _extensible(load: ExtensibleLoad) -> Iterator[UnsoundFigure]:
    for broker, report in load.brokers.items():
        yield from _below_zero(
            broker,
            usage=report.usage,
            throughput=report.throughput,
            average_throughput=report.average_throughput,
            topics=report.topics,
        )
        for bundle, throughput in report.top_bundles or ():
            yield from _below_zero(bundle, throughput=throughput)


def _usages(broker: str, usages: Usages) -> Iterator[UnsoundFigure]:
    for name in ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out"):
        known = getattr(usages, name)
        yield from _below_zero(broker, **{f"usage of {name}": known.usage})
        if not math.isfinite(known.limit):
            yield UnsoundFigure(broker, f"limit of {name}".replace("_", " "), known.limit)


def _rates(whose: str, which: str, traffic: Rates) -> Iterator[UnsoundFigure]:
    if not traffic.sound:
        for name in ("rate_in", "rate_out", "throughput_in", "throughput_out"):
            yield from _below_zero(whose, **{f"{which}{name}": getattr(traffic, name)})


def _below_zero(whose: str, **figures: float) -> Iterator[UnsoundFigure]:
    for name, value in figures.items():
        if not 0 <= value < math.inf:
            yield UnsoundFigure(whose, name.replace("_", " "), value)
