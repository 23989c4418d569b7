"""Every attack: the one table that the suite plays and that the threat model is made from."""

from __future__ import annotations

import json
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.messages import Action
from syncer.bus.tree_bodies import TreeEntry, buckets_body, groups_body
from syncer.conflict.digest_tree import BUCKETS, GROUPS
from syncer.conflict.scope import Scope
from syncer.model import Digest, Millis, Region, Stamp
from syncer.replication.summing import label_of
from tests.hostile.attack import Attack, Topic, Who
from tests.hostile.saying import (
    BIDI,
    DEEP,
    ESCAPE,
    LEVELS,
    YEAR_2200_MS,
    YEAR_9999_MS,
    asked,
    lying_listing,
    native,
    respelt,
    told,
    tree,
)

BELIEVED: Final = (Who.ANYBODY, Who.MEMBER)

ATTACKS: Final[tuple[Attack, ...]] = (
    # -- to end a daemon
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
                for action in (Action.REQUEST, Action.LACKING)
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
        name="a pause with signs that move the cursor",
        topic=Topic.ASKING,
        what="A request to pause whose reason holds a NUL, terminal escapes and signs that turn the line.",
        does=lambda s: s.say(s.control(Action.PAUSE, reason=f"{ESCAPE}\0{BIDI}all is well", number=1)),
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
            respelt(s.control(Action.PAUSE), reason="\udfff"),
            s.spoilt(seen='{"\\ud800": 1}'),
        ),
        sees=lambda s: s.set_aside("payload-invalid"),
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
            s.control(Action.RETELL, target="east", number=1 << 60),
            asked(s, s.name, told=-1),
        ),
        sees=lambda s: s.set_aside("payload-invalid"),
    ),
    Attack(
        name="everything told again",
        topic=Topic.ASKING,
        what="A request to tell every delete from number 2^53 - 1 on, and paths that nobody knows.",
        does=lambda s: s.say(
            s.control(Action.RETELL, target="east", number=(1 << 53) - 1),
            s.control(Action.REQUEST, *(s.path(number) for number in range(500)), target="east"),
            s.control(Action.LACKING, str(s.victim), target="east", stamps=((Millis(1 << 52), Region("west")),)),
        ),
    ),
    # -- to harm a region by what is said of it
    Attack(
        name="a region speaks by two databases in turns",
        topic=Topic.HEARSAY,
        what="Heartbeats in west's name by two invented databases in turns.",
        does=lambda s: s.say_all(s.beat(region="west", sender=f"{s.number:031x}{number % 2}") for number in range(20)),
    ),
    Attack(
        name="our own name",
        topic=Topic.NAMES,
        what="A change, a delete and a heartbeat in east's name by an invented database.",
        does=lambda s: s.say(
            s.change(region="east", sequence=1),
            s.change(value=None, path=s.victim, region="east", sequence=2),
            s.beat(region="east"),
        ),
        sees=lambda s: s.set_aside("region-id-in-use"),
    ),
    Attack(
        name="another one's name",
        topic=Topic.NAMES,
        what="Changes and a delete in west's name by an invented database.",
        does=lambda s: s.say(
            s.change(region="west", sequence=1),
            s.change(value=None, path=s.victim, region="west", sequence=2),
        ),
        who=BELIEVED,
        remains="Without a key per region it is taken for west's change; what it overwrites is kept in a conflict.",
    ),
    # -- to hold everything up
    Attack(
        name="roots that never become equal",
        topic=Topic.BLOCKING,
        what="Heartbeats of an invented region with another root each time, in west's name too.",
        does=lambda s: s.say_all(
            beat
            for number in range(10)
            for beat in (
                s.beat(tree=label_of(Scope()), root=f"{number:032x}", alive=7),
                s.as_west(tree=label_of(Scope()), root=f"{number:032x}", alive=7),
            )
        ),
    ),
    Attack(
        name="lies in listings",
        topic=Topic.BLOCKING,
        what="Steps of comparisons that list what nobody has, in an invented name and in west's.",
        does=lambda s: s.say_all(
            tree(s, step, body, region=region)
            for region in (s.name, "west")
            for step, body in (
                ("groups", groups_body([1] * GROUPS)),
                ("buckets", buckets_body({group: [2] * BUCKETS for group in range(GROUPS)})),
                ("listing", lying_listing(s)),
                ("remainder", lying_listing(s)),
            )
        ),
    ),
    Attack(
        name="listings of nonsense",
        topic=Topic.BLOCKING,
        what="Steps of comparisons that are empty, unpack without end, or name what is no region and no path.",
        does=lambda s: s.say(
            tree(s, "groups", b""),
            tree(s, "buckets", b"x"),
            tree(s, "listing", b"no zlib"),
            tree(s, "listing", b"\x78\x9c" + b"\0" * 1000),
            tree(s, "remainder", b""),
            tree(s, "a step of tomorrow", b""),
            tree(s, "listing", b"", label="x" * 100_000),
            tree(s, "x" * 100_000, b"", target="east"),
            tree(s, "listing", lying_listing(s, TreeEntry(s.victim, Digest(bytes(16)), Stamp(s.now, Region("a\0"))))),
            tree(
                s,
                "listing",
                lying_listing(s, TreeEntry(s.victim, Digest(bytes(16)), Stamp(Millis(YEAR_2200_MS), Region("evil")))),
            ),
        ),
    ),
    Attack(
        name="answers that nobody has asked for",
        topic=Topic.BLOCKING,
        what="Pages of listings for east, of an invented region and in west's name.",
        does=lambda s: s.say(told(s, s.name, "0" * 32), told(s, "west", "0" * 32), told(s, "west", s.database("east"))),
    ),
    # -- what a tenant may make
    # -- vectors
    # -- clocks
    Attack(
        name="the year 2200",
        topic=Topic.CLOCKS,
        what="A change and a delete of the year 2200.",
        does=lambda s: s.say(
            s.change(path=s.victim, time_ms=YEAR_2200_MS, sequence=1),
            s.change(path=s.victim, value=None, time_ms=YEAR_2200_MS + 1, sequence=2),
        ),
    ),
    Attack(
        name="a clock of another century",
        topic=Topic.CLOCKS,
        what="Heartbeats in west's name, and in an invented one, that were sent in 1970 and in 9999.",
        does=lambda s: s.say(
            s.beat(sent_at_ms=Millis(2_000_000_000)),
            s.beat(sent_at_ms=Millis(YEAR_9999_MS)),
            s.as_west(sent_at_ms=Millis(YEAR_9999_MS)),
        ),
    ),
    # -- room
    Attack(
        name="who has lost a database",
        topic=Topic.ROOM,
        what="Questions of 200 invented regions for everything that east knows.",
        does=lambda s: s.say_all(asked(s, f"{s.name}-{number}") for number in range(200)),
    ),
)
