"""What may become of a delete, by small histories: each legal fate is seen, and each way to lose one is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from syncer.model import MetadataChangeEvent, Seen
from tests.faults.case import Case, Evidence, Kept
from tests.faults.deletes import Fate, fate_of
from tests.faults.record import Answer, Write
from tests.faults.referee import judge
from tests.unit.faults.histories import lost, stores, told, write

E1 = told("east", "e.1", 10)
"""East's first value; both regions hold it."""
FIRST = write("east", "e.1", None, 10)
GONE = told("west", None, 20, seen=E1.seen)
"""West's delete of it, as its daemon has told."""
DELETE = write("west", None, "e.1", 20)
BLIND = told("east", "e.2", 25, seen=E1.seen)
"""East's next value, whose author knew nothing of the delete; its stamp is the greater one."""
UPDATE = write("east", "e.2", "e.1", 25)


def evidence(
    end: str | None, writes: Sequence[Write], events: Sequence[MetadataChangeEvent], conflicts: Sequence[Kept] = ()
) -> Evidence:
    return Evidence(writes=(FIRST, *writes), stores=stores(end, end), events=(E1, *events), conflicts=tuple(conflicts))


def seen_of(*events: MetadataChangeEvent) -> Seen:
    return {by: time for event in events for by, time in event.seen.items()}


AFTER_UNREAD = told("east", "e.4", 31, seen={**E1.seen, **GONE.seen})
WEST_AGAIN = told("west", "w.2", 22, seen=E1.seen)
LATER = told("east", None, 30, seen=BLIND.seen)
"""East's own delete of its next value."""
AFTER_LATER = told("east", "e.4", 40, seen=LATER.seen)
OF_BLIND = told("west", None, 30, seen={**GONE.seen, **BLIND.seen})
"""West deletes what it was given in the place of what it had deleted."""
AFTER_BLIND = told("west", "w.4", 40, seen=OF_BLIND.seen)
TWICE = told("west", None, 22, seen=E1.seen)
AFTER_TWICE = told("east", "e.4", 40, seen={**E1.seen, **TWICE.seen})
AT_ONCE = told("east", None, 21, seen=E1.seen)
THERE = told("west", None, 30, seen=BLIND.seen)
THIRD = told("west", "w.3", 28, seen=BLIND.seen)
OF_THIRD = told("east", None, 30, seen=THIRD.seen)

LEGAL: Sequence[tuple[str, Fate, Evidence]] = (
    ("the path is gone at the end", Fate.WINNER, evidence(None, [DELETE], [GONE])),
    (
        "the next author found it gone, and was replaced unread",
        Fate.REPLACED,
        evidence(
            "e.4", [DELETE, write("east", "e.3", None, 30), write("east", "e.4", "e.3", 31)], [GONE, AFTER_UNREAD]
        ),
    ),
    (
        "somebody put the next value there before the daemon looked",
        Fate.REPLACED,
        evidence("w.2", [DELETE, write("west", "w.2", None, 22)], [WEST_AGAIN]),
    ),
    (
        "a concurrent value won",
        Fate.IN_CONFLICT,
        evidence("e.2", [DELETE, UPDATE], [GONE, BLIND], [lost(GONE, BLIND, None)]),
    ),
    (
        "a concurrent value won, and was deleted later",
        Fate.IN_CONFLICT,
        evidence(
            "w.4",
            [DELETE, UPDATE, write("west", None, "e.2", 30), write("west", "w.4", None, 40)],
            [GONE, BLIND, OF_BLIND, AFTER_BLIND],
            [lost(GONE, BLIND, None)],
        ),
    ),
    (
        "another region deleted at once, and whoever wrote next had seen that",
        Fate.ONE_WITH,
        evidence(
            "e.4",
            [DELETE, write("east", None, "e.1", 21), write("east", "e.4", None, 40)],
            [GONE, AT_ONCE, told("east", "e.4", 40, seen=seen_of(E1, AT_ONCE))],
        ),
    ),
    (
        "another region's delete came first, of a value that had won: this one found it so, and told nothing",
        Fate.ONE_WITH,
        evidence(
            "e.4",
            [DELETE, UPDATE, write("east", None, "e.2", 30), write("east", "e.4", None, 40)],
            [BLIND, LATER, AFTER_LATER],
        ),
    ),
    (
        "in a third region another's delete arrives before what that had deleted",
        Fate.ONE_WITH,
        evidence(
            "e.4",
            [DELETE, UPDATE, write("east", None, "e.2", 30), write("east", "e.4", None, 40)],
            [GONE, BLIND, LATER, AFTER_LATER],
        ),
    ),
    (
        "deleted, put, and deleted between two reads: the first",
        Fate.REPLACED,
        evidence(
            "e.4",
            [
                DELETE,
                write("west", "w.2", None, 21),
                write("west", None, "w.2", 22),
                write("east", "e.4", None, 40),
            ],
            [TWICE, AFTER_TWICE],
        ),
    ),
)


@pytest.mark.parametrize(("fate", "found"), [each[1:] for each in LEGAL], ids=[each[0] for each in LEGAL])
def test_a_legal_fate_is_seen(fate: Fate, found: Evidence) -> None:
    assert fate_of(Case(found), DELETE) is fate
    assert [each for each in judge(found).broken if each.rule == "silent loss"] == []


@pytest.mark.parametrize(("fate", "found"), [each[1:] for each in LEGAL], ids=[each[0] for each in LEGAL])
def test_a_delete_that_took_no_time_has_the_same_fate(fate: Fate, found: Evidence) -> None:
    """Sent and answered within one millisecond: it is not its own successor."""
    at_once = replace(DELETE, answered_at_ms=DELETE.sent_at_ms)
    writes = tuple(at_once if each is DELETE else each for each in found.writes)
    quick = replace(found, writes=writes)
    assert fate_of(Case(quick), at_once) is fate
    assert [each for each in judge(quick).broken if each.rule == "silent loss"] == []


def test_what_came_and_went_unread_needs_no_fate() -> None:
    found = evidence("e.1", [write("west", "w.2", None, 5), write("west", None, "w.2", 6)], [])
    assert fate_of(Case(found), found.writes[2]) is Fate.UNREAD
    assert judge(found).good


ILLEGAL: Sequence[tuple[str, Evidence, int]] = (
    ("a concurrent value won, and nobody kept the delete", evidence("e.2", [DELETE, UPDATE], [GONE, BLIND]), 2),
    ("the daemon told nothing, and wrote over it", evidence("e.2", [DELETE, UPDATE], [BLIND]), 1),
    (
        "written over, and what was written is deleted there later: that is another delete",
        evidence(
            "w.4",
            [DELETE, UPDATE, write("west", None, "e.2", 30), write("west", "w.4", None, 40)],
            [BLIND, THERE, told("west", "w.4", 40, seen=seen_of(BLIND, THERE))],
        ),
        1,
    ),
    (
        "written over, and replaced there later by who knew only that",
        evidence(
            "e.4",
            [
                DELETE,
                UPDATE,
                write("west", "w.3", "e.2", 28),
                write("east", None, "w.3", 30),
                write("east", "e.4", None, 40),
            ],
            [
                BLIND,
                THIRD,
                OF_THIRD,
                told("east", "e.4", 40, seen=OF_THIRD.seen),
            ],
        ),
        1,
    ),
    (
        "the conflict that is kept is that of an earlier delete",
        evidence(
            "e.5",
            [DELETE, UPDATE, write("west", None, "e.2", 30), write("east", "e.5", "e.2", 35)],
            [GONE, BLIND, OF_BLIND, told("east", "e.5", 35, seen=BLIND.seen)],
            [lost(GONE, BLIND, None)],
        ),
        2,
    ),
    (
        "the next author's write never happened",
        evidence("e.2", [DELETE, UPDATE, write("west", "w.2", None, 22, Answer.UNKNOWN)], [BLIND]),
        1,
    ),
    (
        "who claims to have seen it had read before",
        evidence(
            "e.4",
            [DELETE, write("east", "e.4", None, 15)],
            [GONE, told("east", "e.4", 31, seen={**E1.seen, **GONE.seen})],
        ),
        2,
    ),
    (
        "deleted, put, and deleted between two reads, and what was told of it is kept by nobody",
        evidence(
            "e.2",
            [DELETE, UPDATE, write("west", "w.2", None, 21), write("west", None, "w.2", 22)],
            [TWICE, BLIND],
        ),
        1,
    ),
    (
        "two at once, and neither is kept",
        evidence(
            "e.4",
            [DELETE, write("east", None, "e.1", 21), write("north", "e.4", "e.1", 40)],
            [GONE, told("east", None, 21, seen=E1.seen), told("north", "e.4", 40, seen=E1.seen)],
        ),
        4,
    ),
)


@pytest.mark.parametrize(("found", "times"), [each[1:] for each in ILLEGAL], ids=[each[0] for each in ILLEGAL])
def test_a_lost_delete_is_found(found: Evidence, times: int) -> None:
    """As a write, as a change on the bus, or as both."""
    judgement = judge(found)
    assert sum(each.rule == "silent loss" for each in judgement.broken) == times, judgement.broken
    assert set(judgement.stories) == {each.path for each in judgement.broken if each.path}


def test_the_story_of_a_broken_path_has_all_that_is_known() -> None:
    found = evidence("e.2", [DELETE, UPDATE], [GONE, BLIND], [lost(GONE, BLIND, "e.1")])
    (lines,) = judge(evidence("e.2", [DELETE, UPDATE], [GONE, BLIND])).stories.values()
    assert lines == [
        "       0 east: e puts e.1 over nothing, read at 0: acknowledged at 1",
        "       0 east: stamped e.1 as east~1, seen nothing",
        "      10 west: stamped a delete as west~1, seen east~1 0",
        "      10 west: w deletes e.1, read at 10: acknowledged at 11",
        "      15 east: e puts e.2 over e.1, read at 15: acknowledged at 16",
        "      15 east: stamped e.2 as east~1, seen nothing",
        "at the end the stores hold {'east': 'e.2', 'west': 'e.2'}",
    ]
    assert judge(found).stories == {}
