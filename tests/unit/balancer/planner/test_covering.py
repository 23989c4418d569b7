"""The cheapest parts that make up a need: always enough, and seldom dearer than the best there is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.planner.covering import Giveable, cheapest_cover

PARTS = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0.05, 100)).map(lambda pair: Giveable("", *pair)), min_size=1, max_size=8
).map(lambda parts: [part._replace(bundle=f"t/n/{number}") for number, part in enumerate(parts)])


def weight(parts: list[Giveable]) -> float:
    return sum(part.weight for part in parts)


def test_two_light_parts_beat_a_heavy_one_that_looks_better_for_its_size() -> None:
    parts = [Giveable("a", 0.9, 9.0), Giveable("b", 0.5, 5.2), Giveable("c", 0.1, 0.1), Giveable("d", 0.5, 5.1)]
    found = cheapest_cover(parts, 0.95)
    assert found is not None
    assert {part.bundle for part in found} == {"a", "c"}
    found = cheapest_cover([parts[0], parts[1], parts[3]], 0.95)
    assert found is not None
    assert {part.bundle for part in found} == {"b", "d"}


def test_too_little_is_nothing() -> None:
    assert cheapest_cover([Giveable("a", 0.4, 1.0), Giveable("b", 0.0, 0.1)], 0.5) is None
    assert cheapest_cover([], 0.5) is None
    assert cheapest_cover([Giveable("a", 0.4, 1.0)], 0.0) == []


def test_a_cheap_part_that_is_enough_alone_is_found_among_many_small_ones() -> None:
    small = [Giveable(f"s{number}", 0.01, 0.001) for number in range(60)]
    assert cheapest_cover([*small, Giveable("a", 0.9, 0.03)], 0.5) == [Giveable("a", 0.9, 0.03)]


@given(PARTS, st.floats(0.01, 3))
def test_what_is_chosen_is_enough_nothing_in_it_is_needless_and_it_is_near_the_best(
    parts: list[Giveable], need: float
) -> None:
    found = cheapest_cover(parts, need)
    covers = [
        list(each)
        for size in range(1, len(parts) + 1)
        for each in combinations(parts, size)
        if sum(part.pull for part in each) >= need
    ]
    if found is None:
        assert not covers or sum(part.pull for part in parts) == pytest.approx(need)
        return
    made = sum(part.pull for part in found)
    assert made >= need * (1 - 1e-9)
    assert all(made - part.pull <= need + 1e-9 for part in found)
    roomy = [each for each in covers if sum(part.pull for part in each) >= need * (1 + len(parts) / 120)]
    if roomy:
        assert weight(found) <= min(map(weight, roomy)) + 1e-9
