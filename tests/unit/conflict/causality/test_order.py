"""The examples of the order that people argue about."""

from __future__ import annotations

import pytest

from syncer.conflict.causality.order import later
from syncer.conflict.causality.vectors import join
from syncer.model import (
    FIRST_REAL_TIME_MS,
    Counter,
    Millis,
    Region,
    Stamp,
    TieOrder,
    baseline_time,
    counter_of,
    generation_of,
)


def stamp(time: int, region: str) -> Stamp:
    return Stamp(Millis(time), Region(region))


@pytest.mark.parametrize("order", TieOrder)
def test_the_later_time_wins_whatever_the_region(order: TieOrder) -> None:
    assert later(stamp(2, "z"), stamp(1, "a"), order)
    assert later(stamp(2, "a"), stamp(1, "z"), order)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [("a", "b"), ("a", "aa"), ("A", "a"), ("us-e", "us-w"), ("\U0001f600", "\uffee"), ("\ud7ff", "\U00010000")],
)
def test_a_tie_goes_to_the_smaller_region_and_natively_to_the_larger(smaller: str, larger: str) -> None:
    assert later(stamp(1, smaller), stamp(1, larger), TieOrder.SMALLER_REGION)
    assert later(stamp(1, larger), stamp(1, smaller), TieOrder.NATIVE)
    assert not later(stamp(1, larger), stamp(1, smaller), TieOrder.SMALLER_REGION)


@pytest.mark.parametrize("order", TieOrder)
def test_no_stamp_wins_over_itself(order: TieOrder) -> None:
    assert not later(stamp(1, "a"), stamp(1, "a"), order)


def test_a_baseline_is_older_than_any_real_time() -> None:
    assert stamp(FIRST_REAL_TIME_MS - 1, "a").is_baseline
    assert not stamp(FIRST_REAL_TIME_MS, "a").is_baseline
    assert later(stamp(FIRST_REAL_TIME_MS, "z"), stamp(7, "a"), TieOrder.SMALLER_REGION)


def test_a_counter_names_region_and_generation() -> None:
    assert counter_of(Region("us-w"), 3) == "us-w~3"
    assert generation_of("us-w~3", Region("us-w")) == 3
    strangers = ("us-e~3", "us-w~native", "us-w", "us-w~", "us-w~-1", "us-w~²", "us-w~" + "9" * 40)
    assert [generation_of(counter, Region("us-w")) for counter in strangers] == [0] * 7


def test_what_is_found_by_a_later_generation_does_not_displace_what_was_found_before() -> None:
    older, newer = (Stamp(baseline_time(generation), Region("r")) for generation in (7, 1_795_000_000))
    assert later(older, newer, TieOrder.SMALLER_REGION)
    assert older.is_baseline
    assert newer.is_baseline
    assert newer.updated_at_ms > 0


def test_a_join_of_nothing_is_what_there_is() -> None:
    seen = {Counter("a~1"): Millis(1)}
    assert join(seen, {}) is seen
    assert join({}, seen) is seen
    assert join(seen, seen) is seen
    assert join(seen, {Counter("a~1"): Millis(0), Counter("b~1"): Millis(0)}) == {"a~1": 1, "b~1": 0}
