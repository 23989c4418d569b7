"""Attacks by vectors and clocks that nobody has, and on memory and disk."""

from __future__ import annotations

from typing import Final

from syncer.model import Counter, Millis
from tests.hostile.attack import BELIEVED, Attack, Topic
from tests.hostile.cells.columns import cost, lie
from tests.hostile.saying import (
    YEAR_2200_MS,
    YEAR_9999_MS,
    asked,
    climb,
    replace_seen,
)
from tests.shell.region import tenant

BOUNDS: Final[tuple[Attack, ...]] = (
    Attack(
        name="a vector of 5 MB",
        topic=Topic.VECTORS,
        what="A change whose vector has so many counters that no successor of it can be sent.",
        fills=cost("message MetadataChangeEvent"),
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
        fills=lie("message MetadataChangeEvent"),
        does=lambda s: s.say(
            replace_seen(
                change := s.change(path=s.victim, value=None, sequence=1, time_ms=s.now + 1_000),
                {**{counter: Millis(at + 60_000) for counter, at in s.seen_of(s.victim).items()}, **change.seen},
            )
        ),
        remains="Who knows what a region has done can say to have seen it, and replaces it without a conflict.",
    ),
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
        what="2,000 changes of one path, 29 s apart, each of which follows the one before: 16 hours in all.",
        does=climb,
        apart=True,
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
        fills=lie("heartbeat sent_at_ms"),
        does=lambda s: s.say(
            s.beat(sent_at_ms=Millis(2_000_000_000)),
            s.beat(sent_at_ms=Millis(YEAR_9999_MS)),
            s.as_west(sent_at_ms=Millis(YEAR_9999_MS)),
        ),
    ),
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
        fills=cost("message MetadataChangeEvent"),
        does=lambda s: s.say_all(
            s.change(number, tenant("x" * (4_900_000 + number)), sequence=number) for number in range(1, 13)
        ),
        apart=True,
    ),
    Attack(
        name="fat heartbeats",
        topic=Topic.ROOM,
        what="40 heartbeats of 4 MB, of as many regions, which list thousands of databases with long names.",
        does=lambda s: s.say_all(
            s.beat(
                region=f"{s.name}-{number}",
                sender=f"{number:032x}",
                consumed={f"{index:04}" + "c" * 500: 1 for index in range(4_000)},
                reached={f"{index:04}" + "r" * 500: 1 for index in range(4_000)},
            )
            for number in range(40)
        ),
        apart=True,
    ),
    Attack(
        name="who has lost a database",
        topic=Topic.ROOM,
        what="Questions of 200 invented regions for everything that east knows.",
        fills=lie("message StateRequest"),
        does=lambda s: s.say_all(asked(s, f"{s.name}-{number}") for number in range(200)),
    ),
)
