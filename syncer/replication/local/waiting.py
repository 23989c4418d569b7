"""Paths that wait for other paths: for a parent to be stored, or for children to be gone."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from syncer.model import MetaPath

WAITING_BOUND: Final = 100_000
WAITING_BYTES: Final = 64 << 20
"""Of paths that wait for others to be stored, and of these; beyond it the tick finds them."""


class WaitingPaths:
    """Which paths are looked at again when which others have changed."""

    def __init__(self) -> None:
        self._waiters: dict[MetaPath, dict[MetaPath, None]] = {}
        self._bytes = 0

    def wait_for(self, path: MetaPath, other: MetaPath) -> None:
        """``path`` is to be looked at again when ``other`` was stored; beyond the bound the tick does that."""
        waiters = self._waiters.get(other)
        if waiters is not None and path in waiters:
            return
        needed = sys.getsizeof(path) + (sys.getsizeof(other) if waiters is None else 0)
        if len(self._waiters) < WAITING_BOUND and self._bytes + needed <= WAITING_BYTES:
            self._waiters.setdefault(other, {})[path] = None
            self._bytes += needed

    def woken(self, path: MetaPath) -> Iterable[MetaPath]:
        """This one was stored, or the bus acknowledged it: whatever waits for it is to be looked at again."""
        waiters = self._waiters.pop(path, None)
        if not waiters:
            return ()
        self._bytes -= sys.getsizeof(path) + sum(map(sys.getsizeof, waiters))
        return waiters

    def clear(self) -> None:
        """Forget all."""
        self._waiters.clear()
        self._bytes = 0
