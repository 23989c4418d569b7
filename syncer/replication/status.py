"""Status of a driver: what the loops, the metrics and the daemon ask of it and tell it, beside its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from syncer.bus.trust.signing import Keyring
from syncer.model import MetaPath, Millis, Region
from syncer.replication import overtaken
from syncer.replication.assembly import Parts
from syncer.replication.core import NO_PECULIARITIES, NOWHERE, NamedStore, Peculiarities
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.progress import Phase
from syncer.stores.topic_policies import TopicPoliciesStanding


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What a daemon gives its driver beside replica, scope, state and store.

    Args:
        keyring: What this region signs its messages with, and whose it believes.
        check_jobs: Raises when a job that is asked for now could not be run; ``None``: this daemon runs none.
        snapshots: Tells how the taking of snapshots on schedule stands; ``None``: there is no schedule.
        migration: Tells how the migration that is open stands, and what conditions it makes; ``None``: none is.
        warnings: Alarms that stand from the start, by code.
        takes_over: Whether this database may take the place of another one that the fence names.
        begun_on_hearsay: It has begun anew already by what came from others.
        held_since_ms: Since when publications were held back for what others say of the database; ``None``: never.
        may_be_old: Whether this database can be an old copy, so that nothing is published before peers were heard.
        silence_ms: How long a region is silent until it counts as away.
        mark_interval_ms: At most one mark of the rollback counter is set in so long.
        speak_ms: How long a rebuild waits for peers to be heard, where none are configured.
        place: The store as the configuration names it.
        peculiar: In what this region differs from others by its configuration.
    """

    keyring: Keyring
    snapshots: Callable[[], Mapping[str, object]] | None
    migration: Callable[[], dict[str, Any] | None]
    check_jobs: Callable[[], None] | None
    warnings: Mapping[str, str]
    takes_over: bool
    begun_on_hearsay: bool
    held_since_ms: Millis | None
    may_be_old: bool
    silence_ms: int
    mark_interval_ms: int
    speak_ms: int
    place: NamedStore = NOWHERE
    peculiar: Peculiarities = NO_PECULIARITIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """Numbers for the metrics, as of now.

    Args:
        fence: Number of the fence that is held; 0: none.
        watch_whole: The watch of the store is armed.
        paused: Neither writes nor publications go out.
        pending_reads: Paths that wait to be read.
        conflict_bytes: Room that losers of conflicts take.
        value_bytes: Room that values take that are not written.
        differing: By region: paths that differ from it, and when the two were last equal.
        scalable: Scalable topics, seen in the store or told by brokers; ``None``: nobody knows.
        tally: Counts since the start.
    """

    fence: int
    watch_whole: bool
    paused: bool
    pending_reads: int
    conflict_bytes: int
    value_bytes: int
    differing: Mapping[Region, tuple[int, Millis | None]]
    scalable: int | None
    tally: Mapping[tuple[str, str], int]


class DriverStatus:
    """The questions that a driver answers about itself, whatever its parts are.

    Args:
        parts: Of the driver.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._core, self._telemetry, self._group, self._units = parts.core, parts.telemetry, parts.group, parts.units
        self._rooms, self._recovery, self._local = parts.rooms, parts.recovery, parts.local
        self._antientropy, self._gc, self._membership = parts.antientropy, parts.gc, parts.membership
        self._inbound, self._control = parts.inbound, parts.control

    def equip(self, equipment: Equipment) -> None:
        """Take what the daemon gives, before the first step."""
        self._group.keyring = equipment.keyring
        self._group.evidence.silence_ms = equipment.silence_ms
        self._control.snapshots = equipment.snapshots
        self._control.migration = equipment.migration
        self._control.check_jobs = equipment.check_jobs
        self._telemetry.conditions.update(equipment.warnings)
        self._recovery.takes_over = equipment.takes_over
        self._recovery.begun_on_hearsay = equipment.begun_on_hearsay
        self._recovery.doubts.held_since_ms = equipment.held_since_ms
        self._recovery.speak_ms = equipment.speak_ms
        self._core.place, self._core.peculiar = equipment.place, equipment.peculiar
        if not equipment.may_be_old:
            self._recovery.quiet_ms = 0
        self._local.rollback_counter.interval_ms = equipment.mark_interval_ms

    # -- this region, its database and its fence

    @property
    def observing(self) -> bool:
        """Whether it reads and folds, but neither writes nor publishes."""
        return self._core.observing

    @property
    def prefixes(self) -> tuple[MetaPath, ...]:
        """Where the paths that take part begin."""
        return self._core.scope.prefixes

    @property
    def fence_path(self) -> MetaPath:
        """Path of the region's fence node."""
        return self._core.fence_path

    @property
    def holds_fence(self) -> bool:
        """Whether this daemon is the region's writer."""
        return self._core.fence is not None

    @property
    def database_id(self) -> str:
        """Id of the sidecar database."""
        return self._core.identity.database_id

    @property
    def epoch(self) -> int:
        """How often the database was activated."""
        return self._core.identity.epoch

    @property
    def begun_on_hearsay(self) -> bool:
        """Whether the database has begun anew by what came from others."""
        return self._recovery.begun_on_hearsay

    @property
    def held_since_ms(self) -> Millis | None:
        """Since when nothing was published for what others say of the database, over or not: that happens once."""
        return self._recovery.doubts.held_since_ms

    # -- a lost database

    @property
    def hearing(self) -> bool:
        """Whether the database was lost and the peers have yet to tell what they know: the store is not looked at."""
        return rebuild.phase_of(self._recovery) is Phase.HEARING

    @property
    def rebuilding(self) -> str | None:
        """Why this database takes the place of a lost one; ``None``: it does not, or has done so."""
        kept = rebuild.of(self._recovery)
        return None if kept is None or kept.phase is Phase.DONE else kept.reason

    @property
    def starting(self) -> bool:
        """Whether this daemon waits to hear what its peers have of its database."""
        return bool(self._recovery.progress.unheard)

    @property
    def in_doubt(self) -> bool:
        """Whether nothing is published until a peer's word against this database was checked."""
        return self._recovery.doubts.holds

    # -- the bus

    @property
    def keyring(self) -> Keyring:
        """What messages are signed with, and whose are believed."""
        return self._group.keyring

    @property
    def published_through(self) -> int:
        """Highest number of an event that this database may have published, as far as it knows."""
        return self._recovery.progress.published

    # -- the store

    @property
    def watch_whole(self) -> bool:
        """Whether the watch is armed and has had no gap since."""
        return self._local.watch.ledger.armed

    @property
    def writes_waiting(self) -> bool:
        """Whether a batch waits for its answer, or to be sent."""
        return self._local.writes.head is not None

    @property
    def vacant_batches(self) -> int:
        """How many more batches may be decided."""
        return self._local.writes.vacant

    @property
    def store_kind(self) -> str:
        """Of its adapter; empty: nobody has said it."""
        return self._core.place.kind

    @property
    def store_unwritable(self) -> bool:
        """Whether nothing may be written to the store, for Pulsar migrates it, or nobody can tell."""
        return self._local.migration.holds

    @property
    def store_foreign(self) -> bool:
        """Whether the store was found to be no cluster's own."""
        return self._local.migration.foreign

    @property
    def store_phase(self) -> str | None:
        """How far a migration of the store is, in a few words; ``None``: it was not looked at."""
        return self._local.migration.report()

    def note_topic_policies(self, standing: TopicPoliciesStanding | None) -> None:
        """How the source of topic policies fares; ``None``: there is none."""
        overtaken.note_standing(self._local, standing)

    def deny_store_phase(self, why: str) -> None:
        """It may not be read whether the store is migrated."""
        self._local.migration.denied(why)

    @property
    def counter_behind(self) -> bool:
        """Whether the database has gone on since the fence was told so."""
        return self._local.rollback_counter.advanced

    def takes_writes(self, writes: int, size_bytes: int) -> bool:
        """Whether so many writes, of so many bytes together, have room now."""
        return self._local.writes.takes(writes, size_bytes)

    def drop_pending(self) -> None:
        """Forget which paths are to be read: a scan follows that finds them."""
        self._local.dirty.clear()

    # -- counts, measures, alarms

    def count(self, name: str, label: str, number: int = 1) -> None:
        """Count something for the metrics."""
        self._telemetry.tally[name, label] += number

    def note_timing(self, stage: str, seconds: float) -> None:
        """Note how long a batch took in a stage."""
        self._telemetry.timings.append((stage, seconds))

    def show(self, code: str, message: str) -> None:
        """Let an alarm stand in the status."""
        self._telemetry.conditions[code] = message

    def unshow(self, code: str) -> None:
        """Take an alarm out of the status, if it stands there."""
        self._telemetry.conditions.pop(code, None)

    def take_lags(self) -> Iterator[tuple[Region, float]]:
        """Take away author's region and seconds to our store, of the latest writes."""
        while self._telemetry.lags:
            yield self._telemetry.lags.popleft()

    def take_timings(self) -> Iterator[tuple[str, float]]:
        """Take away stage and seconds of the latest batches."""
        while self._telemetry.timings:
            yield self._telemetry.timings.popleft()

    def gauges(self) -> Gauges:
        """Numbers for the metrics."""
        fence, exchanges = self._core.fence, self._antientropy.exchanges
        return Gauges(
            fence=fence.fence.number if fence else 0,
            watch_whole=self.watch_whole,
            paused=self._group.paused is not None,
            pending_reads=len(self._local.dirty),
            conflict_bytes=self._rooms.conflicts.size_bytes,
            value_bytes=self._rooms.values.size_bytes,
            differing={region: (each.differing, each.equal_at_ms) for region, each in list(exchanges.peers.items())},
            scalable=counted.total if (counted := self._local.topics.counted) is not None else None,
            tally=dict(self._telemetry.tally),
        )
