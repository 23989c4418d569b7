"""Fleet: the brokers and bundles of a cluster, as a model in which bundles are moved in thought.

A broker's usage is a base that no bundle explains, plus what its bundles bring. A bundle brings its bytes to the
network, and the CPU and direct memory that are attributed to it.

Usages are doubles here: Pulsar's own, in 32 bits, are those of ``report``.

Units: CPU 100 a core, memory MiB, bandwidth kbit/s, rates messages/s, throughputs bytes/s, usages fractions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.balancer.load import BrokerReport, BundleStats, Rates, Usage, Usages
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.settings import UsageSettings
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from collections.abc import Sequence

KBIT_OF_A_BYTE: Final = 8 / 1000
DEFAULT_WEIGHTS: Final = UsageSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBroker:
    """A broker: its limits, and the usage that is there without any bundle.

    A base below zero says that the bundles' figures are greater than the broker's own: they are of another minute.
    """

    name: str
    base: Usages


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetBundle:
    """A bundle: its owner, what is reported of it, and the CPU and direct memory that it takes along."""

    name: str
    owner: str
    stats: BundleStats
    cpu: float = 0.0
    direct_memory: float = 0.0


class Fleet:
    """Brokers, bundles and who owns which; a move changes the usages of two brokers and nothing else.

    ``brokers``, ``bundles``, ``owners`` (bundle to broker) and ``usages`` (broker to weighted usage) are for reading.
    """

    def __init__(
        self,
        brokers: Iterable[FleetBroker],
        bundles: Iterable[FleetBundle],
        weights: UsageSettings = DEFAULT_WEIGHTS,
        *,
        heap: bool = False,
    ) -> None:
        """Make a fleet.

        Args:
            brokers: All that are available.
            bundles: All that are owned by them.
            weights: How much each resource counts.
            heap: Heap memory counts as the extensible manager counts it.

        Raises:
            LoadDataInvalid: A name is there twice, or the owner of a bundle is not.
        """
        self.brokers: dict[str, FleetBroker] = {}
        self.bundles: dict[str, FleetBundle] = {}
        self.owners: dict[str, str] = {}
        self.usages: dict[str, float] = {}
        self.weights, self.heap = weights, heap
        self._held: dict[str, dict[str, None]] = {}
        self._loads: dict[str, list[float]] = {}
        self._traffic: dict[str, list[float]] = {}
        self._factors: dict[str, tuple[float, float, float, float, float]] = {}
        self._brought: dict[str, tuple[float, float, float, float]] = {}
        self._namespaces: dict[str, Counter[str]] = {}
        self._journal: list[tuple[str, str]] = []
        self._before: dict[str, tuple[list[float], list[float], float]] = {}
        for broker in brokers:
            self.add_broker(broker)
        for bundle in bundles:
            if bundle.name in self.bundles:
                raise LoadDataInvalid(f"the bundle {bundle.name} is there twice")
            if bundle.owner not in self.brokers:
                raise LoadDataInvalid(f"the owner {bundle.owner} of {bundle.name} is no broker of the cluster")
            self._enter(bundle, bundle.owner)
        for name in self.brokers:
            self._reckon(name)

    def copy(self) -> Fleet:
        """Copy it as it stands now, to move other bundles; brokers and bundles are shared."""
        other = Fleet((), (), self.weights, heap=self.heap)
        other.brokers, other.bundles = dict(self.brokers), dict(self.bundles)
        other.owners, other.usages = dict(self.owners), dict(self.usages)
        other._factors, other._brought = dict(self._factors), dict(self._brought)
        other._held = {name: dict(held) for name, held in self._held.items()}
        other._loads = {name: list(loads) for name, loads in self._loads.items()}
        other._traffic = {name: list(traffic) for name, traffic in self._traffic.items()}
        return other

    def bundles_of(self, broker: str) -> AbstractSet[str]:
        """Name the bundles of a broker, in the order in which it got them."""
        return self._held[broker].keys()

    def move(self, bundle: str, target: str) -> None:
        """Give a bundle to another broker.

        Args:
            bundle: Its name.
            target: The broker's.

        Raises:
            LoadDataInvalid: One of them is not there.
        """
        if bundle not in self.bundles or target not in self.brokers:
            raise LoadDataInvalid(f"{bundle} cannot go to {target}: one of them is not in the cluster")
        source = self.owners[bundle]
        self._journal.append((bundle, source))
        for name in (source, target):
            if name not in self._before:
                self._before[name] = list(self._loads[name]), list(self._traffic[name]), self.usages[name]
        self._leave(bundle, source)
        self._reach(bundle, target)
        self._reckon(source)
        self._reckon(target)

    def namespace_count(self, broker: str, namespace: str) -> int:
        """Count a broker's bundles of a namespace."""
        counts = self._namespaces.get(broker)
        if counts is None:
            counts = self._namespaces[broker] = Counter(namespace_of_bundle(each) for each in self._held[broker])
        return counts[namespace]

    def settle(self) -> None:
        """Take the fleet as it stands now for the one that ``rewind`` goes back to."""
        self._journal.clear()
        self._before.clear()

    def rewind(self) -> None:
        """Take back all moves since it was made or settled, every usage being exactly as before."""
        for bundle, source in reversed(self._journal):
            del self._held[self.owners[bundle]][bundle]
            self.owners[bundle] = source
            self._held[source][bundle] = None
        for name, (loads, traffic, usage) in self._before.items():
            self._loads[name], self._traffic[name], self.usages[name] = loads, traffic, usage
            self._namespaces.pop(name, None)
        self.settle()

    def split(self, bundle: str, parts: Sequence[FleetBundle]) -> None:
        """Cut a bundle into parts, which stay with its owner; there is no rewinding to before that.

        Args:
            bundle: Its name.
            parts: They take its place; whom they name as their owner does not matter.

        Raises:
            LoadDataInvalid: It is not there, or one of the parts is there already.
        """
        if bundle not in self.bundles or any(part.name in self.bundles for part in parts):
            raise LoadDataInvalid(f"{bundle} cannot be cut: it is not there, or a part of it is there already")
        self.settle()
        owner = self.owners[bundle]
        self._leave(bundle, owner)
        del self.owners[bundle], self.bundles[bundle], self._brought[bundle]
        for part in parts:
            self._enter(part, owner)
        self._reckon(owner)

    def add_broker(self, broker: FleetBroker) -> None:
        """Add a broker that has no bundles yet.

        Raises:
            LoadDataInvalid: It is there already.
        """
        name, base, weights = broker.name, broker.base, self.weights
        if name in self.brokers:
            raise LoadDataInvalid(f"the broker {name} is there twice")
        self.brokers[name] = broker
        self._held[name] = {}
        self._traffic[name] = [0.0] * 5
        self._loads[name] = [
            base.cpu.usage,
            base.direct_memory.usage,
            base.bandwidth_in.usage,
            base.bandwidth_out.usage,
        ]
        self._factors[name] = (
            _factor(weights.cpu, base.cpu),
            _factor(weights.direct_memory, base.direct_memory),
            _factor(weights.bandwidth_in, base.bandwidth_in),
            _factor(weights.bandwidth_out, base.bandwidth_out),
            max(0.0, base.memory.usage * _factor(weights.memory, base.memory)) if self.heap else 0.0,
        )
        self._reckon(name)

    def drop_broker(self, name: str) -> None:
        """Take away a broker that has no bundles any more; there is no rewinding to before that.

        Raises:
            LoadDataInvalid: It still has some, or is not there.
        """
        if name not in self.brokers or self._held[name]:
            raise LoadDataInvalid(f"the broker {name} cannot go: it is not there, or still has bundles")
        self.settle()
        del self.brokers[name], self.usages[name], self._held[name]
        del self._loads[name], self._traffic[name], self._factors[name]

    def with_bundle(self, broker: str, bundle: str) -> float:
        """Reckon a broker's usage if it had one more bundle."""
        cpu, direct, bits_in, bits_out = self._loads[broker]
        more_cpu, more_direct, more_in, more_out = self._brought[bundle]
        of_cpu, of_direct, of_in, of_out, floor = self._factors[broker]
        return max(
            floor,
            (cpu + more_cpu) * of_cpu,
            (direct + more_direct) * of_direct,
            (bits_in + more_in) * of_in,
            (bits_out + more_out) * of_out,
        )

    def without_bundle(self, broker: str, bundle: str) -> float:
        """Reckon a broker's usage if it had one bundle less."""
        cpu, direct, bits_in, bits_out = self._loads[broker]
        less_cpu, less_direct, less_in, less_out = self._brought[bundle]
        of_cpu, of_direct, of_in, of_out, floor = self._factors[broker]
        return max(
            floor,
            (cpu - less_cpu) * of_cpu,
            (direct - less_direct) * of_direct,
            (bits_in - less_in) * of_in,
            (bits_out - less_out) * of_out,
        )

    def exchanged(self, broker: str, gone: str, come: str) -> float:
        """Reckon a broker's usage if it had one bundle in place of another."""
        cpu, direct, bits_in, bits_out = self._loads[broker]
        less_cpu, less_direct, less_in, less_out = self._brought[gone]
        more_cpu, more_direct, more_in, more_out = self._brought[come]
        of_cpu, of_direct, of_in, of_out, floor = self._factors[broker]
        return max(
            floor,
            (cpu - less_cpu + more_cpu) * of_cpu,
            (direct - less_direct + more_direct) * of_direct,
            (bits_in - less_in + more_in) * of_in,
            (bits_out - less_out + more_out) * of_out,
        )

    def pull(self, broker: str, bundle: str) -> float:
        """Reckon the part of a broker's usage that one of its bundles makes up, of the resource that leads there."""
        cpu, direct, bits_in, bits_out = self._loads[broker]
        its_cpu, its_direct, its_in, its_out = self._brought[bundle]
        of_cpu, of_direct, of_in, of_out, _ = self._factors[broker]
        leading = self.usages[broker]
        if cpu * of_cpu >= leading:
            return its_cpu * of_cpu
        if bits_out * of_out >= leading:
            return its_out * of_out
        if bits_in * of_in >= leading:
            return its_in * of_in
        return its_direct * of_direct if direct * of_direct >= leading else 0.0

    @property
    def mean(self) -> float:
        """Mean usage of the brokers; 0 where there are none."""
        return math.fsum(self.usages.values()) / len(self.usages) if self.usages else 0.0

    @property
    def greatest(self) -> float:
        """Usage of the fullest broker; 0 where there are none."""
        return max(self.usages.values(), default=0.0)

    @property
    def spread(self) -> float:
        """Greatest usage less the mean."""
        return self.greatest - self.mean

    def traffic(self, broker: str) -> Rates:
        """Add up the traffic of a broker's bundles."""
        rate_in, rate_out, throughput_in, throughput_out, _ = (max(0.0, each) for each in self._traffic[broker])
        return Rates(rate_in, rate_out, throughput_in, throughput_out)

    def topics(self, broker: str) -> int:
        """Add up the topics of a broker's bundles."""
        return round(self._traffic[broker][-1])

    def resources(self, broker: str) -> Usages:
        """Show a broker's usage of each resource, as the broker would report it."""
        base = self.brokers[broker].base
        cpu, direct, bits_in, bits_out = (max(0.0, each) for each in self._loads[broker])
        return Usages(
            cpu=Usage(cpu, base.cpu.limit),
            memory=base.memory,
            direct_memory=Usage(direct, base.direct_memory.limit),
            bandwidth_in=Usage(bits_in, base.bandwidth_in.limit),
            bandwidth_out=Usage(bits_out, base.bandwidth_out.limit),
        )

    def report(self, broker: str) -> BrokerReport:
        """Show a broker as it would report itself to the leader of the modular manager."""
        return BrokerReport(
            usages=self.resources(broker),
            traffic=self.traffic(broker),
            bundles=frozenset(self._held[broker]),
            topics=self.topics(broker),
        )

    def _enter(self, bundle: FleetBundle, broker: str) -> None:
        traffic = bundle.stats.traffic
        self.bundles[bundle.name] = bundle
        self._brought[bundle.name] = (
            bundle.cpu,
            bundle.direct_memory,
            traffic.throughput_in * KBIT_OF_A_BYTE,
            traffic.throughput_out * KBIT_OF_A_BYTE,
        )
        self._reach(bundle.name, broker)

    def _reach(self, bundle: str, broker: str) -> None:
        self.owners[bundle] = broker
        self._held[broker][bundle] = None
        self._shift(bundle, broker, 1)

    def _leave(self, bundle: str, broker: str) -> None:
        del self._held[broker][bundle]
        self._shift(bundle, broker, -1)

    def _shift(self, bundle: str, broker: str, sign: int) -> None:
        if broker in self._namespaces:
            self._namespaces[broker][namespace_of_bundle(bundle)] += sign
        loads, traffic, stats = self._loads[broker], self._traffic[broker], self.bundles[bundle].stats
        for number, brought in enumerate(self._brought[bundle]):
            loads[number] += sign * brought
        rates = stats.traffic
        for number, value in enumerate((rates.rate_in, rates.rate_out, rates.throughput_in, rates.throughput_out)):
            traffic[number] += sign * value
        traffic[-1] += sign * stats.topics

    def _reckon(self, broker: str) -> None:
        cpu, direct, bits_in, bits_out = self._loads[broker]
        of_cpu, of_direct, of_in, of_out, floor = self._factors[broker]
        self.usages[broker] = max(floor, cpu * of_cpu, direct * of_direct, bits_in * of_in, bits_out * of_out)


def _factor(weight: float, resource: Usage) -> float:
    return weight / resource.limit if resource.limit > 0 else 0.0
