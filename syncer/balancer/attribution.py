"""Attribution: the part of a broker's usage that each of its bundles explains, and the rest.

A bundle has CPU and direct memory by its share of its broker's traffic, and its own bytes of the network. What is left
stays with the broker whatever moves: also what it uses without traffic, as far as brokers with little of it tell. So a
fleet that was read shows each broker's usage as the broker reported it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from syncer.balancer.fleet import DEFAULT_WEIGHTS, KBIT_OF_A_BYTE, Fleet, FleetBroker, FleetBundle
from syncer.balancer.load import BundleStats, Usage, Usages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.settings import UsageSettings

TELLING: Final = 0.5
"""A broker with at most so much of the traffic of the busiest one tells what is used without traffic."""
NOTHING: Final = (0.0, 0.0)


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
    by_bytes = any(traffic[0] + traffic[1] > 0 for traffic in sums.values())
    carried = {name: sum(sums[name][:2]) if by_bytes else sums[name][2] for name in said}
    fixed_cpu = fixed_usage((carried[name], usages.cpu.usage) for name, usages in said.items())
    fixed_memory = fixed_usage((carried[name], usages.direct_memory.usage) for name, usages in said.items())
    moving = {
        name: (usages.cpu.usage - fixed_cpu, usages.direct_memory.usage - fixed_memory) for name, usages in said.items()
    }
    shared = [(name, owner, stats, _share(stats, sums[owner])) for name, owner, stats in owned]
    return Fleet(
        [
            FleetBroker(name=name, base=_unexplained(usages, sums[name], fixed_cpu, fixed_memory))
            for name, usages in said.items()
        ],
        (
            FleetBundle(
                name=name,
                owner=owner,
                stats=stats,
                cpu=share * moving.get(owner, NOTHING)[0],
                direct_memory=share * moving.get(owner, NOTHING)[1],
            )
            for name, owner, stats, share in shared
        ),
        weights,
        heap=heap,
    )


def fixed_usage(brokers: Iterable[tuple[float, float]]) -> float:
    """Estimate what a broker uses of a resource with no traffic: the line through traffic and usage of all brokers.

    Where all brokers have about the same traffic nothing tells them apart, and none is fixed.

    Args:
        brokers: Of each its traffic and its usage.

    Returns:
        At most the least usage of any broker, never below 0.
    """
    points = list(brokers)
    busiest = max((traffic for traffic, _ in points), default=0.0)
    if not any(traffic <= TELLING * busiest for traffic, _ in points) or busiest <= 0:
        return 0.0
    mean_traffic = sum(traffic for traffic, _ in points) / len(points)
    mean_usage = sum(usage for _, usage in points) / len(points)
    spread = sum((traffic - mean_traffic) ** 2 for traffic, _ in points)
    if spread <= 0:
        return 0.0
    slope = sum((traffic - mean_traffic) * (usage - mean_usage) for traffic, usage in points) / spread
    least = min(usage for _, usage in points)
    return max(0.0, min(least, mean_usage - slope * mean_traffic))


def _share(stats: BundleStats, sums: Sequence[float]) -> float:
    """Share of the broker's traffic: of its bytes, or of its messages where there are no bytes."""
    throughput = sums[0] + sums[1]
    if throughput > 0:
        return stats.traffic.throughput / throughput
    return stats.traffic.rate / sums[2] if sums[2] > 0 else 0.0


def _unexplained(usages: Usages, sums: Sequence[float], fixed_cpu: float, fixed_memory: float) -> Usages:
    busy = any(value > 0 for value in sums)
    return Usages(
        cpu=Usage(fixed_cpu if busy else usages.cpu.usage, usages.cpu.limit),
        memory=usages.memory,
        direct_memory=Usage(fixed_memory if busy else usages.direct_memory.usage, usages.direct_memory.limit),
        bandwidth_in=Usage(usages.bandwidth_in.usage - sums[0] * KBIT_OF_A_BYTE, usages.bandwidth_in.limit),
        bandwidth_out=Usage(usages.bandwidth_out.usage - sums[1] * KBIT_OF_A_BYTE, usages.bandwidth_out.limit),
    )
