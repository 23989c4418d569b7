"""Attacks by each field of a heartbeat and each type of message: as large as may be, false, again, in another name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.wire.fields import NUMBERS
from syncer.bus.wire.messages import ControlAction, Said
from syncer.model import Millis, Region
from tests.hostile.attack import BELIEVED, EVERYBODY, SPEAKERS, Attack, Topic, Who
from tests.hostile.beats import SIZES, false_facts, sized
from tests.hostile.cells.columns import cost, forged, lie, replay
from tests.hostile.cells.rows import FIELDS, MESSAGES
from tests.hostile.saying import asked, lying_listing, make, native, told, tree
from tests.hostile.scene import Scene
from tests.shell.region import path_of, tenant

PATHS: Final = 1_000
REQUESTS: Final = 20
REPEATED: Final = 600
"""Messages of the bus that are said again, the latest."""
HARMLESS: Final = ("version", "brokers", "able", "ready", "roots", "retold", "alive", "excluded", "offloaded")
"""Fields that honest heartbeats leave empty here: the attacker's own say something before all is said again."""


def each_request(scene: Scene, *, target: str = "", paths: int = 1, **facts: object) -> Iterator[Said]:
    """Yield a request of each kind."""
    some = tuple(str(scene.path(number)) for number in range(paths))
    about: dict[ControlAction, tuple[str, ...]] = {
        ControlAction.REQUEST: some,
        ControlAction.LACKING: some,
        ControlAction.FORGET: (f"mars{scene.number}", *(f"{number:032x}" for number in range(paths))),
        ControlAction.PROVE: (scene.database("east"),),
    }
    for number, action in enumerate(ControlAction, start=1):
        yield scene.control(action, *about.get(action, ()), target=target, number=number, **facts)


def each_message(scene: Scene, **facts: str) -> Iterator[Said | Outgoing]:
    """Yield a message of each type but heartbeats, all of one region and database."""
    name, sender = facts["region"], facts["sender"]
    yield scene.change(path=scene.victim, value=tenant("forged"), region=name, sender=sender, sequence=NUMBERS - 1)
    yield scene.change(path=scene.victim, value=None, region=name, sender=sender, sequence=NUMBERS - 1)
    yield from each_request(scene, region=Region(name), sender=sender)
    yield replace(tree(scene, "listing", lying_listing(scene), region=name), sender=sender)
    yield replace(asked(scene, name), sender=sender)
    yield replace(told(scene, name, scene.database("east")), sender=sender)
    yield native(scene, str(scene.victim), name)


async def forge(scene: Scene) -> None:
    """Say everything in west's name, by west's own database."""
    west = {"region": "west", "sender": scene.database("west")}
    await scene.say_all(
        (
            *each_message(scene, **west),
            *(scene.beat(**{**west, **facts}) for facts in false_facts(scene).values()),
        )
    )


async def say_all_again(scene: Scene) -> None:
    """Have something deleted, then say everything again that was ever said, in order and backwards."""
    doomed = scene.path("doomed")
    scene.east.writer.put(doomed, tenant("doomed"))
    await scene.until(lambda: all(member.get(doomed) for member in scene.group), "it is everywhere")
    scene.west.writer.delete(doomed)
    await scene.until(lambda: not any(member.get(doomed) for member in scene.group), "and gone everywhere")
    own: list[Said | Outgoing] = [
        *each_request(scene, target="nobody"),
        *(scene.beat(**facts) for name, facts in false_facts(scene).items() if name in HARMLESS),
        tree(scene, "groups", b""),
        asked(scene, scene.name),
        told(scene, scene.name, scene.sender),
    ]
    signed: list[Outgoing] = []
    await scene.attacker.say(own, keep=signed)
    history = [*(scene.group.ground.said() or signed)][-REPEATED:]
    for messages in (history, history[::-1]):
        await scene.attacker.repeat(messages)
    paths = scene.group.write_everywhere()
    await scene.until(lambda: all(member.get(path) for member in scene.group for path in paths), "all go on")
    assert not any(member.get(doomed) for member in scene.group), "what was deleted stands there again"


async def grow(scene: Scene) -> None:
    """Say each field as large as it may be, then larger."""
    await scene.say_all(sized(scene, attrgetter("most")))
    await scene.say_all(sized(scene, attrgetter("beyond")))
    if scene.believed:
        before = scene.before["east"].last_poison
        await scene.until(lambda: len(scene.east.poisoned(before)) >= len(SIZES), "each larger one is set aside")


def _false(scene: Scene, *names: str) -> Iterator[Said]:
    """Yield heartbeats with these fields false, in the attacker's own name and in west's."""
    facts = false_facts(scene)
    for _ in range(3):
        for name in names:
            yield scene.beat(**facts[name])
            yield scene.as_west(**facts[name])


async def _among_clusters(scene: Scene, *names: str) -> None:
    """Say heartbeats with these fields false; a tenant and a namespace that name clusters have to be everywhere."""
    await scene.say_all(_false(scene, *names))
    clusters = ["east", "north", "west"]
    name = f"clusters-{scene.number}"
    await make(scene, path_of(name), tenant("acme", allowedClusters=clusters))
    await make(scene, f"{path_of(name)}/one", json.dumps({"replication_clusters": clusters}).encode())


async def _by_other_names(scene: Scene) -> None:
    """Say that clusters have other names; then the operator of each region says that nobody waits for who said so."""
    await _among_clusters(scene, "clusters", "names", "renaming")
    if scene.believed:
        for member in scene.group:
            await member.command("regions", "forget", scene.name, "--force", "--yes", "--timeout", "60")


def _fields(*names: str) -> tuple[str, ...]:
    return tuple(f"heartbeat {name}" for name in names)


BY_FIELDS: Final[tuple[Attack, ...]] = (
    Attack(
        name="everything in the name of another",
        topic=Topic.NAMES,
        what="A message of each type, and a heartbeat with each field false, in west's name by west's own database.",
        does=forge,
        who=(Who.STRANGER, Who.NAMED),
        fills=forged(*MESSAGES, *FIELDS),
    ),
    Attack(
        name="everything that was ever said, once more",
        topic=Topic.ASKING,
        what="The latest 600 messages of the bus, as they were signed: once more in order, and once more backwards.",
        does=say_all_again,
        who=EVERYBODY,
        fills=replay(*MESSAGES, *FIELDS),
    ),
    Attack(
        name="every field as large as may be, and larger",
        topic=Topic.ROOM,
        what="For each field of a heartbeat one of the greatest size, and one beyond it, which is refused.",
        does=grow,
        who=SPEAKERS,
        apart=True,
        fills=cost("message Heartbeat", *_fields(*SIZES)),
    ),
    Attack(
        name="versions and projections that nobody has",
        topic=Topic.BLOCKING,
        what="Heartbeats of brokers, of a version, projections and offloaded namespaces that nobody has, in two names.",
        does=lambda s: s.say_all(_false(s, "version", "brokers", "able", "ready", "roots", "offloaded")),
        who=EVERYBODY,
        fills=lie("message Heartbeat", *_fields("version", "brokers", "able", "ready", "roots", "offloaded")),
    ),
    Attack(
        name="deletes that are never applied",
        topic=Topic.BLOCKING,
        what="Heartbeats say that deletes since 1970 wait, and that all were told again, in an own name and in west's.",
        does=lambda s: s.say_all(_false(s, "unseated_deletes", "oldest_unseated_ms", "retold")),
        who=EVERYBODY,
        fills=lie(*_fields("unseated_deletes", "oldest_unseated_ms", "retold")),
    ),
    Attack(
        name="fields that are said to be a region's own",
        topic=Topic.BLOCKING,
        what="Heartbeats say that every region may set roles and clusters for itself, in an own name and in west's.",
        does=lambda s: _among_clusters(s, "excluded"),
        who=EVERYBODY,
        fills=lie(*_fields("excluded")),
    ),
    Attack(
        name="clusters by other names",
        topic=Topic.BLOCKING,
        what="Heartbeats say that east is called west and west east, in an own name and in west's.",
        does=_by_other_names,
        remains="Without peers.expected, changes that name clusters wait until every region has forgotten who says so.",
        who=EVERYBODY,
        fills=lie(*_fields("clusters", "names", "renaming")),
    ),
    Attack(
        name="requests of the greatest size",
        topic=Topic.ROOM,
        what="20 requests of each kind with 1,000 paths and a reason of 100,000 characters.",
        does=lambda s: s.say_all(
            request for _ in range(REQUESTS) for request in each_request(s, paths=PATHS, reason="r" * 100_000)
        ),
        cure=("resume --everywhere",),
        apart=True,
        fills=cost(*(f"message Control {action}" for action in ControlAction)),
    ),
    Attack(
        name="requests for what never was",
        topic=Topic.ASKING,
        what="Requests in an own name and in west's to go on, to prove what was never sent, and for other versions.",
        does=lambda s: s.say(
            s.control(ControlAction.RESUME, number=1),
            *(
                request
                for facts in ({}, {"region": Region("west"), "sender": s.database("west")})
                for request in (
                    s.control(ControlAction.PROVE, s.database("east"), **facts),
                    s.control(ControlAction.PROVE, s.database("east"), number=NUMBERS - 1, **facts),
                    s.control(ControlAction.REQUEST, str(s.victim), stamps=((Millis(1), Region("mars")),), **facts),
                    s.control(ControlAction.LACKING, str(s.victim), stamps=((s.now, Region("east")),), **facts),
                )
            ),
        ),
        who=EVERYBODY,
        remains="A request to go on is obeyed: what an operator has paused goes on.",
        fills=lie(*(f"message Control {each}" for each in ("resume", "prove", "request", "lacking"))),
    ),
    Attack(
        name="listings that are asked for and told without end",
        topic=Topic.ROOM,
        what="200 questions for everything, 200 steps of comparisons and 200 pages that nobody has asked for.",
        does=lambda s: s.say_all(
            message
            for _ in range(200)
            for message in (
                asked(s, s.name),
                tree(s, "listing", lying_listing(s)),
                told(s, s.name, s.database("east")),
            )
        ),
        who=BELIEVED,
        apart=True,
        fills=cost("message StateRequest", "message StatePage", "message TreeMessage"),
    ),
    Attack(
        name="records of a broker without end",
        topic=Topic.ROOM,
        what="2,000 changes as a broker of an invented cluster would publish them, of a hundred paths.",
        does=lambda s: s.say_all(native(s, str(s.path(number % 100)), s.name) for number in range(2_000)),
        who=BELIEVED,
        apart=True,
        fills=cost("message native"),
    ),
)
