"""Deadlines of the product for tests: long enough that a good store, bus or region is not declared away.

A test that wants a deadline to fire asks for :data:`SHORT_STORE` or :data:`SHORT_BUS`, and only that one.
"""

from __future__ import annotations

from typing import Any, Final

from syncer.waiting import starvation

STORE_S: Final = 10.0
BUSY_S: Final = 10.0
"""Of a store and a bus that answer, nothing waits for these."""
LEASE_S: Final = 1.0
SILENCE_S: Final = 2.0
"""A killed daemon's successor waits for its lease: short on an idle machine, so that tests of it are quick there."""

PICTURE_S: Final = 300.0
"""Who asks for advice and then for its plan has so long for both; nothing waits for it."""

SHORT_STORE: Final[dict[str, Any]] = {"timeout": "1s"}
"""Of a store that is to be found away soon."""
SHORT_BUS: Final[dict[str, Any]] = {"busy_timeout": "500ms", "lease": "1s"}
"""Of a bus that is to be found away soon."""


def patient(base_s: float) -> str:
    """Return a duration for a configuration: the base on an idle machine, up to ten times that on a busy one."""
    return f"{base_s * starvation.patience() * 1000:.0f}ms"
