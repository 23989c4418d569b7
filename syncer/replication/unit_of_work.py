"""The unit of work: registers are loaded, outcomes are taken, and all is stored, outbox included, in one transaction.

What has to happen in memory after the transaction is collected and done by :meth:`Unit.settle`, never before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from syncer.conflict.acts import (
    DropHeld,
    FillConflict,
    HoldEvent,
    Journal,
    Need,
    Outcome,
    Publish,
    Quarantine,
    RecordConflict,
)
from syncer.conflict.digest_tree import Changes
from syncer.conflict.register import ParkReason, Register
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis
from syncer.paths import child_prefixes, classify
from syncer.replication.context import Context
from syncer.replication.local.dirty import ReadCause
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.contract.transaction import Transaction


class UnitOfWork:
    """The work of one transaction over some paths."""

    def __init__(self, context: Context, transaction: Transaction, now: Millis) -> None:
        self._context = context
        self._tx = transaction
        self.now = now
        self._registers: dict[MetaPath, Register] = {}
        self._changed: dict[MetaPath, Digest | None] = {}
        """Changed paths, with the digest that was known before."""
        self._summed: tuple[int, Changes] = (0, {})
        self._published: list[MetadataChangeEvent] = []
        self._journal: list[Journal] = []
        self._reads: dict[MetaPath, None] = {}
        self._opened: set[MetaPath] = set()
        self._afterwards: list[Callable[[], None]] = []
        self.poisons: list[DeadLetter] = []

    def load(self, paths: Collection[MetaPath]) -> None:
        """Load the registers of these paths; those that do not exist are new."""
        missing = [path for path in paths if path not in self._registers]
        if not missing:
            return
        found = self._tx.registers(missing)
        for path in missing:
            self._registers[path] = found.get(path) or Register(path=path, own=self._context.tombstones.floor)

    def __getitem__(self, path: MetaPath) -> Register:
        return self._registers[path]

    def parents_of_living(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with a child that this very unit has found alive."""
        born = [path for path in self._changed if self._registers[path].stored_alive]
        return {path for path in paths if any(child.startswith(child_prefixes(path)) for child in born)}

    @property
    def changed(self) -> tuple[MetaPath, ...]:
        """Paths whose register this unit has changed, in order."""
        return tuple(self._changed)

    @property
    def opened(self) -> set[MetaPath]:
        """Paths that got a row in the outbox within this unit."""
        return self._opened

    def take(self, outcome: Outcome) -> Register:
        """Take an outcome: its register, its acts, and what the path needs next."""
        register = outcome.register
        path = register.path
        before = self._registers.get(path)
        if register is not before and register != before:
            self._registers[path] = register
            if path not in self._changed:
                known = before.known if before is not None else None
                self._changed[path] = known.digest if known is not None else None
            if register.hold is not None and (before is None or before.hold is None):
                self._context.tally["held", register.hold.reason] += 1
        for act in outcome.acts:
            self._act(act)
        match outcome.need:
            case Need.READ:
                self._reads[path] = None
            case Need.TOPICS:
                self._context.asking[path] = None
            case Need.NOTHING:
                pass
        self._note_waiting(register)
        return register

    def replace(self, register: Register) -> None:
        """Take a register as it is, outside any decision of the replica."""
        self.take(Outcome(register))

    def reread(self, paths: Iterable[MetaPath]) -> None:
        """These paths are to be read again."""
        self._reads.update(dict.fromkeys(paths))

    def decided(self, paths: Iterable[MetaPath]) -> None:
        """These need no read for what they are due: it is decided in this very unit."""
        for path in paths:
            self._reads.pop(path, None)

    def _act(self, act: object) -> None:
        match act:
            case Publish(event=event, held=held):
                self._opened.add(event.path)
                if held:
                    self._tx.hold_publication(event)
                else:
                    self._published.append(event)
            case Journal():
                self._journal.append(act)
                self._context.tally["decisions", act.decision] += 1
            case RecordConflict():
                self._tx.conflict(act, self.now)
                self._context.tally["conflicts", act.reason] += 1
            case FillConflict():
                self._tx.fill_conflict(act)
            case DropHeld(path=path):
                self._tx.drop_held(path)
            case HoldEvent(event=event, until=until):
                self._tx.hold_event(event, until, self.now)
            case Quarantine(path=path, code=code, detail=detail, value=value):
                poison = DeadLetter(
                    origin="store", code=code, detail=detail, position=f"{path} {self.now}", path=path, payload=value
                )
                self.quarantine(poison)
            case _:
                raise TypeError(f"no such act: {act!r}")

    def quarantine(self, poison: DeadLetter) -> None:
        """Keep something that cannot be handled."""
        self._tx.quarantine(poison, self.now)
        self.poisons.append(poison)
        self._context.tally["quarantined", poison.code] += 1

    def _note_waiting(self, register: Register) -> None:
        parked = register.parked
        if parked is None or not register.due:
            return
        resource = classify(register.path)
        if parked.reason is ParkReason.PARENT_MISSING and resource is not None and resource.parent is not None:
            self._context.wait_for(register.path, resource.parent)
        if parked.reason is ParkReason.VALUE_MISSING:
            self._context.want(register.path)
        if parked.reason is ParkReason.CHILDREN_ALIVE:
            self._context.wait_for(register.path, register.path)  # a child that dies wakes its parent

    def afterwards(self, step: Callable[[], None]) -> None:
        """What memory takes over once the transaction is committed."""
        self._afterwards.append(step)

    def store(self) -> None:
        """Write everything into the transaction."""
        if self._changed:
            self._tx.save(self._registers[path] for path in self._changed)
            sums = self._context.sums
            changes = sums.changes_of((path, before, self._registers[path]) for path, before in self._changed.items())
            self._summed = sums.keep(self._tx, changes), changes
        if self._published and not self._context.observing:
            self._tx.enqueue(self._published)
        if self._journal:
            self._tx.journal(self._journal, self.now)

    def settle(self) -> None:
        """After the commit: what was in flight about changed rows is void, and what needs a read becomes dirty."""
        context = self._context
        for step in self._afterwards:
            step()
        context.sums.commit(*self._summed)
        context.ledger.changed(self._changed)
        if self._changed or self._published:
            context.rollback_counter.advanced = True
        woken: list[MetaPath] = []
        for path in self._changed:
            register = self._registers[path]
            if register.stored is not None and not register.due:
                woken.append(path)
                if not register.stored_alive and (resource := classify(path)) and resource.parent:
                    woken.append(resource.parent)
        context.woken(woken)
        context.dirty.add(self._reads, ReadCause.DUE)
        if self._published:
            context.tally["published", "stamped"] += len(self._published)
