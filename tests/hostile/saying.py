"""What attacks say on the bus and make in a store, as pieces: sound messages with one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import anyio.to_thread
import orjson

from syncer.bus.contract import Outgoing
from syncer.bus.wire.codec import encode
from syncer.bus.wire.messages import Said, StatePage, StateRequest, TreeMessage
from syncer.bus.wire.native import NativeEvent, NativeType, decode_native, encode_native
from syncer.bus.wire.tree_bodies import Listing, TreeEntry, listing_body
from syncer.conflict.classes.pairs import label_of
from syncer.conflict.scope import Scope, fingerprint_of
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, Seen, Stamp
from syncer.paths import PARTITIONED_TOPICS, RESOURCE_GROUPS
from tests.hostile.group import Member
from tests.hostile.scene import Scene
from tests.shell.region import NAMESPACE, TENANT, tenant

LEVELS: Final = 100_000
DEEP: Final = b'{"a":' * LEVELS + b"1" + b"}" * LEVELS
YEAR_2200_MS: Final = 7_258_118_400_000
YEAR_9999_MS: Final = 253_402_300_799_000
BIDI: Final = "\u202e"
ESCAPE: Final = "\x1b[2J"
MIB: Final = 1 << 20
LOST: Final = 300
RUNGS: Final = 2_000
SKEW_MS: Final = 30_000
"""How far clocks may differ, by default."""


def tree(scene: Scene, step: str, body: bytes, **facts: str) -> TreeMessage:
    """A step of a comparison that nobody has begun."""
    return TreeMessage(
        region=Region(facts.get("region", scene.name)),
        sender=scene.sender,
        sent_at_ms=scene.now,
        target=facts.get("target", "east"),
        label=facts.get("label", label_of(Scope())),
        step=step,
        round=1,
        body=body,
    )


def asked(scene: Scene, region: str, **facts: object) -> StateRequest:
    """Somebody says to have lost a database."""
    return StateRequest(
        region=Region(region),
        sender=scene.sender,
        sent_at_ms=scene.now,
        target="east",
        after=str(facts.get("after", "")),
        told=int(str(facts.get("told", 0))),
    )


def told(scene: Scene, region: str, asker: str) -> StatePage:
    """An answer that nobody has asked for."""
    entry = (str(scene.victim), scene.now + 1, region, f"{region}~1", {f"{region}~1": scene.now + 1}, None)
    return StatePage(
        region=Region(region),
        sender=scene.sender,
        sent_at_ms=scene.now,
        target="east",
        asker=asker,
        entries=(entry,),
        last=True,
        total=1,
    )


def lying_listing(scene: Scene, *entries: TreeEntry) -> bytes:
    """Says to hold what nobody has."""
    made_up = [
        TreeEntry(scene.path(f"lie{number:04}"), Digest(bytes(16)), Stamp(scene.now, Region(scene.name)))
        for number in range(900)
    ]
    return listing_body(Listing(buckets=list(range(4096)), entries=[*made_up, *entries]))


def native(scene: Scene, path: str, source: str | None, **facts: object) -> Outgoing:
    """A record as a broker's own synchronizer would send it."""
    record = NativeEvent(path, tenant("evil"), source, NativeType.MODIFIED, scene.now)
    return Outgoing(encode_native(record._replace(**facts)), {})  # type: ignore[arg-type]  # fields by name


def topic(name: str) -> MetaPath:
    """Path of a partitioned topic, as Pulsar writes it."""
    return MetaPath(f"{PARTITIONED_TOPICS}/acme/orders/persistent/{name}")


async def make_topic(scene: Scene, name: str) -> None:
    """A tenant makes a partitioned topic in a namespace of its own, and it has to be everywhere."""
    await make(scene, TENANT, tenant("acme"))
    await make(scene, NAMESPACE, b'{"replication_clusters":["east","north","west"]}')
    await make(scene, topic(name), b'{"partitions":3}')


async def make(scene: Scene, path: str, value: bytes) -> MetaPath:
    """A tenant makes something, and it has to be everywhere."""
    return scene.group.write(scene.east, MetaPath(path), value)


async def tell_rules_of_many_ways(scene: Scene) -> None:
    """Rules of which an expression tries every way to part letters between wildcards, and a name of such letters."""
    rules = "\n".join(["ignore /admin/policies/**a**a**a*a*a*b"] * 40)
    await scene.say(scene.beat(rules=rules, scope=fingerprint_of(rules)))
    await make(scene, f"/admin/policies/{'a' * 401}", tenant("acme"))


async def make_aside(scene: Scene, path: str, value: bytes) -> None:
    """A tenant makes something that nobody can carry."""
    scene.east.writer.put(path, value)


async def make_both(scene: Scene) -> None:
    for sign in (BIDI, "\u00a0"):
        await make(scene, f"{RESOURCE_GROUPS}/group{scene.number}{sign}", b'{"publishRateInMsgs":1}')


async def make_odd(scene: Scene) -> None:
    for sign in ("\n", ESCAPE, "\x9b"):
        await make_aside(scene, f"{scene.path()}{sign}", tenant("odd"))


async def make_nonsense(scene: Scene) -> None:
    values = (b"no JSON", DEEP, b'{"a":"\\ud800"}', b'{"a":1e999}', b'{"a":' + b"9" * 100_000 + b"}", b"\xff\xfe", b"")
    for number, value in enumerate(values):
        await make_aside(scene, scene.path(number), value)


def respelt(message: Said, **fields: object) -> Outgoing:
    """A message with some fields of its JSON replaced; what no daemon would let itself be made to say."""
    sound = encode(message)
    record = decode_native(sound.payload)
    said = orjson.loads(record.value or b"")
    text = json.dumps({**said, **fields}).encode()  # unlike orjson's, it writes lone surrogates too
    return Outgoing(encode_native(record._replace(value=text)), sound.properties)


def stamped(message: MetadataChangeEvent, time_ms: int) -> Outgoing:
    """A change with the time of its record replaced."""
    sound = encode(message)
    return Outgoing(encode_native(decode_native(sound.payload)._replace(timestamp_ms=time_ms)), sound.properties)


def climbing(scene: Scene, count: int, step_ms: int) -> Iterator[MetadataChangeEvent]:
    """Changes of one path, each of which follows the one before, so many milliseconds later."""
    began = scene.now
    for number in range(1, count + 1):
        yield scene.change(path=scene.victim, time_ms=Millis(began + number * step_ms), sequence=number)


def replace_seen(event: MetadataChangeEvent, seen: Seen) -> MetadataChangeEvent:
    """A change whose author says to have seen this."""
    return replace(event, seen=seen)


async def make_many(scene: Scene, count: int) -> None:
    """Tenants that all have to be everywhere."""
    for number in range(count):
        await make(scene, scene.path(number), tenant("many"))


async def lose_beside_poison(scene: Scene) -> None:
    """Paths that are lost on the bus, in a region that holds others which nobody can carry."""
    await make_nonsense(scene)
    await make_odd(scene)
    await make_aside(scene, topic(f"t{scene.number}" + "%C3%A9" * 10_000), b'{"partitions":3}')
    await scene.group.lose(LOST, scene.east)


async def climb(scene: Scene) -> None:
    """Up a ladder as high as 16 hours beyond the clock; nobody follows it further than clocks may differ."""
    victim = scene.victim
    await scene.say_all(climbing(scene, RUNGS, SKEW_MS - 1_000))
    if not scene.believed:
        return
    await scene.until(lambda: all(map(_holds_rungs, scene.group)), "all hold the rungs that are too high")
    for member in scene.group:
        register = member.ask(lambda views: views.register(victim))
        ahead = register.known.stamp.updated_at_ms - scene.now
        assert ahead <= SKEW_MS, f"{member.name} takes a path that lies {ahead / 1000:.0f} s ahead of all clocks"


def _holds_rungs(member: Member) -> bool:
    return member.status().counts.future_events >= RUNGS * 9 // 10


async def make_large(scene: Scene) -> None:
    """A tenant with as many roles as there is room for."""
    await make(scene, scene.path("large"), tenant("x" * (MIB - 100)))


async def scrawl(scene: Scene, *properties: bytes) -> None:
    """Messages with properties that no program of ours would write, where that can be done."""
    for each in properties:
        await anyio.to_thread.run_sync(scene.group.ground.scrawl, each, scene.spoilt().payload)
    scene.group.write_everywhere()
