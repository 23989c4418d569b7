"""Attacks by what is said of another region, or in its name."""

from __future__ import annotations

from typing import Final

from syncer.bus.wire.messages import ControlAction
from tests.hostile.attack import BELIEVED, EVERYBODY, Attack, Topic, Who
from tests.hostile.cells.columns import lie
from tests.hostile.operating import (
    last_request,
)

HEARSAY: Final[tuple[Attack, ...]] = (
    Attack(
        name="a living region is said to be refused",
        topic=Topic.HEARSAY,
        what="A heartbeat says that east's database is refused.",
        fills=lie("heartbeat refused"),
        does=lambda s: s.say(s.beat(refused=(("east", s.database("east")),))),
        who=EVERYBODY,
    ),
    Attack(
        name="a living region is said to be forgotten",
        topic=Topic.HEARSAY,
        what="A request to all to forget east's database, and west's.",
        fills=lie("message Control forget"),
        does=lambda s: s.say(
            s.control(ControlAction.FORGET, "east", s.database("east")),
            s.control(ControlAction.FORGET, "west", s.database("west")),
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
        does=lambda s: s.say(s.control(ControlAction.FORGET, f"mars{s.number}", s.database("west"))),
        who=EVERYBODY,
    ),
    Attack(
        name="a living region is said to have left",
        topic=Topic.HEARSAY,
        what="A heartbeat in west's name, by west's own database, says that it has left.",
        fills=lie("heartbeat mode"),
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
        fills=lie("heartbeat generations"),
        does=lambda s: s.say(s.beat(generations={"east": (10**12 - 1, "x")})),
        who=EVERYBODY,
    ),
    Attack(
        name="a generation near the last one, in the name of another",
        topic=Topic.HEARSAY,
        what="A heartbeat in west's name, by an invented database, of generation 10^12 - 1.",
        fills=lie("heartbeat generation"),
        does=lambda s: s.say(s.beat(region="west", generation=10**12 - 1)),
        who=EVERYBODY,
    ),
    Attack(
        name="a number that was never given out",
        topic=Topic.HEARSAY,
        what="A heartbeat says to have 2^50 changes of east's database: as if that were an old copy.",
        fills=lie("heartbeat reached"),
        does=lambda s: s.say(s.beat(reached={s.database("east"): 1 << 50})),
        sees=lambda s: s.told("database-doubted"),
        apart=True,
        remains="In a pair nothing is published for a minute, once a start.",
        who=EVERYBODY,
    ),
    Attack(
        name="a number that was never given out, again and again, by many",
        topic=Topic.HEARSAY,
        what="The same, said by the attacker's region, by west, and by five that nobody has, three times.",
        does=lambda s: s.say_all(
            beat
            for _ in range(3)
            for beat in (
                s.beat(reached={s.database("east"): 1 << 50}),
                *(
                    s.beat(
                        region=f"x{s.number}{at}",
                        sender=f"{s.number * 10 + at:032x}",
                        reached={s.database("east"): 9999},
                    )
                    for at in range(5)
                ),
                s.as_west(reached={s.database("east"): 1 << 50}),
            )
        ),
        sees=lambda s: s.told("database-doubted"),
        apart=True,
        remains="In a pair nothing is published for a minute, once a start.",
        who=EVERYBODY,
    ),
    Attack(
        name="the generation of a living database, again and again",
        topic=Topic.HEARSAY,
        what="Heartbeats say, three times, that another database had the generation that east's has.",
        does=lambda s: s.say_all(
            s.beat(generations={"east": (s.east.identity.generation, "e" * 32)}) for _ in range(3)
        ),
        sees=lambda s: s.told("database-doubted"),
        apart=True,
        remains="In a pair nothing is published for a minute, once a start; then east takes another generation.",
        who=EVERYBODY,
    ),
    Attack(
        name="the generation of a living database, by another region's",
        topic=Topic.HEARSAY,
        what="A heartbeat says that west's database, which tells changes of east's too, had east's generation.",
        does=lambda s: s.say(s.beat(generations={"east": (s.east.identity.generation, s.database("west"))})),
        apart=True,
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
        remains="Without keys of regions east begins anew, once per start; its former database is kept aside.",
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
        remains="Without keys of regions west begins anew, once per start; its former database is kept aside.",
        who=EVERYBODY,
    ),
    Attack(
        name="a request after which no other one counts",
        topic=Topic.ASKING,
        what="A pause in west's name with the last number that there is.",
        fills=lie("message Control pause"),
        does=last_request,
        who=BELIEVED,
        remains="Requests of west's to all may not be obeyed any more: pause and resume each region on its own.",
    ),
    Attack(
        name="everything is said to be consumed",
        topic=Topic.HEARSAY,
        what="A heartbeat in west's name says that it has consumed 2^50 changes of everybody, and lacks nothing.",
        fills=lie("heartbeat consumed", "heartbeat unfolded", "heartbeat watermark"),
        does=lambda s: s.say(
            s.as_west(consumed={s.database(name): 1 << 50 for name in ("east", "north")}, unfolded=0, watermark=s.now)
        ),
        who=EVERYBODY,
    ),
    Attack(
        name="a region speaks by two databases in turns",
        topic=Topic.HEARSAY,
        what="Heartbeats in west's name by two invented databases in turns.",
        fills=lie("heartbeat sender"),
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
        fills=lie("heartbeat region"),
        does=lambda s: s.say(
            s.change(region="west", sequence=1),
            s.change(value=None, path=s.victim, region="west", sequence=2),
            s.beat(region="west"),
        ),
        who=(*BELIEVED, Who.NAMED),
        remains="Without keys of regions it is taken for west's; with them a member can only tell of west's changes.",
    ),
)
