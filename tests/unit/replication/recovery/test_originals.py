"""The last change of each member, as it was sent: kept, sent back to its author, and to nobody else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import sealed, unseal
from syncer.bus.wire.messages import Control, ControlAction
from syncer.conflict.register import Register
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replication.inbound.arrived import Arrived, arrived_of
from syncer.replication.local.observe import state_event
from syncer.replication.recovery import originals
from tests.support.parts import parts_of
from tests.support.region_keys import ring
from tests.unit.replication.antientropy.test_protocol import T0, path_of, value_of, version
from tests.unit.replication.recovery.test_rollback_detection import World, _beat

NAMES = ["east", "west"]


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


def test_room_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.driver.consume([told(1)], T0)
    kept = parts_of(world.driver).recovery.originals
    assert kept is not None
    size = kept.size
    monkeypatch.setattr(originals, "KEPT_BYTES", size - 1)
    world.driver.consume([told(2)], T0)
    monkeypatch.setattr(originals, "KEPT_BYTES", size + 100)
    monkeypatch.setattr(originals, "ALL_BYTES", size + 1)
    world.driver.consume([told(3)], T0)
    assert [each.sequence for each in kept.of[Region("west")].values()] == [1]
    assert kept.size == size
