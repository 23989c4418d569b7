"""The state that the steps of one daemon share: the replica, the sidecar database, and what is only in memory.

Everything in memory can be lost at any instant: the scan after a start finds it again.
"""

from __future__ import annotations

import sys
from collections import Counter as Tally
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from syncer.bus.trust.signing import UNSIGNED, Keyring
from syncer.bus.wire.messages import LEFT
from syncer.conflict.guards import DeleteWindow, Topics
from syncer.conflict.reads import ReadLedger, Ticket
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Millis, Region, Stamp
from syncer.paths import fence_path
from syncer.replication.antientropy.exchanges import Exchanges, Pace
from syncer.replication.antientropy.tree_state import DigestTreeState
from syncer.replication.bounded_paths import Paths
from syncer.replication.fence import HeldFence
from syncer.replication.gc.state import GapFill, Tombstones
from syncer.replication.group.evidence import Evidence
from syncer.replication.group.hearsay import Hearsay
from syncer.replication.group.newcomers import Newcomers
from syncer.replication.group.peer import own_rules
from syncer.replication.group.peers import Peers
from syncer.replication.group.speakers import Speakers
from syncer.replication.local.dirty import DirtyPaths, ReadCause
from syncer.replication.local.entry_cache import EntryCache
from syncer.replication.local.misfits import Misfits
from syncer.replication.local.own_writes import OwnWrites
from syncer.replication.local.rollback_counter import RollbackCounter
from syncer.replication.local.unanswered import UnansweredTopics
from syncer.replication.local.write_queue import Packer, WriteQueue
from syncer.replication.quotas import Rooms
from syncer.replication.recovery.progress import RecoveryState
from syncer.state.contract.identity import Identity
from syncer.state.contract.membership import JOINING
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction

DIRTY_BOUND: Final = 200_000
WAITING_BOUND: Final = 100_000
WAITING_BYTES: Final = 64 << 20
"""Of paths that wait for others to be seated, and of these; beyond it the tick finds them."""
PATHS_BYTES: Final = 16 << 20
"""Of paths in each set of those that are to be asked for, or told of."""
MEASURES_KEPT: Final = 20_000
TOPICS_FRESH_MS: Final = 30_000
QUIET_MS: Final = 5_000
WANTING_BOUND: Final = 50_000
SPEAK_MS: Final = 30_000
"""Where no peers are configured, whoever has not spoken for so long is taken as no member of the group."""


HEAR_MS: Final = 30 * 60_000
"""Where no peers are configured, whoever has not told what it knows by then is not waited for any more."""


@dataclass(slots=True)
class Context:
    """Shared by all steps; used by one thread at a time.

    Args:
        replica: The decisions.
        scope: Which paths take part.
        state: The sidecar database.
        identity: What the database said of itself when this daemon became active.
        expected: Regions that may send; empty: any.
        keyring: What this region signs its messages with, and whose it believes.
        speakers: What keys of regions have proved of who speaks; ``None``: nothing was looked up yet.
        observing: Read and fold, but neither write nor publish.
        fence: Set while this daemon is the region's writer.
        doubted: The watch has had a gap since the fence was last read: until then nothing is written.
        gap_floor: When the watch was last known to be whole before the last gap.
        scanned: The store was read to its end since the watch was armed: which children live is known.
        clusters: Cluster names that the store knows.
        clusters_grew: What waited for a cluster has to be looked at again.
        paused: Why neither writes nor publications go out; ``None`` while they do.
        peers: What other regions told of themselves.
        rooms: What is taken of the room for losers of conflicts and for values that are due.
        evidence: That this region hears the bus, and was heard on it.
        hearsay: What others say of regions and is not obeyed.
        newcomers: Regions that speak and do not belong to the group.
        sums: The digest tree over what is known.
        comparisons: How this tree and those of the peers stand.
        tombstones: Where the forgetting of deletes stands.
        retelling: Which deletes are being told again, and whose messages are missing.
        rollback_counter: Whether the fence has yet to be told that the database has gone on.
        left_at: When this region has left the group; ``None`` while it belongs to it.
        recovery: What is in memory of rebuilding a lost database, here and elsewhere.
        requested: Paths of which a peer is to be told; the version that it lacks the value of, where it has said so.
        wanting: Paths whose value is to be asked of a peer.
        speak_ms: How long a rebuild waits for peers to be heard, where none are configured.
        hear_ms: How long it waits for those that have not told all that they know, where none are configured.
        quiet_ms: How long nothing is published after a start, where a peer does not say what it has of this database;
            0: it cannot be an old copy.
        takes_over: Whether this database may take the place of another one that the fence names.
        started_as: Generation that this database had when the daemon started, or when it began anew.
        begun_on_hearsay: It has begun anew on the word of others alone, which it does once.
        misfits: What the store holds and cannot be replicated.
        conditions: Alarms that stand until the daemon is started again, by code, for the status.
        tally: Counts since the start, for metrics, by name and label.
        snapshots: Tells how the taking of snapshots on schedule stands; ``None``: there is no schedule.
        lags: Author's region and seconds from its stamp to our store, of the latest writes; the metrics take them away.
        timings: Stage and seconds of the latest batches; likewise.
    """

    replica: Replica
    scope: Scope
    state: State
    identity: Identity
    writes: WriteQueue
    expected: frozenset[Region] = frozenset()
    keyring: Keyring = UNSIGNED
    speakers: Speakers | None = None
    observing: bool = False
    fence: HeldFence | None = None
    doubted: bool = False
    alive_until: Millis = Millis(0)
    gap_floor: Millis = Millis(0)
    scanned: bool = False
    clusters: frozenset[str] = frozenset()
    clusters_grew: bool = False
    paused: str | None = None
    peers: Peers = field(init=False)
    evidence: Evidence = field(default_factory=Evidence)
    rooms: Rooms = field(default_factory=Rooms)
    hearsay: Hearsay = field(default_factory=Hearsay)
    newcomers: Newcomers = field(default_factory=Newcomers)
    sums: DigestTreeState = field(init=False)
    comparisons: Exchanges = field(default_factory=lambda: Exchanges(Pace()))
    tombstones: Tombstones = field(default_factory=Tombstones)
    retelling: GapFill = field(default_factory=GapFill)
    rollback_counter: RollbackCounter = field(default_factory=RollbackCounter)
    left_at: Millis | None = None
    conditions: dict[str, str] = field(default_factory=dict)
    ledger: ReadLedger = field(default_factory=ReadLedger)
    misfits: Misfits = field(default_factory=Misfits)
    dirty: DirtyPaths = field(default_factory=lambda: DirtyPaths(DIRTY_BOUND))
    deletes: DeleteWindow = field(init=False)
    waiting: dict[MetaPath, dict[MetaPath, None]] = field(default_factory=dict)
    waiting_bytes: int = 0
    remembered: EntryCache = field(default_factory=EntryCache)
    own_writes: OwnWrites = field(default_factory=OwnWrites)
    topics: dict[MetaPath, tuple[Topics, Millis]] = field(default_factory=dict)
    asking: Paths[None] = field(default_factory=lambda: Paths(PATHS_BYTES))
    unanswered: UnansweredTopics = field(default_factory=UnansweredTopics)
    requested: Paths[Stamp | None] = field(default_factory=lambda: Paths(PATHS_BYTES))
    recovery: RecoveryState = field(default_factory=RecoveryState)
    wanting: Paths[None] = field(default_factory=lambda: Paths(PATHS_BYTES))
    speak_ms: int = SPEAK_MS
    hear_ms: int = HEAR_MS
    quiet_ms: int = QUIET_MS
    takes_over: bool = True
    started_as: int = field(init=False)
    begun_on_hearsay: bool = False
    tally: Tally[tuple[str, str]] = field(default_factory=Tally)
    snapshots: Callable[[], Mapping[str, object]] | None = None
    lags: deque[tuple[Region, float]] = field(default_factory=lambda: deque(maxlen=MEASURES_KEPT))
    timings: deque[tuple[str, float]] = field(default_factory=lambda: deque(maxlen=MEASURES_KEPT))

    def __post_init__(self) -> None:
        settings = self.replica.settings
        self.started_as = self.identity.generation
        self.deletes = DeleteWindow(settings.limits)
        self.sums = DigestTreeState(self.scope)
        self.peers = Peers(own_rules(self.scope.fingerprint, settings.ties))

    @property
    def fence_path(self) -> MetaPath:
        """Path of the region's fence node."""
        return fence_path(self.replica.settings.region)

    @property
    def first_scan_done(self) -> bool:
        """Whether the first full scan of this database has finished."""
        return self.identity.first_scan_done

    @property
    def joining(self) -> bool:
        """Whether this region is new, and waits for a person to let it take part."""
        return self.paused == JOINING

    @property
    def compares(self) -> bool:
        """Whether it compares what it knows with others: it learns by that, before it takes part too."""
        return self.first_scan_done and not self.observing and (self.paused is None or self.joining)

    def packer(self) -> Packer:
        """Begin to pack batches of writes under the fence that is held."""
        return self.writes.packer(self.fence.fence.number if self.fence else 0)

    @property
    def mode(self) -> str:
        """What this daemon does with changes, in a word."""
        if self.left_at is not None:
            return LEFT
        return "observe" if self.observing else "active"

    def want(self, path: MetaPath) -> None:
        """The value of this path is due here, and has to come from a peer; beyond the bound the tick finds it again."""
        if len(self.wanting) < WANTING_BOUND:
            self.wanting[path] = None

    def recall(self, tx: Transaction) -> None:
        """Take what the database keeps of the group: its regions, this one's place in it, and whether it is paused."""
        self.peers = Peers(self.peers.ours, tx.peers())
        self._recall_own(tx)

    def take_back(self, tx: Transaction) -> None:
        """The same, where no other regions have changed in memory than those that did since ``peers.begin``."""
        if changed := self.peers.changed:
            self.peers.take_back(tx.peers(changed))
        self._recall_own(tx)

    def _recall_own(self, tx: Transaction) -> None:
        self.identity = tx.identity()
        self.paused = self.identity.paused
        membership = tx.membership()
        self.tombstones.floor, self.left_at = membership.floor, membership.left_at

    def renamed(self, identity: Identity) -> None:
        """The database has another generation: what is stamped from now on is counted by that."""
        self.identity = identity
        self.replica = Replica(replace(self.replica.settings, generation=identity.generation))

    def begin_anew(self, recovery: RecoveryState) -> None:
        """The database has begun anew as another one: nothing that was in memory of it counts."""
        self.renamed(self.identity)
        self.started_as = self.identity.generation
        self.recovery = recovery
        self.fence = None  # what is under way belongs to the former database
        self.ledger.disarm()
        self.scanned = False
        self.alive_until = self.gap_floor = Millis(0)
        self.sums = DigestTreeState(self.scope)
        self.comparisons = Exchanges(self.comparisons.pace)
        self.tombstones = Tombstones(self.tombstones.limits, floor=self.tombstones.floor)
        self.retelling = GapFill()
        self.deletes = DeleteWindow(self.replica.settings.limits)
        for memory in (
            self.wanting,
            self.requested,
            self.waiting,
            self.remembered,
            self.own_writes,
            self.asking,
            self.unanswered,
        ):
            memory.clear()
        self.waiting_bytes = 0

    def trust(self, read: Ticket) -> None:
        """With this read the fence was found to be ours: it is our store, if it was asked since the last gap."""
        if self.ledger.current(read):
            self.doubted = False

    def wait_for(self, path: MetaPath, other: MetaPath) -> None:
        """``path`` is to be looked at again when ``other`` was seated; beyond the bound the tick does that."""
        waiters = self.waiting.get(other)
        if waiters is not None and path in waiters:
            return
        needed = sys.getsizeof(path) + (sys.getsizeof(other) if waiters is None else 0)
        if len(self.waiting) < WAITING_BOUND and self.waiting_bytes + needed <= WAITING_BYTES:
            self.waiting.setdefault(other, {})[path] = None
            self.waiting_bytes += needed

    def woken(self, paths: Iterable[MetaPath]) -> None:
        """These were seated, or the bus acknowledged them: whatever waits for them is looked at again."""
        for path in paths:
            if waiters := self.waiting.pop(path, None):
                self.waiting_bytes -= sys.getsizeof(path) + sum(map(sys.getsizeof, waiters))
                self.dirty.add(waiters, ReadCause.DUE)

    def topics_of(self, path: MetaPath, now: Millis) -> Topics:
        """What is known, freshly, of the topics below a path."""
        answer = self.topics.get(path)
        if answer is None or answer[1] < now - TOPICS_FRESH_MS:
            return Topics.NOT_ASKED
        return answer[0]
