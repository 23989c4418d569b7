"""Namespaces of the first form that a reader of a store meets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.planning.first_form import NAMED, FirstFormSeen


@given(st.lists(st.integers(0, 99), unique=True), st.lists(st.integers(0, 99)))
def test_all_are_counted_and_the_first_by_name_are_named(old: list[int], others: list[int]) -> None:
    met = FirstFormSeen()
    for number in old:
        met.look_at(f"/admin/policies/t/c/n{number:02}")
    for number in others:
        met.look_at(f"/admin/policies/t/n{number:02}")
    names = tuple(f"'t/c/n{number:02}'" for number in sorted(old))
    assert (met.count, met.named) == (len(old), names[:NAMED])
