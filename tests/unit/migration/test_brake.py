"""The brake: what a rate does to those who publish, and when no rate is enough."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.migration.brake import (
    KICK_ENTRIES,
    KICK_WAIT_S,
    MOST_UNEVEN,
    UNKNOWN_ENTRY_BYTES,
    Brake,
    BrakeRefusal,
    FlipTiming,
    Traffic,
    brake,
    kick_pause_s,
    kick_rate,
    pause_s,
    release_s,
)

QUICK = FlipTiming(check_period_s=2.0, window_s=1.4)
ONE = Traffic(producers=1, smallest_bytes=1_000, largest_bytes=1_000)


def bucket_pause_s(sizes: list[float], rate: int) -> float:
    """A token bucket, played: full at first, emptied by every entry, refilled until a hundredth is there."""
    tokens = float(rate) - math.fsum(sizes)
    if tokens > 0:
        return 0.0
    goal = max(1, math.floor(0.01 * rate))
    return (goal - tokens) / rate


def test_the_rate_of_a_fifth_of_an_entry_pauses_four_seconds() -> None:
    assert pause_s(1_000, 200) == pytest.approx(4.01)


def test_an_entry_below_the_rate_is_not_stopped() -> None:
    assert pause_s(99, 100) == 0.0
    assert pause_s(100, 100) > 0.0
    assert release_s([], 100) == 0.0


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=20), st.integers(1, 10**6))
def test_all_are_released_when_the_bucket_has_paid_the_debt_of_all(sizes: list[int], rate: int) -> None:
    entries = [float(size) for size in sizes]
    assert release_s(entries, rate) == pytest.approx(bucket_pause_s(entries, rate))


def test_one_even_producer_is_stopped_for_as_long_as_it_has_to_be() -> None:
    assert brake(ONE, QUICK) == Brake(rate=185, shortest_s=pause_s(1_000, 185), longest_s=pause_s(1_000, 185) + 0.016)


@given(
    st.integers(1, 40),
    st.floats(1, 5e6),
    st.floats(1.0, 4.0),
    st.floats(0.5, 10.0),
    st.floats(0.01, 3.0),
)
def test_a_rate_is_given_only_where_every_pause_is_long_enough_and_none_too_long(
    producers: int, smallest: float, spread: float, period: float, window: float
) -> None:
    timing = FlipTiming(check_period_s=period, window_s=window)
    traffic = Traffic(producers=producers, smallest_bytes=smallest, largest_bytes=smallest * spread)
    found = brake(traffic, timing)
    if isinstance(found, BrakeRefusal):
        assert found is not BrakeRefusal.SILENT
        return
    assert spread <= MOST_UNEVEN * (1 + 1e-9)
    assert pause_s(smallest, found.rate) >= timing.pause_s
    assert found.shortest_s <= found.longest_s <= 15.0
    assert release_s([smallest * spread] * producers, found.rate) <= found.longest_s


@pytest.mark.parametrize(
    ("traffic", "why"),
    [
        (Traffic(producers=2, silent=1, smallest_bytes=1_000), BrakeRefusal.SILENT),
        (Traffic(producers=1, waiting=1, smallest_bytes=1_000), BrakeRefusal.WAITING),
        (Traffic(producers=1, smallest_bytes=100, largest_bytes=301), BrakeRefusal.UNEVEN),
        (Traffic(producers=4, smallest_bytes=1_000, largest_bytes=1_000), BrakeRefusal.MANY),
        (Traffic(producers=1, smallest_bytes=3, largest_bytes=3), BrakeRefusal.TOO_SMALL),
    ],
)
def test_where_no_rate_is_enough_it_says_why(traffic: Traffic, why: BrakeRefusal) -> None:
    assert brake(traffic, QUICK) is why


def test_a_topic_of_which_nothing_was_seen_is_braked_all_the_same() -> None:
    found = brake(Traffic(producers=0), QUICK)
    assert isinstance(found, Brake)
    assert found.rate == math.floor(UNKNOWN_ENTRY_BYTES / (QUICK.pause_s + 1))


@given(st.lists(st.integers(1, 10**6), min_size=KICK_ENTRIES, max_size=KICK_ENTRIES))
def test_an_entry_that_waited_in_a_socket_is_paid_for_too(sizes: list[int]) -> None:
    rate = kick_rate(max(sizes))
    assert kick_pause_s(max(sizes), rate) >= bucket_pause_s([float(size) for size in sizes], rate)


def test_who_is_about_to_be_sent_away_stands_still_for_a_little_longer_than_that_takes() -> None:
    assert pause_s(4_000, kick_rate(4_000)) == pytest.approx(KICK_WAIT_S + 1, abs=0.02)
    assert kick_rate(None) == kick_rate(UNKNOWN_ENTRY_BYTES)
    assert kick_rate(1) == 1
