"""What the shell needs of a sidecar database: transactions over registers, outbox, records and small facts.

Two implementations: :mod:`syncer.state.sql.database` (SQLite, PostgreSQL) for the daemon, and a plain one in the tests
for the simulated world. Every call is synchronous and happens inside a transaction; leaving the block without an
exception commits all of it, an exception undoes all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from syncer.conflict.acts import Journal
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.register import Register
from syncer.errors import MessageUnreadable, SignatureInvalid, SpeakerInvalid
from syncer.making import made_quickly
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, Seen, Stamp
from syncer.state.contract.conflicts import ConflictTransaction
from syncer.state.contract.repairs import RepairTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Facts about the database itself, one row.

    Args:
        region: The region that it belongs to.
        database_id: Random, made once; the ``sender`` of its events.
        generation: No other database of the region ever had it; made of the time, so that nothing needs to be known.
        first_scan_done: The first full scan has finished.
        store_id: Id of the store, as found in (or written to) its fence node; ``None`` before the first activation.
        epoch: Rises each time a daemon becomes active on this database; commits of a former one fail.
        last_sequence: Last number given to an event.
        alive_until: When the watch was last known to be whole.
        paused: Whether replication is paused, and why.
        rebuild: How this database takes the place of a lost one, as JSON; ``None``: it takes nobody's place.
        landed: The latest batch of writes that is known to have landed; ``None`` before the first.
        mark: The latest mark that may stand in the fence: it is kept here before it is written there.
        marked: The latest mark that is known to stand there.
        heard_until: When a heartbeat of this region last came back to it from the bus; 0: never.
    """

    region: Region
    database_id: str
    generation: int = 1
    first_scan_done: bool = False
    store_id: str | None = None
    epoch: int = 0
    last_sequence: int = 0
    alive_until: Millis = Millis(0)
    paused: str | None = None
    rebuild: str | None = None
    landed: str | None = None
    mark: int = 0
    marked: int = 0
    heard_until: Millis = Millis(0)


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """An event that waits for the bus's acknowledgement."""

    sequence: int
    event: MetadataChangeEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """Something that cannot be handled, kept with its reason.

    ``payload`` and ``properties`` are those of a bus message; for a value of the local store ``path`` and the value.
    """

    origin: str
    code: str
    detail: str
    position: str
    path: MetaPath | None = None
    payload: bytes = field(default=b"", repr=False)
    properties: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRow:
    """A conflict as kept: what lost, to whom, and its whole value where it was known."""

    id: int
    path: MetaPath
    loser: Stamp
    loser_seen: Seen
    loser_digest: Digest | None
    value: bytes | None = field(repr=False)
    winner: Stamp
    reason: str
    recorded_at_ms: Millis
    restored_at_ms: Millis | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterRow:
    """A quarantined thing as kept."""

    id: int
    poison: DeadLetter
    recorded_at_ms: Millis


class OperationState(StrEnum):
    """Life of an operation: asked by the CLI, done or failed by the daemon."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Something that a person asked the daemon to do. ``kind`` names it, ``arguments`` are its own."""

    id: int
    kind: str
    arguments: dict[str, str]
    asked_by: str
    reason: str
    state: OperationState = OperationState.PENDING
    answer: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRow:
    """What a peer told last in its heartbeat, and when it came. ``document`` is the heartbeat as JSON."""

    region: Region
    sender: str
    heard_at_ms: Millis
    sent_at_ms: Millis
    document: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTree:
    """The digest tree as kept: pages, and what was logged since they were written. Opaque to the database.

    Args:
        label: What it sums, and how; empty: nothing was summed yet.
        number: Of the last log row ever written.
        pages: By their number.
        log: In order.
    """

    label: str
    number: int
    pages: Mapping[int, bytes] = field(default_factory=dict)
    log: Sequence[bytes] = ()


JOINING: Final = "nothing is written or published before 'syncer regions join --confirm'"
"""Why a new region is paused that shall show first what joining would do."""
COME_BACK: Final = "It comes back as a new member: with a new sidecar database, under a region id that was never used."
"""What to do with a region that has left, or was forgotten."""

STRANGE_CODES: Final = (SignatureInvalid.code, SpeakerInvalid.code, MessageUnreadable.code)
"""Why messages stand in quarantine that anybody may have sent who can publish on the topic."""


class Amount(NamedTuple):
    """How many things, and how many bytes they have."""

    things: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAside:
    """How much of the bus is kept aside; bytes are those of payloads, values, and what stands beside them.

    Args:
        strangers: Messages in quarantine that were not signed with a key of the group, or in the name of another one.
        poison: All other messages of the bus in quarantine.
        future: Events that wait for their time.
    """

    strangers: Amount
    poison: Amount
    future: Amount


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A path that is known to be deleted, and the stamp of the delete."""

    path: MetaPath
    stamp: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """This region's place in the group.

    Args:
        floor: Greatest time of any tombstone that was ever dropped here: a path unknown here starts above it.
        left_at: When the region has left the group; ``None`` while it belongs to it.
    """

    floor: Millis = Millis(0)
    left_at: Millis | None = None


class Transaction(ConflictTransaction, RepairTransaction, Protocol):
    """One transaction. Reads see its own writes."""

    # registers
    def registers(self, paths: Collection[MetaPath]) -> dict[MetaPath, Register]:
        """The registers that exist, of these paths and in their order."""
        ...

    def save(self, registers: Iterable[Register]) -> None:
        """Insert or replace registers."""
        ...

    def parents_of_living(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with a child (:func:`syncer.paths.child_prefixes`) whose seated value is alive."""
        ...

    def due(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers that are due or have a wish, in path order, beyond ``after``, even on hold or in flight."""
        ...

    def intents(self) -> list[Register]:
        """Registers with an open intent, in path order."""
        ...

    def listing(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers in path order, beyond ``after``."""
        ...

    def count_alive(self) -> int:
        """How many paths the store was last known to hold. Cheap: kept up to date, not counted."""
        ...

    def living(self, limit: int, after: MetaPath | None = None) -> list[tuple[MetaPath, Digest]]:
        """Paths whose *known* version is alive, with its digest, in path order, beyond ``after``."""
        ...

    # digest tree
    def tree(self) -> KeptTree:
        """The digest tree as kept."""
        ...

    def tree_number(self) -> int:
        """Number of the last row ever written into the tree's log. Cheap."""
        ...

    def log_tree(self, changes: bytes) -> int:
        """Append to the tree's log; the row's number, one more than that of the last one."""
        ...

    def save_tree(self, label: str, pages: Mapping[int, bytes]) -> None:
        """Replace the label and all pages, and forget the log; its numbers go on."""

    # tombstones
    def dead(self, limit: int, until: Millis, after: tuple[Millis, MetaPath] | None = None) -> list[Tombstone]:
        """Tombstones with nothing due, stamped at most ``until``, by time and path, beyond ``after``."""
        ...

    def dying(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths that are known to be deleted while something of them is unsettled, in path order, beyond ``after``."""
        ...

    def unseated(self) -> tuple[int, Millis | None]:
        """Deletes that are due and events that wait for their time: how many, and the smallest stamp time.

        They are counted to :data:`syncer.conflict.tombstones.COUNTED`.
        """
        ...

    def unfolded(self) -> int:
        """How many changes of this region stand in quarantine because the bus will never take them."""
        ...

    def drop_tombstones(self, paths: Collection[MetaPath], floor: Millis) -> None:
        """Forget these registers; none of them is alive. ``floor``: no path may ever start at or below it again."""
        ...

    def membership(self) -> Membership:
        """This region's place in the group."""
        ...

    def set_left(self, left_at: Millis | None) -> None:
        """Note that this region has left the group, or has not."""
        ...

    # outbox
    def enqueue(self, events: Sequence[MetadataChangeEvent]) -> None:
        """Put events into the outbox, giving each the next sequence number, this database as sender."""
        ...

    def carried(self, limit: int) -> dict[int, MetadataChangeEvent]:
        """What was carried over of the outbox of the database before, in its order, by numbers of its own."""

    def drop_carried(self, numbers: Collection[int]) -> None:
        """These were published, or need not be."""

    def hold_publication(self, event: MetadataChangeEvent) -> None:
        """Keep an event back, without a number; it replaces one held before for the same path."""
        ...

    def held_publication(self, path: MetaPath) -> MetadataChangeEvent | None:
        """The event that is held back for a path."""
        ...

    def drop_held(self, path: MetaPath) -> None:
        """Forget the held event of a path, if there is one."""
        ...

    def open_paths(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with an event in the outbox or held back. Cheap when both are empty."""
        ...

    def outbox(self, limit: int, after: int = 0) -> list[OutboxRow]:
        """The oldest events that are not yet acknowledged, with a number above ``after``, in order."""
        ...

    def acknowledged(self, sequences: Collection[int]) -> None:
        """The bus has acknowledged these: they leave the outbox."""
        ...

    # consumption
    def consumed(self, senders: Collection[str]) -> dict[str, Consumed]:
        """What was consumed of each sender that is known."""
        ...

    def senders(self) -> set[str]:
        """Every sender of whom something was consumed."""
        ...

    def save_consumed(self, consumed: dict[str, Consumed]) -> None:
        """Replace what was consumed of these senders."""
        ...

    # records
    def journal(self, rows: Sequence[Journal], now: Millis) -> None:
        """Append decisions."""
        ...

    def deletes_passed(self, since: Millis, limit: int) -> list[Millis]:
        """When the latest local deletes were journaled as published, after ``since``, oldest first; not those held."""
        ...

    def quarantine(self, poison: DeadLetter, now: Millis) -> None:
        """Keep something that cannot be handled; the same origin and position is kept once."""
        ...

    def kept_values(self, above_bytes: int) -> Amount:
        """How many values of more bytes than that are due, and how many bytes they have."""
        ...

    def kept_aside(self) -> KeptAside:
        """How much of what came by the bus is kept aside."""
        ...

    def poison_row(self, number: int) -> DeadLetterRow | None:
        """A quarantined thing by its number."""
        ...

    def drop_poison(self, number: int) -> None:
        """Remove a quarantined thing."""
        ...

    def hold_event(self, event: MetadataChangeEvent, until: Millis, now: Millis) -> None:
        """Keep an event from the future aside until then; the same path and stamp is kept once, the sooner."""
        ...

    def future_events(self, now: Millis, limit: int) -> list[MetadataChangeEvent]:
        """Held events whose time has come, the oldest stamps first."""
        ...

    def future_events_at(self, paths: Collection[MetaPath], limit: int) -> list[MetadataChangeEvent]:
        """Held events of these paths, whatever their time, the oldest stamps first."""
        ...

    def future_event(self, path: MetaPath, stamp: Stamp | None) -> MetadataChangeEvent | None:
        """The held event of a path (the oldest when no stamp is given)."""
        ...

    def drop_future(self, path: MetaPath, stamp: Stamp) -> None:
        """Forget a held event."""
        ...

    # scans
    def begin_scan(self) -> None:
        """Forget which paths a former scan met."""
        ...

    def met(self, paths: Collection[MetaPath]) -> None:
        """The running scan met these paths."""
        ...

    def unmet_standing(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths where something stood that the scan did not meet, in path order, beyond ``after``.

        That is a living seated value, or one that could not be read: its path may never have had another.
        """
        ...

    # facts
    def identity(self) -> Identity:
        """Facts about the database."""
        ...

    def set_identity(self, **changes: object) -> Identity:
        """Change some fields of the identity (not region, database id or last sequence)."""
        ...

    def save_peer(self, peer: PeerRow) -> None:
        """Keep what a peer told last."""

    def drop_peer(self, region: Region) -> None:
        """Keep nothing of a peer."""

    def peers(self, regions: Collection[Region] | None = None) -> list[PeerRow]:
        """All peers that were ever heard, or those of these regions."""

    def save_status(self, document: dict[str, object], now: Millis) -> None:
        """Keep the daemon's own report for ``syncer status``."""
        ...

    # operations
    def pending_operations(self, limit: int) -> list[Operation]:
        """Operations that wait for the daemon, oldest first."""
        ...

    def finish_operation(self, number: int, state: OperationState, answer: str, code: str, now: Millis) -> None:
        """Answer an operation."""
        ...

    # upkeep
    def prune(self, journal_before: Millis, limit: int) -> int:
        """Drop journal rows, and operations and repairs that were over, before that; at most ``limit`` of each.

        Returns:
            How many went.
        """
        ...


class State(Protocol):
    """The sidecar database."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction of the active writer.

        Raises:
            Fenced: Another daemon has raised the epoch since :meth:`activate`; nothing was written.
            StateUnavailable: The database cannot be used now; nothing was written.
        """
        ...

    def activate(self) -> Identity:
        """Become the writer: raise the epoch. From now on transactions of a former writer fail."""
        ...

    def keep_copy(self) -> None:
        """Keep this database as it is beside it, in place of an earlier copy; one on a server is its operator's.

        Raises:
            StateUnavailable: There is no room for it, or it cannot be written.
        """

    def renew(self, generation: int, store_id: str, rebuild: str, *, carry: bool = False) -> Identity:
        """Begin anew as another database, under a new id: registers, outbox and consumption go.

        What people look at stays: conflicts, journal, quarantine, operations, and which peers there are.

        Args:
            generation: The least that it may have.
            store_id: Of the store.
            rebuild: Whose place it takes, and why.
            carry: What stands in the outbox is carried over, to be published once the group was heard.

        Raises:
            Fenced: Another daemon has raised the epoch since :meth:`activate`; nothing was changed.
            StateUnavailable: The database cannot be used now; nothing was changed.
        """
        ...
