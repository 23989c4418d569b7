"""A webhook as a receiver: its attempts, their pace, and what keeps it from being told.

Units: seconds by a clock that never goes back.
"""

from __future__ import annotations

import math
import random
from collections import Counter as Tally
from dataclasses import dataclass, field
from typing import Final

from syncer.config.webhooks import WebhookConfig
from syncer.documents.notices import body_of, notice_document, template_values
from syncer.errors import ConfigError
from syncer.notices.delivery import AttemptResult
from syncer.notices.endpoint import WebhookEndpoint
from syncer.notices.pace import TRYING_S, AttemptOutcome, pause_s
from syncer.notices.template import rendered
from syncer.notifier.receiver import PendingNotice, Receiver

SHOWN_AFTER: Final = 3
"""Attempts in a row that may fail before the status tells of it; one that is refused is told at once."""


@dataclass(slots=True)
class CalledWebhook:
    """A webhook and how it does.

    Args:
        receiver: What it was told, and is to be told.
        config: Its table.
        failures: Attempts in a row that failed.
        failing_since_s: When the first of them was.
        next_at_s: When it may be tried again.
        trouble: What the last attempt came to, in words; empty: it went well.
        gone: Whether it has said that it wants nothing more.
        given_up: Ids of the pending notices that count as failed already, by kind.
    """

    receiver: Receiver
    config: WebhookConfig
    failures: int = 0
    failing_since_s: float = 0.0
    next_at_s: float = -math.inf
    trouble: str = ""
    gone: bool = False
    refused: bool = False
    given_up: dict[str, str] = field(default_factory=dict)

    @property
    def condition(self) -> str:
        """What the status says of it; empty: nothing."""
        if self.gone:
            return f"{self.receiver.name} ({self.config.url.place}) is gone (410): nothing is sent until a restart"
        if self.refused or self.failures >= SHOWN_AFTER:
            return f"{self.receiver.name} ({self.config.url.place}): {self.trouble}"
        return ""

    def ready(self, now_s: float) -> PendingNotice | None:
        """The notice that is to be sent now, the one that waits longest."""
        if self.gone or now_s < self.next_at_s:
            return None
        return next(iter(self.receiver.pending.values()), None)

    def prepared(self, notice: PendingNotice, region: str) -> tuple[WebhookEndpoint, bytes]:
        """Where a notice is sent, and its body; files are read, so it is called in a thread.

        Raises:
            ConfigError: A file cannot be used.
        """
        document = notice_document(region, notice.kind, notice.event, notice.standing, notice.id, notice.made_at_ms)
        return prepared(self.config, body_of(document), template_values(document))

    def note(self, notice: PendingNotice, result: AttemptResult, now_s: float, tally: Tally[tuple[str, str]]) -> None:
        """Note what an attempt came to, and when the next one may be.

        Args:
            notice: What was sent.
            result: What the attempt came to.
            now_s: The time.
            tally: Counts for the metrics.
        """
        tally["webhook_attempts", result.outcome] += 1
        self.trouble, self.refused = result.detail, result.outcome is AttemptOutcome.REFUSED
        if result.outcome is AttemptOutcome.DELIVERED:
            self.failures, self.next_at_s = 0, now_s
            self.given_up.pop(notice.kind, None)
            return
        if result.outcome is AttemptOutcome.GONE:
            self.gone = True
            return
        if not self.failures:
            self.failing_since_s = now_s
        self.failures += 1
        failing_s = now_s - self.failing_since_s
        chance = random.random()  # noqa: S311 - jitter
        self.next_at_s = now_s + pause_s(self.failures, failing_s, result.outcome, result.retry_after_s, chance)
        if (self.refused or failing_s >= TRYING_S) and self.given_up.get(notice.kind) != notice.id:
            self.given_up[notice.kind] = notice.id
            tally["notices", "failed"] += 1


def prepared(config: WebhookConfig, body: bytes, values: dict[str, str]) -> tuple[WebhookEndpoint, bytes]:
    """A webhook as it is called, and what is sent to it.

    Args:
        config: Its table.
        body: The product's own document.
        values: For its template, where it has one.

    Raises:
        ConfigError: A file cannot be used.
    """
    template = config.body_template()
    return config.endpoint(), body if template is None else rendered(template, values)


def unprepared(error: ConfigError) -> AttemptResult:
    """An attempt that was not made, since a file of the webhook cannot be used."""
    return AttemptResult(outcome=AttemptOutcome.FAILED, detail=error.message)
