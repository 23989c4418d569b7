"""Judgements of single ledgers: absurd ones too, and what an operator reads off them."""

from __future__ import annotations

from syncer.ledgers.judging.ledger import ReplicaClass, judge, lost_ranges
from syncer.ledgers.metadata import LedgerMetadata, LedgerOrigin, LedgerState, Quorums, Segment


def ledger(
    quorums: tuple[int, int, int], *segments: tuple[int, str], last: int | None = 99, length: int | None = 1000
) -> LedgerMetadata:
    """A ledger whose bookies have names of one letter; open where it has no last entry."""
    state = LedgerState.OPEN if last is None else LedgerState.CLOSED
    parts = tuple(Segment(first, tuple(bookies)) for first, bookies in segments)
    origin = LedgerOrigin(format_version=3)
    return LedgerMetadata(7, state, Quorums(*quorums), parts, last, None if last is None else length, origin)


def test_a_loss_within_one_segment_leaves_the_others() -> None:
    found = judge(ledger((3, 2, 2), (0, "abc"), (30, "abd")), {"b", "c"})
    assert found.by_replicas_left == (10, 67, 23)
    assert found.replica_class is ReplicaClass.NO_REPLICA
    assert found.bytes_of(found.lost_entries) == 100
    assert found.named == {"b", "c"}


def test_an_open_ledger_that_nobody_can_recover_may_have_lost_nothing() -> None:
    found = judge(ledger((3, 2, 2), (0, "abc"), last=None), {"a", "b"})
    assert (found.recoverable, found.lost_entries, found.entries) == (False, 0, 0)
    assert found.replica_class is ReplicaClass.EMPTY
    assert found.is_harmed
    assert found.bytes_of(0) is None


def test_an_open_ledger_that_has_too_few_lost_bookies_is_recoverable() -> None:
    found = judge(ledger((3, 3, 2), (0, "abc"), last=None), {"a"})
    assert found.recoverable
    assert not found.is_harmed


def test_a_ledger_written_once_is_a_single_copy() -> None:
    assert judge(ledger((3, 1, 1), (0, "abc")), set()).is_single_copy
    assert not judge(ledger((3, 2, 1), (0, "abc")), set()).is_single_copy


def test_a_bookie_that_is_named_twice_takes_both_copies_with_it() -> None:
    assert judge(ledger((2, 2, 2), (0, "aa")), {"a"}).lost_entries == 100


def test_a_trailing_segment_without_entries_puts_nothing_at_risk() -> None:
    found = judge(ledger((2, 2, 2), (0, "ab"), (100, "cd")), {"c", "d"})
    assert found.replica_class is ReplicaClass.WHOLE
    assert found.named == {"c", "d"}


def test_all_segments_behind_the_end_are_empty() -> None:
    found = judge(ledger((2, 2, 2), (0, "ab"), (50, "cd"), (80, "ef"), last=20), {"c", "d"})
    assert found.by_replicas_left == (0, 0, 21)


def test_sizes_that_no_client_takes_do_not_break_the_judgement() -> None:
    for sizes, bookies in [((0, 0, 0), ""), ((2, 0, 0), "ab"), ((2, -5, -9), "ab")]:
        found = judge(ledger(sizes, (0, bookies)), {"a"})
        assert (found.lost_entries, found.entries) == (100, 100)
        assert list(lost_ranges(ledger(sizes, (0, bookies)), {"a"})) == [(0, 99)]
        assert judge(ledger(sizes, (0, bookies), last=None), {"a"}).entries == 0


def test_a_first_segment_need_not_begin_at_the_first_entry() -> None:
    assert judge(ledger((2, 2, 1), (40, "ab")), {"a"}).by_replicas_left == (0, 60, 0)


def test_bytes_of_a_ledger_without_entries_are_none() -> None:
    found = judge(ledger((2, 2, 2), (0, "ab"), last=-1, length=0), {"a", "b"})
    assert found.bytes_of(0) == 0
    assert found.below_write_quorum == 0


def test_an_absurd_ensemble_is_judged_in_one_step_for_each_of_its_bookies() -> None:
    wide = ledger((200_000, 200_000, 100_000), (0, "ab" * 100_000), last=10**9)
    assert judge(wide, {"a"}).least_replicas == 100_000
    assert judge(ledger((200_000, 200_000, 200_000), (0, "a" * 200_000), last=None), {"a"}).recoverable is False
