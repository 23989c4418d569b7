"""A hostile peer: what it says does no harm, takes bounded room, is refused in words, and nobody else is held up.

Three of them: one who lacks the group's key, one who has it, and one in a group that has no key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from syncer.bus.contract import Outgoing
from syncer.bus.trust.signing import UNSIGNED, Keyring
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Control, ControlAction, StatePage, StateRequest, TreeMessage
from syncer.bus.wire.native import decode_native, encode_native
from syncer.bus.wire.tree_bodies import Listing, TreeEntry, buckets_body, groups_body, listing_body
from syncer.conflict.classes.pairs import label_of
from syncer.conflict.digest_tree import BUCKETS, GROUPS
from syncer.conflict.scope import Scope
from syncer.model import Digest, MetaPath, Millis, Region, Stamp
from syncer.replication.antientropy.protocol import MAX_REQUESTED
from syncer.replication.group import peers
from syncer.replication.inbound import arrived, quarantine
from syncer.replication.inbound.quarantine import Shelf
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.state.contract.conflicts import Amount
from syncer.waiting import until
from tests.shell.on_bus import Bystander, backlog, change, heartbeat
from tests.shell.region import TENANT, Site, active, equal, heard, path_of, tenant
from tests.support.parts import parts_of
from tests.support.scrawling import scrawl

YEAR_2200_MS: Final = 7_258_118_400_000
EVIL: Final = "e" * 32
NAMESPACE_ODD: Final = MetaPath("/admin/policies/acme/odd")
LEVELS: Final = 100_000
DEEP: Final = b'{"a":' * LEVELS + b"1" + b"}" * LEVELS
DEEP_AND_BIG: Final = b'{"a":[' + b"[" * LEVELS + b"12345678901234567890123" + b"]" * LEVELS + b"]}"


@pytest.fixture(params=["sqlite"])
def regions(request: pytest.FixtureRequest, regions: tuple[Site, Site]) -> tuple[Site, Site]:
    """Two honest regions; east's database is of this kind."""
    if request.param == "postgres":
        regions[0].shared = request.getfixturevalue("postgres_url")
    return regions


ON_EACH_DATABASE: Final = pytest.mark.parametrize(
    "regions", ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))], indirect=True
)


def evil(name: str, value: bytes | None, sequence: int, **facts: Any) -> Outgoing:
    """A change of the hostile region."""
    return encode(change(path_of(name), value, **{"region": "evil", "sender": EVIL, "sequence": sequence, **facts}))


def spoilt(**properties: str) -> Outgoing:
    """A change with some properties replaced."""
    sound = evil("spoilt", tenant("evil"), 900)
    return Outgoing(sound.payload, {**sound.properties, **{f"syncer.{n}": text for n, text in properties.items()}})


def beat(**fields: object) -> Outgoing:
    """A heartbeat of the hostile region with some fields of its JSON replaced."""
    sound = encode(heartbeat("evil", sender=EVIL))
    record = decode_native(sound.payload)
    said = orjson.dumps({**orjson.loads(record.value or b""), **fields})
    return Outgoing(encode_native(record._replace(value=said)), sound.properties)


def at(path: str) -> Outgoing:
    """A change of the hostile region at a path that no honest region would publish."""
    sound = evil("odd", tenant("evil"), 902)
    record = decode_native(sound.payload)._replace(path=path)
    return Outgoing(encode_native(record), {**sound.properties, "syncer.name": path.rpartition("/")[2]})


REFUSED: Final[dict[str, tuple[Callable[[], Outgoing], str]]] = {
    "our own region": (lambda: evil("a", tenant("evil"), 1, region="east"), "region-id-in-use"),
    "a stamp beyond all years": (lambda: stamped(10**17), "payload-invalid"),
    "a stamp before all years": (lambda: stamped(-5), "payload-invalid"),
    "deep JSON": (lambda: evil("b", DEEP, 2), "value-invalid"),
    "deep JSON around a large number": (lambda: evil("c", DEEP_AND_BIG, 3), "value-invalid"),
    "a number of many digits": (lambda: evil("d", b'{"a":' + b"9" * 1_000_000 + b"}", 4), "value-invalid"),
    "a number beyond all numbers": (lambda: evil("e", b'{"a":1e999}', 5), "value-invalid"),
    "a negative number of the sender": (lambda: spoilt(seq="-1"), "payload-invalid"),
    "a huge number of the sender": (lambda: spoilt(seq="9" * 18), "payload-invalid"),
    "another kind": (lambda: spoilt(kind="poem"), "payload-invalid"),
    "another kind of 1 MB": (lambda: spoilt(kind="x" * 1_000_000), "payload-invalid"),
    "another type": (lambda: spoilt(type="Deleted"), "payload-invalid"),
    "another resource": (lambda: spoilt(resource="namespace"), "payload-invalid"),
    "a counter of another region": (lambda: spoilt(by="west~1"), "payload-invalid"),
    "a counter of 1 MB": (lambda: spoilt(by="evil~" + "1" * 1_000_000), "payload-invalid"),
    "a sender of 1 MB": (lambda: spoilt(sender="e" * 1_000_000), "payload-invalid"),
    "a vector that is deep": (lambda: spoilt(seen='{"a":' * LEVELS), "payload-invalid"),
    "a vector without the change": (lambda: spoilt(seen='{"evil~1":1}'), "payload-invalid"),
    "a vector of negative times": (lambda: spoilt(seen='{"evil~1":-1}'), "payload-invalid"),
    "a heartbeat of huge numbers": (lambda: beat(last_sequence=2**60), "payload-invalid"),
    "a heartbeat of negative numbers": (lambda: beat(reached={"x": -1}), "payload-invalid"),
    "a heartbeat that lists too much": (
        lambda: beat(consumed={f"{number:032x}": 1 for number in range(20_000)}),
        "payload-invalid",
    ),
    "a heartbeat of long names": (lambda: beat(version="v" * 100_000), "payload-invalid"),
    "a heartbeat of many refusals": (lambda: beat(refused=[["r", "d"]] * 5_000), "payload-invalid"),
    "a sender with a zero byte": (lambda: spoilt(sender="e\0"), "payload-invalid"),
    "a sender with an escape": (lambda: spoilt(sender="e\x1b[2J"), "payload-invalid"),
    "a sender that turns the text around": (lambda: spoilt(sender="e\u202e"), "payload-invalid"),
    "a sender of two lines": (lambda: spoilt(sender="e\u2028f"), "payload-invalid"),
    "a counter with a zero byte": (lambda: spoilt(by="evil~1\0"), "payload-invalid"),
    "a counter with an invisible sign": (lambda: spoilt(by="evil~1\u200b"), "payload-invalid"),
    "a vector with a zero byte": (lambda: spoilt(seen=f'{{"evil~1":{YEAR_2200_MS},"a\\u0000":1}}'), "payload-invalid"),
    "a region with a zero byte": (lambda: evil("f", tenant("evil"), 6, region="ev\0il"), "payload-invalid"),
    "a region that turns the text around": (
        lambda: evil("g", tenant("evil"), 7, region="\u202eevil"),
        "payload-invalid",
    ),
    "a path with a zero byte": (lambda: at("/admin/policies/a\0b"), "payload-invalid"),
    "a path of 40,000 bytes": (lambda: at(f"/admin/policies/{'x' * 40_000}"), "payload-invalid"),
    "a heartbeat of a sender with a zero byte": (lambda: encode(heartbeat("evil", sender="e\0")), "payload-invalid"),
    "a heartbeat of a version with an escape": (lambda: beat(version="1\x1b[2J"), "payload-invalid"),
    "a heartbeat that met a zero byte": (lambda: beat(reached={"x\0": 1}), "payload-invalid"),
    "a heartbeat that refuses a zero byte": (lambda: beat(refused=[["old", "x\0"]]), "payload-invalid"),
    "a heartbeat of a generation with a zero byte": (lambda: beat(generations={"x\0": [1, "y"]}), "payload-invalid"),
    "a heartbeat that is deep": (lambda: beat(consumed=orjson.Fragment(DEEP)), "payload-invalid"),
}


def stamped(time_ms: int) -> Outgoing:
    sound = evil("stamped", tenant("evil"), 901)
    return Outgoing(encode_native(decode_native(sound.payload)._replace(timestamp_ms=time_ms)), sound.properties)


@ON_EACH_DATABASE
async def test_nonsense_is_refused_by_its_reason_and_holds_nobody_up(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await equal(east, west)
        for number, (make, _) in enumerate(REFUSED.values()):
            await hostile.say(mouth.sign(make()))
            west.writer.put(path_of(f"honest{number}"), tenant(str(number)))
        scrawl(bus_file, "evil", b"no text")
        wanted = sorted(code for _, code in REFUSED.values())
        if peer == "stranger":
            beats = sum(name.startswith("a heartbeat") for name in REFUSED)
            wanted = ["signature-invalid"] * (len(REFUSED) - beats)  # heartbeats are only counted
        wanted = sorted([*wanted, "message-unreadable"])
        honest = {TENANT, *(path_of(f"honest{number}") for number in range(len(REFUSED)))}
        await until(lambda: honest <= east.picture().keys(), "the honest region's arrive")
        await until(lambda: east.codes() == wanted, "each is refused by its reason")
        await equal(east, west)
        assert all(len(row.poison.detail) <= 2000 for row in east.quarantined())
        await until(lambda: peer == "stranger" or "region-id-in-use" in east.conditions(), "the status says it")
    # Of its own region east is sure; that the others believe whom the group's key makes a member, it can only report.
    assert not any(name in east.picture() for name in map(path_of, ("b", "c", "d", "e", "spoilt", "stamped")))
    assert peer != "stranger" or path_of("a") not in west.picture()


@ON_EACH_DATABASE
async def test_texts_that_break_a_database_or_a_terminal_are_kept_and_shown(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    """They stand in values, in what is asked for and in what is quarantined: nobody can refuse them all by a rule."""
    east, west = regions
    odd = "a\0b\x1b[2J\u202e\u2028"
    policies = orjson.dumps({"replication_clusters": [odd], "bundles": None})
    named: dict[str, Any] = {"region": Region("evil"), "sender": EVIL, "sent_at_ms": wall_clock_ms()}
    said = [
        encode(heartbeat("evil", sender=EVIL)),
        evil("acme/odd", policies, 1),
        encode(
            Control(action=ControlAction.REQUEST, paths=(f"/admin/policies/{odd}", "/admin/policies/a/b\0"), **named)
        ),
        encode(Control(action=ControlAction.LACKING, paths=(f"/admin/policies/{odd}",), **named)),
        encode(StateRequest(target="east", after=f"/admin/policies/{odd}", **named)),
        encode(TreeMessage(target="east", label=odd, step=odd, round=1, body=b"", **named)),
        encode(Control(action=ControlAction.FORGET, paths=(odd, odd), **named)),
        Outgoing(b"no AVRO", {"syncer.v": "1", "syncer.kind": odd, odd: odd}),
    ]
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await equal(east, west)
        await hostile.say(*map(mouth.sign, said))
        west.writer.put(path_of("later"), tenant("honest"))
        await until(lambda: east.get(path_of("later")) == tenant("honest"), "the others go on")
        await until(east.quarantined, "what cannot be understood is kept")
        if peer != "stranger":
            await until(lambda: NAMESPACE_ODD in east.holds(), "the guard holds, and says why")
            await hostile.say(mouth.sign(encode(Control(action=ControlAction.PAUSE, reason=odd, number=1, **named))))
            await until(lambda: east.status().identity.paused, "it is obeyed, and says why")
    assert east.get(TENANT) == tenant("honest")


async def test_the_year_2200_waits_for_a_person_and_a_value_of_5_mb_for_the_store(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    east, west = regions
    large = tenant("x" * (5 * 1024 * 1024 - 10_000))
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await equal(east, west)
        said = [evil("acme", tenant("2200"), 1, time_ms=YEAR_2200_MS), evil("acme", None, 2, time_ms=YEAR_2200_MS + 1)]
        said += [evil(f"large{number}", large, 3 + number) for number in range(6)]
        for message in said:
            await hostile.say(mouth.sign(message))
        west.writer.put(path_of("later"), tenant("honest"))
        await until(lambda: east.get(path_of("later")) == tenant("honest"), "the others go on")
        if peer == "stranger":
            await until(lambda: east.codes() == ["signature-invalid"] * len(said), "nothing is believed")
        else:
            await until(lambda: east.status().counts.future_events == 2, "the future waits")
            await until(lambda: east.status().counts.due == 6, "the store refuses the values")
            await until(east.quarantined, "which a person can see")
        west.writer.put(TENANT, tenant("still ours"))
        await until(lambda: east.get(TENANT) == tenant("still ours"), "the present wins over the future")
        assert set(east.picture()) == {TENANT, path_of("later")}


async def test_lies_about_trees_and_listings_change_nothing(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path
) -> None:
    """It says to hold what it does not, asks for all, and answers what nobody has asked."""
    east, west = regions
    label, now = label_of(Scope()), wall_clock_ms()
    entries = [
        TreeEntry(path_of(f"lie{number:04}"), Digest(bytes(16)), Stamp(Millis(now), Region("evil")))
        for number in range(1000)
    ]
    entries.append(TreeEntry(TENANT, Digest(bytes(16)), Stamp(Millis(YEAR_2200_MS), Region("evil"))))
    bodies = [
        ("groups", groups_body([1] * GROUPS)),
        ("buckets", buckets_body({group: [2] * BUCKETS for group in range(GROUPS)})),
        ("listing", listing_body(Listing(buckets=list(range(4096)), entries=entries))),
        ("remainder", listing_body(Listing(buckets=[0], entries=entries, differing=2**30))),
        ("listing", b"\x78\x9c" + b"\0" * 1000),
        ("groups", b""),
    ]
    told: list[Any] = [
        StatePage(
            region=Region(name),
            sender=EVIL,
            sent_at_ms=Millis(now),
            target="east",
            asker="0" * 32,
            entries=((path, now, "evil", "evil~1", {"evil~1": now}, None),),
            last=True,
            total=1,
        )
        for name, path in (("evil", TENANT), ("west", TENANT))
    ]
    told += [
        StateRequest(region=Region(f"evil{number}"), sender=EVIL, sent_at_ms=Millis(now), target="east")
        for number in range(100)
    ]
    async with east.running() as daemon, west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        west.writer.put(TENANT, tenant("honest"))
        await equal(east, west)
        for _ in range(3):
            await hostile.say(mouth.sign(encode(heartbeat("evil", sender=EVIL, tree=label, root="ab" * 16, alive=7))))
            for region in ("evil", "west"):
                for number, (step, body) in enumerate(bodies):
                    message = TreeMessage(
                        region=Region(region),
                        sender=EVIL,
                        sent_at_ms=Millis(now),
                        target="east",
                        label=label,
                        step=step,
                        round=number,
                        body=body,
                    )
                    await hostile.say(mouth.sign(encode(message)))
        await hostile.say(*(mouth.sign(encode(message)) for message in told))
        west.writer.put(path_of("later"), tenant("honest"))
        await until(lambda: east.get(path_of("later")) == tenant("honest"), "the others go on")
        assert daemon.pumps is not None
        parts = parts_of(daemon.pumps.driver)
        assert len(parts.recovery.values.requested) <= MAX_REQUESTED
        assert set(east.picture()) == set(west.picture()) == {TENANT, path_of("later")}
        assert east.get(TENANT) == tenant("honest")
        if peer == "stranger":
            await until(lambda: heard(east) == ["west"], "who is honest is heard, nobody else")
            assert "evil" not in parts.antientropy.exchanges.peers


async def test_a_flood_takes_no_more_room_than_there_is(
    peer: str, mouth: Keyring, regions: tuple[Site, Site], bus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = {
        Shelf.STRANGERS: Amount(20, 1 << 20),
        Shelf.POISON: Amount(30, 1 << 20),
        Shelf.FUTURE: Amount(10, 1 << 20),
    }
    monkeypatch.setattr(quarantine, "ROOM", room)
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        flood = [evil(f"t{number}", b"no JSON", number) for number in range(1, 101)]
        flood += [evil(f"t{number}", tenant(), number, time_ms=YEAR_2200_MS) for number in range(101, 201)]
        await hostile.say(*map(mouth.sign, flood))
        west.writer.put(TENANT, tenant("honest"))
        await until(lambda: east.get(TENANT) == tenant("honest"), "the others go on")
        await until(lambda: "quarantine-full" in east.conditions(), "the status says it")
        await until(lambda: backlog(bus_file, "east") <= 2, "all of it was read")
        held = east.status().counts.future_events
        assert (len(east.quarantined()), held) == ((20, 0) if peer == "stranger" else (30, 10))
        let_go = len(flood) - 20 if peer == "stranger" else len(flood) - 40
        await until(lambda: east.report()["tally"]["refused.quarantine-full"] == let_go, "each one is counted")
        through = {row.sender: row for row in east.ask(lambda views: views.peers())}
        assert EVIL not in through
    assert set(east.picture()) == {TENANT}


async def test_regions_that_nobody_has_do_not_fill_the_memory(
    mouth: Keyring, peer: str, regions: tuple[Site, Site], bus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "PEERS_KEPT", 5)
    east, west = regions
    async with east.running(), west.running(), Bystander(bus_file, "evil") as hostile:
        await active(east, west)
        await until(lambda: east.report().get("peers"), "west is heard")
        for number in range(20):
            await hostile.say(mouth.sign(encode(heartbeat(f"evil{number}", sender=f"{number:032x}"))))
        west.writer.put(TENANT, tenant("honest"))
        await until(lambda: east.get(TENANT) == tenant("honest"), "the others go on")
        if peer == "stranger":
            assert heard(east) == ["west"]
        else:
            await until(lambda: "too-many-regions" in east.conditions(), "the status says it")
            assert len(east.report()["peers"]) == 5


def test_the_messages_above_are_sound_but_for_what_they_say() -> None:
    """Else they would be refused for another reason."""
    sound = evil("sound", tenant("x"), 1)
    taken = arrived.arrived_of(sound.payload, sound.properties, "1", UNSIGNED)
    assert taken.message == replace(taken.message)  # type: ignore[type-var]
    message = beat()
    assert not isinstance(arrived.arrived_of(message.payload, message.properties, "1", UNSIGNED).message, Exception)
    assert MetaPath(path_of("sound")) == path_of("sound")
