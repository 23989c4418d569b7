"""Judgements in closed form are those of a referee that goes from entry to entry and from bookie to bookie."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.ledgers.judging.fragments import damaged_fragments
from syncer.ledgers.judging.ledger import is_recoverable, judge, lost_ranges
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.placement.write_sets import entries_on, first_stored, holds, last_stored, striped, write_set
from tests.property.ledgers import ledgers

BOOKIES = [f"bk-{number}:3181" for number in range(7)]
LOST = st.sets(st.sampled_from(BOOKIES)).map(frozenset)
CONFIRMED = st.none() | st.integers(-1, 260)


def certain(ledger: LedgerMetadata, confirmed: int | None) -> dict[int, list[str]]:
    """Each entry that is certain, with the bookies that its write set names."""
    found = {}
    firsts = [segment.first_entry for segment in ledger.segments]
    end = ledger.last_entry if ledger.is_closed else max(firsts[-1] - 1, -1 if confirmed is None else confirmed)
    assert end is not None
    for entry in range(firsts[0], end + 1):
        [*_, segment] = [each for each in ledger.segments if each.first_entry <= entry]
        indexes = [(entry + offset) % ledger.quorums.ensemble for offset in range(ledger.quorums.write)]
        found[entry] = [segment.bookies[index] for index in indexes]
    return found


@settings(max_examples=400)
@given(ledgers(), LOST, CONFIRMED)
def test_replicas_left_are_those_of_each_entry(
    ledger: LedgerMetadata, lost: frozenset[str], confirmed: int | None
) -> None:
    entries = certain(ledger, confirmed)
    left = {entry: sum(bookie not in lost for bookie in bookies) for entry, bookies in entries.items()}
    counts = Counter(left.values())
    found = judge(ledger, lost, confirmed)
    assert list(found.by_replicas_left) == [counts[number] for number in range(ledger.quorums.write + 1)]
    assert found.entries == len(entries)
    assert found.below_ack_quorum == sum(number < ledger.quorums.ack for number in left.values())
    assert found.below_write_quorum == sum(number < ledger.quorums.write for number in left.values())
    assert found.least_replicas == min(left.values(), default=ledger.quorums.write)
    dead = sorted(entry for entry, number in left.items() if number == 0)
    assert list(lost_ranges(ledger, lost, confirmed)) == [
        (run[0], run[-1])
        for _, group in groupby(enumerate(dead), lambda pair: pair[1] - pair[0])
        if (run := [entry for _, entry in group])
    ]


@given(ledgers(), LOST)
def test_a_ledger_is_recoverable_if_no_entry_can_be_confirmed_on_lost_bookies_alone(
    ledger: LedgerMetadata, lost: frozenset[str]
) -> None:
    last = ledger.segments[-1].bookies
    ensemble, write, ack = ledger.quorums
    sets = [{last[(entry + offset) % ensemble] for offset in range(write)} for entry in range(ensemble)]
    assert is_recoverable(ledger, lost) == all(len(each & lost) < ack for each in sets)
    assert judge(ledger, lost).recoverable == (None if ledger.is_closed else is_recoverable(ledger, lost))


@given(ledgers(), LOST, LOST)
def test_who_loses_more_bookies_is_never_better_off(
    ledger: LedgerMetadata, lost: frozenset[str], more: frozenset[str]
) -> None:
    before, after = judge(ledger, lost), judge(ledger, lost | more)
    assert after.lost_entries >= before.lost_entries
    assert after.below_ack_quorum >= before.below_ack_quorum
    assert before.recoverable or not after.recoverable
    assert before.named <= after.named


@given(st.integers(1, 7), st.data())
def test_entries_of_a_bookie_are_counted_and_found_without_walking(ensemble: int, data: st.DataObject) -> None:
    write = data.draw(st.integers(1, ensemble))
    index = data.draw(st.integers(0, ensemble - 1))
    first = data.draw(st.integers(0, 50) | st.integers(2**40, 2**40 + 9))
    last = first + data.draw(st.integers(-1, 40))
    entries = [entry for entry in range(first, last + 1) if index in write_set(entry, ensemble, write)]
    assert all(holds(index, entry, ensemble, write) for entry in entries)
    assert list(striped(index, first, last, ensemble, write)) == entries
    assert entries_on(index, first, last, ensemble, write) == len(entries)
    assert first_stored(index, first, last, ensemble, write) == next(iter(entries), None)
    assert last_stored(index, first, last, ensemble, write) == next(reversed(entries), None)


@given(ledgers(), LOST)
def test_where_all_was_written_the_checker_finds_the_lost_bookies_and_no_others(
    ledger: LedgerMetadata, lost: frozenset[str]
) -> None:
    last = max(segment.first_entry for segment in ledger.segments) + 9
    ledger = ledger._replace(last_entry=last if ledger.is_closed else None)
    found = list(damaged_fragments(ledger, lost, last, last))
    wanted = [
        (segment.first_entry, [bookie for bookie in segment.bookies if bookie in lost])
        for segment in ledger.segments
        if lost.intersection(segment.bookies)
    ]
    assert [(each.first_entry, [bookie for _, bookie in each.bookies]) for each in found] == wanted
