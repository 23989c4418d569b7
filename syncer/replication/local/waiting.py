"""Paths that wait for other paths: for a parent to be stored, for children to be gone, or for what nobody tells of."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from syncer.model import MetaPath, Millis
from syncer.replication.related_values import RelatedReads

WAITING_BOUND: Final = 100_000
WAITING_BYTES: Final = 64 << 20
"""Of paths that wait for others to be stored, and of these; beyond it the tick finds them."""

FIRST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 32_000
REFUSED_KEPT: Final = 100_000
"""Refused writes that rest; beyond these all are tried again at once."""


@dataclass(slots=True)
class RefusedWrites:
    """Writes that the store has refused for want of something else: each is tried again, ever less often.

    What would let it land is often told by nothing that is watched, so the tick has to try; and many may wait for long,
    as policies of topics that exist only elsewhere do. In memory alone: after a start each is tried once more.

    Args:
        resting: When each was tried last, and how long it rests after that. Units: milliseconds.
    """

    resting: dict[MetaPath, tuple[Millis, int]] = field(default_factory=dict)

    def refused(self, path: MetaPath, now: Millis) -> None:
        """It was tried, and refused."""
        _, pause = self.resting.get(path, (now, FIRST_PAUSE_MS // 2))
        if len(self.resting) >= REFUSED_KEPT and path not in self.resting:
            self.resting.clear()
        self.resting[path] = (now, min(2 * pause, LONGEST_PAUSE_MS))

    def rests(self, path: MetaPath, now: Millis) -> bool:
        """Whether it is too early to try a path again; a clock that was set back keeps nothing waiting."""
        at, pause = self.resting.get(path, (now, 0))
        return 0 <= now - at < pause

    def landed(self, path: MetaPath) -> None:
        """It was written."""
        self.resting.pop(path, None)

    def clear(self) -> None:
        """Forget all."""
        self.resting.clear()


class WaitingPaths:
    """Which paths are looked at again when which others have changed."""

    def __init__(self) -> None:
        self._waiters: dict[MetaPath, dict[MetaPath, None]] = {}
        self._bytes = 0
        self.refused = RefusedWrites()
        self.related = RelatedReads()

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
        self.refused.clear()
        self.related.clear()
