"""Metrics of the notices to operators."""

from __future__ import annotations

from typing import Final

from syncer.metrics.family import counter, gauge

NOTICES: Final = counter(
    "notices",
    "Notices to operators: taken by a receiver, given way to a newer one, or refused or retried in vain for an hour.",
    "result",
    ("delivered", "outdated", "failed"),
)
ATTEMPTS: Final = counter(
    "webhook_attempts",
    "Calls of webhooks, by what they came to.",
    "result",
    ("delivered", "failed", "refused", "gone"),
)
WEBHOOKS_FAILING: Final = gauge(
    "webhooks_failing",
    "Webhooks that fail again and again, refuse, or are gone; the condition webhook-failing names them.",
)

FAMILIES: Final = (NOTICES, ATTEMPTS, WEBHOOKS_FAILING)
