"""Give up an answer after a deadline, but not one that has come, or that this process alone holds up.

A timer fires when the event loop is given a processor, not when the answer is overdue: by then the answer may lie in a
socket or in the loop's own queue. So a deadline that has fired first lets the loop take what has come. While this
process waits for a processor, it looks again, up to a bound: an answer that never comes is always told.

Only for answers. A lease or a role counts for others by the clock, and is never extended.

Units: seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from syncer.waiting import starvation

LOOK_S: Final = 0.1
"""After the deadline the loop has at least this long to take what has come."""
LOOK_SHARE: Final = 0.25
"""A later look comes after this share of the deadline."""
MOST_SHARE: Final = 2.0
"""All looks together take at most this multiple of the deadline, beside the first one."""


class Deadline:
    """A timer that calls when an answer is overdue. Reads ``/proc`` only after it has fired.

    Args:
        within_s: How long the answer may take.
        over: Called once, in the loop, when it has not come; nothing is called after :meth:`cancel`.
    """

    __slots__ = ("_delayed_s", "_due_s", "_looked_s", "_loop", "_more_s", "_over", "_timer", "_within_s")

    def __init__(self, within_s: float, over: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._within_s, self._over = within_s, over
        self._more_s = 0.0
        self._looked_s = self._delayed_s = 0.0
        self._due_s = self._loop.time() + within_s
        self._timer = self._loop.call_at(self._due_s, self._first)

    def cancel(self) -> None:
        """Let the answer take any time from now on: it has come, or nobody waits for it."""
        self._timer.cancel()

    def _first(self) -> None:
        self._look_in(max(LOOK_S, min(self._loop.time() - self._due_s, self._most_s)))

    def _again(self) -> None:
        now_s = self._loop.time()
        late_s, delayed_s = now_s - self._due_s, starvation.delayed_s() - self._delayed_s
        starved = max(late_s, delayed_s) >= (now_s - self._looked_s) * starvation.STARVED_DELAY
        more_s = min(self._within_s * LOOK_SHARE, self._most_s - self._more_s)
        if starved and more_s > 0:
            self._more_s += more_s
            self._look_in(more_s)
        else:
            self._over()

    @property
    def _most_s(self) -> float:
        return self._within_s * MOST_SHARE

    def _look_in(self, more_s: float) -> None:
        self._looked_s, self._delayed_s = self._loop.time(), starvation.delayed_s()
        self._due_s = self._looked_s + more_s
        self._timer = self._loop.call_at(self._due_s, self._again)


class answered_within:  # noqa: N801 - reads as asyncio.timeout does
    """Raise TimeoutError where the block's answer is overdue, as ``asyncio.timeout`` does, but judged by a Deadline.

    Args:
        within_s: How long the answer may take.
    """

    __slots__ = ("_deadline", "_timeout", "_within_s")

    def __init__(self, within_s: float) -> None:
        self._within_s = within_s
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> Self:
        """Begin to count."""
        await self._timeout.__aenter__()
        self._deadline = Deadline(self._within_s, self._give_up)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End counting.

        Raises:
            TimeoutError: The answer was overdue.
        """
        self._deadline.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _give_up(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time())


def longest_s(within_s: float) -> float:
    """Return how long an answer may take at most, as long as the event loop runs."""
    return within_s * (1 + MOST_SHARE) + LOOK_S
