"""Exponential backoff between repeats, and a rate limit on writes."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Final

import anyio
import stamina

FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 5.0
JITTER_S: Final = 0.2
"""At most so much is added to a pause by chance: what failed together does not come back together."""


class Backoff:
    """Pauses that double up to a limit, each a little longer by chance, and start again after a success.

    By stamina: each pause is that after one failed attempt. Its own loop would end with the first success; those here
    go on after it, and tell in words of their own what they repeat.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """It worked: the next failure waits shortly again."""
        self._attempts: AsyncIterator[stamina.Attempt] | None = None
        self._attempt: stamina.Attempt | None = None

    async def pause(self) -> None:
        """Wait before the next try. Cancelled, it has counted."""
        if self._attempts is None or self._attempt is None:
            self._attempts = aiter(
                stamina.retry_context(
                    on=_Failed,
                    attempts=None,
                    timeout=None,
                    wait_initial=FIRST_PAUSE_S,
                    wait_max=LONGEST_PAUSE_S,
                    wait_jitter=JITTER_S,
                )
            )
            self._attempt = await anext(self._attempts)
        with self._attempt:
            raise _Failed
        self._attempt = await anext(self._attempts)


class _Failed(Exception):
    """What was tried did not do."""


class RateLimit:
    """Lets so many writes pass per second, on average over a second; ``None``: as many as come."""

    def __init__(self, writes_per_s: float | None) -> None:
        self._rate = writes_per_s
        self._tokens = writes_per_s or 0.0
        self._at = time.monotonic()

    async def take(self, writes: int) -> None:
        """Wait until this many writes may go out. A batch larger than a second's share pays in advance."""
        if self._rate is None:
            return
        now = time.monotonic()
        self._tokens = min(self._rate, self._tokens + (now - self._at) * self._rate)
        self._at = now
        self._tokens -= writes
        if self._tokens < 0:
            await anyio.sleep(-self._tokens / self._rate)
