"""Waiting for states that have to come, and what a deadline means on a machine that starves its programs."""

from __future__ import annotations

from syncer.waiting.polling import (
    DESCRIBING,
    LIVING,
    WAIT_S,
    Living,
    Needed,
    NeedEnded,
    WaitFailed,
    WaitTimedOut,
    until,
    wait_until,
)

__all__ = [
    "DESCRIBING",
    "LIVING",
    "WAIT_S",
    "Living",
    "NeedEnded",
    "Needed",
    "WaitFailed",
    "WaitTimedOut",
    "until",
    "wait_until",
]
