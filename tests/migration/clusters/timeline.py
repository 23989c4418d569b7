"""Virtual time, chance, and the story of a play: everything happens in one order that a seed decides."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any, Final

BEGINNING_MS: Final = 1_790_000_000_000
"""The epoch's milliseconds at which a play begins, for whoever asks for the time of day."""


class Timeline:
    """What is yet to happen, in order; what was planned first goes first among equals."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 0
        self.rows: list[tuple[int, str, str]] = []
        self._planned: list[tuple[int, int, Callable[..., object], tuple[Any, ...]]] = []
        self._count = 0

    def after(self, delay_ms: int, action: Callable[..., object], *args: Any) -> None:
        """Plan an action."""
        self._count += 1
        heappush(self._planned, (self.now + delay_ms, self._count, action, args))

    def within(self, least_ms: int, most_ms: int, action: Callable[..., object], *args: Any) -> None:
        """Plan an action for any moment between two delays."""
        self.after(self.between(least_ms, most_ms), action, *args)

    def between(self, least: int, most: int) -> int:
        """A whole number by chance, both ends included."""
        return least + int(self.rng.random() * (most - least + 1))

    def run(self, for_ms: int) -> None:
        """Let time pass."""
        end = self.now + for_ms
        planned = self._planned
        while planned and planned[0][0] <= end:
            self.now, _, action, args = heappop(planned)
            action(*args)
        self.now = end

    def until(self, holds: Callable[[], bool], *, within_ms: int, every_ms: int = 50) -> bool:
        """Let time pass until something holds; answers whether it does."""
        end = self.now + within_ms
        while not holds():
            if self.now >= end:
                return False
            self.run(every_ms)
        return True

    def tell(self, where: str, what: str) -> None:
        """Keep a row of the story."""
        self.rows.append((self.now, where, what))

    @property
    def story(self) -> str:
        """All of it; equal for equal plays."""
        return "\n".join(f"{at / 1000:9.3f}s {where:24} {what}" for at, where, what in self.rows)

    @property
    def digest(self) -> str:
        """A short name of all that happened."""
        return hashlib.blake2b(self.story.encode(), digest_size=8).hexdigest()
