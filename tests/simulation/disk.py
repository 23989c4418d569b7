"""A simulated sidecar database: what survives a crash, with transactions that can fail or be cut short.

One :class:`Disk` per region; every daemon on it has a :class:`DiskState` of its own, so that two daemons may share one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import TracebackType
from typing import Any

from syncer.conflict.acts import FillConflict, Journal, RecordConflict
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.changeover import NEWEST
from syncer.conflict.classes.periods import ScopePeriod
from syncer.conflict.register import Register
from syncer.errors import Fenced, StateUnavailable
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, Stamp
from syncer.paths import child_prefixes
from syncer.state.contract.conflicts import Amount, ConflictRow
from syncer.state.contract.identity import Identity
from syncer.state.contract.membership import Membership
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.outbox import OutboxRow
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.quarantine import DeadLetter, DeadLetterRow, KeptAside
from syncer.state.contract.repairs import RefusedTelling, Repair, RepairState, Telling
from syncer.state.contract.state import State
from syncer.state.contract.tombstones import Tombstone
from syncer.state.contract.tree import KeptTree
from syncer.state.memory.selection import (
    chosen_conflicts,
    dead,
    dying,
    is_delete,
    kept_aside,
    kept_conflicts,
    kept_values,
    living,
    logged,
    over,
    pending_operations,
    repair,
    stood,
    tellings,
    unapplied,
    unfolded,
)
from tests.simulation.without_audits import WithoutLedgerAudits
from tests.simulation.without_jobs import WithoutJobs
from tests.simulation.without_migrations import WithoutMigrations, WithoutMoveRuns


class Crash(BaseException):
    """The process is gone at this instant. Not an error of the program: nothing may catch it."""


class Trouble(StrEnum):
    """What becomes of the next commit."""

    NONE = "none"
    UNAVAILABLE = "unavailable"
    CRASH_BEFORE = "crash-before"
    CRASH_AFTER = "crash-after"


@dataclass(slots=True, repr=False)
class Tables:
    """Everything in the database. A transaction works on a copy."""

    identity: Identity
    registers: dict[MetaPath, Register] = field(default_factory=dict)
    outbox: dict[int, MetadataChangeEvent] = field(default_factory=dict)
    held: dict[MetaPath, MetadataChangeEvent] = field(default_factory=dict)
    consumed: dict[str, Consumed] = field(default_factory=dict)
    conflicts: dict[tuple[MetaPath, Stamp, Digest | None], ConflictRow] = field(default_factory=dict)
    poison: dict[tuple[str, str], DeadLetterRow] = field(default_factory=dict)
    future: dict[tuple[MetaPath, Stamp], MetadataChangeEvent] = field(default_factory=dict)
    future_until: dict[tuple[MetaPath, Stamp], Millis] = field(default_factory=dict)
    met: dict[MetaPath, None] = field(default_factory=dict)
    peers: dict[Region, PeerRow] = field(default_factory=dict)
    operations: dict[int, Operation] = field(default_factory=dict)
    journal: list[Journal] = field(default_factory=list)
    deletes: list[Millis] = field(default_factory=list)
    """When local deletes were journaled as published."""
    tree: KeptTree = field(default_factory=lambda: KeptTree(label="", number=0))
    membership: Membership = field(default_factory=Membership)
    scope_periods: tuple[ScopePeriod, ...] = ()
    repairs: dict[int, Repair] = field(default_factory=dict)
    tellings: dict[tuple[int, int], Telling | RefusedTelling] = field(default_factory=dict)
    forgotten: dict[MetaPath, Register] = field(default_factory=dict)
    """The last tombstone of each path that was ever dropped; for the referee."""
    stamped: list[MetadataChangeEvent] = field(default_factory=list)
    """Every event that was ever put into the outbox or held back; for the referee, never pruned."""
    carried: dict[int, MetadataChangeEvent] = field(default_factory=dict)
    carried_ever: int = 0
    poison_ever: int = 0
    """The last number of the quarantine: none is given out twice."""
    image: bytes = field(default=b"", repr=False)
    """Of the real database that these are the mirror of."""

    def copy(self) -> Tables:
        """A copy whose rows can be changed apart; the rows themselves are values."""
        return Tables(
            self.identity,
            self.registers.copy(),
            self.outbox.copy(),
            self.held.copy(),
            self.consumed.copy(),
            self.conflicts.copy(),
            self.poison.copy(),
            self.future.copy(),
            self.future_until.copy(),
            self.met.copy(),
            self.peers.copy(),
            self.operations.copy(),
            self.journal.copy(),
            self.deletes.copy(),
            self.tree,
            self.membership,
            self.scope_periods,
            self.repairs.copy(),
            self.tellings.copy(),
            self.forgotten.copy(),
            self.stamped.copy(),
            self.carried.copy(),
            self.carried_ever,
            self.poison_ever,
        )


class Disk:
    """One region's database."""

    def __init__(self, region: Region) -> None:
        self.tables = Tables(Identity(region=region, database_id=f"db-{region}"))
        self.trouble = Trouble.NONE
        self.commits = 0
        self.made = 1
        self.torn = 0
        """How often a power failure has torn a transaction."""
        self.alone: Callable[[], bool] = lambda: True
        """Whether no second daemon works with it."""
        self.born: Callable[[], int] = lambda: 1
        """The generation of a database that is made now."""
        self.lost: list[ConflictRow] = []
        """Conflicts that stood in databases that are gone."""

    def ask(self, kind: str, **arguments: str) -> int:
        """A person asks for an operation."""
        number = len(self.tables.operations) + 1
        self.tables.operations[number] = Operation(
            id=number, kind=kind, arguments=arguments, asked_by="operator", reason="simulated"
        )
        return number

    def bring_in(self, repair: Repair, tellings: Sequence[Telling]) -> int:
        """A person brings a repair in, to be told when it is asked for."""
        number = len(self.tables.repairs) + 1
        self.tables.repairs[number] = replace(repair, id=number, state=RepairState.READY)
        self.tables.tellings.update({(number, each.number): each for each in tellings})
        return number

    def set_facts(self, **facts: Any) -> None:
        """A person, or the command line, sets facts of the database while no daemon works with it."""
        self.tables.identity = replace(self.tables.identity, **facts)

    def begin_anew(self, *, carry: bool = False, **facts: Any) -> None:
        """The database takes the place of a lost one: what people look at stays."""
        self.made += 1
        former = self.tables
        identity = Identity(region=former.identity.region, database_id=f"db-{former.identity.region}-{self.made}")
        facts |= {"projections": former.identity.projections}
        fresh = Tables(
            replace(identity, paused=former.identity.paused, heard_until=former.identity.heard_until, **facts)
        )
        fresh.conflicts, fresh.peers = former.conflicts, former.peers
        fresh.poison, fresh.poison_ever = former.poison, former.poison_ever
        fresh.operations, fresh.stamped = former.operations, former.stamped
        fresh.journal, fresh.deletes = former.journal, former.deletes
        fresh.scope_periods = former.scope_periods
        fresh.membership, fresh.forgotten = former.membership, former.forgotten
        fresh.carried, fresh.carried_ever = former.carried, former.carried_ever
        for number in sorted(former.outbox) if carry else ():
            fresh.carried_ever += 1
            fresh.carried[fresh.carried_ever] = replace(former.outbox[number], sender="", sequence=0)
        fresh.repairs, fresh.tellings = former.repairs, former.tellings
        self.tables = fresh

    def lose(self, copy: Tables | None) -> None:
        """The database is gone; at its place there is a new one, or an old copy."""
        former = self.tables
        self.lost += former.conflicts.values()
        self.made += 1
        region = former.identity.region
        self.tables = Tables(Identity(region=region, database_id=f"db-{region}-{self.made}"))
        if copy is not None:
            self.tables = copy.copy()
        self.tables.stamped, self.tables.forgotten = former.stamped, former.forgotten

    def open(self) -> State:
        """A daemon opens the database."""
        return DiskState(self)

    def backup(self) -> Tables:
        """A copy, which may come back one day."""
        return self.tables.copy()

    def compare(self) -> None:
        """Look whether all is kept as it should be; plain tables are."""

    def close(self) -> None:
        """The world ends."""

    def conflicts(self, path: MetaPath | None = None) -> list[ConflictRow]:
        """Conflicts that were kept."""
        return [row for (at, _, _), row in self.tables.conflicts.items() if path is None or at == path]


class DiskState:
    """Implements :class:`syncer.state.contract.state.State` for one daemon."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._epoch = 0

    def activate(self) -> Identity:
        """Raise the epoch."""
        tables = self._disk.tables
        self._epoch = tables.identity.epoch + 1
        made_by = tables.identity.projections or NEWEST.kept_as
        tables.identity = replace(tables.identity, epoch=self._epoch, projections=made_by)
        return tables.identity

    def keep_copy(self) -> None:
        """A copy helps nobody here."""

    def erase_deleted(self) -> None:
        """Nothing is in a file here."""

    def renew(self, generation: int, store_id: str, rebuild: str, *, carry: bool = False) -> Identity:
        """Begin anew as another database."""
        disk = self._disk
        if disk.tables.identity.epoch != self._epoch:
            raise Fenced("another daemon has raised the epoch")
        least = max(generation, disk.born())
        disk.begin_anew(carry=carry, generation=least, store_id=store_id, rebuild=rebuild, epoch=self._epoch)
        return disk.tables.identity

    def transaction(self) -> AbstractContextManager[DiskTransaction]:
        """Begin a transaction."""
        if self._disk.tables.identity.epoch != self._epoch:
            raise Fenced("another daemon has raised the epoch")
        return _Block(self._disk)


class _Block(AbstractContextManager["DiskTransaction"]):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._transaction = DiskTransaction(disk.tables)

    def __enter__(self) -> DiskTransaction:
        return self._transaction

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        disk, changed = self._disk, self._transaction.changed
        if error is not None:
            return
        trouble = disk.trouble if changed is not None else Trouble.NONE
        if trouble is not Trouble.NONE:
            disk.trouble = Trouble.NONE
        if trouble is Trouble.UNAVAILABLE:
            raise StateUnavailable("the disk is full (simulated)")
        if trouble is Trouble.CRASH_BEFORE:
            raise Crash("before the commit")
        if changed is not None:
            disk.tables = changed
            disk.commits += 1
        if trouble is Trouble.CRASH_AFTER:
            raise Crash("after the commit")


class DiskTransaction(WithoutMigrations, WithoutMoveRuns, WithoutJobs, WithoutLedgerAudits):
    """Implements :class:`~syncer.state.contract.transaction.Transaction`. Copies the tables at its first change."""

    def __init__(self, tables: Tables) -> None:
        self._read = tables
        self.changed: Tables | None = None

    @property
    def _write(self) -> Tables:
        if self.changed is None:
            self.changed = self._read = self._read.copy()
        return self.changed

    def withhold(self, without: Callable[[Register], Register]) -> int:
        """Take what is withheld by now out of registers; other rows have none in any schedule."""
        found = [after for each in self._read.registers.values() if (after := without(each)) is not each]
        if found:
            self.save(found)
        return len(found)

    # -- registers

    def registers(self, paths: Collection[MetaPath]) -> dict[MetaPath, Register]:
        """The registers that exist, of these paths and in their order."""
        rows = self._read.registers
        return {path: rows[path] for path in paths if path in rows}

    def save(self, registers: Iterable[Register]) -> None:
        """Insert or replace registers."""
        rows = self._write.registers
        for register in registers:
            rows[register.path] = register

    def parents_of_living(self, paths: Collection[MetaPath], carried: Callable[[MetaPath], bool]) -> set[MetaPath]:
        """Of these paths, those with a child that is carried, and whose seated value is alive."""
        living = [path for path, each in self._read.registers.items() if each.stored_alive and carried(path)]
        return {path for path in paths if any(child.startswith(child_prefixes(path)) for child in living)}

    def due(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers that are due or have a wish, in path order."""
        rows = (self._read.registers[path] for path in sorted(self._read.registers) if path > (after or ""))
        return [register for register in rows if register.due or register.wish is not None][:limit]

    def incomplete(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers whose store lacks kept fields, in path order."""
        rows = (self._read.registers[path] for path in sorted(self._read.registers) if path > (after or ""))
        return [register for register in rows if register.kept is not None and register.kept.gone][:limit]

    def count_due(self) -> int:
        """How many registers are due."""
        return sum(register.due for register in self._read.registers.values())

    def forget_revisions(self) -> None:
        """No register knows at which revision the store holds its value any more."""
        for each in list(self._read.registers.values()):
            if each.stored is not None:
                self.save([replace(each, stored=replace(each.stored, revision=None))])

    def intents(self) -> list[Register]:
        """Registers with an open intent, in path order."""
        rows = self._read.registers
        return [rows[path] for path in sorted(rows) if rows[path].intent is not None]

    def page(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers in path order."""
        rows = self._read.registers
        return [rows[path] for path in sorted(rows) if path > (after or "")][:limit]

    def count_alive(self) -> int:
        """How many paths the store was last known to hold."""
        return sum(register.stored_alive for register in self._read.registers.values())

    def living(self, limit: int, after: MetaPath | None = None) -> list[tuple[MetaPath, Digest]]:
        """Paths whose known version is alive."""
        return living(self._read.registers, limit, after)

    # -- digest tree

    def tree(self) -> KeptTree:
        """The tree as kept."""
        return self._read.tree

    def tree_number(self) -> int:
        """Number of the log's last row."""
        return self._read.tree.number

    def log_tree(self, changes: bytes) -> int:
        """Append to the tree's log."""
        tables = self._write
        tables.tree = logged(tables.tree, changes)
        return tables.tree.number

    def save_tree(self, label: str, pages: Mapping[int, bytes]) -> None:
        """Replace label and pages, forget the log."""
        tables = self._write
        tables.tree = KeptTree(label=label, number=tables.tree.number, pages=dict(pages))

    # -- tombstones

    def dead(self, limit: int, until: Millis, after: tuple[Millis, MetaPath] | None = None) -> list[Tombstone]:
        """Tombstones with nothing due."""
        return dead(self._read.registers, limit, until, after)

    def dying(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Deletes that are not settled."""
        return dying(self._read.registers, limit, after)

    def unapplied(self) -> tuple[int, Millis | None]:
        """Deletes that are due, events that wait."""
        return unapplied(self._read.registers.values(), (stamp for _, stamp in self._read.future))

    def unfolded(self) -> int:
        """Messages in quarantine."""
        return unfolded(row.poison for row in self._read.poison.values())

    def drop_tombstones(self, paths: Collection[MetaPath], floor: Millis) -> None:
        """Forget registers."""
        tables = self._write
        for path in paths:
            tables.forgotten[path] = tables.registers.pop(path)
        tables.membership = replace(tables.membership, floor=floor)

    def membership(self) -> Membership:
        """This region's place in the group."""
        return self._read.membership

    def set_left(self, left_at: Millis | None) -> None:
        """Note that this region has left the group, or has not."""
        self._write.membership = replace(self._read.membership, left_at=left_at)

    def scope_periods(self) -> tuple[ScopePeriod, ...]:
        """The latest scopes of this region."""
        return self._read.scope_periods

    def keep_scope_periods(self, periods: Sequence[ScopePeriod]) -> None:
        """Keep these, and no others."""
        self._write.scope_periods = tuple(periods)

    # -- outbox

    def enqueue(self, events: Sequence[MetadataChangeEvent]) -> None:
        """Put events into the outbox, numbered."""
        tables = self._write
        for event in events:
            number = tables.identity.last_sequence + 1
            tables.identity = replace(tables.identity, last_sequence=number)
            numbered = replace(event, sender=tables.identity.database_id, sequence=number)
            tables.outbox[number] = numbered
            tables.stamped.append(numbered)

    def carried(self, limit: int) -> dict[int, MetadataChangeEvent]:
        """What was carried over of the outbox of the database before."""
        return {number: self._read.carried[number] for number in sorted(self._read.carried)[:limit]}

    def drop_carried(self, numbers: Collection[int]) -> None:
        """These were published, or need not be."""
        for number in numbers:
            del self._write.carried[number]

    def hold_publication(self, event: MetadataChangeEvent) -> None:
        """Keep an event back."""
        self._write.held[event.path] = event
        self._write.stamped.append(event)

    def held_publication(self, path: MetaPath) -> MetadataChangeEvent | None:
        """The event that is held back for a path."""
        return self._read.held.get(path)

    def drop_held(self, path: MetaPath) -> None:
        """Forget the held event of a path."""
        if path in self._read.held:
            del self._write.held[path]

    def open_paths(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with an event in the outbox or held back."""
        opened = {event.path for event in self._read.outbox.values()} | self._read.held.keys()
        return {path for path in paths if path in opened}

    def outbox(self, limit: int, after: int = 0) -> list[OutboxRow]:
        """The oldest events that are not yet acknowledged."""
        rows = self._read.outbox
        return [OutboxRow(sequence=number, event=rows[number]) for number in sorted(rows) if number > after][:limit]

    def acknowledged(self, sequences: Collection[int]) -> None:
        """The bus has acknowledged these."""
        for number in sequences:
            self._write.outbox.pop(number, None)

    # -- consumption

    def consumed(self, senders: Collection[str]) -> dict[str, Consumed]:
        """What was consumed of each sender that is known."""
        return {sender: self._read.consumed[sender] for sender in senders if sender in self._read.consumed}

    def senders(self) -> set[str]:
        """Every sender of whom something was consumed."""
        return set(self._read.consumed)

    def save_consumed(self, consumed: dict[str, Consumed]) -> None:
        """Replace what was consumed of these senders."""
        self._write.consumed.update(consumed)

    # -- records

    def journal(self, rows: Sequence[Journal], now: Millis) -> None:
        """Append decisions."""
        self._write.journal.extend(rows)
        self._write.deletes.extend(now for row in rows if is_delete(row))

    def deletes_passed(self, since: Millis, limit: int) -> list[Millis]:
        """When the latest local deletes were journaled."""
        return sorted(at for at in self._read.deletes if at > since)[-limit:]

    def conflict(self, record: RecordConflict, now: Millis) -> None:
        """Keep a conflict, once per path and loser."""
        rows = self._write.conflicts
        key = (record.path, record.loser, record.loser_digest)
        present = rows.get(key)
        if present is not None:
            rows[key] = replace(present, value=record.value if present.value is None else present.value)
            return
        rows[key] = ConflictRow(
            id=1 + max((row.id for row in rows.values()), default=0),
            path=record.path,
            loser=record.loser,
            loser_seen=record.loser_seen,
            loser_digest=record.loser_digest,
            value=record.value,
            winner=record.winner,
            reason=record.reason,
            recorded_at_ms=now,
        )

    def fill_conflict(self, fill: FillConflict) -> None:
        """Give the value to conflicts of this path and digest that lack it."""
        for key, row in self._read.conflicts.items():
            if row.path == fill.path and row.loser_digest == fill.digest and row.value is None:
                self._write.conflicts[key] = replace(row, value=fill.value)

    def conflict_row(self, number: int) -> ConflictRow | None:
        """A conflict by its number."""
        return next((row for row in self._read.conflicts.values() if row.id == number), None)

    def mark_restored(self, number: int, now: Millis) -> None:
        """Note that the loser of a conflict was restored."""
        row = self.conflict_row(number)
        if row is not None:
            self._write.conflicts[row.path, row.loser, row.loser_digest] = replace(row, restored_at_ms=now)

    def kept_values(self, above_bytes: int) -> Amount:
        """How many large values are due."""
        return kept_values(self._read.registers.values(), above_bytes)

    def kept_conflicts(self) -> Amount:
        """How many conflicts are kept, and of how many bytes."""
        return kept_conflicts(self._read.conflicts.values())

    def drop_conflicts(
        self, limit: int, *, by: Region | None = None, until: int | None = None, restored: bool = False
    ) -> int:
        """Forget the oldest conflicts."""
        chosen = chosen_conflicts(self._read.conflicts.values(), limit, by=by, until=until, restored=restored)
        for row in chosen:
            del self._write.conflicts[row.path, row.loser, row.loser_digest]
        return len(chosen)

    def drop_conflict(self, number: int) -> None:
        """Forget a conflict."""
        row = self.conflict_row(number)
        if row is not None:
            del self._write.conflicts[row.path, row.loser, row.loser_digest]

    def quarantine(self, poison: DeadLetter, now: Millis) -> None:
        """Keep something that cannot be handled."""
        rows = self._write.poison
        key = (poison.origin, poison.position)
        if key not in rows:
            self._write.poison_ever += 1
            rows[key] = DeadLetterRow(id=self._write.poison_ever, poison=poison, recorded_at_ms=now)

    def kept_aside(self) -> KeptAside:
        """How much of what came by the bus is kept aside."""
        return kept_aside((row.poison for row in self._read.poison.values()), self._read.future.values())

    def dead_letter(self, number: int) -> DeadLetterRow | None:
        """A quarantined thing by its number."""
        return next((row for row in self._read.poison.values() if row.id == number), None)

    def drop_dead_letter(self, number: int) -> None:
        """Remove a quarantined thing."""
        row = self.dead_letter(number)
        if row is not None:
            del self._write.poison[row.poison.origin, row.poison.position]

    def hold_event(self, event: MetadataChangeEvent, until: Millis, now: Millis) -> None:
        """Keep an event from the future aside until then."""
        tables, key = self._write, (event.path, event.stamp)
        tables.future.setdefault(key, event)
        tables.future_until[key] = min(until, tables.future_until.get(key, until))

    def future_events(self, now: Millis, limit: int) -> list[MetadataChangeEvent]:
        """Held events whose time has come, the oldest stamps first."""
        until = self._read.future_until
        events = [event for key, event in self._read.future.items() if until[key] <= now]
        return sorted(events, key=lambda event: (event.stamp.updated_at_ms, event.stamp.region, event.path))[:limit]

    def future_events_at(self, paths: Collection[MetaPath], limit: int) -> list[MetadataChangeEvent]:
        """Held events of these paths, whatever their time, the oldest stamps first."""
        every = self.future_events(Millis(1 << 62), len(self._read.future))
        return [event for event in every if event.path in paths][:limit]

    def future_event(self, path: MetaPath, stamp: Stamp | None) -> MetadataChangeEvent | None:
        """The held event of a path."""
        events = self.future_events(Millis(1 << 62), len(self._read.future))
        return next((event for event in events if event.path == path and stamp in {None, event.stamp}), None)

    def drop_future(self, path: MetaPath, stamp: Stamp) -> None:
        """Forget a held event."""
        self._write.future.pop((path, stamp), None)
        self._write.future_until.pop((path, stamp), None)

    # -- scans

    def begin_scan(self) -> None:
        """Forget which paths a former scan met."""
        self._write.met = {}

    def met(self, paths: Collection[MetaPath]) -> None:
        """The running scan met these paths."""
        self._write.met.update(dict.fromkeys(paths))

    def unmet_standing(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths where something stood that the scan did not meet, in path order."""
        rows, met = self._read.registers, self._read.met
        paths = (path for path in sorted(rows) if path > (after or "") and path not in met)
        return [path for path in paths if stood(rows[path])][:limit]

    # -- facts

    def identity(self) -> Identity:
        """Facts about the database."""
        return self._read.identity

    def set_identity(self, **changes: object) -> Identity:
        """Change some fields of the identity."""
        tables = self._write
        fields: dict[str, Any] = changes
        tables.identity = replace(tables.identity, **fields)
        return tables.identity

    def save_peer(self, peer: PeerRow) -> None:
        """Keep what a peer told last."""
        self._write.peers[peer.region] = peer

    def drop_peer(self, region: Region) -> None:
        """Keep nothing of a peer."""
        del self._write.peers[region]

    def peers(self, regions: Collection[Region] | None = None) -> list[PeerRow]:
        """All peers that were ever heard, or those of these regions."""
        return [row for region, row in self._read.peers.items() if regions is None or region in regions]

    def save_status(self, document: dict[str, object], now: Millis) -> None:
        """Nobody reads it here."""

    # -- operations

    def pending_operations(
        self, limit: int, *, only: Collection[str] | None = None, without: Collection[str] = ()
    ) -> list[Operation]:
        """Operations that wait for the daemon."""
        return pending_operations(self._read.operations.values(), limit, only, without)

    def finish_operation(self, number: int, state: OperationState, answer: str, code: str, now: Millis) -> None:
        """Answer an operation."""
        tables = self._write
        tables.operations[number] = replace(tables.operations[number], state=state, answer=answer, code=code)

    # -- repairs

    def repair(self, number: int | None = None) -> Repair | None:
        """A repair by its number, or the oldest that is running."""
        return repair(self._read.repairs, number)

    def save_repair(self, repair: Repair) -> None:
        """Keep how far a repair is."""
        self._write.repairs[repair.id] = repair

    def tellings(self, repair: int, limit: int, after: int) -> list[Telling]:
        """What is to be told."""
        return tellings(self._read.tellings, repair, limit, after)

    def decided(self, repair: int, through: int, refused: Sequence[RefusedTelling]) -> None:
        """Only what was refused is kept."""
        rows = self._write.tellings
        for key in over(rows, repair, through, refused):
            del rows[key]
        for each in refused:
            rows[repair, each.number] = each

    # -- upkeep

    def prune(self, journal_before: Millis, limit: int, audit_before: Millis | None = None) -> int:
        """Nothing is old here."""
        return 0
