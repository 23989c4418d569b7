"""The pace of attempts: it grows, keeps within its bounds, and obeys a server only so far."""

from __future__ import annotations

import pytest

from syncer.notices.pace import LONGEST_S, MAX_RETRY_AFTER_S, SELDOM_S, TRYING_S, AttemptOutcome, pause_s


@pytest.mark.parametrize(("failures", "least", "most"), [(1, 0.5, 1), (2, 1, 2), (5, 8, 16), (40, 150, LONGEST_S)])
def test_the_pause_grows_to_a_bound_with_jitter(failures: int, least: float, most: float) -> None:
    assert pause_s(failures, 0, AttemptOutcome.FAILED, None, 0.0) == least
    assert least < pause_s(failures, 0, AttemptOutcome.FAILED, None, 0.999) <= most


def test_a_server_may_ask_for_a_longer_pause_within_a_bound() -> None:
    assert pause_s(1, 0, AttemptOutcome.FAILED, 30, 0.5) == 30
    assert pause_s(1, 0, AttemptOutcome.FAILED, 10**12, 0.5) == MAX_RETRY_AFTER_S
    assert pause_s(1, 0, AttemptOutcome.FAILED, -5, 0.0) == 0.5


def test_a_webhook_that_refuses_or_has_failed_for_long_is_tried_seldom() -> None:
    assert pause_s(1, 0, AttemptOutcome.REFUSED, 1, 0.5) == SELDOM_S
    assert pause_s(30, TRYING_S, AttemptOutcome.FAILED, None, 0.5) == SELDOM_S
