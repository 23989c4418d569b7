"""Parts of following the own store: its watch, what is to be read, and what is to be written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.guards import DeleteWindow
from syncer.conflict.reads import Ticket
from syncer.model import MetaPath
from syncer.paths import classify
from syncer.replication.core import Core, GoingOver
from syncer.replication.group.participation import Participation
from syncer.replication.local.absences import Absences
from syncer.replication.local.dirty import DirtyPaths, ReadCause
from syncer.replication.local.entry_cache import EntryCache
from syncer.replication.local.known_clusters import KnownClusters
from syncer.replication.local.misfits import Misfits
from syncer.replication.local.own_writes import OwnWrites
from syncer.replication.local.rollback_counter import RollbackCounter
from syncer.replication.local.store_migration import StoreMigration
from syncer.replication.local.topic_answers import TopicAnswers
from syncer.replication.local.waiting import WaitingPaths
from syncer.replication.local.watch import StoreWatch
from syncer.replication.local.write_queue import Packer, WriteQueue
from syncer.replication.recovery.part import Recovery
from syncer.replication.telemetry import Telemetry
from syncer.replication.unit_of_work import Committed, UnitsOfWork
from syncer.stores.contract import Entry

DIRTY_BOUND: Final = 200_000


@dataclass(slots=True, kw_only=True)
class OwnStore:
    """The region's own store: observed, and written to.

    Args:
        core: The region's own replica.
        group: The group.
        telemetry: Counts and alarms.
        units: Begins units of work.
        recovery: Recovering a lost database.
        watch: Where the watch stands.
        dirty: Paths that have to be read.
        waiting: Paths that wait for other paths, and refused writes.
        entry_cache: What the store held when it was last read.
        own_writes: Names of this daemon's latest transactions.
        misfits: What the store holds and cannot be replicated.
        topics: What is known of topics below paths, and what is to be asked.
        clusters: Cluster names that the store knows.
        versions: What is known of the brokers' versions, and what waits for that.
        migration: Whether Pulsar is migrating the store to another one.
        writes: Batches on their way to the store.
        rollback_counter: Whether the fence has yet to be told that the database has gone on.
        deletes: Local deletes of late, for the guard against too many of them.
    """

    core: Core
    group: Participation
    telemetry: Telemetry
    units: UnitsOfWork
    recovery: Recovery
    watch: StoreWatch
    dirty: DirtyPaths = field(default_factory=lambda: DirtyPaths(DIRTY_BOUND))
    waiting: WaitingPaths = field(default_factory=WaitingPaths)
    entry_cache: EntryCache = field(default_factory=EntryCache)
    own_writes: OwnWrites = field(default_factory=OwnWrites)
    misfits: Misfits = field(default_factory=Misfits)
    topics: TopicAnswers = field(default_factory=TopicAnswers)
    clusters: KnownClusters = field(default_factory=KnownClusters)
    versions: Absences = field(default_factory=Absences)
    migration: StoreMigration = field(default_factory=StoreMigration)
    writes: WriteQueue
    rollback_counter: RollbackCounter = field(default_factory=RollbackCounter)
    deletes: DeleteWindow

    def packer(self) -> Packer:
        """Begin to pack batches of writes under the fence that is held."""
        fence = self.core.fence
        return self.writes.packer(fence.fence.number if fence else 0)

    def look_at(self, path: MetaPath, entry: Entry | None) -> None:
        """Note of a value that was read which parts of it conditions tell about; ``None``: nothing stands there."""
        self.versions.filters.look_at(path, entry.value if entry is not None else b"")
        self.misfits.offloaded.look_at(path, entry)

    def trust(self, read: Ticket) -> None:
        """With this read the fence was found to be ours: it is our store, if it was asked since the last gap."""
        if self.watch.ledger.current(read):
            self.core.fence_unverified = False

    def on_commit(self, committed: Committed) -> None:
        """Registers were stored: what was in flight about them is void, and what needs a read becomes dirty."""
        self.watch.ledger.changed(committed.changed)
        if committed.changed or committed.published:
            self.rollback_counter.advanced = True
        for path in committed.topics:
            self.topics.asking[path] = None
        for path, other in committed.waits:
            self.waiting.wait_for(path, other)
        for register in committed.changed.values():
            if register.stored is None or register.due:
                continue
            self._wake(register.path)
            if not register.stored_alive and (resource := classify(register.path)) and resource.parent:
                self._wake(resource.parent)
        self.dirty.add(committed.reads, ReadCause.DUE)

    def _wake(self, path: MetaPath) -> None:
        self.dirty.add(self.waiting.woken(path), ReadCause.DUE)

    def begin_anew(self) -> None:
        """The database has begun anew as another one: nothing that was in memory of the store counts."""
        self.watch.begin_anew()
        self.deletes = DeleteWindow(self.core.replica.settings.limits)
        self.waiting.clear()
        self.entry_cache.clear()
        self.own_writes.clear()
        self.topics.begin_anew()
        self.versions.begin_anew()
        self.core.going_over = GoingOver()
