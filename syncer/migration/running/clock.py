"""The clock of a running migration: what time it is, and waiting."""

from __future__ import annotations

import time
from typing import Protocol

import anyio

from syncer.model import Millis


class Clock(Protocol):
    """Tells the time and lets it pass; in a simulation both are virtual."""

    def now_ms(self) -> Millis:
        """Milliseconds since the epoch."""

    async def sleep(self, seconds: float) -> None:
        """Return when so many seconds have passed."""


class WallClock(Clock):
    """The time of day."""

    def now_ms(self) -> Millis:
        """Milliseconds since the epoch."""
        return Millis(time.time_ns() // 1_000_000)

    async def sleep(self, seconds: float) -> None:
        """Return when so many seconds have passed."""
        await anyio.sleep(seconds)
