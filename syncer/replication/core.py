"""The region's own replica: how it decides, what it carries, its database's identity and floor, and the fence it holds.

Everything in memory can be lost at any instant: the scan after a start finds it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from syncer.conflict.classes.periods import NO_PERIODS, WITH_THE_DATABASE, ScopePeriods
from syncer.conflict.cluster_names.telling import NO_NAMES, RegionNames
from syncer.conflict.exclusion.telling import NOTHING_TOLD, Told
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Millis
from syncer.paths import fence_path
from syncer.replication.fence import HeldFence
from syncer.replication.uncompared import NOTHING_UNCOMPARED, Uncompared
from syncer.state.contract.identity import Identity
from syncer.state.contract.state import State


class NamedStore(NamedTuple):
    """The store as the configuration names it.

    Args:
        kind: Of the adapter; empty: nobody has said it.
        at: Digest of the address; empty: nobody has said it.
    """

    kind: str = ""
    at: str = ""


NOWHERE: Final = NamedStore()


class Peculiarities(NamedTuple):
    """In what this region differs from others by its configuration, as it tells them.

    Args:
        names: What it calls clusters.
        excluded: Fields that are its own.
    """

    names: RegionNames = NO_NAMES
    excluded: Told = NOTHING_TOLD


NO_PECULIARITIES: Final = Peculiarities()


@dataclass(slots=True)
class GoingOver:
    """How far this region is with going over to another projection.

    Args:
        wants_scan: All that the store holds is to be read again for it.
        scan_done: It was, and every answer decided.
        due_after: The last due path that was looked through.
        due_seen: All of them were.
        begun_at: When it was begun last; 0: never.
        rest_ms: It is not begun again before so long after that.
    """

    wants_scan: bool = False
    scan_done: bool = False
    due_after: MetaPath | None = None
    due_seen: bool = False
    begun_at: Millis = Millis(0)
    rest_ms: Millis = Millis(0)


@dataclass(slots=True, kw_only=True)
class Core:
    """What every step of one daemon stands on; used by one thread at a time.

    Args:
        replica: The decisions.
        scope: Which paths take part.
        state: The sidecar database.
        identity: What the database said of itself when this daemon became active.
        observing: Read and fold, but neither write nor publish.
        fence: Set while this daemon is the region's writer.
        fence_unverified: The watch has had a gap since the fence was last read: until then nothing is written.
        floor: Greatest time of any tombstone that was dropped: a path that is unknown here starts above it.
        periods: Since when paths are carried: of the time before, this region knows no deletes.
        place: The store as the configuration names it.
        peculiar: In what this region differs from others by its configuration.
        renaming: The store is another one, or read by other names, and not all that differs by that is published yet.
            At a start that may be whatever the outbox holds.
        going_over: How far it is with going over to another projection.
        uncompared: In what the store, or the look at it, is another one, and not all of it was compared since.
        still_excluded: Paths with fields that are excluded by no rule any more, and differ from the group's.
    """

    replica: Replica
    scope: Scope
    state: State
    identity: Identity
    observing: bool = False
    fence: HeldFence | None = None
    fence_unverified: bool = False
    floor: Millis = Millis(0)
    periods: ScopePeriods = NO_PERIODS
    place: NamedStore = NOWHERE
    peculiar: Peculiarities = NO_PECULIARITIES
    renaming: bool = False
    going_over: GoingOver = field(default_factory=GoingOver)
    uncompared: Uncompared = NOTHING_UNCOMPARED
    still_excluded: set[MetaPath] = field(default_factory=set)

    @property
    def fence_path(self) -> MetaPath:
        """Path of the region's fence node."""
        return fence_path(self.replica.settings.region)

    @property
    def first_scan_done(self) -> bool:
        """Whether the first full scan of this database has finished."""
        return self.identity.first_scan_done

    def forgotten_until(self, path: MetaPath) -> Millis:
        """Return the time up to which deletes of a path may be unknown here, because they were forgotten.

        That is the floor; and for a path that came into the scope, the time when it did, with the greatest error of a
        clock.
        """
        since = self.periods.since(path) if self.scope.contains(path) else WITH_THE_DATABASE
        if since == WITH_THE_DATABASE:
            return self.floor
        return max(self.floor, Millis(since + self.replica.settings.limits.max_clock_skew_ms))

    def renamed(self, identity: Identity) -> None:
        """The database has another generation: what is stamped from now on is counted by that."""
        self.identity = identity
        self.replica = Replica(replace(self.replica.settings, generation=identity.generation))
