"""The schedule of audits: when the next one of a cluster is due.

Units: milliseconds.
"""

from __future__ import annotations

from typing import Final

RETRY_MS: Final = 10 * 60_000
"""After a failure the next one is due after so long at the latest, or after the interval if that is shorter."""


def due_ms(every_ms: int, now_ms: int, last_ms: int | None, failed_ms: int | None) -> int:
    """Tell when the next audit is due, never later than an interval from now: clocks are set back.

    Args:
        every_ms: From the beginning of one to that of the next.
        now_ms: The time.
        last_ms: When the latest that is kept was begun; ``None``: none is kept.
        failed_ms: When the latest failed, if it did; ``None``: it is kept.
    """
    if failed_ms is not None:
        return min(failed_ms + min(every_ms, RETRY_MS), now_ms + every_ms)
    if last_ms is None:
        return now_ms
    return min(last_ms + every_ms, now_ms + every_ms)
