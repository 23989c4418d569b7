"""Arithmetic as Java's, where a choice of Pulsar hangs on it."""

from __future__ import annotations

import math

import pytest

from syncer.balancer.java import INT_MAX, INT_MIN, ascending, float32, greatest, int32, quotient, root, truncated
from syncer.balancer.load import Usage


def test_an_int_wraps_and_a_cast_stops_at_the_extremes() -> None:
    assert int32(INT_MAX + 1000) == INT_MIN + 999
    assert int32(2048 * 1024 * 1024) == INT_MIN
    assert [truncated(value) for value in (3.9, -3.9, 1e12, -1e12, math.nan)] == [3, -3, INT_MAX, INT_MIN, 0]


def test_division_by_zero_and_a_root_below_zero_are_no_errors() -> None:
    assert quotient(1.0, 0.0) == math.inf
    assert quotient(1.0, -0.0) == -math.inf
    assert math.isnan(quotient(0.0, 0.0))
    assert math.isnan(root(-1e-18))


def test_nan_counts_for_nothing_and_sorts_as_the_greatest() -> None:
    assert greatest(math.nan, 1.0) == 1.0
    pairs = [("nan", math.nan), ("zero", 0.0), ("one", 1.0), ("minus", -0.0), ("other", 1.0)]
    rising = [name for name, _ in ascending(pairs, lambda pair: pair[1])]
    falling = [name for name, _ in ascending(pairs, lambda pair: pair[1], falling=True)]
    assert rising == ["minus", "zero", "one", "other", "nan"]
    assert falling == ["nan", "one", "other", "zero", "minus"]


@pytest.mark.parametrize(("limit", "percent"), [(0.0, 0.0), (-1000.0, 0.0), (math.nan, 0.0), (3.0, float32(100 / 3))])
def test_a_usage_is_reckoned_in_32_bits_and_nothing_without_a_limit(limit: float, percent: float) -> None:
    assert Usage(1.0, limit).percent() == pytest.approx(percent, rel=1e-6)
