"""What others say of this very database: its generation, that it is an old copy. Nothing is lost by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.wire.messages import Heartbeat, StatePage
from syncer.conflict.register import Register
from syncer.errors import Fenced, StateUnavailable
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replication.group.peer import GENERATIONS_AHEAD
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.local.observe import state_event
from syncer.replication.recovery.part import HEAR_MS
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import T0, path_of, value_of, version
from tests.unit.replication.group.test_hearsay import Told
from tests.unit.replication.membership.test_membership import beat_of
from tests.unit.replication.recovery.test_rollback_detection import World, _beat
from tests.unit.replication.recovery.test_state_transfer import entry

EAST, WEST, LIAR = Region("east"), Region("west"), Region("liar")


@pytest.fixture
def world() -> World:
    """A region whose daemon is active and has set a mark."""
    world = World()
    world.active()
    world.mark()
    return world


def hears_itself(world: World, now: Millis) -> None:
    """A heartbeat of this region comes back from the bus: what was said before was heard."""
    world.driver.consume([Arrived(message=world.driver.heartbeat(now, "1"), position="9")], now)


def claims(world: World, generation: int) -> None:
    world.driver.consume([_beat({"east": (generation, "never")})], T0)
    world.driver.tick(T0)


def test_a_generation_that_was_never_taken_is_shown_and_not_believed(world: World) -> None:
    claims(world, 10**12 - 1)
    assert world.identity().generation == 1
    assert "west says that" in parts_of(world.driver).telemetry.conditions["generation-claimed"]


def test_generations_do_not_rise_without_end_by_many_small_claims(world: World) -> None:
    for _ in range(10):
        claims(world, world.identity().generation + GENERATIONS_AHEAD - 1)
    assert world.identity().generation == GENERATIONS_AHEAD + 1
    assert parts_of(world.driver).core.replica.settings.by == f"east~{GENERATIONS_AHEAD + 1}"
    assert "generation-claimed" in parts_of(world.driver).telemetry.conditions


def test_a_generation_that_lies_in_the_future_is_not_told_on() -> None:
    told = Told()
    told.hear(replace(told.west, generation=told.now // 1000 + GENERATIONS_AHEAD + 11))
    assert told.east.driver.heartbeat(told.now, "1").generations["west"] == (1, "db-west")
    told.hear(replace(told.west, generation=told.now // 1000))
    assert told.east.driver.heartbeat(told.now, "1").generations["west"][0] == told.now // 1000 - 10


def test_what_a_listing_says_of_generations_counts_no_more(world: World) -> None:
    rebuilt = doubted(world)
    seen = {"east~999999999999": T0 + 5, "west~1": T0 + 5}
    rebuilt.hears(rebuilt.told(entry(1, seen=seen)))
    assert parts_of(rebuilt.world.driver).recovery.progress.outdone == 0
    assert "generation-claimed" in parts_of(rebuilt.world.driver).telemetry.conditions


class Doubted:
    """A region that has met a change in its name that it never published; it has begun anew, and hears west."""

    def __init__(self, world: World, *expected: Region) -> None:
        self.world = world
        forge(world)
        with pytest.raises(Fenced):
            world.driver.tick(T0)
        world.active(*expected)
        assert world.driver.hearing

    def told(self, *entries: tuple[object, ...], **facts: object) -> StatePage:
        page = StatePage(
            region=WEST,
            sender="west-db",
            sent_at_ms=T0,
            target=EAST,
            asker=parts_of(self.world.driver).core.identity.database_id,
            entries=entries,  # type: ignore[arg-type]  # as listed
        )
        return replace(page, **facts)  # type: ignore[arg-type]  # any field

    def hears(self, *told: StatePage) -> None:
        self.world.driver.consume([Arrived(message=each, position=str(at)) for at, each in enumerate(told)], T0)


def doubted(world: World, *expected: Region) -> Doubted:
    return Doubted(world, *(expected or (WEST,)))


def forge(world: World, number: int = 2**50) -> None:
    """Somebody tells a change in this region's name, by its very database: without keys nobody can tell who it is."""
    event = replace(local("forged", 1, 50), sender=world.identity().database_id, sequence=number)
    world.driver.consume([Arrived(message=event, position="1")], T0)


def lie(world: World, number: int = 2**50) -> None:
    """West says to have an event of this database that it never gave out."""
    beat = _beat({}).message
    assert isinstance(beat, Heartbeat)
    database = world.identity().database_id
    world.driver.consume([Arrived(message=replace(beat, reached={database: number}), position="1")], T0)


def local(name: str, edition: int | None, time: int, seen: int = 0) -> MetadataChangeEvent:
    """A change of the region's own, which saw what west wrote at a time."""
    path = path_of(name)
    known = version(path, edition, time, "east")
    if seen:
        known = replace(known, seen={**known.seen, version(path, 0, seen, "west").by: Millis(T0 + seen)})
    event = state_event(Register(path=path, known=known), None if edition is None else value_of(edition))
    assert event is not None
    return event


def test_what_was_to_be_published_is_published_after_the_rebuild(world: World) -> None:
    """Changes that nobody has; one that all have; one that lost; one of a path that nobody knows."""
    events = [
        local("1", 7, 50, seen=5),
        local("2", None, 50, seen=5),
        local("3", 3, 4),
        local("4", 3, 5, seen=1),
        local("unknown", 1, 50),
    ]
    with parts_of(world.driver).core.state.transaction() as tx:
        tx.enqueue(events)
    rebuilt = doubted(world)
    assert world.driver.outbox(10) == []
    had = entry(4, time=5, region="east", by=events[3].by, seen=dict(events[3].seen))
    told = rebuilt.told(entry(1), entry(2), entry(3), had, last=True, total=4)
    rebuilt.hears(told)
    world.driver.correspond(T0)
    assert not world.driver.hearing
    sent = [row.event for row in world.driver.outbox(10)]
    assert [(event.path, event.value, event.stamp) for event in sent] == [
        (event.path, event.value, event.stamp) for event in events[:3]
    ]
    assert [event.sequence for event in sent] == [1, 2, 3]
    assert {event.sender for event in sent} == {world.identity().database_id}
    registers = world.database.registers
    assert registers[path_of("1")].known.value == value_of(7)  # type: ignore[union-attr]  # it is known
    assert not registers[path_of("2")].known.alive  # type: ignore[union-attr]  # it is known
    assert path_of("unknown") not in registers, "the scan finds what the store holds of it"
    assert {row.path for row in world.database.conflicts.values()} == {path_of("3")}
    assert world.database.carried == {}


def test_what_it_was_to_tell_of_another_region_is_still_counted_by_that_one(world: World) -> None:
    """Only its own changes are counted anew, where another database may have counted by the same generation."""
    known = version(path_of("1"), 7, 50, "north")
    foreign = state_event(Register(path=path_of("1"), known=known), value_of(7))
    assert foreign is not None
    with parts_of(world.driver).core.state.transaction() as tx:
        tx.enqueue([foreign, local("2", 2, 50)])
    claims_of(world)
    world.active(WEST)
    page = StatePage(
        region=WEST,
        sender="west-db",
        sent_at_ms=T0,
        target=EAST,
        asker=parts_of(world.driver).core.identity.database_id,
        entries=(entry(1), entry(2)),
        last=True,
        total=2,
    )
    world.driver.consume([Arrived(message=page, position="2")], T0)
    world.driver.correspond(T0)
    sent = {str(row.event.stamp.region): row.event.by for row in world.driver.outbox(10)}
    assert sent == {"north": known.by, "east": parts_of(world.driver).core.replica.settings.by}


def test_it_begins_anew_once_and_then_only_shows_it(world: World) -> None:
    rebuilt = doubted(world)
    parts_of(world.driver).recovery.begun_on_hearsay = True  # as the daemon tells its next driver
    rebuilt.hears(rebuilt.told(last=True))
    world.driver.correspond(T0)
    database = world.identity().database_id
    forge(world)
    lie(world)
    claims(world, world.identity().generation)
    assert world.identity().database_id == database
    assert "once" not in parts_of(world.driver).telemetry.conditions["database-doubted"]
    assert "does not do so again" in parts_of(world.driver).telemetry.conditions["database-doubted"]
    assert parts_of(world.driver).recovery.progress.lost is None


def test_a_database_that_cannot_be_kept_is_not_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise StateUnavailable("no room")

    monkeypatch.setattr(parts_of(world.driver).core.state, "keep_copy", full)
    forge(world)
    world.driver.tick(T0)
    assert world.identity().database_id == "east-db"
    assert "no room" in parts_of(world.driver).telemetry.conditions["database-doubted"]


@pytest.mark.parametrize("expected", [True, False])
def test_who_tells_nothing_is_waited_for_without_end_only_where_it_is_expected(world: World, expected: bool) -> None:
    rebuilt = doubted(world, *((WEST, LIAR) if expected else ()))
    driver = world.driver
    parts_of(driver).group.expected = frozenset({WEST, LIAR} if expected else ())
    driver.consume([Arrived(message=beat_of(Told().east, "liar", "db-liar"), position="2")], T0)
    driver.correspond(T0)
    rebuilt.hears(rebuilt.told(last=True))
    hears_itself(world, Millis(T0 + HEAR_MS - 1))
    driver.correspond(Millis(T0 + HEAR_MS))
    assert driver.hearing
    hears_itself(world, Millis(T0 + HEAR_MS))
    driver.correspond(Millis(T0 + HEAR_MS))
    assert driver.hearing is expected


def test_a_heartbeat_that_this_daemon_never_sent_does_not_show_that_it_has_heard_the_bus(world: World) -> None:
    rebuilt = doubted(world)
    driver = world.driver
    parts_of(driver).group.expected = frozenset()
    driver.correspond(T0)
    rebuilt.hears(rebuilt.told(last=True))
    forged = replace(driver.heartbeat(T0, "1"), sent_at_ms=Millis(T0 + HEAR_MS))
    driver.consume([Arrived(message=forged, position="3")], T0)
    driver.correspond(Millis(T0 + HEAR_MS))
    assert driver.hearing


def test_nobody_who_has_told_anything_leaves_it_to_an_operator(world: World) -> None:
    doubted(world)
    parts_of(world.driver).group.expected = frozenset()
    world.driver.correspond(T0)
    hears_itself(world, Millis(T0 + 10 * HEAR_MS))
    world.driver.correspond(Millis(T0 + 10 * HEAR_MS))
    assert world.driver.hearing


def test_what_was_counted_under_the_generation_of_another_database_is_counted_anew(world: World) -> None:
    with parts_of(world.driver).core.state.transaction() as tx:
        tx.enqueue([local("1", 7, 50, seen=5)])
    claims_of(world)
    world.active(WEST)
    page = StatePage(
        region=WEST,
        sender="west-db",
        sent_at_ms=T0,
        target=EAST,
        asker=world.identity().database_id,
        entries=(entry(1),),
        last=True,
        total=1,
    )
    world.driver.consume([Arrived(message=page, position="1")], T0)
    world.driver.correspond(T0)
    (row,) = world.driver.outbox(10)
    assert row.event.by == parts_of(world.driver).core.replica.settings.by == "east~2"
    assert row.event.seen == {"west~1": T0 + 5, "east~2": T0 + 50}
    assert row.event.stamp == local("1", 7, 50).stamp


def claims_of(world: World) -> None:
    """West says that another database had this very generation, and sends a change of it."""
    generation = world.identity().generation
    event = replace(local("other", 1, 50), sender="never", sequence=1)
    world.driver.consume([_beat({"east": (generation, "never")})], T0)
    assert parts_of(world.driver).recovery.progress.lost is None, "the word of one begins nothing"
    world.driver.consume([Arrived(message=event, position="2")], T0)
    with pytest.raises(Fenced):
        world.driver.tick(T0)
