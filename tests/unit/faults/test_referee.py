"""The referee of the real faults: it sees each thing that may be wrong, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from syncer.model import Counter, MetaPath, Millis
from tests.faults.case import Evidence, Kept
from tests.faults.record import Answer, Record, Write, load, token_of, value_of
from tests.faults.referee import OVERWRITTEN_UNREAD, Judgement, judge
from tests.unit.faults.histories import CLUSTERS, PATH, lost, stores, told, unread, write

FIRST, SECOND = "e.1", "w.1"


def rules(judgement: Judgement) -> list[str]:
    return sorted({each.rule for each in judgement.broken})


CREATED = told("east", FIRST, 10)
REPLACED = told("west", SECOND, 20, seen=CREATED.seen)
"""West's author had read what east had written."""
WRITES = (write("east", FIRST, None, 10), write("west", SECOND, FIRST, 20))
FINE = Evidence(writes=WRITES, stores=stores(SECOND, SECOND), events=(CREATED, REPLACED))

APART = told("west", SECOND, 20)
"""West's author knew nothing of east's."""
WRITES_APART = (write("east", FIRST, None, 10), write("west", SECOND, None, 20))
CONFLICT = Evidence(
    writes=WRITES_APART,
    stores=stores(SECOND, SECOND),
    events=(CREATED, APART),
    conflicts=(lost(CREATED, APART, FIRST),),
)

DELETED = told("east", None, 20, seen=CREATED.seen)
WRITES_DELETED = (write("east", FIRST, None, 10), write("east", None, FIRST, 20))
GONE = Evidence(writes=WRITES_DELETED, stores=stores(None, None), events=(CREATED, DELETED))


@pytest.mark.parametrize(
    ("evidence", "counts"),
    [
        (FINE, {"winner": 1, "replaced by who saw it": 1, "paths alive": 1}),
        (CONFLICT, {"winner": 1, "in a conflict record": 1, "conflict records": 1}),
        (GONE, {"winner": 1, "replaced by who saw it": 1, "paths deleted": 1}),
    ],
)
def test_what_is_right_is_accounted_for(evidence: Evidence, counts: Mapping[str, int]) -> None:
    judgement = judge(evidence)
    assert judgement.good, judgement.broken
    assert {what: judgement.counts[what] for what in counts} == counts


BROKEN: Sequence[tuple[str, Evidence, list[str]]] = (
    ("the stores differ", replace(FINE, stores=stores(SECOND, FIRST)), ["diverged"]),
    (
        "one store has a local field of its own, and another projection",
        replace(
            FINE,
            stores={**FINE.stores, "west": {PATH: value_of(PATH, SECOND, ("east",))}},
        ),
        ["diverged"],
    ),
    ("the older value stands", replace(FINE, stores=stores(FIRST, FIRST)), ["risen", "silent loss", "wrong winner"]),
    ("the loser is kept nowhere", replace(CONFLICT, conflicts=()), ["silent loss"]),
    (
        "the loser's value is not kept",
        replace(CONFLICT, conflicts=(lost(CREATED, APART, None),)),
        ["silent loss"],
    ),
    ("the winner never came to the bus", replace(FINE, events=(CREATED,)), ["wrong winner"]),
    ("nothing came to the bus", replace(FINE, events=()), ["never published"]),
    ("the deleted value is back", replace(GONE, stores=stores(FIRST, FIRST)), ["risen", "silent loss", "wrong winner"]),
    (
        "a value has two stamps",
        replace(FINE, events=(CREATED, REPLACED, told("west", SECOND, 21, seen=REPLACED.seen))),
        ["published twice"],
    ),
    (
        "a region publishes what its daemon wrote",
        replace(FINE, events=(CREATED, REPLACED, told("east", SECOND, 30, seen=REPLACED.seen))),
        ["echo", "published twice"],
    ),
    (
        "a delete that nobody made",
        replace(
            FINE, stores=stores(None, None), events=(CREATED, REPLACED, told("west", None, 30, seen=REPLACED.seen))
        ),
        ["echo", "silent loss"],
    ),
    (
        "a value that nobody wrote",
        replace(
            FINE, stores=stores("x.9", "x.9"), events=(CREATED, REPLACED, told("west", "x.9", 30, seen=REPLACED.seen))
        ),
        ["invented", "silent loss"],
    ),
    (
        "an author's knowledge is forgotten",
        replace(FINE, events=(CREATED, told("west", SECOND, 20))),
        ["causality"],
    ),
    (
        "a successor has the smaller stamp",
        replace(FINE, events=(told("east", FIRST, 30), told("west", SECOND, 20, seen={Counter("east~1"): Millis(30)}))),
        ["causality", "wrong winner"],
    ),
    (
        "a stamp names two values",
        replace(FINE, events=(CREATED, REPLACED, told("east", SECOND, 10, number=11))),
        ["two values"],
    ),
    (
        "a number names two changes",
        replace(FINE, events=(CREATED, replace(REPLACED, sender="east", sequence=10))),
        ["number reused"],
    ),
    (
        "a conflict with whom its author had seen",
        replace(FINE, conflicts=(lost(CREATED, REPLACED, FIRST),)),
        ["false conflict"],
    ),
    ("a write is due", replace(FINE, unfinished={"east": ["1 writes are due"]}), ["not at rest"]),
    ("a path is held", replace(FINE, held={"east": frozenset({PATH})}), ["not at rest"]),
)


@pytest.mark.parametrize(("evidence", "expected"), [each[1:] for each in BROKEN], ids=[each[0] for each in BROKEN])
def test_what_is_wrong_is_seen(evidence: Evidence, expected: list[str]) -> None:
    assert rules(judge(evidence)) == expected


MADE_ANEW = (*WRITES, write("east", None, FIRST, 21), write("east", "e.2", None, 22))
"""East's node was deleted and made anew between its daemon's read and its write of west's value."""


@pytest.mark.parametrize(
    ("records", "made", "expected"),
    [
        ((unread("east", 24, REPLACED),), MADE_ANEW, 0),
        ((), MADE_ANEW, 1),
        ((unread("west", 24, REPLACED),), MADE_ANEW, 1),
        ((unread("east", 20, REPLACED),), MADE_ANEW, 1),
        ((replace(unread("east", 24, REPLACED), reason="concurrent"),), MADE_ANEW, 1),
        ((unread("east", 24, REPLACED),), (*MADE_ANEW, write("east", "e.3", None, 23)), 1),
        ((unread("east", 24, REPLACED),), (*MADE_ANEW[:3], write("east", "e.2", "e.0", 22)), 1),
    ],
    ids=[
        "told",
        "not told",
        "told elsewhere",
        "told before",
        "told of something else",
        "told once of two",
        "over a value",
    ],
)
def test_what_was_overwritten_unread_counts_apart_where_people_are_told(
    records: tuple[Kept, ...], made: tuple[Write, ...], expected: int
) -> None:
    judgement = judge(replace(FINE, writes=made, conflicts=records))
    lost_ones = [each for each in judgement.broken if each.rule == "silent loss" and "is nowhere" in each.detail]
    assert len(lost_ones) == expected, judgement.broken
    assert judgement.counts.get(OVERWRITTEN_UNREAD, 0) == (1 if expected == 0 or len(made) > len(MADE_ANEW) else 0)


def test_a_write_of_unknown_outcome_counts_once_it_is_met() -> None:
    unknown = replace(WRITES[1], answer=Answer.UNKNOWN)
    assert rules(judge(replace(FINE, writes=(WRITES[0], unknown)))) == []
    never = Evidence(writes=(WRITES[0], unknown), stores=stores(FIRST, FIRST), events=(CREATED,))
    assert rules(judge(never)) == []
    met = replace(CONFLICT, writes=(WRITES_APART[0], replace(WRITES_APART[1], answer=Answer.UNKNOWN)))
    assert rules(judge(met)) == []
    vanished = replace(met, events=(CREATED, APART), stores=stores(FIRST, FIRST), conflicts=())
    assert rules(judge(vanished)) == ["silent loss", "wrong winner"], "it stood on the bus, so it has happened"


def test_a_delete_that_was_undone_by_nobody_is_a_loss() -> None:
    """West put a value where it had never seen the delete, and no conflict tells of it."""
    again = told("west", SECOND, 30)
    writes = (*WRITES_DELETED, write("west", SECOND, None, 5))
    evidence = Evidence(writes=writes, stores=stores(SECOND, SECOND), events=(CREATED, DELETED, again))
    assert rules(judge(evidence)) == ["silent loss"]
    kept = replace(evidence, conflicts=(lost(DELETED, again, None),))
    assert rules(judge(kept)) == []


def test_a_delete_that_another_region_has_seen_is_no_loss() -> None:
    again = told("west", SECOND, 30, seen=DELETED.seen)
    writes = (*WRITES_DELETED, write("west", SECOND, None, 25))
    evidence = Evidence(writes=writes, stores=stores(SECOND, SECOND), events=(CREATED, DELETED, again))
    assert rules(judge(evidence)) == []
    early = replace(evidence, writes=(*WRITES_DELETED, write("west", SECOND, None, 5)))
    assert rules(judge(early)) == ["silent loss"], "it cannot have seen what had not happened"


def test_two_deletes_of_one_value_are_one() -> None:
    """West deleted it too, and its author of the next value had seen that."""
    again = told("west", SECOND, 30, seen={**CREATED.seen, Counter("west~1"): Millis(21)})
    gone = told("west", None, 21, seen=CREATED.seen)
    writes = (*WRITES_DELETED, write("west", None, FIRST, 21), write("west", SECOND, None, 30))
    evidence = Evidence(writes=writes, stores=stores(SECOND, SECOND), events=(CREATED, gone, again))
    assert rules(judge(evidence)) == []
    other = replace(evidence, writes=(*WRITES_DELETED, write("west", SECOND, None, 30)), events=(CREATED, again))
    assert rules(judge(other)) == ["silent loss"]


def test_a_delete_is_one_with_another_regions_that_its_author_could_not_know() -> None:
    """West deletes its own value, which east's delete of another one has beaten already; then somebody creates."""
    theirs = told("west", SECOND, 15)
    again = told("east", "e.9", 40, seen=DELETED.seen)
    writes = (
        *WRITES_DELETED,
        write("west", SECOND, None, 15),
        write("west", None, SECOND, 30),
        write("east", "e.9", None, 40),
    )
    conflict = lost(theirs, DELETED, SECOND)
    evidence = Evidence(
        writes=writes, stores=stores("e.9", "e.9"), events=(CREATED, theirs, DELETED, again), conflicts=(conflict,)
    )
    judgement = judge(evidence)
    assert judgement.good, judgement.broken
    assert judgement.counts["one with a delete elsewhere"] == 1


def test_a_delete_is_not_one_with_an_older_one() -> None:
    """West deletes what somebody had put there after east's delete: that one accounts for nothing."""
    theirs = told("west", SECOND, 30, seen=DELETED.seen)
    other = told("east", "e.9", 50, seen=theirs.seen)
    writes = (
        *WRITES_DELETED,
        write("west", SECOND, None, 30),
        write("west", None, SECOND, 40),
        write("east", "e.9", SECOND, 50),
    )
    evidence = Evidence(writes=writes, stores=stores("e.9", "e.9"), events=(CREATED, DELETED, theirs, other))
    assert rules(judge(evidence)) == ["silent loss"]


def test_what_came_and_went_between_two_reads_is_no_change() -> None:
    writes = (*WRITES_DELETED, write("west", SECOND, None, 15))
    evidence = Evidence(writes=writes, stores=stores(SECOND, SECOND), events=(told("west", SECOND, 15),))
    judgement = judge(evidence)
    assert judgement.good, judgement.broken
    assert judgement.counts["came and went unread"] == 1


def test_the_record_keeps_what_was_added(tmp_path: Path) -> None:
    record = Record(tmp_path / "writes.jsonl")
    record.add(*WRITES, replace(WRITES[0], answer=Answer.UNKNOWN))
    record.away("east")
    assert (record.acknowledged("east"), record.unknown("east"), record.troubled("east")) == (1, 1, 2)
    record.close()
    assert [each.token for each in load(record.file)] == [FIRST, SECOND, FIRST]


@pytest.mark.parametrize(
    "path", ["/admin/policies/load-t", "/admin/policies/load/n", "/admin/partitioned-topics/load/topics/persistent/t"]
)
def test_a_value_carries_its_token(path: str) -> None:
    assert token_of(MetaPath(path), value_of(MetaPath(path), "e.7", CLUSTERS)) == "e.7"
    assert token_of(MetaPath(path), b"{}") != "e.7"
