"""Boundaries: where a bundle is cut, and its namespace's boundaries after that.

Source: NamespaceBundleSplitAlgorithm and the classes that implement it, NamespaceBundleFactory.splitBundles,
Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final, assert_never

from syncer.balancer.java import MIB
from syncer.balancer.ranges import FULL_UPPER_BOUND, range_of_bundle, topic_hash
from syncer.errors import SplitRefused

if TYPE_CHECKING:
    from syncer.balancer.load import Rates
    from syncer.balancer.settings import SplitSettings

_FEWEST_TO_DIVIDE: Final = 2


class SplitAlgorithm(StrEnum):
    """Names of the algorithms, as brokers are told them."""

    RANGE = "range_equally_divide"
    TOPIC_COUNT = "topic_count_equally_divide"
    POSITIONS = "specified_positions_divide"
    TRAFFIC = "flow_or_qps_equally_divide"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRequest:
    """What an algorithm is given of a bundle.

    ``topics`` are all of the namespace's in the bundle, each with its traffic where the broker has loaded it; None
    where nobody could list them. ``positions`` matter to one algorithm only, which with ``force`` asks for no topics.
    """

    bundle: str
    topics: Sequence[tuple[str, Rates | None]] | None = None
    positions: Sequence[int] = ()
    force: bool = False


def split_boundaries(algorithm: SplitAlgorithm, request: SplitRequest, settings: SplitSettings) -> list[int] | None:
    """Say where an algorithm would cut a bundle.

    Args:
        algorithm: Which one.
        request: The bundle.
        settings: Limits that the division by traffic keeps to.

    Returns:
        Positions in rising order; nothing, or an empty list, where it would not split.

    Raises:
        SplitRefused: Positions are wanted, and none were given.
    """
    match algorithm:
        case SplitAlgorithm.RANGE:
            lower, upper = range_of_bundle(request.bundle)
            return [lower + (upper - lower) // 2]
        case SplitAlgorithm.TOPIC_COUNT:
            return _by_topic_count(request)
        case SplitAlgorithm.POSITIONS:
            return _by_positions(request)
        case SplitAlgorithm.TRAFFIC:
            return _by_traffic(request, settings)
        case _:
            assert_never(algorithm)


def _by_topic_count(request: SplitRequest) -> list[int] | None:
    topics = request.topics
    if topics is None or len(topics) < _FEWEST_TO_DIVIDE:
        return None
    hashes = sorted(topic_hash(topic) for topic, _ in topics)
    left, right = hashes[max(len(hashes) // 2 - 1, 0)], hashes[len(hashes) // 2]
    return [left + (right - left) // 2]


def _by_positions(request: SplitRequest) -> list[int] | None:
    if not request.positions:
        raise SplitRefused("SplitBoundaries can't be empty", hint="Name at least one position inside the bundle.")
    if not request.force and (request.topics is None or len(request.topics) < _FEWEST_TO_DIVIDE):
        return None
    lower, upper = range_of_bundle(request.bundle)
    return [position for position in sorted(request.positions) if lower < position < upper] or None


def _by_traffic(request: SplitRequest, settings: SplitSettings) -> list[int] | None:
    topics = request.topics
    if topics is None or len(topics) < _FEWEST_TO_DIVIDE:
        return None
    max_throughput = settings.max_bandwidth_mib * MIB
    loads: dict[int, tuple[float, float]] = {}
    hashes: list[int] = []
    rate = throughput = 0.0
    for topic, traffic in topics:
        if traffic is None or (traffic.rate <= 0 and traffic.throughput <= 0):
            continue
        position = topic_hash(topic)
        hashes.append(position)
        loads[position] = (traffic.rate, traffic.throughput)
        throughput += traffic.throughput
        rate += traffic.rate
    slack = 1 + settings.difference_percent / 100
    if len(loads) < _FEWEST_TO_DIVIDE or (rate < settings.max_rate * slack and throughput < max_throughput * slack):
        return None
    hashes.sort()
    return _cuts(hashes, loads, settings.max_rate, max_throughput)


def _cuts(hashes: list[int], loads: dict[int, tuple[float, float]], max_rate: int, max_throughput: int) -> list[int]:
    cuts = []
    rate, throughput = loads[hashes[0]]
    for before, position in pairwise(hashes):
        more_rate, more_throughput = loads[position]
        if rate + more_rate > max_rate or throughput + more_throughput > max_throughput:
            cuts.append(before + (position - before) // 2 + 1)
            rate, throughput = more_rate, more_throughput
        else:
            rate += more_rate
            throughput += more_throughput
    return cuts


def can_split(bundle: str) -> bool:
    """Say whether a bundle's range is wide enough to be cut at all."""
    lower, upper = range_of_bundle(bundle)
    return upper - lower > 1


def split(boundaries: Sequence[int], bundle: str, cuts: Sequence[int]) -> list[int]:
    """Cut a bundle: its namespace's boundaries after that.

    Args:
        boundaries: The namespace's, before.
        bundle: Full name of the bundle.
        cuts: Where it is cut.

    Raises:
        SplitRefused: The bundle is not there or too narrow, or a position is not strictly inside it, or there twice.
    """
    lower, upper = range_of_bundle(bundle)
    if not can_split(bundle):
        raise SplitRefused(f"{bundle} bundle can't be split further since range not larger than 1")
    inside = sorted(cuts)
    if not inside or not (inside[0] > lower and inside[-1] < upper):
        raise SplitRefused(f"The given fixed keys must between the key range of the {bundle} bundle")
    before = [number for number, low in enumerate(boundaries[:-1]) if low == lower and boundaries[number + 1] == upper]
    if not before:
        raise SplitRefused(f"{bundle} is no bundle of its namespace now", hint="Ask for its bundles again.")
    after = [*boundaries[: before[0] + 1], *inside, *boundaries[before[0] + 1 :]]
    if any(low == high != FULL_UPPER_BOUND for low, high in pairwise(after)):
        raise SplitRefused("Cannot create bundle object for an empty key range")
    return after
