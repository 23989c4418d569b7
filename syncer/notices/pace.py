"""The pace of attempts at a webhook that fails: exponential back-off with jitter, then once an hour.

Units: seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

FIRST_S: Final = 1.0
LONGEST_S: Final = 300.0
TRYING_S: Final = 3600.0
"""For so long a notice is retried at this pace; then it counts as failed."""
SELDOM_S: Final = 3600.0
"""Between attempts at a webhook that has failed for longer, or that refuses: what stands then is sent."""
MAX_RETRY_AFTER_S: Final = 3600.0


class AttemptOutcome(StrEnum):
    """What an attempt at a webhook came to."""

    DELIVERED = "delivered"
    FAILED = "failed"
    REFUSED = "refused"
    GONE = "gone"


def pause_s(
    failures: int, failing_s: float, outcome: AttemptOutcome, retry_after_s: float | None, chance: float
) -> float:
    """How long to wait before the next attempt.

    Args:
        failures: Attempts that failed in a row, this one included.
        failing_s: Since the first of them.
        outcome: Of this one.
        retry_after_s: What the server asks for; ``None``: nothing. At most ``MAX_RETRY_AFTER_S``.
        chance: A random number, 0 ≤ chance < 1.
    """
    if outcome is AttemptOutcome.REFUSED or failing_s >= TRYING_S:
        return SELDOM_S
    backoff_s = min(LONGEST_S, FIRST_S * 2.0 ** min(failures - 1, 16))
    asked_s = min(max(retry_after_s or 0.0, 0.0), MAX_RETRY_AFTER_S)
    return max(backoff_s * (0.5 + chance / 2), asked_s)
