"""Changes between two audits: what comes first, which names came and went, and what is not sure."""

from __future__ import annotations

from dataclasses import replace

from syncer.ledgers.auditing.audited import (
    AuditedBookie,
    AuditedFinding,
    AuditedKeeping,
    AuditedLedgers,
    AuditedTally,
    Unread,
)
from syncer.ledgers.auditing.changes import FindingTurn, PresenceTurn, changes, differences
from syncer.model import Millis
from syncer.wanted.ledgers import LedgerPart

EMPTY = AuditedLedgers(cluster="c", taken_ms=Millis(1))
UNREAD = {LedgerPart.REFERENCES: Unread(paths=frozenset({"/managed-ledgers/x"}))}


def tally(bytes_left: dict[int, int], *, lacking: int = 0, not_recoverable: int = 0, lost: int = 0) -> AuditedTally:
    return AuditedTally(
        ledgers=1,
        entries_left={2: 5} | ({0: lost} if lost else {}),
        entries_lacking=lacking,
        bytes_left=bytes_left,
        not_recoverable=not_recoverable,
    )


def finding(count: int, *names: str, severity: str = "warning") -> AuditedFinding:
    return AuditedFinding(severity=severity, count=count, what="things", names=names)


def turns(before: AuditedLedgers, after: AuditedLedgers) -> dict[str, FindingTurn]:
    return {each.code: each.turn for each in changes(before, after).findings}


def test_groups_that_lost_most_come_first_then_those_that_are_gone() -> None:
    was = tally({2: 10})
    before = replace(EMPTY, groups=dict.fromkeys(("t/gone", "t/less", "t/lost", "t/lacks", "t/stuck", "t/same"), was))
    after = replace(
        EMPTY,
        groups={
            "t/same": was,
            "t/less": tally({2: 9}),
            "t/grown": tally({2: 99}),
            "t/lacks": tally({1: 4, 2: 6}, lacking=2),
            "t/stuck": tally({2: 10}, not_recoverable=1),
            "t/lost": tally({2: 10}, lacking=3, lost=3),
        },
    )
    found = changes(before, after).groups
    assert [each.name for each in found] == ["t/lost", "t/stuck", "t/lacks", "t/gone", "t/grown", "t/less"]
    by_name = {each.name: each for each in found}
    assert (by_name["t/gone"].turn, by_name["t/grown"].turn) == (PresenceTurn.GONE, PresenceTurn.APPEARED)
    lacks = by_name["t/lacks"]
    assert lacks.turn is PresenceTurn.CHANGED
    assert differences(lacks.before.bytes_left, lacks.after.bytes_left) == {1: 4, 2: -4}


def test_new_findings_come_first_by_severity_and_what_is_over_last() -> None:
    before = replace(
        EMPTY,
        findings={
            "bookies-lost": finding(2, "a", "b"),
            "no-auditor": finding(1),
            "under-replicated": finding(9, *"12345"),
            "not-marked": finding(1, "7", severity="notice"),
            "racks-unreadable": finding(2, "x", "y"),
        },
    )
    after = replace(
        EMPTY,
        findings={
            "entries-lost": finding(1, "7", severity="critical"),
            "bookies-lost": finding(2, "b", "d"),
            "no-auditor": finding(1),
            "under-replicated": finding(8, *"12346"),
            "not-marked": finding(3, *"789", severity="notice"),
        },
    )
    told = changes(before, after)
    assert [(each.code, each.turn) for each in told.findings] == [
        ("entries-lost", FindingTurn.NEW),
        ("bookies-lost", FindingTurn.OTHERS),
        ("not-marked", FindingTurn.GROWN),
        ("no-auditor", FindingTurn.SAME),
        ("under-replicated", FindingTurn.SHRUNK),
        ("racks-unreadable", FindingTurn.GONE),
    ]
    names = {each.code: (each.came, each.went) for each in told.findings}
    assert names["bookies-lost"] == (("d",), ("a",))
    assert names["not-marked"] == (("8", "9"), ())
    assert names["under-replicated"] == ((), ()), "not all names of it were told, so none is known to have gone"
    assert told.worse
    assert not changes(after, replace(after, findings={"no-auditor": finding(1)})).worse


def test_what_was_not_read_is_not_gone_and_what_could_not_be_read_is_not_new() -> None:
    here = replace(
        EMPTY,
        groups={"t/n": tally({2: 10})},
        kept={"topic data": AuditedKeeping(ledgers=1, bytes=10, stored_bytes=20)},
        findings={"under-replicated": finding(3, *"123")},
    )
    away = replace(
        EMPTY, unread=UNREAD, groups={"": tally({2: 10})}, kept={"no reference here": AuditedKeeping(ledgers=1)}
    )
    there = changes(here, away)
    assert not there.alike
    assert {each.name: each.turn for each in there.groups} == {
        "t/n": PresenceTurn.NOT_SEEN,
        "": PresenceTurn.FIRST_SEEN,
    }
    assert {each.reason: each.turn for each in there.kept} == {
        "topic data": PresenceTurn.NOT_SEEN,
        "no reference here": PresenceTurn.FIRST_SEEN,
    }
    assert turns(here, away) == {"under-replicated": FindingTurn.NOT_SEEN}
    assert turns(away, here) == {"under-replicated": FindingTurn.FIRST_SEEN}
    assert changes(away, here).worse, "nobody has seen it before"


def test_two_audits_that_have_not_read_the_same_paths_are_compared_like_any() -> None:
    before = replace(EMPTY, unread=UNREAD, groups={"t/n": tally({2: 10})}, findings={"not-read": finding(1, "/x")})
    after = replace(EMPTY, unread=UNREAD, findings={"not-read": finding(1, "/x")})
    told = changes(before, after)
    assert told.alike
    assert [each.turn for each in told.groups] == [PresenceTurn.GONE]
    more = {LedgerPart.REFERENCES: Unread(paths=frozenset({"/managed-ledgers/x"}), more=True)}
    told = changes(before, replace(after, unread=more))
    assert [each.turn for each in told.groups] == [PresenceTurn.NOT_SEEN], "nobody knows which others were not read"


def test_where_it_is_not_known_which_bookies_are_up_no_finding_is_over() -> None:
    live = replace(
        EMPTY,
        groups={"t/n": tally({1: 5}, lacking=5)},
        bookies={"b": AuditedBookie(state="away", rack="/r")},
        findings={"bookies-lost": finding(1, "b"), "under-replicated": finding(3, *"123")},
    )
    files = replace(
        EMPTY,
        unread={LedgerPart.BOOKIES: Unread(paths=frozenset({"/available"}))},
        groups={"t/n": tally({2: 5})},
        bookies={"b": AuditedBookie(state="unknown", rack="/r")},
        findings={"bookies-unknown": finding(1)},
    )
    there, back = changes(live, files), changes(files, live)
    assert turns(live, files) == {
        "bookies-unknown": FindingTurn.NEW,
        "bookies-lost": FindingTurn.NOT_SEEN,
        "under-replicated": FindingTurn.NOT_SEEN,
    }
    assert turns(files, live)["bookies-lost"] is FindingTurn.FIRST_SEEN
    for told in (there, back):
        assert [each.turn for each in told.groups] == [PresenceTurn.PERHAPS]
        assert [each.turn for each in told.bookies] == [PresenceTurn.PERHAPS]


def test_bookies_that_went_away_come_first() -> None:
    up = AuditedBookie(state="writable", rack="/r")
    before = replace(EMPTY, bookies=dict.fromkeys("abcd", up))
    after = replace(
        EMPTY,
        bookies={
            "a": replace(up, rack="/s"),
            "c": replace(up, state="away"),
            "d": up,
            "e": replace(up, state="away"),
            "f": up,
        },
    )
    assert [(each.bookie, each.turn) for each in changes(before, after).bookies] == [
        ("c", PresenceTurn.CHANGED),
        ("e", PresenceTurn.APPEARED),
        ("b", PresenceTurn.GONE),
        ("a", PresenceTurn.CHANGED),
        ("f", PresenceTurn.APPEARED),
    ]


def test_an_audit_by_topic_is_compared_by_namespace_where_the_other_one_is() -> None:
    topics = replace(
        EMPTY,
        groups={
            "persistent://t/n/x": tally({2: 10}),
            "persistent://t/n/y": tally({1: 5}, lacking=1),
            "": tally({2: 3}),
        },
    )
    both = AuditedTally(ledgers=2, entries_left={2: 10}, entries_lacking=1, bytes_left={2: 10, 1: 5})
    assert changes(topics, replace(EMPTY, groups={"t/n": both, "": tally({2: 3})})).groups == ()
    (change,) = changes(
        topics, replace(topics, groups={"persistent://t/n/x": tally({2: 10}), "": tally({2: 3})})
    ).groups
    assert (change.name, change.turn) == ("persistent://t/n/y", PresenceTurn.GONE)
