"""Whose word has a database rebuilt, what proves it, and how long a pair waits for that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.trust.region_keys import Speaker
from syncer.bus.wire.messages import Control, ControlAction, Heartbeat
from syncer.errors import Fenced
from syncer.model import Millis, Region
from syncer.replication.group.peers import ESTABLISHED_MS
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.recovery.doubt import CHECK_MS, STRANGERS_KEPT
from syncer.replication.recovery.part import HEAR_MS
from tests.support.parts import parts_of
from tests.support.region_keys import ring
from tests.unit.replication.antientropy.test_protocol import T0
from tests.unit.replication.recovery.test_generations import Doubted, forge, hears_itself, local
from tests.unit.replication.recovery.test_rollback_detection import World, _beat

EAST, WEST, NORTH = Region("east"), Region("west"), Region("north")
MUCH = 2**50


@pytest.fixture
def world() -> World:
    """A region that has published one change, and has another one to publish."""
    world = World()
    world.active()
    world.mark()
    with parts_of(world.driver).core.state.transaction() as tx:
        tx.enqueue([local("1", 1, 5)])
    return world


def accuse(world: World, teller: str = "west", now: int = T0, number: int = MUCH) -> None:
    """A region says to have a change of this database that it never published."""
    beat = _beat({}).message
    assert isinstance(beat, Heartbeat)
    database = world.identity().database_id
    said = replace(beat, region=Region(teller), sender=f"{teller}-db", reached={database: number})
    world.driver.consume([Arrived(message=said, position="1")], Millis(now))
    world.driver.tick(Millis(now))


def expects(world: World, *regions: str) -> None:
    parts_of(world.driver).group.expected = frozenset(map(Region, regions))


def asked(world: World, now: int) -> list[str]:
    """Who is asked for a proof."""
    said = world.driver.correspond(Millis(now))
    return [each.target for each in said if isinstance(each, Control) and each.action is ControlAction.PROVE]


def test_the_word_of_one_begins_nothing_and_holds_a_pair_until_it_was_checked(world: World) -> None:
    accuse(world)
    assert world.identity().database_id == "east-db"
    assert world.driver.in_doubt
    assert world.driver.outbox(10) == []
    assert "west was asked for the change" in parts_of(world.driver).telemetry.conditions["database-doubted"]
    world.driver.tick(Millis(T0 + CHECK_MS - 1))
    assert world.driver.in_doubt
    world.driver.tick(Millis(T0 + CHECK_MS))
    assert [row.sequence for row in world.driver.outbox(10)] == [1]
    assert "database-doubted" in parts_of(world.driver).telemetry.conditions


def test_a_liar_holds_a_pair_once(world: World) -> None:
    accuse(world)
    world.driver.tick(Millis(T0 + CHECK_MS))
    for number in range(3 * STRANGERS_KEPT):
        accuse(world, f"x{number}", T0 + CHECK_MS)
        assert not world.driver.in_doubt
    assert world.identity().database_id == "east-db"
    assert len(parts_of(world.driver).recovery.doubts.by) == STRANGERS_KEPT


def test_the_accuser_is_asked_until_it_was_waited_for(world: World) -> None:
    accuse(world)
    assert [asked(world, T0 + ms) for ms in (0, 1_000, 5_000, CHECK_MS)] == [["west"], [], ["west"], []]


def test_in_a_larger_group_one_word_holds_nothing(world: World) -> None:
    expects(world, "west", "north")
    accuse(world)
    assert [row.sequence for row in world.driver.outbox(10)] == [1]
    assert asked(world, T0) == ["west"]


def test_two_members_begin_a_rebuild(world: World) -> None:
    expects(world, "west", "north")
    accuse(world)
    with pytest.raises(Fenced):
        accuse(world, "north")
    assert world.identity().database_id != "east-db"


def test_two_that_anybody_may_have_made_up_begin_none_unless_they_are_there_for_long(world: World) -> None:
    for teller in ("west", "north"):
        accuse(world, teller)
        accuse(world, teller, T0 + ESTABLISHED_MS)
    assert world.identity().database_id == "east-db", "they were not when they said so first"


def test_two_that_were_there_for_long_begin_a_rebuild(world: World) -> None:
    for teller in ("west", "north"):
        accuse(world, teller, number=0)
    accuse(world, "west", T0 + ESTABLISHED_MS)
    with pytest.raises(Fenced):
        accuse(world, "north", T0 + ESTABLISHED_MS)


def test_one_that_is_expected_and_has_to_prove_who_it_is_counts_as_two(world: World) -> None:
    expects(world, "west")
    parts_of(world.driver).group.keyring = ring("east", ["east", "west"], required=True)
    with pytest.raises(Fenced):
        accuse(world)


@pytest.mark.parametrize("signed", [True, False])
def test_a_change_counts_as_own_evidence_only_with_the_signature_of_a_region_that_has_a_key(
    world: World, signed: bool
) -> None:
    parts_of(world.driver).group.keyring = ring("east", ["east", "west"])
    event = replace(local("forged", 1, 50), sender="east-db", sequence=MUCH)
    speaker = Speaker(EAST, "key") if signed else None
    world.driver.consume([Arrived(message=event, position="1", speaker=speaker)], T0)
    if signed:
        with pytest.raises(Fenced):
            world.driver.tick(T0)
    else:
        world.driver.tick(T0)
        assert world.identity().database_id == "east-db"
        assert "has not signed" in parts_of(world.driver).telemetry.conditions["database-doubted"]


def test_what_the_database_itself_has_sent_and_not_heard_to_be_published_is_no_evidence(world: World) -> None:
    (row,) = world.driver.outbox(10)
    accuse(world)
    world.driver.consume([Arrived(message=replace(row.event, sender="east-db", sequence=1), position="1")], T0)
    world.driver.tick(T0)
    assert world.identity().database_id == "east-db"


def test_a_region_that_is_known_by_its_accusation_alone_is_not_waited_for(world: World) -> None:
    accuse(world, "evil")
    rebuilt = Doubted(world)
    driver = world.driver
    parts_of(driver).group.expected = frozenset()
    driver.correspond(T0)
    rebuilt.hears(rebuilt.told(last=True))
    hears_itself(world, Millis(T0 + HEAR_MS // 2))
    driver.correspond(Millis(T0 + HEAR_MS // 2))
    assert not driver.hearing


def test_after_a_rebuild_it_is_only_shown(world: World) -> None:
    forge(world)
    with pytest.raises(Fenced):
        world.driver.tick(T0)
    parts_of(world.driver).recovery.begun_on_hearsay = True
    accuse(world)
    assert not world.driver.in_doubt
    assert asked(world, T0) == []
