"""The group as a region sees it: names of clusters that regions tell each other, and what contradicts."""

from __future__ import annotations

import pytest

from syncer.bus.wire.codec import encode
from syncer.conflict.cluster_names import telling
from syncer.conflict.cluster_names.telling import RegionNames
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region
from syncer.replication.control.heartbeat import NAMES_UNTELLABLE
from syncer.replication.core import Peculiarities
from syncer.replication.group.participation import NAMES_CONTRADICT, NAMES_UNCLEAR
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import Pair, Site, path_of, value_of

EAST, WEST = Region("east"), Region("west")
RIGHT = RegionNames(own=("west",), table={"pulsar-e": "east", "pulsar-w": "west"})
SWAPPED = RegionNames(own=("east",), table={"pulsar-e": "west", "pulsar-w": "east"})
TTL = {"/admin/policies/acme/**": ("message_ttl_in_seconds",)}


def named(site: Site, names: RegionNames) -> None:
    """What the site's daemon is told of its names."""
    parts_of(site.driver).core.peculiar = Peculiarities(names)


def pair_of(ours: RegionNames) -> Pair:
    pair = Pair()
    named(pair.east, RegionNames(own=("east",)))
    named(pair.west, ours)
    return pair


def conditions(site: Site, *known: str) -> dict[str, str]:
    return dict(parts_of(site.driver).group.naming_conditions(known))


def test_regions_that_map_no_names_tell_nothing_of_them() -> None:
    pair = pair_of(RegionNames(own=("west",)))
    pair.beat(2)
    for site in (pair.east, pair.west):
        beat = site.driver.heartbeat(Millis(pair.now), "1")
        assert (beat.clusters, beat.names, beat.excluded) == ((), {}, {})
        said = encode(beat).payload
        assert not any(field in said for field in (b'"clusters"', b'"names"', b'"excluded"'))
        assert parts_of(site.driver).group.names.told == {}
        assert conditions(site, "east") == {}


def test_one_that_maps_names_tells_them_and_the_others_tell_theirs() -> None:
    pair = pair_of(RIGHT)
    pair.beat(2)
    told = {EAST: RegionNames(own=("east",)), WEST: RIGHT}
    for site in (pair.east, pair.west):
        assert parts_of(site.driver).group.names.told == told
        assert conditions(site, "east", "west") == {}
    named(pair.west, RegionNames(own=("west",)))
    pair.beat(3)
    assert parts_of(pair.east.driver).group.names.told == {}, "once nobody does, nobody tells"
    assert pair.east.driver.heartbeat(Millis(pair.now), "1").clusters == ()


def test_a_table_that_contradicts_is_shown_on_both_sides_and_known_after_a_restart() -> None:
    pair = pair_of(SWAPPED)
    pair.beat(2)
    for site in (pair.east, pair.west):
        (message,) = conditions(site, "east", "west").values()
        assert message.startswith("east and west each have 'east'")
        assert parts_of(site.driver).group.names.doubted[WEST] == {"east", "west", "pulsar-e", "pulsar-w"}
        assert NAMES_CONTRADICT in conditions(site)
    pair.east.begin()
    named(pair.east, RegionNames(own=("east",)))
    assert NAMES_CONTRADICT in conditions(pair.east), "before anybody speaks"
    named(pair.west, RIGHT)
    pair.beat(2)
    assert parts_of(pair.east.driver).group.names.doubted == {}
    assert conditions(pair.east, "east", "west") == {}


def test_what_is_likely_to_be_a_mistake_is_shown_once_the_store_was_asked() -> None:
    pair = pair_of(RegionNames(own=("west-2",), table={"pulsar-w": "west-2"}))
    pair.beat(2)
    assert conditions(pair.east) == {}
    assert "'west-2'" in conditions(pair.east, "east", "west")[NAMES_UNCLEAR]
    assert "without a name in the group" in conditions(pair.west, "east", "west-2", "pulsar-w")[NAMES_UNCLEAR]


def test_only_regions_that_are_expected_and_not_gone_count() -> None:
    pair = pair_of(SWAPPED)
    pair.beat(2)
    group = parts_of(pair.east.driver).group
    group.expected = frozenset({Region("north")})
    assert group.names.told == {}
    group.expected = frozenset()
    assert group.names.doubted
    with pair.east.state.transaction() as tx:
        group.peers.forget(WEST, (), next(row for row in tx.peers() if row.region == WEST), Millis(pair.now))
    assert group.names.told == {}


def test_more_names_than_can_be_told_are_not_and_the_region_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of(SWAPPED)
    monkeypatch.setattr(telling, "NAMES_TOLD", 1)
    pair.beat(2)
    assert NAMES_UNTELLABLE in parts_of(pair.west.driver).telemetry.conditions
    assert parts_of(pair.east.driver).group.names.told == {}
    monkeypatch.undo()
    pair.beat(2)
    assert NAMES_UNTELLABLE not in parts_of(pair.west.driver).telemetry.conditions
    assert NAMES_CONTRADICT in conditions(pair.east)


def test_excluded_fields_are_told_and_remembered() -> None:
    pair = Pair()
    parts_of(pair.west.driver).core.peculiar = Peculiarities(excluded=TTL)
    pair.beat(2)
    peers = parts_of(pair.east.driver).group.peers
    assert peers.peculiar == {WEST: Peculiarities(excluded=TTL)}
    pair.east.begin()
    assert parts_of(pair.east.driver).group.peers.peculiar == {WEST: Peculiarities(excluded=TTL)}
    assert pair.east.driver.heartbeat(Millis(pair.now), "1").clusters == ()


def test_the_first_contradictions_are_told_in_words_and_the_others_counted() -> None:
    many = tuple(f"c{number}" for number in range(7))
    pair = pair_of(RegionNames(own=many, table={"x": "c0"}))
    named(pair.east, RegionNames(own=many))
    pair.beat(2)
    assert conditions(pair.east)[NAMES_CONTRADICT].endswith("; and 2 more")


def test_a_region_that_maps_names_publishes_nothing_before_it_has_told_them() -> None:
    pair = pair_of(RIGHT)
    pair.west.put(path_of(1), value_of(1))
    pair.west.driver.noticed([path_of(1)], Millis(pair.now))
    pair.west.work(Millis(pair.now))
    assert pair.west.driver.outbox(10) == []
    pair.beat(2)
    told = [
        type(said).__name__
        for said in pair.heard
        if (said.stamp.region if isinstance(said, MetadataChangeEvent) else said.region) == WEST
    ]
    assert told.index("Heartbeat") < told.index("MetadataChangeEvent")


def test_what_a_name_in_dispute_held_is_written_although_the_dispute_ended_before_the_next_tick() -> None:
    pair, tenant = pair_of(RIGHT), MetaPath("/admin/policies/acme")
    pair.beat(2)
    east, west, now = pair.east, pair.west, Millis(pair.now)
    east.driver.know_clusters(["east", "west"])
    east.driver.tick(now)
    parts_of(west.driver).core.renaming = True  # as after a start with something still to be told
    west.put(tenant, b'{"allowedClusters":["west"]}')
    west.driver.noticed([tenant], now)
    plan = west.driver.plan_reads()
    assert plan is not None
    west.driver.take_answers(plan, {path: west.entries.get(path) for path in plan.paths}, now)
    unsettled = west.driver.heartbeat(now, "1")
    west.work(now)
    settled = west.driver.heartbeat(now, "1")
    assert (unsettled.renaming, settled.renaming) == (True, False)
    east.hear([unsettled, *west.said], now)
    east.work(now)
    assert tenant not in east.entries, "its names are in dispute"
    east.hear([settled], now)
    east.driver.tick(now)
    east.work(now)
    assert tenant in east.entries
