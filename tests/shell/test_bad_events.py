"""Bad events: each goes to the quarantine with its reason, and stops nothing else."""

from __future__ import annotations

from pathlib import Path

import orjson

from syncer.bus.contract import Outgoing
from syncer.bus.limits import MAX_MESSAGE_BYTES
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Control, ControlAction
from syncer.bus.wire.native import NativeEvent, NativeType, encode_native
from syncer.model import MetaPath, Millis, Region
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import Bystander, backlog, change
from tests.shell.region import TENANT, Site, active, path_of, tenant, tenants

GOOD = encode(change(TENANT, tenant("good")))


def with_properties(**changes: str) -> Outgoing:
    """A sound message with some properties replaced."""
    names = {f"syncer.{name.replace('_', '.')}": text for name, text in changes.items()}
    return Outgoing(GOOD.payload, {**GOOD.properties, **names})


def native(path: str, value: bytes | None, cluster: str = "west") -> Outgoing:
    """An event of Pulsar's own synchronizer."""
    return Outgoing(encode_native(NativeEvent(path, value, cluster, NativeType.MODIFIED, wall_clock_ms())), {})


BAD = {
    "undecodable": (Outgoing(b"\xff\xfe no record", {}), "payload-invalid", ""),
    "empty": (Outgoing(b"", {}), "payload-invalid", ""),
    "truncated": (Outgoing(GOOD.payload[: len(GOOD.payload) // 2], GOOD.properties), "payload-invalid", ""),
    "longer": (Outgoing(GOOD.payload + b"\x00", GOOD.properties), "payload-invalid", ""),
    "oversize": (Outgoing(b"\x00" * (MAX_MESSAGE_BYTES + 1), GOOD.properties), "payload-invalid", "oversize"),
    "kind of message": (with_properties(kind="poem"), "payload-invalid", "unknown kind"),
    "resource": (with_properties(resource="bookie"), "payload-invalid", "bookie"),
    "vector": (with_properties(seen="{"), "payload-invalid", "syncer.seen"),
    "null value": (
        Outgoing(
            encode_native(NativeEvent(TENANT, None, "west", NativeType.MODIFIED, wall_clock_ms())), GOOD.properties
        ),
        "payload-invalid",
        "without a value",
    ),
    "native null value": (native(TENANT, None), "payload-invalid", "without a value"),
    "no JSON": (encode(change(TENANT, b"not json", sequence=101)), "value-invalid", "no JSON"),
    "JSON, but a list": (encode(change(TENANT, b"[1]", sequence=102)), "value-invalid", "an array"),
    "NaN": (encode(change(TENANT, b'{"a":NaN}', sequence=103)), "value-invalid", "no JSON"),
    "relative path": (native("admin/policies/x", tenant()), "payload-invalid", "illegal path"),
    "path upwards": (native("/admin/policies/../../ledgers", tenant()), "payload-invalid", "illegal path"),
    "zero byte": (native("/admin/policies/a\x00b", tenant()), "payload-invalid", "illegal path"),
}


async def test_bad_events_are_quarantined_with_their_reason_and_the_good_ones_between_them_land(
    east: Site, bus_file: Path
) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        for number, (message, _, _) in enumerate(BAD.values(), 1):
            await west.say(message, change(path_of(f"good{number}"), tenant("after"), sequence=number + 1))
        await until(lambda: len(east.picture()) == len(BAD), "every good event lands")
        await until(lambda: backlog(bus_file, "east") == 0, "all of them are acknowledged")
    rows = {(row.poison.payload, tuple(sorted(row.poison.properties.items()))): row for row in east.quarantined()}
    assert len(rows) == len(BAD)
    for name, (message, code, detail) in BAD.items():
        poison = rows[message.payload, tuple(sorted(message.properties.items()))].poison
        assert (poison.origin, poison.code) == ("bus", code), name
        assert detail in poison.detail, name
    assert east.get(TENANT) is None


async def test_a_peer_of_a_newer_version_is_paused_and_fills_no_quarantine(east: Site, bus_file: Path) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(*(with_properties(v="2", seq=str(number)) for number in range(1, 51)))
        await west.say(change(path_of("friend"), tenant("friend"), region="north", sender="n" * 32))
        await until(lambda: east.get(path_of("friend")) is not None, "another region's event lands")
        await until(lambda: "peer-protocol-unknown" in east.conditions(), "the status says so")
    assert east.quarantined() == []
    assert east.get(TENANT) is None


async def test_an_expected_region_is_heard_and_a_stranger_neither_heard_nor_obeyed(
    make_site: MakeSite, bus_file: Path
) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    async with east.running(), Bystander(bus_file, "mars") as mars:
        await active(east)
        order = Control(
            region=Region("mars"),
            sender="m" * 32,
            action=ControlAction.PAUSE,
            reason="mine",
            sent_at_ms=wall_clock_ms(),
        )
        await mars.say(change(TENANT, tenant("evil"), region="mars", sender="m" * 32), order)
        await mars.say(change(path_of("friend"), tenant(), region="west"))
        await until(lambda: east.get(path_of("friend")) is not None, "the expected region's event lands")
        await until(lambda: len(east.quarantined()) == 2, "the stranger's are quarantined")
    assert east.codes() == ["unknown-region", "unknown-region"]
    assert east.get(TENANT) is None
    assert east.status().identity.paused is None


async def test_a_quarantined_event_can_be_tried_again_and_comes_back_if_it_fails_again(
    make_site: MakeSite, bus_file: Path
) -> None:
    east = make_site("east", peers={"expected": ["west"]})
    async with east.running(), Bystander(bus_file, "mars") as mars:
        await active(east)
        await mars.say(change(TENANT, tenant("kept"), region="mars", sender="m" * 32))
        await until(east.quarantined, "the event is quarantined")
        number = str(east.quarantined()[0].id)
        answer = await east.do("quarantine-retry", id=number)
        assert answer.answer == "it cannot be handled still: region 'mars' is not among the expected peers"
    assert east.codes() == ["unknown-region"]
    async with east.running(peers={"expected": ["west", "mars"]}):
        await active(east)
        answer = await east.do("quarantine-retry", id=str(east.quarantined()[0].id))
        assert answer.answer == "decoded and handled"
        await until(lambda: east.get(TENANT) == tenant("kept"), "the event lands")
    assert east.quarantined() == []


async def test_a_quarantined_event_can_be_discarded(east: Site, bus_file: Path) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(Outgoing(b"\x01", {}))
        await until(east.quarantined, "it is quarantined")
        answer = await east.do("quarantine-discard", id=str(east.quarantined()[0].id))
        assert answer.answer == "discarded"
        again = await east.do("quarantine-discard", id="77")
        assert again.code == "not-found"
    assert east.quarantined() == []


async def test_ephemeral_and_local_paths_of_a_native_region_are_none_of_our_business(
    east: Site, bus_file: Path
) -> None:
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(native("/loadbalance/brokers/b:8080", b"{}"), native("/admin/local-policies/a/b", b"{}"))
        await west.say(native(TENANT, tenant("native")))
        await until(lambda: east.get(TENANT) == tenant("native"), "the resource lands")
    assert east.quarantined() == []
    assert east.get(MetaPath("/loadbalance/brokers/b:8080")) is None


async def test_an_event_from_the_future_waits_and_can_be_released(east: Site, bus_file: Path) -> None:
    ahead = Millis(wall_clock_ms() + 3_600_000)
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(change(TENANT, tenant("tomorrow"), time_ms=ahead))
        await until(lambda: east.status().counts.future_events == 1, "it is held")
        assert east.get(TENANT) is None
        answer = await east.decide("release", TENANT)
        assert answer.answer == f"{ahead}@west is folded as it is"
        await until(lambda: east.get(TENANT) == tenant("tomorrow"), "it is written")
        assert east.status().counts.future_events == 0
        again = await east.do("release", path=TENANT, stamp=f"{ahead}@west", known="", stored="", digest="")
        assert again.code == "not-found"


async def test_an_event_slightly_from_the_future_is_released_by_time(make_site: MakeSite, bus_file: Path) -> None:
    east = make_site("east", limits={"max_clock_skew": "1s"})
    async with east.running(), Bystander(bus_file) as west:
        await active(east)
        await west.say(change(TENANT, tenant("soon"), time_ms=wall_clock_ms() + 2500))
        await until(lambda: east.status().counts.future_events == 1, "it is held")
        await until(lambda: east.get(TENANT) == tenant("soon"), "its time has come")


async def test_fields_that_nobody_knows_are_kept_through_a_round_trip(east: Site, west: Site) -> None:
    odd = tenant("a", futureField={"deep": [1, {"x": None}], "big": 12345678901234567890123, "text": "é"})
    async with east.running(), west.running():
        await active(east, west)
        east.writer.put(TENANT, odd)
        await equal_at(west, TENANT, odd)
        document = orjson.loads(tenant("b"))
        document["futureField"] = {"other": True}
        back = orjson.dumps(document)
        west.writer.put(TENANT, back)
        await equal_at(east, TENANT, back)
    assert b"other" in (east.get(TENANT) or b"")


async def equal_at(site: Site, path: MetaPath, value: bytes) -> None:
    """Wait until the store holds the same, all fields included."""
    await until(
        lambda: (held := site.get(path)) is not None and tenants.digest(held) == tenants.digest(value),
        f"{site.name} holds it",
    )
