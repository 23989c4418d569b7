"""The register of one path: what is known and what is stored of it, and what waits. Plain values without decisions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.conflict.fields.kept import KeptFields
from syncer.making import made_quickly
from syncer.model import NOTHING_SEEN, Counter, Digest, MetaPath, Millis, Revision, Seen, Stamp, Version
from syncer.replacing import replace

_NEVER: Final = Millis(0)


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the store was last *known* to hold, by a valid read or a confirmed write of ours; never inferred.

    ``digest is None``: the path was known to be absent. ``revision is None``: it is, or a write landed and its revision
    is not known yet.
    """

    stamp: Stamp
    by: Counter
    seen: Seen
    digest: Digest | None
    revision: Revision | None

    @staticmethod
    def of(version: Version, revision: Revision | None) -> Stored:
        """A version as what the store holds."""
        return Stored(stamp=version.stamp, by=version.by, seen=version.seen, digest=version.digest, revision=revision)

    @property
    def alive(self) -> bool:
        """Whether the store was last known to hold a value."""
        return self.digest is not None


class HoldReason(StrEnum):
    """Why a change waits for an operator."""

    MASS_DELETE = "mass-delete"
    COLLECTED_TOPIC = "collected-topic"
    LEAVES_CLUSTER_OUT = "leaves-cluster-out"
    FEWER_PARTITIONS = "fewer-partitions"
    UNKNOWN_CLUSTER = "unknown-cluster"
    FIRST_CONTACT = "first-contact"
    FLAPPING = "flipping"
    HAS_TOPICS = "has-topics"
    BUS_RESOURCE = "bus-resource"
    SCALABLE_TOPIC = "scalable-topic"
    UNREADABLE = "unreadable"
    """What stands in the store here cannot be read, by this program or by a broker here: it stays here."""
    UNREADABLE_TO_BROKERS = "unreadable-to-brokers"
    """What another region has could not be read by a broker here."""
    STORE_REFUSED = "store-refused"
    UNTOLD = "untold"
    """A peer's listing names the path, and says nothing of it that can be understood."""


HELD_BACK: Final = frozenset({HoldReason.MASS_DELETE, HoldReason.COLLECTED_TOPIC})
"""Holds of local changes: what waits is their publication, so nobody else may hear of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A change that waits for an operator, keyed by its stamp.

    ``local``: the publication of a local change waits, and freezes the path. Otherwise only the write of a remote one
    waits.
    """

    reason: HoldReason
    stamp: Stamp
    since_ms: Millis
    detail: str
    local: bool = False


class ParkReason(StrEnum):
    """What a write waits for, without an operator."""

    PARENT_MISSING = "parent-missing"
    CHILDREN_ALIVE = "children-alive"
    STORE_REFUSED = "store-refused"
    VALUE_MISSING = "value-missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """A write that waits for its parent or its children."""

    reason: ParkReason
    since_ms: Millis
    detail: str = ""


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A write that was sent, or is about to be, and whose outcome is not known.

    ``batch`` is the id that the fence's receipt carries if it landed. ``version`` is the known one of that moment,
    ``kept`` are the kept fields of what is written.
    """

    batch: str
    version: Version
    expected: Revision | None
    kept: KeptFields | None = None


class Wish(StrEnum):
    """A decision that the next valid read of the path completes: what the store holds is the newest."""

    REASSERT = "reassert"
    """An operator's, who was shown what the store holds: for nothing else."""
    REVIVE = "revive"
    """The daemon's own: a parent that was deleted above its children, or a value that nobody else has any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What an operator was shown of a path.

    Args:
        known: Stamp of the greatest version known; ``None``: nothing was known.
        stored: Stamp of what the store was last known to hold; ``None``: nothing was.
        digest: Of that; some that were never published have one stamp in common.
    """

    known: Stamp | None
    stored: Stamp | None
    digest: Digest | None


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """All that a region knows of one path.

    Args:
        known: The greatest version ever folded.
        stored: What the store was last known to hold; ``None``: nothing was ever known.
        own: Highest time that this region ever gave to the path.
        hold: Why the write (or the publication) waits for an operator.
        allowed: Stamp that an operator has let pass the guards.
        intent: A write in flight.
        flips: When the path last returned to a digest that it had just left.
        shown: With the wish of an operator: what he was shown.
        left: Digest that the path held before the stored one.
        kept: Fields of the stored value that not every version of Pulsar knows; ``None``: there are none.
    """

    path: MetaPath
    known: Version | None = None
    stored: Stored | None = None
    own: Millis = _NEVER
    hold: Hold | None = None
    allowed: Stamp | None = None
    parked: Parked | None = None
    intent: Intent | None = None
    wish: Wish | None = None
    shown: Shown | None = None
    left: Digest | None = None
    flips: tuple[Millis, ...] = field(default=())
    kept: KeptFields | None = None

    @property
    def due(self) -> bool:
        """Whether the store is not known to hold what the group knows: a write, or at least a read, is due."""
        known, stored = self.known, self.stored
        if known is None:
            return False
        if stored is None or stored.digest != known.digest:
            return True
        return stored.stamp is not known.stamp and stored.stamp != known.stamp

    @property
    def settles(self) -> bool:
        """Whether a read is enough where something is due: the store is known to hold this very value already."""
        return self.known is not None and self.known.digest == self.stored_digest

    @property
    def unspoken(self) -> bool:
        """Whether the store holds a value for which nobody speaks: it was written where paths are only applied.

        Once the region publishes the path, it is a change of its own like any other.
        """
        return self.known is None and self.stored_alive and self.hold is None and self.wish is None

    @property
    def held(self) -> bool:
        """Whether the store waits for an operator; of what is told after all, it does not any more."""
        return self.hold is not None and (self.known is None or self.hold.reason is not HoldReason.UNTOLD)

    @property
    def value_missing(self) -> bool:
        """Whether a living value is due here, and not known."""
        known = self.known
        return known is not None and known.alive and known.value is None and known.digest != self.stored_digest

    @property
    def forgettable(self) -> bool:
        """Whether it is a mere tombstone: known to be dead, stored as such, and nothing waits for anything."""
        if self.known is None or self.known.alive or self.due:
            return False
        return self.hold is None and self.intent is None and self.wish is None and self.parked is None

    @property
    def stored_digest(self) -> Digest | None:
        """Digest of what the store was last known to hold; absent and never known are the same."""
        return self.stored.digest if self.stored else None

    @property
    def stored_seen(self) -> Seen:
        """What the author of the stored value had seen."""
        return self.stored.seen if self.stored else NOTHING_SEEN

    @property
    def stored_alive(self) -> bool:
        """Whether the store was last known to hold a value."""
        return self.stored is not None and self.stored.alive

    @property
    def shows(self) -> Shown:
        """What an operator who looks now is shown."""
        known, stored = self.known, self.stored
        return Shown(
            known=known.stamp if known is not None else None,
            stored=stored.stamp if stored is not None else None,
            digest=self.stored_digest,
        )

    def dated(self, time: Millis) -> Register:
        """Give the path a time of this region's, the next free one where that one is not: no two are the same.

        What is found in the store and never published has it for a name too: it is kept by its stamp.
        """
        return replace(self, own=Millis(max(time, self.own + 1)))

    def without_wish(self) -> Register:
        """The register without the decision that the next valid read would complete."""
        return self if self.wish is None and self.shown is None else replace(self, wish=None, shown=None)

    def sit(self, version: Version, revision: Revision | None, *, flips: tuple[Millis, ...] | None = None) -> Register:
        """Take a version as what the store holds; the known value is no longer needed once it is the stored one.

        ``flips``: the store's value is another one now, and the path has returned to a former one at these times.
        """
        stored = Stored.of(version, revision)
        known = self.known
        same = known is not None and (known.stamp, known.digest) == (version.stamp, version.digest)
        if known is not None and known.value is not None and same:
            known = replace(known, value=None)
        if flips is None:
            return replace(self, stored=stored, known=known)
        return replace(self, stored=stored, known=known, left=self.stored_digest, flips=flips)
