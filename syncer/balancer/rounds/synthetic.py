"""Synthetic: fleets drawn by dice, each of a shape that load balancing is known to do well or badly with.

Units: CPU 100 a core, memory MiB, bandwidth kbit/s, rates messages/s, throughputs bytes/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from syncer.balancer.attribution import read_fleet
from syncer.balancer.fleet import KBIT_OF_A_BYTE
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.ranges import default_boundaries, range_text

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.settings import BalancerSettings

Thing = TypeVar("Thing")

CORES: Final = 8
NIC_KBIT: Final = 10_000_000.0
DIRECT_MIB: Final = 8192.0
HEAP_MIB: Final = 8192.0
MESSAGE_BYTES: Final = (100, 1000, 10_000)
MOST_BYTES: Final = 400e6
MOST_MESSAGES: Final = 300_000.0
"""A full broker serves so many bytes a second, or so many messages where they are small."""
FULLEST: Final = 0.92
"""The part of itself that the fullest broker serves at most."""
BUNDLES_OF_A_NAMESPACE: Final = 16


class Dice(Protocol):
    """Draws numbers; ``random.Random`` is one."""

    def random(self) -> float:
        """Draw a number from 0 up to, but not including, 1."""

    def choice(self, seq: Sequence[Thing], /) -> Thing:
        """Draw one of several."""


class FleetShape(StrEnum):
    """How load lies on a fleet's brokers."""

    SCATTERED = "scattered"
    HOT_BROKERS = "hot-brokers"
    NEW_BROKER = "new-broker"
    HOT_TOPIC = "hot-topic"
    CPU_HUNGRY = "cpu-hungry"
    EVEN = "even"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticCluster:
    """A fleet with the constraints that its brokers register; ``hot`` is the bundle with the hot topic, if any."""

    shape: FleetShape
    fleet: Fleet
    constraints: Constraints
    hot: str | None = None


def synthetic_cluster(
    dice: Dice, settings: BalancerSettings, *, brokers: int, bundles: int, shape: FleetShape, heap: bool = False
) -> SyntheticCluster:
    """Draw a cluster.

    Args:
        dice: Draws.
        settings: What its brokers were told.
        brokers: How many there are.
        bundles: How many bundles they have together.
        shape: How their load lies.
        heap: Heap memory counts, as under the extensible manager.
    """
    names = [f"broker-{number}.example:8080" for number in range(brokers)]
    weights = [_popularity(dice, shape) for _ in range(bundles)]
    hot = None
    if shape is FleetShape.HOT_TOPIC and weights:
        number = dice.choice(range(bundles))
        weights[number], hot = sum(weights) / 3, _bundle(number)
    busy = brokers * (0.35 + 0.3 * dice.random())
    owners = _owners(dice, names, bundles, shape)
    size = dice.choice(MESSAGE_BYTES)
    lying = dict.fromkeys(names, 0.0)
    for owner, weight in zip(owners, weights, strict=True):
        lying[owner] += weight
    scale = min(busy / (sum(weights) or 1.0), FULLEST / (max(lying.values(), default=0.0) or 1.0))
    owned: dict[str, list[tuple[str, BundleStats, float]]] = {name: [] for name in names}
    for number, (owner, weight) in enumerate(zip(owners, weights, strict=True)):
        share = weight * scale
        owned[owner].append((_bundle(number), _stats(dice, share, size), share))
    cores = 100.0 * CORES
    reports = []
    for name, held in owned.items():
        share = sum(each for _, _, each in held)
        hunger = dice.choice((1.0, 1.4)) if shape is FleetShape.CPU_HUNGRY else 1.0
        kbit_in = sum(stats.traffic.throughput_in for _, stats, _ in held) * KBIT_OF_A_BYTE
        kbit_out = sum(stats.traffic.throughput_out for _, stats, _ in held) * KBIT_OF_A_BYTE
        usages = Usages(
            cpu=Usage(min(cores, cores * (0.03 + share * hunger)), cores),
            memory=Usage(HEAP_MIB * (0.3 + 0.4 * dice.random()), HEAP_MIB),
            direct_memory=Usage(DIRECT_MIB * min(1.0, 0.1 + share / 2), DIRECT_MIB),
            bandwidth_in=Usage(kbit_in, NIC_KBIT),
            bandwidth_out=Usage(kbit_out, NIC_KBIT),
        )
        reports.append((name, usages))
    fleet = read_fleet(
        reports,
        [(bundle, owner, stats) for owner, held in owned.items() for bundle, stats, _ in held],
        settings.usage,
        heap=heap,
    )
    traits = {name: BrokerTraits(version="4.0.8", manager=settings.placement.manager) for name in names}
    return SyntheticCluster(shape=shape, fleet=fleet, constraints=Constraints(traits=traits), hot=hot)


def popular(dice: Dice) -> float:
    """Draw a part of a whole: a few have much, most have little, as Zipf says.

    Args:
        dice: Draws.
    """
    return 1.0 / (0.02 + dice.random())


def _popularity(dice: Dice, shape: FleetShape) -> float:
    """Draw a bundle's part of the load."""
    return 1.0 if shape is FleetShape.EVEN else popular(dice)


def _owners(dice: Dice, names: Sequence[str], bundles: int, shape: FleetShape) -> list[str]:
    drawn = list(names)
    match shape:
        case FleetShape.HOT_BROKERS:
            drawn += drawn[: max(1, len(drawn) // 8)] * 6
        case FleetShape.NEW_BROKER if len(names) > 1:
            drawn = drawn[:-1]
        case FleetShape.EVEN:
            return [names[number % len(names)] for number in range(bundles)]
    return [dice.choice(drawn) for _ in range(bundles)]


def _bundle(number: int) -> str:
    namespace, place = divmod(number, BUNDLES_OF_A_NAMESPACE)
    boundaries = default_boundaries(BUNDLES_OF_A_NAMESPACE)
    return f"tenant-{namespace % 7}/ns-{namespace}/{range_text(boundaries[place], boundaries[place + 1])}"


def _stats(dice: Dice, share: float, size: int) -> BundleStats:
    """Draw what a bundle has that makes up a share of a broker."""
    throughput = share * min(MOST_BYTES, MOST_MESSAGES * size) * (0.7 + 0.6 * dice.random())
    fan = dice.choice((0.5, 1.0, 1.0, 2.0))
    entering = throughput / (1 + fan)
    rates = Rates(entering / size, entering * fan / size, entering, entering * fan)
    topics = 1 + int(60 * dice.random() * (0.2 + dice.random()))
    return BundleStats(rates, topics=topics, producers=1 + int(topics * dice.random()), consumers=1 + int(topics * fan))
