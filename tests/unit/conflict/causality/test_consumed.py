"""Duplicates, gaps, and gaps that are given up."""

from __future__ import annotations

import pytest

from syncer.conflict.causality import consumed as module
from syncer.conflict.causality.consumed import Consumed


def test_numbers_in_order_leave_no_gap() -> None:
    assert Consumed().adding([1, 2, 3]) == Consumed(3)


def test_a_gap_is_kept_until_it_is_filled() -> None:
    gapped = Consumed().adding([1, 4, 3])
    assert gapped == Consumed(1, ((3, 4),))
    assert 1 in gapped
    assert 2 not in gapped
    assert 3 in gapped
    assert gapped.adding([2]) == Consumed(4)


def test_nothing_and_duplicates_add_nothing() -> None:
    some = Consumed(3, ((5, 5),))
    assert some.adding([]) == some
    assert some.adding([1, 3, 5, 5]) == some


def test_beyond_the_bound_the_lowest_count_as_not_consumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RANGES", 3)
    full = Consumed().adding([3, 5, 7])
    assert full == Consumed(0, ((3, 3), (5, 5), (7, 7)))
    assert full.adding([9]) == Consumed(0, ((5, 5), (7, 7), (9, 9)))
    assert full.adding([9, 4]) == Consumed(0, ((3, 5), (7, 7), (9, 9)))
    assert full.adding([9, 1, 2]) == Consumed(3, ((5, 5), (7, 7), (9, 9)))


def test_a_whole_stretch_beyond_a_gap_is_one_range_however_long() -> None:
    far = 3 * module.MAX_RANGES
    ahead = Consumed(10).adding(range(20, far + 1))
    assert ahead == Consumed(10, ((20, far),))
    assert ahead.holds(19, far)
    assert ahead.closed(19) == Consumed(far)


def test_how_far_it_reaches_whatever_is_missing() -> None:
    assert Consumed().reached == 0
    assert Consumed(3).reached == 3
    assert Consumed(3, ((5, 5), (7, 7))).reached == 7


@pytest.mark.parametrize(
    ("after", "until", "holds"),
    [
        (0, 3, True),
        (0, 4, False),
        (4, 6, True),
        (4, 7, False),
        (3, 6, False),
        (6, 6, True),
        (7, 9, False),
        (4, 5, True),
    ],
)
def test_whether_a_stretch_is_held_whole(after: int, until: int, holds: bool) -> None:
    assert Consumed(3, ((5, 6), (8, 8))).holds(after, until) is holds


def test_closing_a_gap_joins_what_lies_beyond_it() -> None:
    gapped = Consumed(3, ((5, 6), (8, 8)))
    assert gapped.closed(4) == Consumed(6, ((8, 8),))
    assert gapped.closed(7) == Consumed(8)
    assert gapped.closed(2) == gapped
