"""Acts: effects that the replica asks of the shell, as data; registers and acts are stored in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from syncer.conflict.register import Register
from syncer.making import made_quickly

if TYPE_CHECKING:
    from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Seen, Stamp
    from syncer.stores.contract import Write


class Decision(StrEnum):
    """What was decided about one candidate; one journal row each."""

    PUBLISHED = "published"
    BASELINE = "baseline"
    ADOPTED = "adopted"
    IGNORED = "ignored"
    MERGED = "merged"
    CONFLICT_WON = "conflict-won"
    CONFLICT_LOST = "conflict-lost"
    HELD = "held"
    HELD_FUTURE = "held-future"
    PARKED = "parked"
    REASSERTED = "reasserted"
    RESTORED = "restored"
    OVERTAKEN = "overtaken"
    MET = "met"
    DRIFT = "drift"
    ALARM = "alarm"
    UNKNOWN_PROVENANCE = "unknown-provenance"
    UNSUPPLIED = "unsupplied"
    COMPLETED = "completed"


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Put the event into the outbox, which numbers it. ``held``: keep it back until an operator decides."""

    event: MetadataChangeEvent
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordConflict:
    """Keep the loser of two concurrent versions whole.

    ``value is None`` with a digest: the loser sits in the store; its value comes by :class:`FillConflict` before it is
    overwritten.
    """

    path: MetaPath
    loser: Stamp
    loser_seen: Seen
    loser_digest: Digest | None
    value: bytes | None = field(repr=False)
    winner: Stamp
    reason: str = "concurrent"


@dataclass(frozen=True, slots=True, kw_only=True)
class FillConflict:
    """The value that is about to be overwritten, for conflict rows of this path and digest that lack it."""

    path: MetaPath
    digest: Digest
    value: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropHeld:
    """Forget the held publication of this path: a newer local change, or an operator, made it moot."""

    path: MetaPath


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseHeld:
    """Publish the held publication of this path with its old stamp, where the scope lets it leave the region."""

    path: MetaPath


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldEvent:
    """Keep an event from the future aside until then, or until an operator lets it pass."""

    event: MetadataChangeEvent
    until: Millis


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """One decision, for people: ``syncer explain`` and ``syncer events tail`` show it."""

    path: MetaPath
    decision: Decision
    stamp: Stamp | None = None
    digest: Digest | None = None
    seen: Seen | None = None
    against: Stamp | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Something unreadable in the store, kept with its reason; it stops nothing else."""

    path: MetaPath
    code: str
    detail: str
    value: bytes = field(repr=False)


Act = Publish | RecordConflict | FillConflict | DropHeld | ReleaseHeld | HoldEvent | Journal | Quarantine


class Need(StrEnum):
    """What has to happen next for this path."""

    NOTHING = "nothing"
    READ = "read"
    TOPICS = "topics"
    RELATED = "related"
    """Read the values at related paths together with this one; see :class:`syncer.conflict.guards.Related`."""
    BROKERS = "brokers"
    """Which versions the brokers have is to be asked, and the path to be read again after that."""


@made_quickly
@dataclass(frozen=True, slots=True)
class Outcome:
    """The register after a step, what to store and to do with it, and what the path needs next."""

    register: Register
    acts: tuple[Act, ...] = ()
    need: Need = Need.NOTHING
    write: Write | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When and how a value was seen.

    Args:
        now: The daemon's clock.
        seen_at: Time that a change without a modification time gets: now, or, when a scan found it, the moment after
            the watch was last known to be whole.
        first_scan_done: Whether the first full scan of this database has finished.
        rebuilding: This database takes the place of a lost one, whose peers have told what they know.
        by_scan: A scan has found it: who wrote it, and how often, cannot be told.
        vouched: Every broker was asked for its version after this very state of the path was read before.
    """

    now: Millis
    seen_at: Millis
    first_scan_done: bool
    rebuilding: bool = False
    by_scan: bool = False
    vouched: bool = False
