"""The state contract on plain dictionaries, for the simulated world: fast, deterministic, crashes at any point.

Several :class:`MemoryState` may share one :class:`MemoryDatabase`, as two daemons share a PostgreSQL. Each change notes
how it is undone; an exception, or :meth:`MemoryState.crash`, undoes what was not committed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeVar

from syncer.conflict.acts import Decision, FillConflict, Journal, RecordConflict
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.tombstones import COUNTED
from syncer.errors import Fenced, InvariantBroken
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region, Stamp
from syncer.paths import child_prefixes
from syncer.state.contract.amounts import Amount
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.contract.identity import Identity, check_changes
from syncer.state.contract.membership import Membership
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.outbox import OutboxRow
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.quarantine import STRANGE_CODES, DeadLetter, DeadLetterRow, KeptAside
from syncer.state.contract.repairs import RefusedTelling, Repair, RepairState, Telling
from syncer.state.contract.tombstones import Tombstone
from syncer.state.contract.tree import KeptTree
from syncer.state.encoding import dumps, event_head

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Final[Any] = object()


class MemoryDatabase:
    """What would be on the disk."""

    def __init__(self, region: Region, database_id: str) -> None:
        self.facts: dict[str, Identity] = {"": Identity(region=region, database_id=database_id)}
        self.numbers: dict[str, int] = {}
        self.alive: dict[str, int] = {"": 0}
        self.registers: dict[MetaPath, Register] = {}
        self.unsettled: dict[MetaPath, None] = {}
        self.outbox: dict[int, MetadataChangeEvent] = {}
        self.carried: dict[int, MetadataChangeEvent] = {}
        self.held: dict[MetaPath, MetadataChangeEvent] = {}
        self.consumed: dict[str, Consumed] = {}
        self.journal: dict[int, tuple[Millis, Journal]] = {}
        self.conflicts: dict[int, ConflictRow] = {}
        self.quarantine: dict[int, DeadLetterRow] = {}
        self.future: dict[tuple[MetaPath, Stamp], MetadataChangeEvent] = {}
        self.future_until: dict[tuple[MetaPath, Stamp], Millis] = {}
        self.met: dict[MetaPath, None] = {}
        self.peers: dict[Region, PeerRow] = {}
        self.status: dict[str, tuple[Millis, dict[str, object]]] = {}
        self.operations: dict[int, tuple[Operation, Millis]] = {}
        self.tree: dict[str, KeptTree] = {"": KeptTree(label="", number=0)}
        self.membership: dict[str, Membership] = {"": Membership()}
        self.repairs: dict[int, Repair] = {}
        self.tellings: dict[tuple[int, int], Telling | RefusedTelling] = {}


class MemoryState:
    """Implements :class:`syncer.state.contract.state.State`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self.database: Final = database
        self._epoch: int | None = None
        self._open: MemoryTransaction | None = None

    def activate(self) -> Identity:
        """Become the writer."""
        identity = self.database.facts[""]
        raised = self.database.facts[""] = replace(identity, epoch=identity.epoch + 1)
        self._epoch = raised.epoch
        return raised

    def keep_copy(self) -> None:
        """Nothing is on a disk."""

    def renew(self, generation: int, store_id: str, rebuild: str, *, carry: bool = False) -> Identity:
        """Begin anew as another database."""
        database = self.database
        identity = database.facts[""]
        if self._epoch is None or self._epoch != identity.epoch:
            self._epoch = None
            raise Fenced(f"another daemon has become active on the database of {identity.region}")
        renewed = database.facts[""] = Identity(
            region=identity.region,
            database_id=f"{identity.database_id}+",
            generation=generation,
            store_id=store_id,
            epoch=identity.epoch,
            paused=identity.paused,
            rebuild=rebuild,
            heard_until=identity.heard_until,
        )
        database.alive[""] = 0
        if carry:
            first = max(database.carried, default=0) + 1
            database.carried |= {first + number: event for number, event in sorted(database.outbox.items())}
        for table in (
            database.registers,
            database.unsettled,
            database.outbox,
            database.held,
            database.consumed,
            database.future,
            database.future_until,
            database.met,
        ):
            table.clear()
        database.tree[""] = KeptTree(label="", number=0)
        return renewed

    def crash(self) -> None:
        """Lose everything that was not committed, and the role."""
        if self._open is not None:
            self._open.undo()
            self._open = None
        self._epoch = None

    def ask(self, kind: str, arguments: Mapping[str, str], asked_by: str, reason: str) -> int:
        """What a person's command does: add an operation."""
        number = self.database.numbers["operations"] = self.database.numbers.get("operations", 0) + 1
        operation = Operation(id=number, kind=kind, arguments=dict(arguments), asked_by=asked_by, reason=reason)
        self.database.operations[number] = (operation, Millis(0))
        return number

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        """Begin a transaction of the active writer."""
        if self._open is not None:
            raise InvariantBroken("a transaction was begun inside another one")
        if self._epoch is None or self._epoch != self.database.facts[""].epoch:
            self._epoch = None
            raise Fenced(f"another daemon has become active on the database of {self.database.facts[''].region}")
        work = self._open = MemoryTransaction(self.database)
        try:
            yield work
        except BaseException:
            work.undo()
            raise
        finally:
            self._open = None


class MemoryTransaction:
    """Implements :class:`~syncer.state.contract.transaction.Transaction`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database
        self._undo: list[Callable[[], None]] = []

    def undo(self) -> None:
        """Take every change back, the last one first."""
        while self._undo:
            self._undo.pop()()

    # -- registers

    def registers(self, paths: Collection[MetaPath]) -> dict[MetaPath, Register]:
        known = self._db.registers
        return {path: known[path] for path in paths if path in known}

    def save(self, registers: Iterable[Register]) -> None:
        for register in registers:
            path, former = register.path, self._db.registers.get(register.path)
            self._put(self._db.registers, path, register)
            if register.due or register.wish is not None or register.intent is not None:
                self._put(self._db.unsettled, path, None)
            else:
                self._drop(self._db.unsettled, path)
            change = register.stored_alive - (former is not None and former.stored_alive)
            if change:
                self._put(self._db.alive, "", self._db.alive[""] + change)

    def living(self, limit: int, after: MetaPath | None = None) -> list[tuple[MetaPath, Digest]]:
        return living(self._db.registers, limit, after)

    def tree(self) -> KeptTree:
        return self._db.tree[""]

    def tree_number(self) -> int:
        return self._db.tree[""].number

    def log_tree(self, changes: bytes) -> int:
        self._put(self._db.tree, "", logged(self._db.tree[""], changes))
        return self._db.tree[""].number

    def save_tree(self, label: str, pages: Mapping[int, bytes]) -> None:
        self._put(self._db.tree, "", KeptTree(label=label, number=self._db.tree[""].number, pages=dict(pages)))

    # -- tombstones

    def dead(self, limit: int, until: Millis, after: tuple[Millis, MetaPath] | None = None) -> list[Tombstone]:
        """Tombstones with nothing due."""
        return dead(self._db.registers, limit, until, after)

    def dying(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Deletes that are not settled."""
        return dying(self._db.registers, limit, after)

    def unseated(self) -> tuple[int, Millis | None]:
        """Deletes that are due, events that wait."""
        return unseated(self._db.registers.values(), (stamp for _, stamp in self._db.future))

    def unfolded(self) -> int:
        """Messages in quarantine."""
        return unfolded(row.poison for row in self._db.quarantine.values())

    def drop_tombstones(self, paths: Collection[MetaPath], floor: Millis) -> None:
        """Forget registers."""
        for path in paths:
            self._drop(self._db.registers, path)
        self._put(self._db.membership, "", replace(self._db.membership[""], floor=floor))

    def membership(self) -> Membership:
        """This region's place in the group."""
        return self._db.membership[""]

    def set_left(self, left_at: Millis | None) -> None:
        """Note that this region has left the group, or has not."""
        self._put(self._db.membership, "", replace(self._db.membership[""], left_at=left_at))

    # -- registers

    def parents_of_living(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        prefixes = {path: child_prefixes(path) for path in paths}
        return {
            path
            for path, under in prefixes.items()
            if under and any(r.path.startswith(under) and r.stored_alive for r in self._db.registers.values())
        }

    def due(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        found = (self._db.registers[path] for path in sorted(self._db.unsettled) if path > (after or ""))
        return [register for register in found if register.due or register.wish is not None][:limit]

    def intents(self) -> list[Register]:
        found = (self._db.registers[path] for path in sorted(self._db.unsettled))
        return [register for register in found if register.intent is not None]

    def listing(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        found = (path for path in sorted(self._db.registers) if path > (after or ""))
        return [self._db.registers[path] for path in found][:limit]

    def count_alive(self) -> int:
        return self._db.alive[""]

    # -- outbox

    def enqueue(self, events: Sequence[MetadataChangeEvent]) -> None:
        identity = self._db.facts[""]
        for number, event in enumerate(events, identity.last_sequence + 1):
            self._put(self._db.outbox, number, replace(event, sender=identity.database_id, sequence=number))
        self._put(self._db.facts, "", replace(identity, last_sequence=identity.last_sequence + len(events)))

    def carried(self, limit: int) -> dict[int, MetadataChangeEvent]:
        numbers = sorted(self._db.carried)[:limit]
        return {number: self._db.carried[number] for number in numbers}

    def drop_carried(self, numbers: Collection[int]) -> None:
        for number in numbers:
            self._drop(self._db.carried, number)

    def hold_publication(self, event: MetadataChangeEvent) -> None:
        self._put(self._db.held, event.path, event)

    def held_publication(self, path: MetaPath) -> MetadataChangeEvent | None:
        return self._db.held.get(path)

    def drop_held(self, path: MetaPath) -> None:
        self._drop(self._db.held, path)

    def open_paths(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        if not self._db.outbox and not self._db.held:
            return set()
        waiting = {event.path for event in self._db.outbox.values()}
        return {path for path in paths if path in waiting or path in self._db.held}

    def outbox(self, limit: int, after: int = 0) -> list[OutboxRow]:
        numbers = sorted(number for number in self._db.outbox if number > after)[:limit]
        return [OutboxRow(sequence=number, event=self._db.outbox[number]) for number in numbers]

    def acknowledged(self, sequences: Collection[int]) -> None:
        for sequence in sequences:
            self._drop(self._db.outbox, sequence)

    # -- consumption

    def consumed(self, senders: Collection[str]) -> dict[str, Consumed]:
        return {sender: self._db.consumed[sender] for sender in senders if sender in self._db.consumed}

    def senders(self) -> set[str]:
        """Every sender of whom something was consumed."""
        return set(self._db.consumed)

    def save_consumed(self, consumed: dict[str, Consumed]) -> None:
        for sender, value in consumed.items():
            self._put(self._db.consumed, sender, value)

    # -- records

    def journal(self, rows: Sequence[Journal], now: Millis) -> None:
        for entry in rows:
            self._put(self._db.journal, self._number("journal"), (now, entry))

    def deletes_passed(self, since: Millis, limit: int) -> list[Millis]:
        deletes = (at for at, row in self._db.journal.values() if is_delete(row))
        return sorted(at for at in deletes if at > since)[-limit:]

    def conflict(self, record: RecordConflict, now: Millis) -> None:
        for number, row in self._db.conflicts.items():
            if (row.path, row.loser, row.loser_digest) == (record.path, record.loser, record.loser_digest):
                if row.value is None and record.value is not None:
                    self._put(self._db.conflicts, number, replace(row, value=record.value))
                return
        number = self._number("conflicts")
        row = ConflictRow(
            id=number,
            path=record.path,
            loser=record.loser,
            loser_seen=record.loser_seen,
            loser_digest=record.loser_digest,
            value=record.value,
            winner=record.winner,
            reason=record.reason,
            recorded_at_ms=now,
        )
        self._put(self._db.conflicts, number, row)

    def fill_conflict(self, fill: FillConflict) -> None:
        for number, row in list(self._db.conflicts.items()):
            if row.path == fill.path and row.loser_digest == fill.digest and row.value is None:
                self._put(self._db.conflicts, number, replace(row, value=fill.value))

    def conflict_row(self, number: int) -> ConflictRow | None:
        return self._db.conflicts.get(number)

    def mark_restored(self, number: int, now: Millis) -> None:
        row = self._db.conflicts.get(number)
        if row is not None:
            self._put(self._db.conflicts, number, replace(row, restored_at_ms=now))

    def kept_values(self, above_bytes: int) -> Amount:
        return kept_values(self._db.registers.values(), above_bytes)

    def kept_conflicts(self) -> Amount:
        return kept_conflicts(self._db.conflicts.values())

    def drop_conflicts(
        self, limit: int, *, by: Region | None = None, until: int | None = None, restored: bool = False
    ) -> int:
        chosen = chosen_conflicts(self._db.conflicts.values(), limit, by=by, until=until, restored=restored)
        for row in chosen:
            self.drop_conflict(row.id)
        return len(chosen)

    def drop_conflict(self, number: int) -> None:
        self._drop(self._db.conflicts, number)

    def quarantine(self, poison: DeadLetter, now: Millis) -> None:
        place = (poison.origin, poison.position)
        if all((row.poison.origin, row.poison.position) != place for row in self._db.quarantine.values()):
            number = self._number("quarantine")
            self._put(self._db.quarantine, number, DeadLetterRow(id=number, poison=poison, recorded_at_ms=now))

    def kept_aside(self) -> KeptAside:
        return kept_aside((row.poison for row in self._db.quarantine.values()), self._db.future.values())

    def poison_row(self, number: int) -> DeadLetterRow | None:
        return self._db.quarantine.get(number)

    def drop_poison(self, number: int) -> None:
        self._drop(self._db.quarantine, number)

    def hold_event(self, event: MetadataChangeEvent, until: Millis, now: Millis) -> None:
        key = (event.path, event.stamp)
        if key not in self._db.future:
            self._put(self._db.future, key, event)
        self._put(self._db.future_until, key, min(until, self._db.future_until.get(key, until)))

    def future_events(self, now: Millis, limit: int) -> list[MetadataChangeEvent]:
        found = [event for key, event in self._db.future.items() if self._db.future_until[key] <= now]
        return sorted(found, key=_age)[:limit]

    def future_events_at(self, paths: Collection[MetaPath], limit: int) -> list[MetadataChangeEvent]:
        return sorted((event for event in self._db.future.values() if event.path in paths), key=_age)[:limit]

    def future_event(self, path: MetaPath, stamp: Stamp | None) -> MetadataChangeEvent | None:
        found = (event for event in self._db.future.values() if event.path == path and stamp in {None, event.stamp})
        return min(found, key=_age, default=None)

    def drop_future(self, path: MetaPath, stamp: Stamp) -> None:
        self._drop(self._db.future, (path, stamp))
        self._drop(self._db.future_until, (path, stamp))

    # -- scans

    def begin_scan(self) -> None:
        for path in list(self._db.met):
            self._drop(self._db.met, path)

    def met(self, paths: Collection[MetaPath]) -> None:
        for path in paths:
            self._put(self._db.met, path, None)

    def unmet_standing(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        standing = (path for path, register in self._db.registers.items() if stood(register))
        return sorted(path for path in standing if path not in self._db.met and path > (after or ""))[:limit]

    # -- facts

    def identity(self) -> Identity:
        return self._db.facts[""]

    def set_identity(self, **changes: object) -> Identity:
        check_changes(changes)
        changed: Any = changes
        self._put(self._db.facts, "", replace(self._db.facts[""], **changed))
        return self._db.facts[""]

    def save_peer(self, peer: PeerRow) -> None:
        self._put(self._db.peers, peer.region, peer)

    def drop_peer(self, region: Region) -> None:
        self._drop(self._db.peers, region)

    def peers(self, regions: Collection[Region] | None = None) -> list[PeerRow]:
        kept = self._db.peers
        return [kept[region] for region in sorted(kept) if regions is None or region in regions]

    def save_status(self, document: dict[str, object], now: Millis) -> None:
        self._put(self._db.status, "", (now, document))

    # -- operations

    def pending_operations(self, limit: int) -> list[Operation]:
        found = (self._db.operations[number][0] for number in sorted(self._db.operations))
        return [operation for operation in found if operation.state is OperationState.PENDING][:limit]

    def finish_operation(self, number: int, state: OperationState, answer: str, code: str, now: Millis) -> None:
        if number in self._db.operations:
            operation = replace(self._db.operations[number][0], state=state, answer=answer, code=code)
            self._put(self._db.operations, number, (operation, now))

    # -- repairs

    def repair(self, number: int | None = None) -> Repair | None:
        return repair(self._db.repairs, number)

    def save_repair(self, repair: Repair) -> None:
        self._put(self._db.repairs, repair.id, repair)

    def tellings(self, repair: int, limit: int, after: int) -> list[Telling]:
        return tellings(self._db.tellings, repair, limit, after)

    def decided(self, repair: int, through: int, refused: Sequence[RefusedTelling]) -> None:
        for key in over(self._db.tellings, repair, through, refused):
            self._drop(self._db.tellings, key)
        for each in refused:
            self._put(self._db.tellings, (repair, each.number), each)

    # -- upkeep

    def prune(self, journal_before: Millis, limit: int) -> int:
        old = [number for number in sorted(self._db.journal)[:limit] if self._db.journal[number][0] < journal_before]
        done = [
            number
            for number, (operation, at) in sorted(self._db.operations.items())
            if operation.state is not OperationState.PENDING and at < journal_before
        ][:limit]
        for number in old:
            self._drop(self._db.journal, number)
        for number in done:
            self._drop(self._db.operations, number)
        gone = [key for key, each in self._db.tellings.items() if self._is_over(key[0]) and isinstance(each, Telling)]
        ended = [each.id for each in self._db.repairs.values() if self._is_old(each, journal_before)]
        gone += [key for key in self._db.tellings if key[0] in ended and key not in gone]
        for key in gone:
            self._drop(self._db.tellings, key)
        for number in ended:
            self._drop(self._db.repairs, number)
        return len(old) + len(done) + len(gone) + len(ended)

    def _is_over(self, number: int) -> bool:
        return number in self._db.repairs and self._db.repairs[number].state.over

    @staticmethod
    def _is_old(repair: Repair, before: Millis) -> bool:
        if repair.state.over:
            return repair.finished_at_ms is not None and repair.finished_at_ms < before
        return repair.state is not RepairState.RUNNING and repair.made_at_ms < before

    # -- inside

    def _number(self, kind: str) -> int:
        number = self._db.numbers.get(kind, 0) + 1
        self._put(self._db.numbers, kind, number)
        return number

    def _put(self, table: dict[K, V], key: K, value: V) -> None:
        former: V = table.get(key, _ABSENT)
        table[key] = value
        self._undo.append(lambda: _back(table, key, former))

    def _drop(self, table: dict[K, V], key: K) -> None:
        if key in table:
            former = table.pop(key)
            self._undo.append(lambda: _back(table, key, former))


def stood(register: Register) -> bool:
    """Whether something stood at the path when it was last read."""
    unreadable = register.hold is not None and register.hold.reason is HoldReason.UNREADABLE
    return register.stored_alive or unreadable


def is_delete(row: Journal) -> bool:
    """Whether a decision is that a local delete is published."""
    return row.decision is Decision.PUBLISHED and row.digest is None


def living(registers: Mapping[MetaPath, Register], limit: int, after: MetaPath | None) -> list[tuple[MetaPath, Digest]]:
    """The living known versions of registers, in path order."""
    found: list[tuple[MetaPath, Digest]] = []
    for path in sorted(registers):
        known = registers[path].known
        if path > (after or "") and known is not None and known.digest is not None and len(found) < limit:
            found.append((path, known.digest))
    return found


def logged(tree: KeptTree, changes: bytes) -> KeptTree:
    """The tree with one more row in its log."""
    return replace(tree, number=tree.number + 1, log=(*tree.log, changes))


def dead(
    registers: Mapping[MetaPath, Register], limit: int, until: Millis, after: tuple[Millis, MetaPath] | None
) -> list[Tombstone]:
    """Tombstones with nothing due, by time and path."""
    found: list[Tombstone] = []
    for path, register in registers.items():
        known, busy = register.known, register.due or register.wish is not None or register.intent is not None
        if known is not None and not known.alive and not busy and known.stamp.updated_at_ms <= until:
            found.append(Tombstone(path, known.stamp))
    found.sort(key=lambda each: (each.stamp.updated_at_ms, each.path))
    beyond = [each for each in found if after is None or (each.stamp.updated_at_ms, each.path) > after]
    return beyond[:limit]


def dying(registers: Mapping[MetaPath, Register], limit: int, after: MetaPath | None) -> list[MetaPath]:
    """Paths known to be deleted of which something is unsettled, in path order."""
    found = [
        path
        for path, register in registers.items()
        if register.known is not None
        and not register.known.alive
        and (register.due or register.wish is not None or register.intent is not None)
    ]
    return sorted(path for path in found if after is None or path > after)[:limit]


def unseated(registers: Iterable[Register], future: Iterable[Stamp]) -> tuple[int, Millis | None]:
    """Deletes that are due and events that wait: how many, as far as they are counted, and the smallest time."""
    times = [stamp.updated_at_ms for stamp in future]
    for register in registers:
        known = register.known
        if known is not None and not known.alive and (register.due or register.wish is not None):
            times.append(known.stamp.updated_at_ms)
    return min(len(times), COUNTED), min(times, default=None)


def kept_values(registers: Iterable[Register], above_bytes: int) -> Amount:
    """Values of registers that are due, those of more bytes than that."""
    values = [each.known.value or b"" for each in registers if each.known is not None and each.due]
    sizes = [len(value) for value in values if len(value) > above_bytes]
    return Amount(len(sizes), sum(sizes))


def kept_conflicts(conflicts: Iterable[ConflictRow]) -> Amount:
    """How much of them is kept."""
    sizes = [len(row.path.encode()) + len(row.value or b"") for row in conflicts]
    return Amount(len(sizes), sum(sizes))


def chosen_conflicts(
    conflicts: Iterable[ConflictRow], limit: int, *, by: Region | None, until: int | None, restored: bool
) -> list[ConflictRow]:
    """The oldest of those that are to be forgotten."""
    chosen = [row for row in conflicts if by in {None, row.loser.region}]
    chosen = [row for row in chosen if until is None or row.id <= until]
    chosen = [row for row in chosen if row.restored_at_ms is not None or not restored]
    return sorted(chosen, key=lambda row: row.id)[:limit]


def kept_aside(poisons: Iterable[DeadLetter], future: Iterable[MetadataChangeEvent]) -> KeptAside:
    """How much of what came by the bus is kept aside, as the rows of a database count it."""
    amounts = {True: Amount(0, 0), False: Amount(0, 0)}
    for poison in poisons:
        if poison.origin == "bus":
            strange = poison.code in STRANGE_CODES
            count, total = amounts[strange]
            amounts[strange] = Amount(count + 1, total + len(poison.payload) + len(dumps(poison.properties).encode()))
    sizes = [len(event.value or b"") + len(event_head(event).encode()) for event in future]
    return KeptAside(strangers=amounts[True], poison=amounts[False], future=Amount(len(sizes), sum(sizes)))


def unfolded(poisons: Iterable[DeadLetter]) -> int:
    """Changes in quarantine that the bus never takes."""
    return sum(poison.origin == "outbox" for poison in poisons)


def _back(table: dict[K, V], key: K, former: V) -> None:
    if former is _ABSENT:
        table.pop(key, None)
    else:
        table[key] = former


def _age(event: MetadataChangeEvent) -> tuple[int, str, str]:
    return event.stamp.updated_at_ms, event.stamp.region, event.path


def repair(rows: Mapping[int, Repair], number: int | None) -> Repair | None:
    """A repair by its number; without one, the oldest that is running."""
    if number is not None:
        return rows.get(number)
    return next((rows[each] for each in sorted(rows) if rows[each].state is RepairState.RUNNING), None)


def tellings(
    rows: Mapping[tuple[int, int], Telling | RefusedTelling], repair: int, limit: int, after: int
) -> list[Telling]:
    """What is to be told of a repair, in order."""
    found = [rows[key] for key in sorted(rows) if key[0] == repair and key[1] > after]
    return [each for each in found if isinstance(each, Telling)][:limit]


def over(
    rows: Mapping[tuple[int, int], Telling | RefusedTelling],
    repair: int,
    through: int,
    refused: Sequence[RefusedTelling],
) -> list[tuple[int, int]]:
    """What of a repair need not be kept any more."""
    kept = {each.number for each in refused}
    return [
        (of, number)
        for (of, number), each in rows.items()
        if of == repair and number <= through and number not in kept and isinstance(each, Telling)
    ]
