"""Every attack: the one table that the suite plays and that the threat model is made from."""

from __future__ import annotations

import json
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.messages import Action
from syncer.bus.tree_bodies import TreeEntry, buckets_body, groups_body
from syncer.conflict.digest_tree import BUCKETS, GROUPS
from syncer.conflict.scope import Scope
from syncer.model import Counter, Digest, Millis, Region, Stamp, TieOrder
from syncer.replication.summing import label_of
from tests.hostile.attack import EVERYBODY, Attack, Topic, Who
from tests.hostile.neighbours import endless_heads, slow_clients
from tests.hostile.operating import (
    last_request,
    reject_too_late,
    restore_too_late,
    secrets_in_a_declaration,
    shows_no_sign_that_acts,
    undo_too_late,
)
from tests.hostile.saying import (
    BIDI,
    DEEP,
    ESCAPE,
    LEVELS,
    YEAR_2200_MS,
    YEAR_9999_MS,
    asked,
    climbing,
    lying_listing,
    make_aside,
    make_both,
    make_large,
    make_many,
    make_nonsense,
    make_odd,
    make_topic,
    native,
    replace_seen,
    respelt,
    scrawl,
    told,
    topic,
    tree,
)
from tests.shell.region import tenant

BELIEVED: Final = (Who.ANYBODY, Who.MEMBER)

ATTACKS: Final[tuple[Attack, ...]] = (
    # -- to end a daemon
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
        name="a NUL in what is to be forgotten",
        topic=Topic.ENDING,
        what="Requests to forget regions and databases whose names hold a NUL, or are endless.",
        does=lambda s: s.say(
            s.control(Action.FORGET, "mars\0", "a\0"),
            s.control(Action.FORGET, f"mars{s.number}", "a\0"),
            s.control(Action.FORGET, "m" * 100_000, "a" * 100_000),
            s.control(Action.FORGET, ""),
            s.control(Action.FORGET),
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
    Attack(
        name="the same again and again",
        topic=Topic.ASKING,
        what="300 requests to tell every delete, and 300 for paths that are known.",
        does=lambda s: s.say_all(
            control
            for _ in range(300)
            for control in (
                s.control(Action.RETELL, target="east", number=1),
                s.control(Action.REQUEST, str(s.victim), target="east"),
            )
        ),
    ),
    Attack(
        name="requests for what nobody has",
        topic=Topic.ROOM,
        what="Requests for 50,000 paths.",
        does=lambda s: s.say_all(
            s.control(Action.REQUEST, *(s.path(f"{part}-{number}") for number in range(1_000)), target="east")
            for part in range(50)
        ),
    ),
    # -- to harm a region by what is said of it
    Attack(
        name="a living region is said to be refused",
        topic=Topic.HEARSAY,
        what="A heartbeat says that east's database is refused.",
        does=lambda s: s.say(s.beat(refused=(("east", s.database("east")),))),
        who=EVERYBODY,
    ),
    Attack(
        name="a living region is said to be forgotten",
        topic=Topic.HEARSAY,
        what="A request to all to forget east's database, and west's.",
        does=lambda s: s.say(
            s.control(Action.FORGET, "east", s.database("east")), s.control(Action.FORGET, "west", s.database("west"))
        ),
        who=EVERYBODY,
    ),
    Attack(
        name="a living region's database under an invented region",
        topic=Topic.HEARSAY,
        what="A heartbeat says that west's database is refused, as one of a region that nobody has.",
        does=lambda s: s.say(s.beat(refused=((f"mars{s.number}", s.database("west")),))),
        who=EVERYBODY,
    ),
    Attack(
        name="a living region's database forgotten under an invented region",
        topic=Topic.HEARSAY,
        what="A request to forget a region that nobody has, with west's database.",
        does=lambda s: s.say(s.control(Action.FORGET, f"mars{s.number}", s.database("west"))),
        who=EVERYBODY,
    ),
    Attack(
        name="a living region is said to have left",
        topic=Topic.HEARSAY,
        what="A heartbeat in west's name, by west's own database, says that it has left.",
        does=lambda s: s.say(s.as_west(mode="left")),
        who=EVERYBODY,
    ),
    Attack(
        name="a living region is said to have left by another database",
        topic=Topic.HEARSAY,
        what="A heartbeat in west's name, by an invented database, says that it has left.",
        does=lambda s: s.say(s.beat(region="west", mode="left")),
        who=EVERYBODY,
    ),
    Attack(
        name="a generation near the last one, told of another",
        topic=Topic.HEARSAY,
        what="A heartbeat says that east had generation 10^12 - 1 by another database.",
        does=lambda s: s.say(s.beat(generations={"east": (10**12 - 1, "x")})),
        who=EVERYBODY,
    ),
    Attack(
        name="a generation near the last one, in the name of another",
        topic=Topic.HEARSAY,
        what="A heartbeat in west's name, by an invented database, of generation 10^12 - 1.",
        does=lambda s: s.say(s.beat(region="west", generation=10**12 - 1)),
        who=EVERYBODY,
    ),
    Attack(
        name="a number that was never given out",
        topic=Topic.HEARSAY,
        what="A heartbeat says to have 2^50 changes of east's database: as if that were an old copy.",
        does=lambda s: s.say(s.beat(reached={s.database("east"): 1 << 50})),
        sees=lambda s: s.begun_anew("east"),
        cure=("state rebuild --without {name} --yes",),
        apart=True,
        renews=True,
        remains="East may begin with a new database once per start; the former one is kept aside.",
        who=EVERYBODY,
    ),
    Attack(
        name="a change that was never made",
        topic=Topic.HEARSAY,
        what="A change in east's name, by east's own database, with number 2^50.",
        does=lambda s: s.say(s.change(region="east", sender=s.database("east"), sequence=1 << 50)),
        sees=lambda s: s.begun_anew("east"),
        apart=True,
        renews=True,
        remains="East may begin with a new database once per start; the former one is kept aside.",
        who=EVERYBODY,
    ),
    Attack(
        name="a number far ahead, in the name of another",
        topic=Topic.HEARSAY,
        what="A change in west's name, by west's own database, with number 2^50; honest regions tell west of it.",
        does=lambda s: s.say(s.change(region="west", sender=s.database("west"), sequence=1 << 50)),
        sees=lambda s: s.begun_anew("west"),
        apart=True,
        renews=True,
        remains="West may begin with a new database once per start; the former one is kept aside.",
        who=EVERYBODY,
    ),
    Attack(
        name="a request after which no other one counts",
        topic=Topic.ASKING,
        what="A pause in west's name with the last number that there is.",
        does=last_request,
        who=BELIEVED,
        remains="Requests of west's to all may not be obeyed any more: pause and resume each region on its own.",
    ),
    Attack(
        name="everything is said to be consumed",
        topic=Topic.HEARSAY,
        what="A heartbeat in west's name says that it has consumed 2^50 changes of everybody, and lacks nothing.",
        does=lambda s: s.say(
            s.as_west(consumed={s.database(name): 1 << 50 for name in ("east", "north")}, unfolded=0, watermark=s.now)
        ),
        who=EVERYBODY,
    ),
    Attack(
        name="a region speaks by two databases in turns",
        topic=Topic.HEARSAY,
        what="Heartbeats in west's name by two invented databases in turns.",
        does=lambda s: s.say_all(s.beat(region="west", sender=f"{s.number:031x}{number % 2}") for number in range(20)),
        who=EVERYBODY,
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
        who=EVERYBODY,
    ),
    Attack(
        name="another one's name",
        topic=Topic.NAMES,
        what="Changes, a delete and a heartbeat in west's name, by an invented database.",
        does=lambda s: s.say(
            s.change(region="west", sequence=1),
            s.change(value=None, path=s.victim, region="west", sequence=2),
            s.beat(region="west"),
        ),
        who=(*BELIEVED, Who.NAMED),
        remains="Without keys of regions it is taken for west's; with them a member can only tell of west's changes.",
    ),
    # -- to hold everything up
    Attack(
        name="another projection",
        topic=Topic.BLOCKING,
        what="One heartbeat of a region that nobody has, which projects tenants in another way.",
        does=lambda s: s.say(s.beat(projections={"tenant": "tenant/99", "namespace": "namespace/99"})),
        who=EVERYBODY,
    ),
    Attack(
        name="another tie order",
        topic=Topic.BLOCKING,
        what="One heartbeat of a region that nobody has, which breaks ties the other way.",
        does=lambda s: s.say(s.beat(tie_order=TieOrder.NATIVE)),
        who=EVERYBODY,
    ),
    Attack(
        name="another scope",
        topic=Topic.BLOCKING,
        what="One heartbeat of a region that nobody has, which carries other paths.",
        does=lambda s: s.say(s.beat(scope="nothing")),
    ),
    Attack(
        name="1,000 invented regions",
        topic=Topic.BLOCKING,
        what="A heartbeat each of 1,050 regions that nobody has.",
        does=lambda s: s.say_all(
            s.beat(region=f"{s.name}-{number}", sender=f"{number:032x}") for number in range(1_050)
        ),
        apart=True,
    ),
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
        who=EVERYBODY,
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
        who=EVERYBODY,
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
        name="a step that nobody can say which tree it is of",
        topic=Topic.BLOCKING,
        what="Heartbeats in west's name with another tree, no tree, and a root that is no number.",
        does=lambda s: s.say(
            s.as_west(tree="another", root="ab" * 16),
            s.as_west(tree="", root=""),
            s.as_west(tree=label_of(Scope()), root="no number"),
        ),
    ),
    Attack(
        name="answers that nobody has asked for",
        topic=Topic.BLOCKING,
        what="Pages of listings for east, of an invented region and in west's name.",
        does=lambda s: s.say(told(s, s.name, "0" * 32), told(s, "west", "0" * 32), told(s, "west", s.database("east"))),
    ),
    Attack(
        name="a rebuild that is said of another",
        topic=Topic.BLOCKING,
        what="Heartbeats in west's name that it is being rebuilt, or has just started, again and again.",
        does=lambda s: s.say_all(s.as_west(mode=mode) for _ in range(20) for mode in ("rebuilding", "starting")),
        who=EVERYBODY,
    ),
    Attack(
        name="gaps that nobody can fill",
        topic=Topic.BLOCKING,
        what="A heartbeat in west's name says to have given out 2^50 numbers.",
        does=lambda s: s.say(s.as_west(last_sequence=1 << 50, generation=s.west.identity.generation)),
        who=EVERYBODY,
    ),
    # -- what a tenant may make
    Attack(
        name="a topic of 700 letters",
        topic=Topic.TENANT,
        what="A partitioned topic whose name has 700 'é': 4,200 characters of path.",
        does=lambda s: make_topic(s, f"t{s.number}" + "%C3%A9" * 700),
        who=(Who.TENANT,),
    ),
    Attack(
        name="a topic longer than any index takes",
        topic=Topic.TENANT,
        what="A partitioned topic whose path has 60,000 characters.",
        does=lambda s: make_aside(s, topic(f"t{s.number}" + "%C3%A9" * 10_000), b'{"partitions":3}'),
        who=(Who.TENANT,),
        remains="It stays where it was made, and is shown.",
    ),
    Attack(
        name="a resource group with signs that turn the line",
        topic=Topic.TENANT,
        what="Resource groups whose names hold U+202E or a no-break space.",
        does=make_both,
        who=(Who.TENANT,),
    ),
    Attack(
        name="a path that no one can mean",
        topic=Topic.TENANT,
        what="Tenants whose names hold a line feed and terminal escapes.",
        does=make_odd,
        who=(Who.TENANT,),
        remains="They stay where they were made, and are shown.",
    ),
    Attack(
        name="values that are none",
        topic=Topic.TENANT,
        what="Tenants whose values are no JSON, deep JSON, half a character, or numbers without end.",
        does=make_nonsense,
        who=(Who.TENANT,),
        remains="They stay where they were made, and are shown.",
    ),
    Attack(
        name="hundreds of tenants at once",
        topic=Topic.TENANT,
        what="300 tenants made in one moment.",
        does=lambda s: make_many(s, 300),
        who=(Who.TENANT,),
    ),
    Attack(
        name="a value as large as a store takes",
        topic=Topic.TENANT,
        what="A tenant whose value has all the bytes that a store takes.",
        does=make_large,
        who=(Who.TENANT,),
    ),
    # -- vectors
    Attack(
        name="a vector of 5 MB",
        topic=Topic.VECTORS,
        what="A change whose vector has so many counters that no successor of it can be sent.",
        does=lambda s: s.say(
            replace_seen(
                change := s.change(path=s.victim, sequence=1),
                {**{Counter(f"c{number}~1"): Millis(number + 1) for number in range(200_000)}, **change.seen},
            )
        ),
    ),
    Attack(
        name="a vector of the year 9999",
        topic=Topic.VECTORS,
        what="A change says to have seen what east and west will do until the year 9999.",
        does=lambda s: s.say(
            replace_seen(
                change := s.change(path=s.victim, sequence=1, time_ms=s.now + 1_000),
                {
                    **{counter: Millis(YEAR_9999_MS) for counter in s.seen_of(s.victim)},
                    **change.seen,
                },
            )
        ),
    ),
    Attack(
        name="a vector of everybody",
        topic=Topic.VECTORS,
        what="A delete says to have seen everything that the other regions have done, and a minute more.",
        does=lambda s: s.say(
            replace_seen(
                change := s.change(path=s.victim, value=None, sequence=1, time_ms=s.now + 1_000),
                {**{counter: Millis(at + 60_000) for counter, at in s.seen_of(s.victim).items()}, **change.seen},
            )
        ),
        remains="Who knows what a region has done can say to have seen it, and replaces it without a conflict.",
    ),
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
        name="a ladder past the clock",
        topic=Topic.CLOCKS,
        what="200 changes of one path, 29 s apart, each of which follows the one before.",
        does=lambda s: s.say_all(climbing(s, 200, 29_000)),
        who=BELIEVED,
    ),
    Attack(
        name="the last rung alone",
        topic=Topic.CLOCKS,
        what="One change 29 s ahead of all clocks; then honest people work on with the path.",
        does=lambda s: s.say(s.change(path=s.victim, time_ms=s.now + 29_000, sequence=1)),
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
        name="a flood of nonsense",
        topic=Topic.ROOM,
        what="2,000 changes that cannot be understood.",
        does=lambda s: s.say_all(s.change(number, b"no JSON", sequence=number) for number in range(1, 2_001)),
        apart=True,
    ),
    Attack(
        name="a database for each change",
        topic=Topic.ROOM,
        what="2,000 changes of one path, each of another database.",
        does=lambda s: s.say_all(
            s.change("same", tenant(str(number)), sender=f"{s.number:08x}{number:024x}", sequence=number)
            for number in range(1, 2_001)
        ),
        apart=True,
    ),
    Attack(
        name="a conflict for each change",
        topic=Topic.ROOM,
        what="300 changes of one path with 50 KB each, none of which has seen the other.",
        does=lambda s: s.say_all(
            s.change("quarrel", tenant("x" * 50_000, str(number)), region=f"{s.name}-{number}", sequence=number)
            for number in range(1, 301)
        ),
        apart=True,
    ),
    Attack(
        name="long paths",
        topic=Topic.ROOM,
        what="2,000 changes of as many paths of 1,000 characters.",
        does=lambda s: s.say_all(s.change(f"{number:04}" + "p" * 950, sequence=number) for number in range(1, 2_001)),
        apart=True,
    ),
    Attack(
        name="values that no store takes",
        topic=Topic.ROOM,
        what="12 changes with values of 4.9 MB.",
        does=lambda s: s.say_all(
            s.change(number, tenant("x" * (4_900_000 + number)), sequence=number) for number in range(1, 13)
        ),
        apart=True,
    ),
    Attack(
        name="who has lost a database",
        topic=Topic.ROOM,
        what="Questions of 200 invented regions for everything that east knows.",
        does=lambda s: s.say_all(asked(s, f"{s.name}-{number}") for number in range(200)),
    ),
    # -- what operators are led to
    Attack(
        name="a restore that comes too late",
        topic=Topic.LOSING,
        what="Somebody writes between an operator's look at a conflict and its restore.",
        does=restore_too_late,
        who=(Who.OPERATOR,),
    ),
    Attack(
        name="a rejection that comes too late",
        topic=Topic.LOSING,
        what="Somebody writes between an operator's look at a held change and its rejection.",
        does=reject_too_late,
        who=(Who.OPERATOR,),
    ),
    Attack(
        name="an undo that comes too late",
        topic=Topic.LOSING,
        what="Somebody writes between an operator's look at held deletes and the command that takes them back.",
        does=undo_too_late,
        who=(Who.OPERATOR,),
        apart=True,
    ),
    Attack(
        name="secrets in a cluster's declaration",
        topic=Topic.SECRETS,
        what="A cluster is declared with the token and the passwords of its brokers, where declarations are carried.",
        does=secrets_in_a_declaration,
        who=(Who.OPERATOR,),
    ),
    # -- what stands beside
    Attack(
        name="slow clients",
        topic=Topic.FILES,
        what="300 connections to the HTTP surface whose requests never end.",
        does=slow_clients,
        who=(Who.NEIGHBOUR,),
    ),
    Attack(
        name="endless heads",
        topic=Topic.FILES,
        what="Requests to the HTTP surface with heads of 400 KB, of zeroes, and with a path of a megabyte.",
        does=endless_heads,
        who=(Who.NEIGHBOUR,),
    ),
)
