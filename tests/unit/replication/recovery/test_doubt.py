"""Whose word has a database rebuilt, what proves it, and how long a pair waits for that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.trust.region_keys import Speaker
from syncer.bus.wire.messages import Control, ControlAction, Heartbeat
from syncer.errors import Fenced, StateUnavailable
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


def accuse(world: World, teller: str = "west", now: int = T0, number: int = MUCH, *, signed: bool = False) -> None:
    """A region says to have a change of this database that it never published."""
    beat = _beat({}).message
    assert isinstance(beat, Heartbeat)
    database = world.identity().database_id
    said = replace(beat, region=Region(teller), sender=f"{teller}-db", reached={database: number})
    speaker = Speaker(Region(teller), "key") if signed else None
    world.driver.consume([Arrived(message=said, position="1", speaker=speaker)], Millis(now))
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


def claims(teller: str, generation: int = 1, database: str = "other") -> Arrived:
    """A heartbeat by which another database of this region had a generation."""
    beat = _beat({"east": (generation, database)}).message
    assert isinstance(beat, Heartbeat)
    return Arrived(message=replace(beat, region=Region(teller), sender=f"{teller}-db"), position="1")


def told_by(database: str) -> Arrived:
    """A change under this region's counter, which a database tells."""
    return Arrived(message=replace(local("other", 1, 50), sender=database, sequence=1), position="2")


def test_a_claim_of_the_generation_names_no_database_of_another_region(world: World) -> None:
    """West tells changes of this region by its own database, as every member may: that proves nothing."""
    world.driver.consume([claims("west", database="west-db"), told_by("west-db")], T0)
    world.driver.tick(T0)
    assert not world.driver.in_doubt
    assert world.identity().database_id == "east-db"
    world.driver.consume([claims("north", database="1@west"), told_by("1@west")], T0)
    world.driver.tick(T0)
    assert world.identity().database_id == "east-db"
    assert world.identity().generation > 1, "a later generation does no harm"


def test_two_members_that_know_the_generation_begin_a_rebuild_whoever_speaks_first(world: World) -> None:
    """The generation is not left before the second one could say so, or after a crash the first one again."""
    expects(world, "west", "north")
    world.driver.consume([claims("west")], T0)
    world.driver.tick(T0)
    assert world.identity().generation == 1
    world.driver.consume([claims("north")], Millis(T0 + 10_000))
    with pytest.raises(Fenced):
        world.driver.tick(Millis(T0 + 10_000))
    assert world.identity().database_id != "east-db"


def test_a_generation_in_doubt_is_left_when_it_was_not_proved(world: World) -> None:
    world.driver.consume([claims("west")], T0)
    world.driver.tick(Millis(T0 + CHECK_MS - 1))
    assert world.identity().generation == 1
    world.driver.tick(Millis(T0 + CHECK_MS))
    assert (world.identity().generation, world.identity().database_id) == (2, "east-db")


def test_a_change_that_would_prove_it_is_met_like_any_other_where_no_rebuild_begins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise StateUnavailable("no room")

    monkeypatch.setattr(parts_of(world.driver).core.state, "keep_copy", full)
    world.driver.consume([claims("west")], T0)
    world.driver.consume([told_by("other")], T0)
    world.driver.tick(T0)
    assert "region-id-in-use" not in parts_of(world.driver).telemetry.conditions
    world.driver.consume([told_by("other")], T0)
    assert world.identity().database_id == "east-db"
    assert "region-id-in-use" in parts_of(world.driver).telemetry.conditions


def test_a_daemon_that_only_observes_begins_nothing_and_asks_nobody(world: World) -> None:
    parts_of(world.driver).core.observing = True
    world.driver.consume([claims("west")], T0)
    world.driver.consume([told_by("other")], T0)
    world.driver.tick(T0)
    assert world.identity().database_id == "east-db"
    assert asked(world, T0) == []


def test_a_member_that_has_a_key_and_does_not_sign_with_it_counts_for_nobody(world: World) -> None:
    """Where keys are not required yet, whoever has the group's key can speak in the names of several members."""
    expects(world, "west", "north")
    parts_of(world.driver).group.keyring = ring("east", ["east", "west", "north"])
    accuse(world)
    accuse(world, "north")
    assert world.identity().database_id == "east-db"
    accuse(world, signed=True)
    with pytest.raises(Fenced):
        accuse(world, "north", signed=True)


def test_what_is_shown_does_not_say_that_nothing_is_published_once_it_is(world: World) -> None:
    accuse(world)
    shown = parts_of(world.driver).telemetry.conditions
    assert "nothing is published" in shown["database-doubted"]
    world.driver.tick(Millis(T0 + CHECK_MS))
    assert "nothing is published" not in shown["database-doubted"]


def test_the_next_driver_of_a_daemon_does_not_hold_back_again(world: World) -> None:
    accuse(world)
    since = world.driver.held_since_ms
    world.active()
    parts_of(world.driver).recovery.doubts.held_since_ms = since  # as the daemon tells its next driver
    accuse(world, now=T0 + CHECK_MS)
    assert not world.driver.in_doubt
    assert asked(world, T0 + CHECK_MS) == ["west"]


def test_a_new_accuser_does_not_have_the_others_asked_again(world: World) -> None:
    accuse(world)
    assert asked(world, T0) == ["west"]
    accuse(world, "north")
    assert asked(world, T0) == ["north"]
