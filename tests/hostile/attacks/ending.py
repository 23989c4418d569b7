"""Attacks that aim at the process, at what people are shown, and at having a region do what nobody wants."""

from __future__ import annotations

import json
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.wire.messages import ControlAction
from syncer.model import Millis, Region
from tests.hostile.attack import BELIEVED, Attack, Topic
from tests.hostile.cells.columns import lie
from tests.hostile.operating import shows_no_sign_that_acts
from tests.hostile.saying import (
    BIDI,
    DEEP,
    ESCAPE,
    LEVELS,
    YEAR_9999_MS,
    asked,
    native,
    respelt,
    scrawl,
)
from tests.shell.region import tenant

ENDING: Final[tuple[Attack, ...]] = (
    Attack(
        name="a NUL in a sender",
        topic=Topic.ENDING,
        what="A change whose sender holds a NUL, which PostgreSQL does not take.",
        does=lambda s: s.say(s.spoilt(sender="evil\0")),
        sees=lambda s: s.set_aside("payload-invalid"),
    ),
    Attack(
        name="a NUL in a counter",
        topic=Topic.ENDING,
        what="A change whose counter and vector hold a NUL.",
        does=lambda s: s.say(
            s.spoilt(by=f"{s.name}~1\0", seen=json.dumps({f"{s.name}~1\0": s.now + 1000})),
            s.spoilt(seen=json.dumps({f"{s.name}~1": s.now + 1000, "a\0b": 1})),
        ),
        sees=lambda s: s.set_aside("payload-invalid"),
    ),
    Attack(
        name="a NUL in a heartbeat's sender",
        topic=Topic.ENDING,
        what="A heartbeat whose sender holds a NUL.",
        does=lambda s: s.say(s.beat(sender="evil\0")),
    ),
    Attack(
        name="a NUL in what a heartbeat lists",
        topic=Topic.ENDING,
        what="Heartbeats with a NUL in the databases, rules and generations that they list.",
        does=lambda s: s.say(
            s.beat(consumed={"a\0": 1}),
            s.beat(reached={"a\0": 1}),
            s.beat(version="1\0"),
            s.beat(scope="s\0"),
            s.beat(mode="m\0"),
            s.beat(projections={"tenant\0": "x\0"}),
            s.beat(generations={"mars\0": (2, "a\0")}),
            s.beat(refused=(("mars", "a\0"),)),
        ),
    ),
    Attack(
        name="a NUL in the paths of a request",
        topic=Topic.ENDING,
        what="Requests for paths that are none: with a NUL, relative, empty, of 100,000 characters.",
        does=lambda s: s.say(
            *(
                s.control(action, *paths, target="east")
                for action in (ControlAction.REQUEST, ControlAction.LACKING)
                for paths in (
                    ("/admin/policies/\0",),
                    ("admin/policies/a",),
                    ("",),
                    ("/",),
                    ("/admin/policies/" + "x" * 100_000,),
                    ("/admin/policies/" + BIDI,),
                )
            )
        ),
    ),
    Attack(
        name="a NUL in what is to be forgotten",
        topic=Topic.ENDING,
        what="Requests to forget regions and databases whose names hold a NUL, or are endless.",
        does=lambda s: s.say(
            s.control(ControlAction.FORGET, "mars\0", "a\0"),
            s.control(ControlAction.FORGET, f"mars{s.number}", "a\0"),
            s.control(ControlAction.FORGET, "m" * 100_000, "a" * 100_000),
            s.control(ControlAction.FORGET, ""),
            s.control(ControlAction.FORGET),
        ),
    ),
    Attack(
        name="a pause with signs that move the cursor",
        topic=Topic.ASKING,
        what="A request to pause whose reason holds a NUL, terminal escapes and signs that turn the line.",
        does=lambda s: s.say(s.control(ControlAction.PAUSE, reason=f"{ESCAPE}\0{BIDI}all is well", number=1)),
        who=BELIEVED,
        cure=("resume --everywhere",),
        remains="A request to pause is obeyed until an operator resumes; its reason is shown without control signs.",
    ),
    Attack(
        name="control signs in names",
        topic=Topic.SHOWING,
        what="Changes and heartbeats whose region, sender or counter holds escapes or signs that turn the line.",
        does=lambda s: s.say(
            s.spoilt(region=f"evil{BIDI}"),
            s.spoilt(region=f"evil{ESCAPE}"),
            s.spoilt(sender=f"evil{ESCAPE}"),
            s.spoilt(sender=f"evil{BIDI}"),
            s.spoilt(by=f"{s.name}~{BIDI}", seen=json.dumps({f"{s.name}~{BIDI}": s.now + 1000})),
            s.beat(region=f"evil{BIDI}"),
            s.beat(sender=f"evil{ESCAPE}"),
            s.beat(version=f"{ESCAPE}1"),
        ),
        sees=lambda s: s.set_aside("payload-invalid"),
    ),
    Attack(
        name="a lone surrogate",
        topic=Topic.ENDING,
        what="Heartbeats and requests whose JSON spells half a character.",
        does=lambda s: s.say(
            respelt(s.beat(), version="\ud800"),
            respelt(s.beat(), consumed={"\ud800": 1}),
            respelt(s.control(ControlAction.PAUSE), reason="\udfff"),
            s.spoilt(seen='{"\\ud800": 1}'),
        ),
        sees=lambda s: s.set_aside("payload-invalid"),
    ),
    Attack(
        name="properties that are no text",
        topic=Topic.ENDING,
        what="Messages whose properties are no UTF-8, or no properties at all.",
        does=lambda s: scrawl(
            s, b"\xff\xfe", b'{"syncer.kind":"\xff"}', b"[1]", b'{"syncer.v":1}', b"", b'{"a":{"b":[]}}'
        ),
    ),
    Attack(
        name="what commands show",
        topic=Topic.SHOWING,
        what="Values and names full of terminal escapes, set aside and in conflicts; then every command that shows.",
        does=lambda s: s.say(
            s.change(path=s.victim, value=tenant(f"{ESCAPE}{BIDI}\x9b2J\u2028"), sequence=1),
            s.change("raw", b'{"adminRoles":["\x1b]0;owned\x07"]}', sequence=2),
            s.spoilt(kind=f"{ESCAPE}{BIDI}"),
            s.spoilt(type=f"{ESCAPE}{BIDI}"),
            s.spoilt(resource=f"{ESCAPE}{BIDI}"),
            s.spoilt(base=f"{ESCAPE}{BIDI}@x"),
        ),
        sees=shows_no_sign_that_acts,
    ),
    Attack(
        name="records that are cut off",
        topic=Topic.ENDING,
        what="Payloads that are empty, of chance, cut off at every byte, or too long by one.",
        does=lambda s: s.say_all(
            Outgoing(body, s.spoilt().properties)
            for whole in (s.spoilt().payload,)
            for body in (b"", b"\xff" * 64, whole + b"\0", *(whole[:at] for at in range(1, len(whole), 7)))
        ),
        sees=lambda s: s.set_aside("payload-invalid"),
    ),
    Attack(
        name="records of a broker that say nonsense",
        topic=Topic.ENDING,
        what="Records as brokers send them: no path, no cluster, no type, a time before all years, a NUL.",
        fills=lie("message native"),
        does=lambda s: s.say(
            native(s, "/admin/policies/x", None),
            native(s, "/admin/policies/x\0", "mars"),
            native(s, "/admin/policies/x", "mars\0"),
            native(s, "/admin/policies/x", f"mars{BIDI}"),
            native(s, "/admin/policies/x", "mars", timestamp_ms=-(1 << 63)),
            native(s, "/admin/policies/x", "mars", timestamp_ms=YEAR_9999_MS * 1000),
            native(s, "/admin/policies/x", "mars", type=None),
        ),
        sees=lambda s: s.set_aside(),
    ),
    Attack(
        name="deep JSON",
        topic=Topic.ENDING,
        what="Values, vectors and heartbeats of 100,000 levels, and numbers of a million digits.",
        does=lambda s: s.say(
            s.change("deep", DEEP, sequence=1),
            s.change("digits", b'{"a":' + b"9" * 1_000_000 + b"}", sequence=2),
            s.change("infinite", b'{"a":1e999}', sequence=3),
            s.spoilt(seen='{"a":' * LEVELS),
            s.spoilt(kind="x" * 1_000_000),
        ),
        sees=lambda s: s.set_aside("value-invalid"),
    ),
    Attack(
        name="numbers that nobody has counted to",
        topic=Topic.ENDING,
        what="Heartbeats, requests and changes with numbers of 2^60, and below zero.",
        does=lambda s: s.say(
            s.beat(last_sequence=1 << 60),
            s.beat(reached={"x": -1}),
            s.beat(generation=0),
            s.beat(retold=(-1, 1)),
            s.spoilt(seq="9" * 18),
            s.spoilt(seq="-1"),
            s.control(ControlAction.RETELL, target="east", number=1 << 60),
            asked(s, s.name, told=-1),
        ),
        sees=lambda s: s.set_aside("payload-invalid"),
    ),
    Attack(
        name="everything told again",
        topic=Topic.ASKING,
        what="A request to tell every delete from number 2^53 - 1 on, and paths that nobody knows.",
        fills=lie("message Control retell"),
        does=lambda s: s.say(
            s.control(ControlAction.RETELL, target="east", number=(1 << 53) - 1),
            s.control(ControlAction.REQUEST, *(s.path(number) for number in range(500)), target="east"),
            s.control(ControlAction.LACKING, str(s.victim), target="east", stamps=((Millis(1 << 52), Region("west")),)),
        ),
    ),
    Attack(
        name="the same again and again",
        topic=Topic.ASKING,
        what="300 requests to tell every delete, and 300 for paths that are known.",
        does=lambda s: s.say_all(
            control
            for _ in range(300)
            for control in (
                s.control(ControlAction.RETELL, target="east", number=1),
                s.control(ControlAction.REQUEST, str(s.victim), target="east"),
            )
        ),
    ),
    Attack(
        name="requests for what nobody has",
        topic=Topic.ROOM,
        what="Requests for 50,000 paths.",
        does=lambda s: s.say_all(
            s.control(ControlAction.REQUEST, *(s.path(f"{part}-{number}") for number in range(1_000)), target="east")
            for part in range(50)
        ),
    ),
)
