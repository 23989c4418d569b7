"""The region's own replica: how it decides, what it carries, its database's identity and floor, and the fence it holds.

Everything in memory can be lost at any instant: the scan after a start finds it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Millis
from syncer.paths import fence_path
from syncer.replication.fence import HeldFence
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
        place: The store as the configuration names it.
        going_over: How far it is with going over to another projection.
        rescoped: The rules of the scope are others than before, and not all that they select was compared yet.
        former: The scope before that, where it is known.
        moved: The fence was written into a store at another address, and not all of this one was compared yet.
    """

    replica: Replica
    scope: Scope
    state: State
    identity: Identity
    observing: bool = False
    fence: HeldFence | None = None
    fence_unverified: bool = False
    floor: Millis = Millis(0)
    place: NamedStore = NOWHERE
    going_over: GoingOver = field(default_factory=GoingOver)
    moved: bool = False
    rescoped: bool = False
    former: Scope | None = None

    @property
    def fence_path(self) -> MetaPath:
        """Path of the region's fence node."""
        return fence_path(self.replica.settings.region)

    @property
    def first_scan_done(self) -> bool:
        """Whether the first full scan of this database has finished."""
        return self.identity.first_scan_done

    def renamed(self, identity: Identity) -> None:
        """The database has another generation: what is stamped from now on is counted by that."""
        self.identity = identity
        self.replica = Replica(replace(self.replica.settings, generation=identity.generation))
