"""Bounds of how much a source of topic policies may have open, and of how often it looks."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBounds:
    """What the source may take.

    Args:
        max_readers: Topics that are open at once.
        openings_per_s: Listings and openings in a second.
        look_every: How often a namespace is looked at that is not followed.
        patience: How long a question or a write waits for a namespace's topic, before it is told later.
        renew_every: How often one that is followed is read anew, for deletes that were compacted away unseen.
    """

    max_readers: int = 1000
    openings_per_s: float = 500.0
    patience: timedelta = timedelta(seconds=1)
    look_every: timedelta = timedelta(seconds=60)
    renew_every: timedelta = timedelta(minutes=30)


class OpeningPace:
    """Listings and openings, one after the other.

    Args:
        per_s: How many in a second.
    """

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next one that the bound lets."""
        now = time.monotonic()
        at = max(now, self._next)
        self._next = at + 1 / self._per_s
        if at > now:
            await asyncio.sleep(at - now)
