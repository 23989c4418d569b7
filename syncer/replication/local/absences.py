"""Doubted absences: fields that lack where they stood, whose readers wait until every broker was asked for its version.

All of it is in memory and may be lost. Units: milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from syncer.admin.version_probe import BrokersTold
from syncer.model import MetaPath, Millis, Revision

NOBODY: Final = BrokersTold()
KEPT: Final = 10_000
"""Paths that wait, or were vouched for, at most; beyond these it is asked again."""


@dataclass(slots=True)
class Absences:
    """What is known of the brokers, and what waits for that.

    Args:
        told: What the brokers said last.
        asked_at: When the last answer came; 0: never.
        waiting: Absences that wait, with the revision that was read.
        vouched: Absences that may be judged: all brokers were asked after that revision was read.
        unsettled: A broker has become newer, and not all was read since: nothing that lacks counts.
        rescan: All is to be read again for that.
        incomplete_after: How far paths whose store lacks kept fields were looked at; ``None``: all were.
        incomplete_at: When that was begun last.
    """

    told: BrokersTold = NOBODY
    asked_at: Millis = Millis(0)
    waiting: dict[MetaPath, Revision] = field(default_factory=dict)
    vouched: dict[MetaPath, Revision] = field(default_factory=dict)
    unsettled: bool = False
    rescan: bool = False
    incomplete_after: MetaPath | None = None
    incomplete_at: Millis = Millis(0)

    def doubt(self, path: MetaPath, revision: Revision) -> None:
        """An absence was read that would be a removal."""
        if path in self.waiting or len(self.waiting) < KEPT:  # beyond that the next scan finds it
            self.waiting[path] = revision

    def vouches(self, path: MetaPath, revision: Revision | None) -> bool:
        """Whether all brokers were asked since this state of the path was read."""
        return revision is not None and self.vouched.get(path) == revision

    def noticed(self, path: MetaPath, revision: Revision) -> bool:
        """Whether a notice has found this very state of the path, with an absence that is to be judged."""
        return revision in (self.waiting.get(path), self.vouched.get(path))

    def judged(self, path: MetaPath) -> None:
        """The path was decided: what was vouched for is used, and nothing of it waits any more."""
        self.vouched.pop(path, None)
        self.waiting.pop(path, None)

    def scanned(self) -> None:
        """All that the store holds was read."""
        self.unsettled = self.rescan

    def begin_anew(self) -> None:
        """The database has begun anew as another one: nothing waits for it any more."""
        self.waiting.clear()
        self.vouched.clear()
        self.incomplete_after = None
