"""Laws of changes between two audits: none with itself, mirrored the other way, sums add up, nothing unread is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from syncer.ledgers.auditing.audited import (
    NOTHING_UNREAD,
    AuditedBookie,
    AuditedFinding,
    AuditedKeeping,
    AuditedLedgers,
    AuditedTally,
    Unread,
    groups_of_namespaces,
)
from syncer.ledgers.auditing.changes import FindingTurn, LedgerChanges, PresenceTurn, changes, differences
from syncer.ledgers.auditing.findings import LedgerFindingCode, LedgerFindingSeverity
from syncer.ledgers.auditing.standing import KeptFor
from syncer.ledgers.judging.ledger import ReplicaClass
from syncer.ledgers.nodes import BookieState
from syncer.model import Millis
from syncer.wanted.ledgers import LedgerPart

COUNT: Final = st.integers(0, 3)
BY_REPLICAS: Final = st.dictionaries(COUNT, st.integers(1, 9), max_size=3)
TALLIES: Final = st.builds(
    AuditedTally,
    ledgers=st.integers(1, 9),
    classes=st.dictionaries(st.sampled_from([each.value for each in ReplicaClass]), st.integers(1, 9), max_size=2),
    entries_left=BY_REPLICAS,
    entries_lacking=COUNT,
    bytes_left=BY_REPLICAS,
    unknown_bytes=COUNT,
    not_recoverable=COUNT,
)
NAMESPACES: Final = ("", "a/b", "a/c", "d/e")
TOPICS: Final = ("", "persistent://a/b/x", "persistent://a/b/y", "persistent://d/e/x")
UNREAD: Final = st.just(NOTHING_UNREAD) | st.builds(
    Unread, paths=st.frozensets(st.sampled_from(["/a", "/b", "/c"]), min_size=1), more=st.booleans()
)
PRESENCES: Final = {
    PresenceTurn.APPEARED: PresenceTurn.GONE,
    PresenceTurn.FIRST_SEEN: PresenceTurn.NOT_SEEN,
    PresenceTurn.CHANGED: PresenceTurn.CHANGED,
    PresenceTurn.PERHAPS: PresenceTurn.PERHAPS,
    PresenceTurn.NOT_SEEN: PresenceTurn.FIRST_SEEN,
    PresenceTurn.GONE: PresenceTurn.APPEARED,
}
FINDINGS: Final = {
    FindingTurn.NEW: FindingTurn.GONE,
    FindingTurn.GROWN: FindingTurn.SHRUNK,
    FindingTurn.OTHERS: FindingTurn.OTHERS,
    FindingTurn.FIRST_SEEN: FindingTurn.NOT_SEEN,
    FindingTurn.MORE_SEEN: FindingTurn.FEWER_SEEN,
    FindingTurn.SAME: FindingTurn.SAME,
    FindingTurn.FEWER_SEEN: FindingTurn.MORE_SEEN,
    FindingTurn.NOT_SEEN: FindingTurn.FIRST_SEEN,
    FindingTurn.SHRUNK: FindingTurn.GROWN,
    FindingTurn.GONE: FindingTurn.NEW,
}


@st.composite
def found(draw: st.DrawFn) -> AuditedFinding:
    count = draw(st.integers(1, 4))
    names = draw(st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=count))
    severity = draw(st.sampled_from([*(each.value for each in LedgerFindingSeverity), "of a later version"]))
    return AuditedFinding(severity=severity, count=count, what="things", names=tuple(sorted(names)))


@st.composite
def audits(draw: st.DrawFn) -> AuditedLedgers:
    groups = draw(st.dictionaries(st.sampled_from(draw(st.sampled_from([NAMESPACES, TOPICS]))), TALLIES))
    total = AuditedTally()
    for tally in groups.values():
        total = total.with_other(tally)
    states = [each.value for each in BookieState]
    return AuditedLedgers(
        cluster="c",
        taken_ms=Millis(draw(st.integers(0, 9))),
        unread=draw(st.dictionaries(st.sampled_from(LedgerPart), UNREAD, max_size=2)),
        total=total,
        groups=groups,
        kept=draw(
            st.dictionaries(
                st.sampled_from([each.value for each in KeptFor]),
                st.builds(AuditedKeeping, ledgers=COUNT, bytes=COUNT, stored_bytes=COUNT),
                max_size=3,
            )
        ),
        bookies=draw(
            st.dictionaries(
                st.sampled_from("pqr"),
                st.builds(AuditedBookie, state=st.sampled_from(states), rack=st.sampled_from(["/r", "/s"])),
            )
        ),
        findings=draw(
            st.dictionaries(
                st.sampled_from([*(each.value for each in LedgerFindingCode), "of-a-later-version"]),
                found(),
                max_size=5,
            )
        ),
    )


def mirrored(found_: LedgerChanges) -> dict[str, set[tuple[object, ...]]]:
    return {
        "groups": {
            (each.name, PRESENCES[each.turn], each.after.ledgers, each.before.ledgers) for each in found_.groups
        },
        "kept": {(each.reason, PRESENCES[each.turn], each.after, each.before) for each in found_.kept},
        "bookies": {(each.bookie, PRESENCES[each.turn], each.after, each.before) for each in found_.bookies},
        "findings": {
            (each.code, FINDINGS[each.turn], each.after, each.before, each.went, each.came) for each in found_.findings
        },
    }


def plain(found_: LedgerChanges) -> dict[str, set[tuple[object, ...]]]:
    return {
        "groups": {(each.name, each.turn, each.before.ledgers, each.after.ledgers) for each in found_.groups},
        "kept": {(each.reason, each.turn, each.before, each.after) for each in found_.kept},
        "bookies": {(each.bookie, each.turn, each.before, each.after) for each in found_.bookies},
        "findings": {(each.code, each.turn, each.before, each.after, each.came, each.went) for each in found_.findings},
    }


@given(audits())
def test_an_audit_has_not_changed_from_itself(audit: AuditedLedgers) -> None:
    same = changes(audit, audit)
    assert (same.groups, same.kept, same.bookies, same.worse) == ((), (), (), False)
    assert {each.turn for each in same.findings} <= {FindingTurn.SAME}
    assert {each.code for each in same.findings} == set(audit.findings)


@given(audits(), audits())
def test_the_way_back_mirrors_the_way_there(one: AuditedLedgers, other: AuditedLedgers) -> None:
    there, back = changes(one, other), changes(other, one)
    assert mirrored(there) == plain(back)
    assert there.alike == back.alike


@given(audits(), audits())
def test_changes_of_groups_add_up_to_those_of_the_whole(before: AuditedLedgers, after: AuditedLedgers) -> None:
    groups = changes(before, after).groups
    for figure in (
        "ledgers",
        "entries",
        "entries_lost",
        "entries_lacking",
        "bytes",
        "unknown_bytes",
        "not_recoverable",
    ):
        moved = sum(getattr(each.after, figure) - getattr(each.before, figure) for each in groups)
        assert moved == getattr(after.total, figure) - getattr(before.total, figure), figure
    for counts in ("classes", "entries_left", "bytes_left"):
        added: dict[object, int] = {}
        for each in groups:
            for key, count in differences(getattr(each.before, counts), getattr(each.after, counts)).items():
                added[key] = added.get(key, 0) + count
        whole = differences(getattr(before.total, counts), getattr(after.total, counts))
        assert {key: count for key, count in added.items() if count} == whole, counts


@given(audits(), audits())
def test_every_finding_of_both_is_told_and_every_group_that_differs(one: AuditedLedgers, other: AuditedLedgers) -> None:
    told = changes(one, other)
    assert {each.code for each in told.findings} == {*one.findings, *other.findings}
    assert {each.bookie for each in told.bookies} == {
        name for name in {*one.bookies, *other.bookies} if one.bookies.get(name) != other.bookies.get(name)
    }
    if one.by_topic != other.by_topic:
        assert not any("://" in each.name for each in told.groups)


@given(audits(), audits(), st.sampled_from(LedgerPart), st.frozensets(st.just("/unread"), min_size=1))
def test_nothing_is_called_gone_or_new_that_may_not_have_been_read(
    before: AuditedLedgers, after: AuditedLedgers, part: LedgerPart, paths: frozenset[str]
) -> None:
    """Of the side that has not read what the other one has, absence says nothing."""
    half: Mapping[LedgerPart, Unread] = {**after.unread, part: Unread(paths=paths)}
    blind, seeing = replace(after, unread=half), replace(before, unread={})
    for earlier, later, absent in ((seeing, blind, "gone"), (blind, seeing, "new")):
        told = changes(earlier, later)
        assert not told.alike
        certain = {
            "gone": ({PresenceTurn.GONE}, {FindingTurn.GONE, FindingTurn.SHRUNK}),
            "new": ({PresenceTurn.APPEARED}, {FindingTurn.NEW, FindingTurn.GROWN}),
        }[absent]
        assert not certain[1] & {each.turn for each in told.findings}
        if part in {LedgerPart.LEDGERS, LedgerPart.REFERENCES}:
            assert not certain[0] & ({each.turn for each in told.groups} | {each.turn for each in told.kept})
        if part in {LedgerPart.LEDGERS, LedgerPart.BOOKIES}:
            assert not certain[0] & {each.turn for each in told.bookies}
        if part is LedgerPart.BOOKIES:
            assert PresenceTurn.CHANGED not in {each.turn for each in told.groups}
            assert PresenceTurn.CHANGED not in {each.turn for each in told.bookies}


@given(audits())
def test_groups_of_namespaces_hold_all_that_topics_hold(audit: AuditedLedgers) -> None:
    folded = groups_of_namespaces(audit)
    total = AuditedTally()
    for tally in folded.values():
        total = total.with_other(tally)
    assert total == audit.total
    assert not any("://" in name for name in folded)
