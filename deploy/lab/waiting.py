"""Wait for a state whose absence is an outcome: the demonstrations tell it, and go on."""

from __future__ import annotations

import time
from collections.abc import Callable

from syncer.waiting import WAIT_S, WaitTimedOut, wait_until


def wait_for(condition: Callable[[], object], *, deadline_s: float = WAIT_S) -> float | None:
    """Poll until a condition holds; return the seconds until it did, ``None`` when it did not in time.

    Raises:
        NeedEnded: A process that must live has ended.
    """
    began = time.monotonic()
    try:
        wait_until(condition, "it holds", within_s=deadline_s)
    except WaitTimedOut:
        return None
    return time.monotonic() - began
