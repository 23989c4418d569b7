"""The last change of each member, as it was sent: kept, sent back to its author, and to nobody else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import sealed, unseal
from syncer.bus.wire.messages import Control, ControlAction, Heartbeat
from syncer.conflict.register import Register
from syncer.errors import SignatureInvalid
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replication.group.peers import ESTABLISHED_MS
from syncer.replication.inbound.arrived import Arrived, arrived_of
from syncer.replication.local.observe import state_event
from syncer.replication.recovery import originals
from syncer.replication.recovery.progress import Originals
from tests.support.parts import parts_of
from tests.support.region_keys import ring
from tests.unit.replication.antientropy.test_protocol import T0, path_of, value_of, version
from tests.unit.replication.recovery.test_rollback_detection import World, _beat

NAMES = ["east", "west"]
NORTH = Region("north")


@pytest.fixture
def world() -> World:
    """A region that has heard west."""
    world = World()
    world.active()
    world.driver.consume([_beat({})], T0)
    return world


def told(number: int, name: str = "1") -> Arrived:
    """A change of west's, signed by its key."""
    path = path_of(name)
    event = state_event(Register(path=path, known=version(path, number, 50 + number, "west")), value_of(number))
    assert event is not None
    sent = sealed(replace(event, sender="west-db", sequence=number), ring("west", NAMES))
    return arrived_of(sent.payload, {**sent.properties, "broker": "adds this"}, "1", ring("east", NAMES))


def asks(world: World, above: int, region: str = "west", database: str = "west-db", now: int = T0) -> list[Outgoing]:
    """A region asks for a change; what it gets."""
    asked = Control(
        region=Region(region),
        sender=f"{region}-db",
        action=ControlAction.PROVE,
        paths=(database,),
        number=above,
        sent_at_ms=Millis(now),
        target="east",
    )
    world.driver.consume([Arrived(message=asked, position="1")], Millis(now))
    return [each for each in world.driver.correspond(Millis(now)) if isinstance(each, Outgoing)]


def number_of(sent: Outgoing) -> int:
    heard = unseal(sent.payload, sent.properties, ring("west", NAMES, required=True))
    assert isinstance(heard.message, MetadataChangeEvent)
    assert heard.speaker is not None
    assert heard.speaker.region == "west"
    return heard.message.sequence


def test_the_last_change_is_sent_back_with_the_signature_of_its_author(world: World) -> None:
    world.driver.consume([told(2), told(1, "2")], T0)
    assert [number_of(each) for each in asks(world, 1)] == [2]
    assert asks(world, 1) == [], "not so often"


def test_who_has_published_as_much_gets_nothing(world: World) -> None:
    world.driver.consume([told(2)], T0)
    assert asks(world, 2) == []


def test_nobody_gets_what_another_region_has_sent(world: World) -> None:
    world.driver.consume([told(2)], T0)
    assert asks(world, 0, "north") == []


def test_it_is_kept_over_a_restart_with_the_next_heartbeat(world: World) -> None:
    world.driver.consume([told(2)], T0)
    world.driver.consume([_beat({})], T0)
    world.active()
    assert [number_of(each) for each in asks(world, 1)] == [2]


def test_what_another_version_has_kept_in_another_form_is_not_there(world: World) -> None:
    world.driver.consume([told(2)], T0)
    world.driver.consume([_beat({})], T0)
    row = world.database.peers[Region("west")]
    kept = {"west-db": [2, "", {}]}
    world.database.peers[Region("west")] = replace(row, document={**row.document, "originals": kept})
    world.active()
    assert asks(world, 1) == []


@pytest.fixture
def kept(world: World) -> Originals:
    """West's first change is kept."""
    world.driver.consume([told(1)], T0)
    found = parts_of(world.driver).recovery.originals
    assert found is not None
    return found


def numbers(kept: Originals, region: str = "west") -> list[int]:
    return [each.sequence for each in kept.of.get(Region(region), {}).values()]


def test_a_large_change_is_not_kept(world: World, kept: Originals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "KEPT_BYTES", kept.size - 1)
    world.driver.consume([told(2)], T0)
    assert numbers(kept) == [1]


def fill(world: World, kept: Originals, monkeypatch: pytest.MonkeyPatch) -> None:
    """North has as much kept as there is room."""
    beat = _beat({}).message
    assert isinstance(beat, Heartbeat)
    world.driver.consume([Arrived(message=replace(beat, region=NORTH, sender="north-db"), position="1")], T0)
    event = told(1, "3").message
    assert isinstance(event, MetadataChangeEvent)
    world.driver.consume([Arrived(message=replace(event, sender="north-db"), position="2")], T0)
    monkeypatch.setattr(originals, "ALL_BYTES", kept.size + 100)  # less than one takes


def test_a_later_change_takes_the_room_of_the_former_one(
    world: World, kept: Originals, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world, kept, monkeypatch)
    world.driver.consume([told(2)], T0)
    assert (numbers(kept), numbers(kept, "north")) == ([2], [1])


def test_who_came_an_hour_ago_makes_no_room_and_who_came_later_does(
    world: World, kept: Originals, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world, kept, monkeypatch)
    beat, event, later = _beat({}).message, told(1, "4").message, Millis(T0 + ESTABLISHED_MS)
    assert isinstance(beat, Heartbeat)
    assert isinstance(event, MetadataChangeEvent)
    peers = parts_of(world.driver).group.peers
    peers.on_heartbeat(replace(beat, sender="west-new"), later)
    world.driver.consume([Arrived(message=replace(event, sender="west-new"), position="3")], later)
    assert (numbers(kept), numbers(kept, "north")) == ([1], [1])
    peers._peers[NORTH].since_ms = Millis(T0 + 1)
    world.driver.consume([Arrived(message=replace(event, sender="west-new", sequence=2), position="4")], later)
    assert (numbers(kept), numbers(kept, "north")) == ([1, 2], [])
    assert kept.size == sum(each.size for several in kept.of.values() for each in several.values())


def test_what_the_key_of_its_region_has_signed_does_not_give_way_to_what_it_has_not(world: World) -> None:
    """Where keys are not required yet, a member can send an unsigned change in the name of another one."""
    parts_of(world.driver).group.keyring = ring("east", NAMES)
    world.driver.consume([told(2)], T0)
    forged = told(2**50, "2")
    world.driver.consume([replace(forged, speaker=None)], T0)
    assert [number_of(each) for each in asks(world, 1)] == [2]


def test_what_is_sent_back_is_signed_with_the_key_that_the_group_has_by_then(world: World) -> None:
    event = told(2).message
    assert isinstance(event, MetadataChangeEvent)
    former, present = ring(group=["former"]), ring(group=["present"])
    sent = sealed(event, former)
    world.driver.consume([arrived_of(sent.payload, sent.properties, "1", former)], T0)
    (again,) = asks(world, 1)
    with pytest.raises(SignatureInvalid):
        unseal(again.payload, again.properties, present)
    countersigned = present.countersign(again)
    assert unseal(countersigned.payload, countersigned.properties, present).message == event
