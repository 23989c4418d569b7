"""The order of stamps is a strict total order under both tie rules, and version vectors join as a semilattice."""

from __future__ import annotations

from functools import cmp_to_key

from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.causality.order import later
from syncer.conflict.causality.vectors import join, sound
from syncer.model import Counter, Millis, Region, Seen, Stamp, TieOrder
from tests.property.strategies import region_ids, stamps, ties

vectors: st.SearchStrategy[Seen] = st.dictionaries(
    st.sampled_from(["a~1", "a~2", "b~1"]).map(Counter), st.integers(0, 5).map(Millis)
)


@given(left=stamps, right=stamps, order=ties)
def test_exactly_one_of_two_different_stamps_wins(left: Stamp, right: Stamp, order: TieOrder) -> None:
    assert later(left, right, order) + later(right, left, order) == (left != right)


@given(first=stamps, second=stamps, third=stamps, order=ties)
def test_the_order_is_transitive(first: Stamp, second: Stamp, third: Stamp, order: TieOrder) -> None:
    if later(first, second, order) and later(second, third, order):
        assert later(first, third, order)


@given(candidates=st.lists(stamps, min_size=1, max_size=8), order=ties)
def test_sorting_puts_every_stamp_after_those_that_it_wins_over(candidates: list[Stamp], order: TieOrder) -> None:
    def compare(left: Stamp, right: Stamp) -> int:
        return int(later(left, right, order)) - int(later(right, left, order))

    ordered = sorted(candidates, key=cmp_to_key(compare))
    for position, stamp in enumerate(ordered):
        assert not any(later(earlier, stamp, order) for earlier in ordered[:position])


@given(left=region_ids, right=region_ids)
def test_a_tie_is_decided_by_utf16_code_units(left: Region, right: Region) -> None:
    def units(region: Region) -> list[int]:
        """Java's view of a string, computed without an encoder."""
        found: list[int] = []
        for point in map(ord, region):
            high = point - 0x10000
            found += [point] if high < 0 else [0xD800 + (high >> 10), 0xDC00 + (high & 0x3FF)]
        return found

    one, other = Stamp(Millis(7), left), Stamp(Millis(7), right)
    assert later(one, other, TieOrder.SMALLER_REGION) == (units(left) < units(right))
    assert later(one, other, TieOrder.NATIVE) == (units(left) > units(right))


@given(left=stamps, right=stamps)
def test_the_tie_rule_matters_only_in_a_tie(left: Stamp, right: Stamp) -> None:
    agrees = later(left, right, TieOrder.NATIVE) == later(left, right, TieOrder.SMALLER_REGION)
    assert agrees == (left.updated_at_ms != right.updated_at_ms or left.region == right.region)


@given(first=vectors, second=vectors, third=vectors)
def test_vectors_join_in_any_order_and_grouping(first: Seen, second: Seen, third: Seen) -> None:
    assert join(first, second) == join(second, first)
    assert join(join(first, second), third) == join(first, join(second, third))
    assert join(first, first) == first


@given(left=vectors, right=vectors)
def test_a_join_holds_the_later_time_of_each_counter_and_changes_nothing(left: Seen, right: Seen) -> None:
    before = dict(left), dict(right)
    joined = join(left, right)
    assert joined == {key: max(left.get(key, -1), right.get(key, -1)) for key in {*left, *right}}
    assert (dict(left), dict(right)) == before


@given(seen=vectors, time=st.integers(6, 9).map(Millis))
def test_an_author_sees_its_own_change(seen: Seen, time: Millis) -> None:
    by = Counter("a~1")
    before = dict(seen)
    assert sound(seen, by, time) == {**before, by: time}
    assert seen == before
