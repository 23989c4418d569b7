"""Attacks that aim at holding everything up, and what tenants may make."""

from __future__ import annotations

from typing import Final

from syncer.bus.wire.tree_bodies import TreeEntry, buckets_body, groups_body
from syncer.conflict.classes.pairs import label_of
from syncer.conflict.digest_tree import BUCKETS, GROUPS
from syncer.conflict.scope import Scope
from syncer.model import Digest, Millis, Region, Stamp, TieOrder
from tests.hostile.attack import BELIEVED, EVERYBODY, Attack, Topic, Who
from tests.hostile.cells.columns import lie
from tests.hostile.operating import forgetting_goes_on, rebuild_with_a_liar
from tests.hostile.saying import (
    YEAR_2200_MS,
    lose_beside_poison,
    lying_listing,
    make_aside,
    make_both,
    make_large,
    make_many,
    make_nonsense,
    make_odd,
    make_topic,
    tell_rules_of_many_ways,
    told,
    topic,
    tree,
)

BLOCKING: Final[tuple[Attack, ...]] = (
    Attack(
        name="another projection",
        topic=Topic.BLOCKING,
        what="One heartbeat of a region that nobody has, which projects tenants in another way.",
        fills=lie("heartbeat projections"),
        does=lambda s: s.say(s.beat(projections={"tenant": "tenant/99", "namespace": "namespace/99"})),
        who=EVERYBODY,
    ),
    Attack(
        name="another tie order",
        topic=Topic.BLOCKING,
        what="One heartbeat of a region that nobody has, which breaks ties the other way.",
        fills=lie("heartbeat tie_order"),
        does=lambda s: s.say(s.beat(tie_order=TieOrder.NATIVE)),
        who=EVERYBODY,
    ),
    Attack(
        name="another scope",
        topic=Topic.BLOCKING,
        what="One heartbeat of a region that nobody has, which carries other paths.",
        fills=lie("heartbeat scope"),
        does=lambda s: s.say(s.beat(scope="nothing")),
    ),
    Attack(
        name="rules that take hours to match",
        topic=Topic.BLOCKING,
        what="One heartbeat with 40 rules whose wildcards share letters in many ways; then a tenant of 401 letters.",
        fills=lie("heartbeat rules"),
        does=tell_rules_of_many_ways,
        who=EVERYBODY,
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
        name="invented regions with long names",
        topic=Topic.BLOCKING,
        what="A heartbeat each of 300 regions and databases with names as long as they may be, for all to tell on.",
        does=lambda s: s.say_all(
            s.beat(region=f"{s.name}-{number:04}".ljust(255, "r"), sender=f"{number:04}".ljust(512, "s"))
            for number in range(300)
        ),
        apart=True,
    ),
    Attack(
        name="roots that never become equal",
        topic=Topic.BLOCKING,
        what="Heartbeats of an invented region with another root each time, in west's name too.",
        fills=lie("heartbeat tree", "heartbeat root", "heartbeat alive"),
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
        fills=lie("message TreeMessage"),
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
        fills=lie("message StatePage"),
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
        name="a rebuild with a peer that never tells",
        topic=Topic.BLOCKING,
        what="A heartbeat of a region that nobody has, before and after east has lost its database.",
        does=rebuild_with_a_liar,
        who=BELIEVED,
        cure=("state rebuild --without {name} --yes",),
        renews=True,
        apart=True,
        remains="East takes no part for half an hour, or until an operator says whom it need not wait for.",
    ),
    Attack(
        name="gaps that nobody can fill",
        topic=Topic.BLOCKING,
        what="A heartbeat in west's name says to have given out 2^50 numbers.",
        fills=lie("heartbeat last_sequence"),
        does=lambda s: s.say(s.as_west(last_sequence=1 << 50, generation=s.west.identity.generation)),
        who=EVERYBODY,
    ),
    Attack(
        name="a change of nobody",
        topic=Topic.BLOCKING,
        what="A change of a database whose region never speaks, then a delete that all regions are to forget.",
        does=forgetting_goes_on,
        apart=True,
        remains="Without peers.expected deletes are kept for a day, or until all have 'regions forget DATABASE'.",
    ),
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
        name="lost paths beside what no one can carry",
        topic=Topic.TENANT,
        what="300 paths never reach one region, and the one that has them holds names and values that are none.",
        does=lose_beside_poison,
        who=(Who.TENANT,),
        remains="What is none stays where it was made, and is shown; all others are healed.",
    ),
    Attack(
        name="a value as large as a store takes",
        topic=Topic.TENANT,
        what="A tenant whose value has all the bytes that a store takes.",
        does=make_large,
        who=(Who.TENANT,),
    ),
)
