"""Summaries of what a sidecar database keeps, as lists and the status show it: without values."""

from __future__ import annotations

from dataclasses import dataclass

from syncer.conflict.acts import Journal
from syncer.conflict.register import Hold, Parked, Shown
from syncer.model import Digest, EventType, MetaPath, Millis, Stamp
from syncer.state.contract.identity import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxFacts:
    """How much waits for the bus, and since when. ``oldest_at_ms`` is ``None`` when nothing waits."""

    depth: int
    oldest_at_ms: Millis | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What waits for the daemon or an operator.

    ``alive``: paths that the store was last known to hold. ``unreadable``: holds of what cannot be read there.
    """

    alive: int
    due: int
    holds: int
    unreadable: int
    held_publications: int
    future_events: int
    parked: int
    conflicts: int
    quarantine: int
    operations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The database's own facts and the daemon's last report (``None``: it never reported)."""

    identity: Identity
    counts: Counts
    outbox: OutboxFacts
    document: dict[str, object] | None
    reported_at_ms: Millis | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRow:
    """A decision as kept; ``id`` rises with each one and is never used again."""

    id: int
    at_ms: Millis
    entry: Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictSummary:
    """A conflict without the value; ``value_bytes`` is its size, ``None`` without one (a delete, or unknown yet)."""

    id: int
    path: MetaPath
    loser: Stamp
    loser_digest: Digest | None
    value_bytes: int | None
    winner: Stamp
    reason: str
    recorded_at_ms: Millis
    restored_at_ms: Millis | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterSummary:
    """A quarantined thing without its payload."""

    id: int
    origin: str
    position: str
    code: str
    detail: str
    path: MetaPath | None
    payload_bytes: int
    recorded_at_ms: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRow:
    """A change that waits for an operator, and how its path is. ``digest``: of what is held, ``None`` for a delete."""

    path: MetaPath
    hold: Hold
    digest: Digest | None
    shown: Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEvent:
    """An event kept aside, without its value; ``held_at_ms`` is ``None`` for a publication (see its hold).

    ``shown``: how the path of an event from the future is.
    """

    path: MetaPath
    type: EventType
    stamp: Stamp
    value_bytes: int | None
    held_at_ms: Millis | None
    shown: Shown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedRow:
    """A write that waits for its parent, its children or the store. ``stamp``: of the version that waits."""

    path: MetaPath
    parked: Parked
    stamp: Stamp | None
