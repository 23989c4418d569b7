"""Where a part of a bundle will do, the part alone is cut off and moved; else bundles stay whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.cost.tariff import BundleClients, Tariff
from syncer.balancer.fleet import Fleet, FleetBroker, FleetBundle
from syncer.balancer.load import BundleStats, Rates, TopicLoad, Usage, Usages
from syncer.balancer.planner.paring import pared
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search, Sketch
from syncer.balancer.planner.slicing import CUT_S, Slicing
from tests.unit.balancer.planner.scenes import bounds_of
from tests.unit.balancer.planner.topics import GivenTopics, topic

A, B = "a:8080", "b:8080"
WIDE, OTHER = "t/n/0x00000000_0x40000000", "t/n/0x40000000_0x80000000"
SHARED = (topic(0x100, 3, 40), topic(0x200, 32, 2), topic(0x300, 5, 58))


def fleet(cpu: float = 40.0, second: float = 42.0) -> Fleet:
    def bundle(name: str, load: float) -> FleetBundle:
        stats = BundleStats(Rates(load, 0.0, load * 1000, 0.0), topics=3, producers=100)
        return FleetBundle(name=name, owner=A, stats=stats, cpu=load)

    brokers = [FleetBroker(name=name, base=Usages(cpu=Usage(0.0, 100.0))) for name in (A, B)]
    return Fleet(brokers, [bundle(WIDE, cpu), bundle(OTHER, second)])


def plan(topics: GivenTopics | None, spread: float = 0.1, tariff: Tariff | None = None, **more: object) -> Sketch:
    own = fleet()
    scene = Scene(own, bounds_of(own, **more), tariff or Tariff())
    whole = Search(scene).to_spread(spread)
    return whole if topics is None else pared(scene, topics, spread, whole)


def test_the_busy_topic_goes_alone_and_the_cuts_lie_beside_it() -> None:
    own = fleet()
    found = plan(GivenTopics(given={WIDE: SHARED}))
    assert [each.bundle for each in found.cuts] == [WIDE]
    assert found.cuts[0].positions == (0x180, 0x280)
    assert found.targets == (("t/n/0x00000180_0x00000280", B),)
    whole = Search(Scene(own, bounds_of(own), Tariff())).to_spread(0.1)
    assert found.weight < whole.weight / 10
    own.split(WIDE, found.cuts[0].parts)
    assert own.usages[A] == pytest.approx(0.82)
    own.move(*found.targets[0])
    assert (own.usages[A], own.usages[B]) == pytest.approx((0.50, 0.32))
    assert own.spread == pytest.approx(found.spread)
    assert found.weight == pytest.approx(Tariff().weight(own.bundles[found.targets[0][0]]) + 2 * CUT_S)
    assert own.bundles[found.targets[0][0]].stats.producers == 2


def test_a_topic_at_the_end_takes_one_cut() -> None:
    found = plan(GivenTopics(given={WIDE: (SHARED[0], topic(0x900, 37, 60))}))
    assert found.cuts[0].positions == (0x500,)
    assert found.targets == (("t/n/0x00000500_0x40000000", B),)


def test_neighbours_with_one_target_go_as_one() -> None:
    topics = (topic(0x100, 4, 96), topic(0x200, 17, 2), topic(0x300, 17, 2), topic(0x400, 2, 0))
    found = plan(GivenTopics(given={WIDE: topics}))
    assert len(found.targets) == 1
    low, high = (int(text, 16) for text in found.targets[0][0].rpartition("/")[2].split("_"))
    assert (low, high > 0x300) == (0x180, True)


@pytest.mark.parametrize(
    "topics",
    [
        (),
        (SHARED[1],),
        tuple(replace(each, traffic=Rates()) for each in SHARED),
        tuple(replace(each, producers=0) for each in SHARED),
        tuple(replace(each, position=0x100) for each in SHARED),
        (topic(0x100, 10, 25), topic(0x200, 10, 25), topic(0x300, 20, 50)),
    ],
    ids=["unknown", "one topic", "no traffic", "clients of no topic", "one hash", "even topics"],
)
def test_bundles_stay_whole_where_cuts_bring_nothing_or_are_not_known(topics: tuple[TopicLoad, ...]) -> None:
    found = plan(GivenTopics(given={WIDE: topics}))
    assert found.cuts == ()
    assert found == plan(None)


def test_a_topic_whose_part_of_the_pull_is_none_is_no_spot_to_cut_at() -> None:
    own = fleet(cpu=1.0, second=80.0)
    least = Rates(5e-324, 0.0, 4.94e-321, 0.0)
    topics = (topic(0x100, 1, 98), replace(SHARED[1], traffic=least))
    scene = Scene(own, bounds_of(own), Tariff())
    share = least.throughput / own.bundles[WIDE].stats.traffic.throughput
    assert share > 0
    assert share * own.pull(A, WIDE) == 0.0
    assert Slicing(scene, GivenTopics(given={WIDE: topics}), {A: 0.5}).empty


@pytest.mark.parametrize(("count", "cuts"), [(126, 1), (127, 0), (None, 0)])
def test_a_namespace_never_gets_more_bundles_than_it_may_have(count: int | None, cuts: int) -> None:
    assert len(plan(GivenTopics(given={WIDE: SHARED}, count=count)).cuts) == cuts


def test_bundles_that_may_not_move_or_whose_clients_are_told_apart_stay_whole() -> None:
    topics = GivenTopics(given={WIDE: SHARED})
    assert not plan(topics, recently_unloaded=frozenset([WIDE])).cuts
    assert not plan(topics, non_persistent=frozenset([WIDE])).cuts
    told = {WIDE: BundleClients(producers={"Pulsar-Java-v4.0.8": 100}, consumers={})}
    assert not plan(topics, tariff=Tariff(clients=told)).cuts


def test_more_clients_than_the_topics_have_are_dealt_out_to_them() -> None:
    found = plan(GivenTopics(given={WIDE: tuple(replace(each, producers=each.producers // 2) for each in SHARED)}))
    going = next(part for part in found.cuts[0].parts if part.name == found.targets[0][0])
    assert going.stats.producers == 2


def test_a_spread_that_is_there_already_moves_nothing() -> None:
    assert plan(GivenTopics(given={WIDE: SHARED}), spread=0.5).targets == ()


def test_moves_that_are_known_are_pared_too() -> None:
    own, topics = fleet(), GivenTopics(given={WIDE: SHARED})
    scene = Scene(own, bounds_of(own), Tariff())
    whole = Search(scene).to_spread(0.1)
    found = pared(scene, topics, 0.1, whole, [(OTHER, B), ("t/n/0xc0000000_0xffffffff", A)])
    assert found.cuts
    assert pared(scene, topics, 0.1, whole, [(WIDE, B)]) == found
