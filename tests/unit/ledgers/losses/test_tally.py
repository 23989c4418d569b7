"""Tallies: bytes beside ledgers, bookies that are not asked about, and sizes that are too many to try."""

from __future__ import annotations

import pytest

from syncer.ledgers.losses.tally import LossTally, SetLoss, can_tally
from tests.unit.ledgers.judging.test_ledger import ledger


def test_bytes_are_those_of_ledgers_that_are_harmed() -> None:
    tally = LossTally("abc", 2)
    tally.add(ledger((2, 2, 2), (0, "ab"), length=40))
    tally.add(ledger((2, 2, 1), (0, "ab"), last=None))
    tally.add(ledger((2, 2, 2), (0, "xy")))
    assert tally.worst(1) == [SetLoss(("a", "b"), 1, 40, 1)]
    assert tally.worst(9)[1:] == [SetLoss(("a", "c"), 0, 0, 1), SetLoss(("b", "c"), 0, 0, 1)]


def test_a_ledger_is_counted_once_however_many_of_its_sets_are_lost() -> None:
    tally = LossTally("abc", 3)
    tally.add(ledger((3, 2, 2), (0, "abc")))
    assert tally.worst(9) == [SetLoss(("a", "b", "c"), 1, 1000, 0)]


def test_absurd_quorums_are_counted_as_left_out() -> None:
    tally = LossTally("ab", 1)
    tally.add(ledger((26, 26, 13), (0, "abcdefghijklmnopqrstuvwxyz"), last=None))
    assert tally.left_out == 1


@pytest.mark.parametrize(
    ("bookies", "size", "possible"), [(50, 2, True), (115, 3, True), (50, 5, False), (3, 4, False), (3, 0, False)]
)
def test_only_so_many_sets_are_tallied(bookies: int, size: int, possible: bool) -> None:
    assert can_tally(bookies, size) is possible
