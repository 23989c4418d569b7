"""Slicing: a scene in which the bundles of full brokers are cut around their busiest topics, and the way back.

A plan is sought over the slices as over any bundles. Of all the cuts only those are made that part a slice that moves
from one that does not; neighbours with one target move as one. A cut unloads nothing (``unload=false``), and moving a
slice cuts off the clients of its topics alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import ceil
from typing import TYPE_CHECKING, Final, Protocol

from syncer.balancer.boundaries import can_split
from syncer.balancer.fleet import FleetBundle
from syncer.balancer.load import BundleStats, Rates
from syncer.balancer.planner.cutting import BundleCut
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Sketch
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle, range_text

if TYPE_CHECKING:
    from syncer.balancer.load import TopicLoad

CUT_S: Final = 0.1
"""What a cut weighs besides the moves: a bundle more for good, which brokers report and look up."""
_ENOUGH: Final = 3.0
_FEWEST_SPOTS: Final = 24
_MOST_SPOTS: Final = 200


class TopicLoads(Protocol):
    """Tells the loads of a cluster's topics."""

    def of(self, bundle: str) -> Sequence[TopicLoad]:
        """List the topics of a bundle; none where they, or their clients, are not all known."""

    def bundle_count(self, namespace: str) -> int | None:
        """Count the bundles of a namespace, those without load too; None where that is not known."""


@dataclass(frozen=True, slots=True, order=True)
class _Spot:
    """Topics of one hash, by what moving them weighs for the part of their broker's usage that they make up."""

    ratio: float
    bundle: str
    position: int
    pull: float


class Slicing:
    """Slices of a scene's bundles; ``scene`` is the one to seek plans in."""

    def __init__(self, scene: Scene, topics: TopicLoads, needs: Mapping[str, float]) -> None:
        """Cut around the topics that make up each broker's need and weigh least for it.

        Args:
            scene: The fleet with whole bundles; it is not changed.
            topics: Loads of topics.
            needs: By how much the usage of brokers shall fall; bundles of others stay whole.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        self._whole, self._topics = scene, topics
        self._slices: dict[str, tuple[str, ...]] = {}
        self._parents: dict[str, str] = {}
        fleet, surcharges = scene.fleet.copy(), {}
        most, made = scene.bounds.settings.split.max_bundles, Counter[str]()
        for broker, need in needs.items():
            for bundle, spots in _by_bundle(self._worth(broker, need)).items():
                namespace = namespace_of_bundle(bundle)
                edges = self._edges(bundle, spots)
                count = topics.bundle_count(namespace)
                if count is None or not edges or count + made[namespace] + len(edges) > most:
                    continue
                made[namespace] += len(edges)
                parts = sliced(scene.fleet.bundles[bundle], topics.of(bundle), edges)
                fleet.split(bundle, parts)
                self._slices[bundle] = tuple(part.name for part in parts)
                for number, part in enumerate(parts):
                    self._parents[part.name] = bundle
                    surcharges[part.name] = CUT_S * (1 + (0 < number < len(parts) - 1))
        self.scene = Scene(fleet, scene.bounds, scene.tariff, scene.weights, surcharges)

    @property
    def empty(self) -> bool:
        """Whether no bundle could or should be cut."""
        return not self._slices

    def of_whole(self, targets: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Tell moves of whole bundles as moves of their slices."""
        return [(part, target) for bundle, target in targets for part in self._slices.get(bundle, (bundle,))]

    def told(self, sketch: Sketch) -> Sketch:
        """Tell a plan over slices as the fewest cuts of whole bundles, and moves of what they make.

        Args:
            sketch: Found in ``scene``.
        """
        targets = dict(sketch.targets)
        fleet, tariff = self._whole.fleet.copy(), self._whole.tariff
        moves: list[tuple[str, str]] = []
        cuts: list[BundleCut] = []
        for bundle in dict.fromkeys(self._parents.get(part, part) for part in targets):
            arcs = self._arcs(bundle, targets)
            if len(arcs) > 1:
                parts = tuple(_joined(arc, bundle) for _, arc in arcs)
                inner = tuple(range_of_bundle(part.name)[0] for part in parts[1:])
                cuts.append(BundleCut(bundle=bundle, positions=inner, parts=parts))
                fleet.split(bundle, parts)
                moves += [(part.name, to) for part, (to, _) in zip(parts, arcs, strict=True) if to is not None]
            elif arcs[0][0] is not None:
                moves.append((bundle, arcs[0][0]))
        for bundle, target in moves:
            fleet.move(bundle, target)
        weight = sum(tariff.weight(fleet.bundles[bundle]) for bundle, _ in moves)
        weight += CUT_S * sum(len(each.positions) for each in cuts)
        return Sketch(tuple(moves), fleet.spread, weight, tuple(cuts))

    def _arcs(self, bundle: str, targets: Mapping[str, str]) -> list[tuple[str | None, list[FleetBundle]]]:
        slices = self._slices.get(bundle, (bundle,))
        known = self.scene.fleet.bundles
        return [(target, [known[part] for part in group]) for target, group in groupby(slices, key=targets.get)]

    def _worth(self, broker: str, need: float) -> list[_Spot]:
        """List spots that weigh less for their part than their bundle does, the best first, until they are enough."""
        scene, found = self._whole, list[_Spot]()
        for bundle in scene.movable(broker):
            if bundle in scene.bounds.non_persistent or bundle in scene.tariff.clients or not can_split(bundle):
                continue
            pull = scene.fleet.pull(broker, bundle)
            if pull > 0:
                limit = scene.weight(bundle) / pull
                found += [spot for spot in self._spots(bundle, pull) if spot.ratio < limit]
        found.sort()
        made, taken = 0.0, list[_Spot]()
        for spot in found[:_MOST_SPOTS]:
            if made >= need * _ENOUGH and len(taken) >= _FEWEST_SPOTS:
                break
            taken.append(spot)
            made += spot.pull
        return taken

    def _spots(self, bundle: str, pull: float) -> list[_Spot]:
        scene, topics = self._whole, self._topics.of(bundle)
        whole = scene.fleet.bundles[bundle]
        measure = _Measure(whole, topics)
        if not measure.sound:
            return []
        found = []
        for position, same in groupby(sorted(topics, key=_position), key=_position):
            part = measure.part(bundle, tuple(same))
            pulled = pull * measure.share(part.stats.traffic)
            if pulled > 0:  # where both are above 0, their product may not be
                found.append(_Spot((scene.tariff.weight(part) + 2 * CUT_S) / pulled, bundle, position, pulled))
        return found if len(found) > 1 else []

    def _edges(self, bundle: str, spots: Sequence[_Spot]) -> list[int]:
        """Place cuts halfway between a spot that may go and its neighbours."""
        positions = sorted({topic.position for topic in self._topics.of(bundle)})
        going = {spot.position for spot in spots}
        return [before + (after - before + 1) // 2 for before, after in pairwise(positions) if {before, after} & going]


class _Measure:
    """Takes parts of a bundle: its own figures, dealt out as those of its topics lie."""

    def __init__(self, bundle: FleetBundle, topics: Sequence[TopicLoad]) -> None:
        stats = bundle.stats
        self._bundle = bundle
        self._sums = _added(topic.traffic for topic in topics)
        self._counts = (
            _grown(stats.topics, len(topics)),
            _grown(stats.producers, sum(topic.producers for topic in topics)),
            _grown(stats.consumers, sum(topic.consumers for topic in topics)),
        )

    @property
    def sound(self) -> bool:
        """Whether every client that the bundle reports is of a topic, and there is traffic to deal out."""
        return None not in self._counts and (self._sums.throughput > 0 or self._sums.rate > 0)

    def share(self, traffic: Rates) -> float:
        """Reckon the share of the bundle's traffic, bytes where there are any."""
        own = self._bundle.stats.traffic
        if own.throughput > 0:
            return traffic.throughput / own.throughput
        return traffic.rate / own.rate if own.rate > 0 else 0.0

    def part(self, name: str, topics: Sequence[TopicLoad]) -> FleetBundle:
        """Take the part that some of the topics are."""
        own, sums = self._bundle.stats.traffic, self._sums
        found = _added(topic.traffic for topic in topics)
        by_bytes = sums.throughput > 0
        usual = found.throughput / sums.throughput if by_bytes else found.rate / sums.rate
        traffic = Rates(
            own.rate_in * _part(found.rate_in, sums.rate_in, usual),
            own.rate_out * _part(found.rate_out, sums.rate_out, usual),
            own.throughput_in * _part(found.throughput_in, sums.throughput_in, usual),
            own.throughput_out * _part(found.throughput_out, sums.throughput_out, usual),
        )
        per_topic, per_producer, per_consumer = (each or 0.0 for each in self._counts)
        stats = BundleStats(
            traffic,
            topics=ceil(len(topics) * per_topic),
            producers=ceil(sum(topic.producers for topic in topics) * per_producer),
            consumers=ceil(sum(topic.consumers for topic in topics) * per_consumer),
        )
        share = self.share(traffic)
        return FleetBundle(
            name=name,
            owner=self._bundle.owner,
            stats=stats,
            cpu=self._bundle.cpu * share,
            direct_memory=self._bundle.direct_memory * share,
        )


def sliced(bundle: FleetBundle, topics: Sequence[TopicLoad], edges: Sequence[int]) -> list[FleetBundle]:
    """Cut a bundle into parts that together have its traffic, and at least its clients.

    Args:
        bundle: The whole one.
        topics: All of its topics.
        edges: Where, in rising order within its range.
    """
    lower, upper = range_of_bundle(bundle.name)
    measure, namespace = _Measure(bundle, topics), namespace_of_bundle(bundle.name)
    return [
        measure.part(
            f"{namespace}/{range_text(low, high)}", [topic for topic in topics if low <= topic.position < high]
        )
        for low, high in pairwise((lower, *edges, upper))
    ]


def _position(topic: TopicLoad) -> int:
    return topic.position


def _by_bundle(spots: Iterable[_Spot]) -> dict[str, list[_Spot]]:
    found: dict[str, list[_Spot]] = {}
    for spot in spots:
        found.setdefault(spot.bundle, []).append(spot)
    return found


def _joined(parts: Sequence[FleetBundle], bundle: str) -> FleetBundle:
    low, high = range_of_bundle(parts[0].name)[0], range_of_bundle(parts[-1].name)[1]
    return FleetBundle(
        name=f"{namespace_of_bundle(bundle)}/{range_text(low, high)}",
        owner=parts[0].owner,
        stats=BundleStats(
            _added(part.stats.traffic for part in parts),
            topics=sum(part.stats.topics for part in parts),
            producers=sum(part.stats.producers for part in parts),
            consumers=sum(part.stats.consumers for part in parts),
        ),
        cpu=sum(part.cpu for part in parts),
        direct_memory=sum(part.direct_memory for part in parts),
    )


def _added(rates: Iterable[Rates]) -> Rates:
    rate_in = rate_out = throughput_in = throughput_out = 0.0
    for each in rates:
        rate_in += each.rate_in
        rate_out += each.rate_out
        throughput_in += each.throughput_in
        throughput_out += each.throughput_out
    return Rates(rate_in, rate_out, throughput_in, throughput_out)


def _part(found: float, whole: float, usual: float) -> float:
    return found / whole if whole > 0 else usual


def _grown(said: int, counted: int) -> float | None:
    """Reckon for how many of the bundle's one of its topics' counts; None where they are of no topic."""
    if said and not counted:
        return None
    return max(1.0, said / counted) if counted else 1.0
