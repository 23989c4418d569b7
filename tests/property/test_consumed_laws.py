"""A set of consumed numbers is that set, however it was filled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.causality.consumed import Consumed

numbers = st.lists(st.integers(1, 30), max_size=40)


def check(consumed: Consumed, expected: set[int]) -> None:
    assert {number for number in range(1, 32) if number in consumed} == expected
    assert consumed.through + 1 not in consumed
    ends = [consumed.through, *(number for pair in consumed.ahead for number in pair)]
    assert all(first > before + 1 for before, first in zip(ends[::2], ends[1::2], strict=False)), (
        "a number lies between"
    )
    assert all(first <= last for first, last in consumed.ahead)


@given(sequences=numbers)
def test_it_holds_what_was_added_and_nothing_else(sequences: list[int]) -> None:
    check(Consumed().adding(sequences), set(sequences))


@given(batches=st.lists(numbers, max_size=6), data=st.data())
def test_batches_order_and_repetition_do_not_matter(batches: list[list[int]], data: st.DataObject) -> None:
    one = Consumed()
    for batch in batches:
        one = one.adding(batch)
    other = Consumed().adding(data.draw(st.permutations([number for batch in batches for number in batch * 2])))
    assert one == other


@given(first=numbers, second=numbers)
def test_it_only_grows(first: list[int], second: list[int]) -> None:
    before = Consumed().adding(first)
    after = before.adding(second)
    assert after.through >= before.through
    assert all(number in after for number in first)
    check(before, set(first))
    check(after, {*first, *second})
