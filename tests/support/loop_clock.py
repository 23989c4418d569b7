"""The clock of an event loop, which a test puts forward: deadlines of full length run out without a wait."""

from __future__ import annotations

import asyncio
from typing import Final


class LoopClock:
    """Controls the time that a loop's timers and deadlines go by.

    A deadline that runs out in a moment that the test chooses cuts off nothing else, however slow the machine is.

    Args:
        loop: The loop. Nothing else replaces its clock.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._ahead_s = 0.0
        own = loop.time
        loop.time = lambda: own() + self._ahead_s  # type: ignore[method-assign]

    def put_forward(self, seconds: float) -> None:
        """Let that time pass at once; callable from any thread."""
        self._ahead_s += seconds
        self._loop.call_soon_threadsafe(lambda: None)  # wakes the loop, which then sees what is due
