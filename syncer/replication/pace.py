"""Waiting: back-off between repeats, and a ceiling on writes per second."""

from __future__ import annotations

import time

import anyio

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 5.0


class Backoff:
    """Pauses that double up to a limit, and start again after a success."""

    def __init__(self, first_s: float = FIRST_PAUSE_S, longest_s: float = LONGEST_PAUSE_S) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def reset(self) -> None:
        """It worked: the next failure waits shortly again."""
        self._next_s = self._first_s

    async def pause(self) -> None:
        """Wait before the next try."""
        await anyio.sleep(self._next_s)
        self._next_s = min(self._next_s * 2, self._longest_s)


class Pace:
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
