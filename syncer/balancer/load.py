"""Load: what brokers report of themselves and of their bundles.

Units: usages and limits are Pulsar's own (CPU 100 a core, memory MiB, bandwidth kbit/s); rates messages/s, throughputs
bytes/s.

Source: LocalBrokerData, NamespaceBundleStats, ResourceUsage, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import fsum, inf
from typing import TYPE_CHECKING

from syncer.balancer.java import float32, greatest, quotient

if TYPE_CHECKING:
    from syncer.balancer.settings import UsageSettings


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a resource is in use."""

    usage: float = 0.0
    limit: float = 0.0

    def percent(self) -> float:
        """Percentage in use, in 32-bit floats; 0 where there is no limit."""
        if not self.limit > 0:
            return 0.0
        return float32(float32(quotient(float32(self.usage), float32(self.limit))) * 100)


@dataclass(frozen=True, slots=True)
class Usages:
    """How much of each resource of a broker is in use."""

    cpu: Usage = Usage()
    memory: Usage = Usage()
    direct_memory: Usage = Usage()
    bandwidth_in: Usage = Usage()
    bandwidth_out: Usage = Usage()

    def greatest(self) -> float:
        """Greatest usage without weights, as a fraction; heap memory never counts."""
        percents = (self.cpu, self.direct_memory, self.bandwidth_in, self.bandwidth_out)
        return greatest(*(usage.percent() for usage in percents)) / 100

    def weighted(self, weights: UsageSettings) -> float:
        """Greatest weighted usage, as a fraction: as the modular manager reckons it, which never counts heap memory."""
        return self._weighted(weights, heap=False)

    def weighted_with_heap(self, weights: UsageSettings) -> float:
        """Greatest weighted usage, as a fraction: as the extensible manager reckons it."""
        return self._weighted(weights, heap=True)

    def _weighted(self, weights: UsageSettings, *, heap: bool) -> float:
        found = greatest(
            self.cpu.percent() * weights.cpu,
            self.direct_memory.percent() * weights.direct_memory,
            self.bandwidth_in.percent() * weights.bandwidth_in,
            self.bandwidth_out.percent() * weights.bandwidth_out,
        )
        return (greatest(found, self.memory.percent() * weights.memory) if heap else found) / 100


@dataclass(frozen=True, slots=True)
class Rates:
    """Messages and bytes a second, in and out."""

    rate_in: float = 0.0
    rate_out: float = 0.0
    throughput_in: float = 0.0
    throughput_out: float = 0.0

    @property
    def sound(self) -> bool:
        """Whether all four can be true: none below zero, infinite or NaN."""
        return (
            0 <= self.rate_in < inf
            and 0 <= self.rate_out < inf
            and 0 <= self.throughput_in < inf
            and 0 <= self.throughput_out < inf
        )

    @property
    def rate(self) -> float:
        """Messages a second, both ways."""
        return self.rate_in + self.rate_out

    @property
    def throughput(self) -> float:
        """Bytes a second, both ways."""
        return self.throughput_in + self.throughput_out


def summed(parts: Sequence[Rates]) -> Rates:
    """Add traffic.

    Args:
        parts: Of it.
    """
    return Rates(
        fsum(each.rate_in for each in parts),
        fsum(each.rate_out for each in parts),
        fsum(each.throughput_in for each in parts),
        fsum(each.throughput_out for each in parts),
    )


@dataclass(frozen=True, slots=True)
class BundleStats:
    """What a broker reports of one of its bundles."""

    traffic: Rates
    topics: int = 0
    producers: int = 0
    consumers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLoad:
    """A topic's place on the ring of hashes, its traffic and its clients."""

    position: int
    traffic: Rates
    producers: int
    consumers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReport:
    """What a broker of the modular manager reports.

    ``bundles`` are what it owns; ``topics`` what it serves of them.
    """

    usages: Usages = Usages()
    traffic: Rates = Rates()
    bundles: AbstractSet[str] = frozenset()
    topics: int = 0
