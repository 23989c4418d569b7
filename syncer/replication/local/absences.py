"""Doubted absences: what lacks where it stood, and is not decided until the brokers were asked.

Of a field they are asked for their versions, since only a broker that knows it can have removed it. Of the declaration
of a topic they are asked whether they delete such by themselves. A delete is decided by settings that were asked for
after it was read. While no answer comes it is neither held nor published, and a restart finds it again.

All of it is in memory and may be lost. Units: milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from syncer.admin.version_probe import BrokersTold
from syncer.conflict.deletes.collected import CollectionTold, DeletedBy
from syncer.model import MetaPath, Millis, ResourceKind, Revision
from syncer.replication.entry_filters import NamedFilters
from syncer.replication.local.dirty import ReadCause

AGAIN_MS: Final = 60_000
SOON_MS: Final = 2_000
"""Asked again where no whole answer has come yet."""
AT_ONCE_MS: Final = 200
"""Asked again where deletes wait for the answer: what is found meanwhile is asked for with them."""
NOBODY: Final = BrokersTold()
KEPT: Final = 10_000
"""Paths that wait, or were vouched for, at most; beyond these it is asked again."""
PLACES_KEPT: Final = 64
PLACE_CHARACTERS: Final = 120
"""Bounds of what is remembered of dropped fields: their names may come from anywhere."""
DELETES_KEPT: Final = 100_000
"""Deletes that wait at most; once the brokers have answered, all of the store is read for those beyond it."""


@dataclass(frozen=True, slots=True)
class AwaitedDelete:
    """A delete that was read, and not decided.

    Args:
        seen_at: When it was made, as far as was known when it was read first.
        cause: Why it was read.
    """

    seen_at: Millis
    cause: ReadCause


@dataclass(frozen=True, slots=True)
class AnsweredDelete:
    """A delete that may be decided.

    Args:
        by: Who may have made it.
        told: What the brokers told, asked after it was read.
        delete: As it was read.
    """

    by: DeletedBy
    told: CollectionTold
    delete: AwaitedDelete


@dataclass(slots=True)
class CollectedDeletes:
    """Settings that the brokers told, and deletes that wait for them.

    Args:
        told: What they told last; ``None``: they were not asked yet.
        asked_at: When the last answer came.
        waiting: Deletes that wait.
        answered: Deletes that may be decided.
        overflowed: More deletes were read than may wait.
    """

    told: CollectionTold | None = None
    asked_at: Millis = Millis(0)
    waiting: dict[MetaPath, AwaitedDelete] = field(default_factory=dict)
    answered: dict[MetaPath, AnsweredDelete] = field(default_factory=dict)
    overflowed: bool = False

    def wait(self, path: MetaPath, delete: AwaitedDelete) -> None:
        """Keep a delete until the brokers have answered; one that waits already keeps its time."""
        if path in self.waiting or len(self.waiting) + len(self.answered) < DELETES_KEPT:
            self.waiting.setdefault(path, delete)
        else:
            self.overflowed = True

    def seen_at(self, path: MetaPath) -> Millis | None:
        """Return when a delete was made that waits, or has waited; ``None``: it is new."""
        delete = self.waiting.get(path)
        if delete is None and path in self.answered:
            delete = self.answered[path].delete
        return delete.seen_at if delete is not None else None

    def due(self, now: Millis) -> bool:
        """Return whether it is time to ask."""
        since, told = now - self.asked_at, self.told
        if told is None or (told.trouble and not told.refused):
            pause_ms = SOON_MS if told is not None else 0
        else:
            pause_ms = AT_ONCE_MS if self.waiting else AGAIN_MS
        return not 0 <= since < pause_ms

    def decided(self, paths: Iterable[MetaPath]) -> None:
        """Nothing waits at these paths any more."""
        for path in paths:
            self.waiting.pop(path, None)
            self.answered.pop(path, None)

    def take(self, path: MetaPath, answered: AnsweredDelete) -> bool:
        """Let a delete be decided; ``False`` where it waits no more, or a later one of the same path does."""
        if self.waiting.get(path) != answered.delete:
            return False
        del self.waiting[path]
        self.answered[path] = answered
        return True

    def begin_anew(self) -> None:
        """The database has begun anew as another one: nothing waits for it any more."""
        self.waiting.clear()
        self.answered.clear()
        self.overflowed = False


@dataclass(slots=True)
class DroppedFields:
    """The fields that the brokers here dropped and do not know, as far as paths were looked at in the latest pass.

    Args:
        paths: How many paths lack some in the store.
        places: Kind and place of such fields: ``namespace persistence.managedLedgerStorageClassName``.
    """

    paths: int = 0
    places: set[str] = field(default_factory=set)

    def add(self, kind: ResourceKind, places: Iterable[str]) -> None:
        """Count a path, if it lacks any.

        Args:
            kind: Of the path.
            places: Of the fields that it lacks and the brokers do not know; names from anywhere.
        """
        found = [f"{kind} {place[:PLACE_CHARACTERS]}" for place in places]
        self.paths += bool(found)
        self.places.update(found[: PLACES_KEPT - len(self.places)])


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
        changed: Other brokers are here than before: what they could not read has to be looked at again.
        incomplete_after: How far paths whose store lacks kept fields were looked at; ``None``: all were.
        incomplete_at: When that was begun last.
        dropped: What was found by that.
        deletes: What is known of topics that brokers collect, and deletes that wait for that.
        filters: Entry filters that policies in the store name.
    """

    told: BrokersTold = NOBODY
    asked_at: Millis = Millis(0)
    waiting: dict[MetaPath, Revision] = field(default_factory=dict)
    vouched: dict[MetaPath, Revision] = field(default_factory=dict)
    unsettled: bool = False
    rescan: bool = False
    changed: bool = False
    incomplete_after: MetaPath | None = None
    incomplete_at: Millis = Millis(0)
    dropped: DroppedFields = field(default_factory=DroppedFields)
    deletes: CollectedDeletes = field(default_factory=CollectedDeletes)
    filters: NamedFilters = field(default_factory=NamedFilters)

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
        self.deletes.begin_anew()
        self.incomplete_after = None
