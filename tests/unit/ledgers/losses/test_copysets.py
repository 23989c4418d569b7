"""Copysets: the least ones, absurd quorums, and the guess at the worst set."""

from __future__ import annotations

from syncer.ledgers.losses.copysets import BookieBits, Copysets, blocking_sets, least, losing_sets
from tests.unit.ledgers.judging.test_ledger import ledger


def test_only_sets_without_a_smaller_one_within_are_kept() -> None:
    assert least([0b111, 0b011, 0b100, 0b110, 0]) == {0b011, 0b100}


def test_a_segment_without_entries_has_no_set() -> None:
    bits = BookieBits("abcd")
    found = losing_sets(ledger((2, 2, 2), (0, "ab"), (100, "cd")), bits) or ()
    assert [bits.named(each) for each in found] == [("a", "b")]


def test_a_short_ledger_has_only_the_sets_of_its_entries() -> None:
    bits = BookieBits("abc")
    found = losing_sets(ledger((3, 2, 2), (0, "abc"), last=0), bits) or ()
    assert [bits.named(each) for each in found] == [("a", "b")]


def test_quorums_that_have_too_many_sets_are_left_out_and_counted() -> None:
    names = "".join(chr(ord("a") + number) for number in range(26))
    absurd = ledger((26, 26, 13), (0, names), last=None)
    assert blocking_sets(absurd, BookieBits()) is None
    copysets = Copysets()
    copysets.add(absurd)
    assert copysets.left_out == 1
    assert blocking_sets(ledger((2, 0, 0), (0, "ab"), last=None), BookieBits()) == frozenset()


def test_the_guess_gathers_bookies_that_share_most_ledgers() -> None:
    copysets = Copysets(BookieBits("abcdef"))
    for bookies in ["ab", "ab", "ab", "bc", "cd", "ef"]:
        copysets.add(ledger((2, 2, 2), (0, bookies)))
    assert copysets.worst_guess(2) == ("a", "b")
    assert copysets.worst_guess(3) == ("a", "b", "c")
    assert len(copysets.worst_guess(99)) == 6


def test_an_absurd_ensemble_is_left_out_at_once() -> None:
    copysets = Copysets()
    copysets.add(ledger((200_000, 200_000, 200_000), (0, "a" * 200_000)))
    copysets.add(ledger((200_000, 200_000, 200_000), (0, "a" * 200_000), last=None))
    assert copysets.left_out == 2
    assert not copysets.losing
