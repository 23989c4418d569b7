"""Cutting: where a bundle is split so that a part of it can go, computed from the loads of its topics.

Topics lie on the ring by their hashes, and a part is an arc of it: so many of the first topics, of the last, or of
those in between, which takes two cuts. The parts stay with their owner (``unload=false``); only the one that goes is
unloaded afterwards, which is less of an outage than when Pulsar unloads both. A topic is never cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, Final

from syncer.balancer.boundaries import SplitAlgorithm, can_split
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle, range_text, topic_hash

if TYPE_CHECKING:
    from syncer.balancer.fleet import FleetBundle
    from syncer.balancer.load import Rates

EXACT: Final = 1e-9


class CutAnswer(StrEnum):
    """Answers to the question where to cut a bundle."""

    CUT = "cut"
    ONE_HOT_TOPIC = "one-hot-topic"
    NO_TRAFFIC = "no-traffic"
    TOO_NARROW = "too-narrow"
    TOO_MANY_BUNDLES = "too-many-bundles"
    NO_PART_FITS = "no-part-fits"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPart:
    """A part of a bundle: its name, and which share of the bundle's traffic it has, in how many topics."""

    bundle: str
    share: float
    topics: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CutAdvice:
    """How to split a bundle; ``goes`` is the part to move afterwards.

    ``hottest`` is the topic with the most traffic, and ``hottest_share`` its share of the bundle's: where it alone is
    more than any broker has room for, no split helps, and the topic needs more partitions.
    """

    bundle: str
    answer: CutAnswer
    cuts: tuple[int, ...] = ()
    parts: tuple[CutPart, ...] = ()
    goes: str | None = None
    hottest: str | None = None
    hottest_share: float = 0.0
    algorithm: SplitAlgorithm = SplitAlgorithm.POSITIONS
    unload: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleCut:
    """A cut of a plan: where a bundle is split without an unload, and the bundles that take its place."""

    bundle: str
    positions: tuple[int, ...]
    parts: tuple[FleetBundle, ...]


@dataclass(frozen=True, slots=True)
class _Spot:
    """Topics of one hash, which no cut can part."""

    position: int
    load: float
    topics: int


def cut(
    bundle: str,
    topics: Sequence[tuple[str, Rates]],
    *,
    need: float,
    room: float,
    bundles: int,
    most_bundles: int,
) -> CutAdvice:
    """Find the fewest cuts that make a part which is enough, and not more than there is room for.

    Args:
        bundle: Its full name.
        topics: Full names of its topics, each with its traffic.
        need: Share of the bundle's traffic that must go.
        room: Share of it that a target has room for.
        bundles: How many bundles its namespace has.
        most_bundles: How many it may have.
    """
    by_bytes = any(traffic.throughput > 0 for _, traffic in topics)
    loads = {topic: traffic.throughput if by_bytes else traffic.rate for topic, traffic in topics}
    whole = sum(loads.values())
    if not whole > 0:
        return CutAdvice(bundle=bundle, answer=CutAnswer.NO_TRAFFIC)
    hottest = min(loads, key=lambda topic: (-loads[topic], topic))
    share = loads[hottest] / whole

    def refused(answer: CutAnswer) -> CutAdvice:
        return CutAdvice(bundle=bundle, answer=answer, hottest=hottest, hottest_share=share)

    if not can_split(bundle):
        return refused(CutAnswer.TOO_NARROW)
    spots = _spots(bundle, loads, whole)
    arc = _smallest_arc(spots, need, room)
    if arc is None:
        alone = share > room + EXACT and 1 - share < need - EXACT
        return refused(CutAnswer.ONE_HOT_TOPIC if alone else CutAnswer.NO_PART_FITS)
    cuts = _edges(spots, *arc)
    if bundles + len(cuts) > most_bundles:
        return refused(CutAnswer.TOO_MANY_BUNDLES)
    parts = _parts(bundle, spots, cuts)
    position = spots[arc[0]].position
    goes = next(part.bundle for part in parts if _holds(part.bundle, position))
    return CutAdvice(
        bundle=bundle,
        answer=CutAnswer.CUT,
        cuts=tuple(cuts),
        parts=tuple(parts),
        goes=goes,
        hottest=hottest,
        hottest_share=share,
    )


def _spots(bundle: str, loads: dict[str, float], whole: float) -> list[_Spot]:
    lower, upper = range_of_bundle(bundle)
    placed = sorted((topic_hash(topic), load / whole) for topic, load in loads.items())
    inside = [(position, load) for position, load in placed if lower <= position < upper]
    found = []
    for position, same in groupby(inside, key=lambda pair: pair[0]):
        own = [load for _, load in same]
        found.append(_Spot(position, sum(own), len(own)))
    return found


def _smallest_arc(spots: Sequence[_Spot], need: float, room: float) -> tuple[int, int] | None:
    """Find the spots, from and up to, that are enough: by the fewest cuts, then the fewest topics, then the least."""
    sums = [0.0, *accumulate(spot.load for spot in spots)]
    topics = [0, *accumulate(spot.topics for spot in spots)]
    count = len(spots)
    best: tuple[int, int, float, int, int] | None = None
    last = 0
    for first in range(count):
        last = max(last, first + 1)
        while last < count and sums[last] - sums[first] < need - EXACT:
            last += 1
        for end in {last, count}:
            load = sums[end] - sums[first]
            cuts = (first > 0) + (end < count)
            if cuts and need - EXACT <= load <= room + EXACT:
                found = (cuts, topics[end] - topics[first], load, first, end)
                best = found if best is None or found < best else best
    return (best[3], best[4]) if best is not None else None


def _edges(spots: Sequence[_Spot], first: int, end: int) -> list[int]:
    found = []
    for place in (first, end):
        if 0 < place < len(spots):
            before, after = spots[place - 1].position, spots[place].position
            found.append(before + (after - before + 1) // 2)
    return found


def _parts(bundle: str, spots: Sequence[_Spot], cuts: Sequence[int]) -> list[CutPart]:
    lower, upper = range_of_bundle(bundle)
    parts = []
    for low, high in pairwise([lower, *cuts, upper]):
        own = [spot for spot in spots if low <= spot.position < high]
        parts.append(
            CutPart(
                bundle=f"{namespace_of_bundle(bundle)}/{range_text(low, high)}",
                share=sum(spot.load for spot in own),
                topics=sum(spot.topics for spot in own),
            )
        )
    return parts


def _holds(bundle: str, position: int) -> bool:
    lower, upper = range_of_bundle(bundle)
    return lower <= position < upper
