"""The rollback counter: a number in the fence and in the database that rises as long as the database goes on.

Whatever is put back from a backup lacks the latest mark: a store that lacks one which the database saw in it is old,
and so is a database that lacks one which stands in the fence.

    the database gives the mark out ─▶ the fence is rewritten with it ─▶ the database notes that it stands there

So a crash between two of these leaves the fence between what was noted and what was given out, which is sound. A batch
leaves its receipt in the fence and needs no mark: marks are set while nothing waits to be written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from syncer.model import Millis

INTERVAL_MS: Final = 10_000


@dataclass(slots=True)
class RollbackCounter:
    """When the next mark is due; only in memory.

    Args:
        interval_ms: At most one mark is set in so long.
        advanced: The database has gone on since the last mark was given out.
        at_ms: When that was.
    """

    interval_ms: int = INTERVAL_MS
    advanced: bool = False
    at_ms: Millis = Millis(0)

    def due(self, now: Millis) -> bool:
        """Whether a mark should be set now."""
        return (
            self.advanced and not 0 <= now - self.at_ms < self.interval_ms
        )  # a clock set back must not make it longer

    def given_out(self, now: Millis) -> None:
        """The database has given out a mark."""
        self.advanced, self.at_ms = False, now
