"""Which answers of reads may decide: conditions a, b and c of a valid read, and that the ledger forgets."""

from __future__ import annotations

import pytest

from syncer.conflict.reads import ReadLedger
from syncer.model import MetaPath

P, Q = MetaPath("/admin/policies/p"), MetaPath("/admin/policies/q")


@pytest.fixture
def ledger() -> ReadLedger:
    armed = ReadLedger()
    armed.arm()
    return armed


def test_a_read_decides_while_nothing_happens(ledger: ReadLedger) -> None:
    ticket = ledger.issue()
    assert ledger.armed
    assert not ledger.idle
    assert ledger.valid(ticket, P)
    ledger.handled(ticket, P)
    ledger.close(ticket)
    assert ledger.idle


def test_a_read_that_was_issued_before_the_row_changed_does_not(ledger: ReadLedger) -> None:
    """Schedules 7 and 8."""
    old = ledger.issue()
    ledger.changed([P])
    new = ledger.issue()
    assert not ledger.valid(old, P)
    assert ledger.valid(old, Q)
    assert ledger.valid(new, P)


def test_a_read_that_was_overtaken_by_a_later_one_does_not(ledger: ReadLedger) -> None:
    """Schedule 5."""
    old, new = ledger.issue(), ledger.issue()
    assert ledger.valid(new, P)
    ledger.handled(new, P)
    assert not ledger.valid(old, P)
    assert ledger.valid(old, Q)
    ledger.close(new)
    assert not ledger.valid(old, P)


def test_handling_an_older_answer_never_hides_that_a_later_one_was_handled(ledger: ReadLedger) -> None:
    old, middle, new = ledger.issue(), ledger.issue(), ledger.issue()
    ledger.handled(new, P)
    ledger.handled(old, P)
    assert not ledger.valid(middle, P)


def test_an_unarmed_watch_lets_no_read_decide() -> None:
    ledger = ReadLedger()
    ticket = ledger.issue()
    assert not ledger.armed
    assert not ledger.valid(ticket, P)
    ledger.arm()
    assert not ledger.valid(ticket, P)
    assert ledger.valid(ledger.issue(), P)


def test_a_read_from_before_a_gap_never_decides(ledger: ReadLedger) -> None:
    """Schedule 6."""
    before = ledger.issue()
    ledger.disarm()
    within = ledger.issue()
    assert not ledger.valid(before, P)
    ledger.arm()
    assert not ledger.valid(before, P)
    assert not ledger.valid(within, P)
    assert ledger.valid(ledger.issue(), P)


def test_arming_again_without_a_gap_said_is_a_gap(ledger: ReadLedger) -> None:
    before = ledger.issue()
    ledger.arm()
    assert not ledger.valid(before, P)


def test_changes_without_a_read_under_way_are_not_kept(ledger: ReadLedger) -> None:
    ledger.changed([P])
    assert ledger.valid(ledger.issue(), P)


def test_a_ticket_may_be_closed_twice(ledger: ReadLedger) -> None:
    ticket = ledger.issue()
    ledger.close(ticket)
    ledger.close(ticket)
    assert ledger.idle


def test_memory_is_bounded_although_some_read_is_always_under_way(ledger: ReadLedger) -> None:
    ticket = ledger.issue()
    for number in range(1_000):
        path = MetaPath(f"/admin/policies/{number}")
        following = ledger.issue()
        ledger.handled(ticket, path)
        ledger.changed([path])
        assert not ledger.valid(following, path)
        ledger.close(ticket)
        ticket = following
    assert len(ledger._changed) <= 2
    assert len(ledger._handled) <= 2
    ledger.close(ticket)
    assert not ledger._changed
    assert not ledger._handled


def test_forgetting_never_makes_an_old_answer_valid(ledger: ReadLedger) -> None:
    oldest, middle = ledger.issue(), ledger.issue()
    ledger.changed([P])
    newest = ledger.issue()
    ledger.handled(newest, Q)
    ledger.close(middle)
    ledger.close(newest)
    assert not ledger.valid(oldest, P)
    assert not ledger.valid(oldest, Q)
