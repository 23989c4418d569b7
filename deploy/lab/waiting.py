"""Waiting for something to be so, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

POLL_S: Final = 0.02


def wait_for(condition: Callable[[], bool], *, deadline_s: float) -> float | None:
    """Poll until the condition holds; seconds until it did, ``None`` when it did not in time."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > deadline_s:
            return None
        time.sleep(POLL_S)
    return time.monotonic() - began
