"""A webhook as a receiver: its pace, what the status tells of it, and when it is left alone."""

from __future__ import annotations

from collections import Counter

import pytest

from syncer.config.webhooks import WebhookConfig
from syncer.notices.delivery import AttemptResult
from syncer.notices.pace import SELDOM_S, TRYING_S, AttemptOutcome
from syncer.notices.rules import NoticeKind, NoticeTerms, Outstanding
from syncer.notifier.receiver import PendingNotice, Receiver
from syncer.notifier.webhook import SHOWN_AFTER, CalledWebhook

CONFIG = WebhookConfig.model_validate({"url": "https://hooks.example/hunter2"})


@pytest.fixture
def tally() -> Counter[tuple[str, str]]:
    return Counter()


@pytest.fixture
def webhook(tally: Counter[tuple[str, str]]) -> CalledWebhook:
    receiver = Receiver("ops", list(NoticeKind), NoticeTerms(interval_ms=1, reminder_ms=1), tally)
    receiver.consider({NoticeKind.HOLDS: Outstanding(count=1)}, "east/1", 0, 0)
    return CalledWebhook(receiver, CONFIG)


def notice(webhook: CalledWebhook, now_s: float) -> PendingNotice:
    found = webhook.ready(now_s)
    assert found is not None
    return found


def failed(outcome: AttemptOutcome = AttemptOutcome.FAILED) -> AttemptResult:
    return AttemptResult(outcome=outcome, detail="it answered 500")


def test_it_is_retried_for_an_hour_and_then_seldom(webhook: CalledWebhook, tally: Counter[tuple[str, str]]) -> None:
    now, times = 100.0, list[float]()
    while now < 100 + 2 * TRYING_S:
        webhook.note(notice(webhook, now), failed(), now, tally)
        assert webhook.ready(now) is None
        times.append(now)
        now = webhook.next_at_s
    assert 12 < len(times) < 60
    assert times[1] - times[0] <= 1
    assert now - times[-1] == pytest.approx(SELDOM_S)
    assert tally["notices", "failed"] == 1
    assert tally["webhook_attempts", "failed"] == len(times)
    webhook.note(notice(webhook, now), AttemptResult(outcome=AttemptOutcome.DELIVERED), now, tally)
    assert (webhook.failures, webhook.condition) == (0, "")


def test_the_status_tells_of_it_after_a_few_failures_and_never_of_its_path(
    webhook: CalledWebhook, tally: Counter[tuple[str, str]]
) -> None:
    for number in range(SHOWN_AFTER):
        assert webhook.condition == ""
        webhook.note(notice(webhook, number * 1000.0), failed(), number * 1000.0, tally)
    assert webhook.condition == "ops (https://hooks.example): it answered 500"


def test_one_that_refuses_is_told_at_once_and_tried_in_an_hour(
    webhook: CalledWebhook, tally: Counter[tuple[str, str]]
) -> None:
    webhook.note(notice(webhook, 0), failed(AttemptOutcome.REFUSED), 0, tally)
    assert webhook.condition
    assert webhook.next_at_s == SELDOM_S
    assert tally["notices", "failed"] == 1


def test_one_that_is_gone_is_left_alone(webhook: CalledWebhook, tally: Counter[tuple[str, str]]) -> None:
    webhook.note(notice(webhook, 0), failed(AttemptOutcome.GONE), 0, tally)
    assert webhook.ready(10.0**9) is None
    assert "gone (410)" in webhook.condition
