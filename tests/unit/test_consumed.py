"""Duplicates, gaps, and gaps that are given up."""

from __future__ import annotations

import pytest

from syncer.conflict import consumed as module
from syncer.conflict.consumed import Consumed


def test_numbers_in_order_leave_no_gap() -> None:
    assert Consumed().adding([1, 2, 3]) == Consumed(3)


def test_a_gap_is_kept_until_it_is_filled() -> None:
    gapped = Consumed().adding([1, 4, 3])
    assert gapped == Consumed(1, frozenset({3, 4}))
    assert 2 not in gapped
    assert 3 in gapped
    assert gapped.adding([2]) == Consumed(4)


def test_nothing_and_duplicates_add_nothing() -> None:
    some = Consumed(3, frozenset({5}))
    assert some.adding([]) == some
    assert some.adding([1, 3, 5, 5]) == some


def test_gaps_beyond_the_bound_are_given_up_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_AHEAD", 3)
    full = Consumed().adding([3, 5, 7])
    assert full == Consumed(0, frozenset({3, 5, 7}))
    assert full.adding([9]) == Consumed(3, frozenset({5, 7, 9}))
    assert full.adding([9, 4]) == Consumed(5, frozenset({7, 9}))
    assert Consumed().adding([3, 4, 5, 7]) == Consumed(5, frozenset({7}))


def test_any_number_of_gaps_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_AHEAD", 10)
    every_second = Consumed().adding(list(range(2, 20_001, 2)))
    assert len(every_second.ahead) == 10
    assert every_second.through == 20_000 - 20


def test_how_far_it_reaches_whatever_is_missing() -> None:
    assert Consumed().reached == 0
    assert Consumed(3).reached == 3
    assert Consumed(3, frozenset({7, 5})).reached == 7


def test_how_many_it_holds() -> None:
    assert [each.count for each in (Consumed(), Consumed(3), Consumed(3, frozenset({7, 5})))] == [0, 3, 5]
