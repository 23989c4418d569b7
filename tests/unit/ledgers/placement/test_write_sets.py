"""Write sets of ids beyond 32 bits, where Java's casts go wrong, and of the example of the literature."""

from __future__ import annotations

import pytest

from syncer.ledgers.placement.write_sets import entries_alike, entries_on, holds, write_set


@pytest.mark.parametrize(
    ("entry", "indexes"), [(0, (0, 1, 2)), (1, (1, 2, 3)), (2, (2, 3, 0)), (3, (3, 0, 1)), (4, (0, 1, 2))]
)
def test_four_bookies_and_three_copies(entry: int, indexes: tuple[int, ...]) -> None:
    assert write_set(entry, 4, 3) == indexes


def test_an_entry_beyond_32_bits_lies_where_its_write_set_says() -> None:
    entry = 2**31 + 1
    assert [index for index in range(4) if holds(index, entry, 4, 2)] == sorted(write_set(entry, 4, 2))


def test_a_hundred_million_million_entries_are_counted_at_once() -> None:
    assert entries_on(1, 0, 10**14 - 1, 5, 2) == 2 * 10**14 // 5
    assert entries_alike(3, 10, 9, 5) == 0
