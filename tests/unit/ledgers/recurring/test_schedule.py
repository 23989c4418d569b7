"""When the next audit is due."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.ledgers.recurring.schedule import RETRY_MS, due_ms

HOUR_MS = 3_600_000
times = st.integers(min_value=0, max_value=10**13)


def test_the_first_is_due_at_once() -> None:
    assert due_ms(HOUR_MS, 5_000, None, None) == 5_000


def test_the_next_is_due_an_interval_after_the_latest_was_begun() -> None:
    assert due_ms(HOUR_MS, 5_000, 1_000, None) == 1_000 + HOUR_MS


def test_after_a_failure_it_is_tried_again_soon_but_no_sooner_than_by_its_interval() -> None:
    assert due_ms(HOUR_MS, 5_000, 1_000, 4_000) == 4_000 + RETRY_MS
    assert due_ms(10_000, 5_000, None, 4_000) == 14_000


@given(st.integers(min_value=1, max_value=10**10), times, st.none() | times, st.none() | times)
def test_it_is_never_further_off_than_an_interval(every: int, now: int, last: int | None, failed: int | None) -> None:
    """A clock that was set back by years does not end the audits."""
    assert due_ms(every, now, last, failed) <= now + every
