"""Attribution: the part of a broker's usage that each of its bundles explains, and the rest.

A bundle has CPU and direct memory by its share of its broker's traffic, and its own bytes of the network. What is left
stays with the broker whatever moves. So a fleet that was read shows each broker's usage as the broker reported it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from syncer.balancer.fleet import DEFAULT_WEIGHTS, KBIT_OF_A_BYTE, Fleet, FleetBroker, FleetBundle
from syncer.balancer.load import BundleStats, Usage, Usages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.settings import UsageSettings


def read_fleet(
    reports: Iterable[tuple[str, Usages]],
    bundles: Iterable[tuple[str, str, BundleStats]],
    weights: UsageSettings = DEFAULT_WEIGHTS,
    *,
    heap: bool = False,
) -> Fleet:
    """Make a fleet of what brokers reported, in which each has the usage that it said.

    Args:
        reports: Brokers and what they use of each resource.
        bundles: Each with its owner and what the owner reports of it.
        weights: How much each resource counts.
        heap: Heap memory counts as the extensible manager counts it.

    Raises:
        LoadDataInvalid: A name is there twice, or the owner of a bundle is not.
    """
    said = dict(reports)
    owned = list(bundles)
    sums = {name: [0.0, 0.0, 0.0] for name in said}
    for _, owner, stats in owned:
        own = sums.setdefault(owner, [0.0, 0.0, 0.0])
        own[0] += stats.traffic.throughput_in
        own[1] += stats.traffic.throughput_out
        own[2] += stats.traffic.rate
    brokers = [FleetBroker(name=name, base=_unexplained(usages, sums[name])) for name, usages in said.items()]
    return Fleet(
        brokers,
        (
            FleetBundle(
                name=name,
                owner=owner,
                stats=stats,
                cpu=_share(stats, sums[owner]) * said[owner].cpu.usage if owner in said else 0.0,
                direct_memory=_share(stats, sums[owner]) * said[owner].direct_memory.usage if owner in said else 0.0,
            )
            for name, owner, stats in owned
        ),
        weights,
        heap=heap,
    )


def _share(stats: BundleStats, sums: Sequence[float]) -> float:
    """Share of the broker's traffic: of its bytes, or of its messages where there are no bytes."""
    throughput = sums[0] + sums[1]
    if throughput > 0:
        return stats.traffic.throughput / throughput
    return stats.traffic.rate / sums[2] if sums[2] > 0 else 0.0


def _unexplained(usages: Usages, sums: Sequence[float]) -> Usages:
    busy = any(value > 0 for value in sums)
    return Usages(
        cpu=Usage(0.0 if busy else usages.cpu.usage, usages.cpu.limit),
        memory=usages.memory,
        direct_memory=Usage(0.0 if busy else usages.direct_memory.usage, usages.direct_memory.limit),
        bandwidth_in=Usage(usages.bandwidth_in.usage - sums[0] * KBIT_OF_A_BYTE, usages.bandwidth_in.limit),
        bandwidth_out=Usage(usages.bandwidth_out.usage - sums[1] * KBIT_OF_A_BYTE, usages.bandwidth_out.limit),
    )
