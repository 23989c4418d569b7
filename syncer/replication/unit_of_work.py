"""The unit of work: registers are loaded, outcomes are taken, and all is stored, outbox included, in one transaction.

What has to happen in memory after the transaction is collected and done by :meth:`UnitOfWork.settle`, never before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

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
    ReleaseHeld,
)
from syncer.conflict.observing import stays_here
from syncer.conflict.register import ParkReason, Register
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis
from syncer.paths import child_prefixes, classify
from syncer.replication import publishing
from syncer.replication.core import Core
from syncer.replication.telemetry import Telemetry
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.contract.transaction import Transaction

Change = tuple[MetaPath, Digest | None, Register]
"""A changed path, the digest that was known before, and its register now."""
Settle = Callable[[], None]
"""What memory takes over once a transaction is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a unit of work has stored, announced once its transaction is committed.

    Args:
        changed: Registers that have changed, in order.
        published: Events that were stamped.
        reads: Paths that are to be read.
        topics: Paths of which a guard wants to know whether topics exist below them.
        waits: Paths that wait, each with the one that it waits for.
        wanting: Paths whose value is due here and has to come from a peer.
    """

    changed: Mapping[MetaPath, Register]
    published: tuple[MetadataChangeEvent, ...]
    reads: tuple[MetaPath, ...]
    topics: tuple[MetaPath, ...]
    waits: tuple[tuple[MetaPath, MetaPath], ...]
    wanting: tuple[MetaPath, ...]


@dataclass(slots=True)
class UnitsOfWork:
    """Begins units of work.

    Args:
        core: The region's own replica.
        telemetry: What is counted of them.
        followers: What is kept in step with the registers, in their very transactions.
        count_carried: How many paths in scope live, as far as the group knows; ``None``: they are not counted yet.
        listeners: Who is told what was committed, in this order.
    """

    core: Core
    telemetry: Telemetry
    followers: list[Callable[[Transaction, list[Change]], Settle]] = field(default_factory=list)
    count_carried: Callable[[], int | None] = lambda: None
    listeners: list[Callable[[Committed], None]] = field(default_factory=list)

    def begin(self, transaction: Transaction, now: Millis) -> UnitOfWork:
        """Begin a unit of work in a transaction."""
        return UnitOfWork(self, transaction, now)


class UnitOfWork:
    """The work of one transaction over some paths."""

    def __init__(self, units: UnitsOfWork, transaction: Transaction, now: Millis) -> None:
        self._units = units
        self._core = units.core
        self._tally = units.telemetry.tally
        self._tx = transaction
        self.now = now
        self._registers: dict[MetaPath, Register] = {}
        self._changed: dict[MetaPath, Digest | None] = {}
        """Changed paths, with the digest that was known before."""
        self._followed: list[Settle] = []
        self._published: list[MetadataChangeEvent] = []
        self._journal: list[Journal] = []
        self._reads: dict[MetaPath, None] = {}
        self._topics: dict[MetaPath, None] = {}
        self._wanting: dict[MetaPath, None] = {}
        self._waits: dict[tuple[MetaPath, MetaPath], None] = {}
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
            self._registers[path] = found.get(path) or Register(path=path, own=self._core.floor)

    def __getitem__(self, path: MetaPath) -> Register:
        return self._registers[path]

    def parents_of_living(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with a child in scope that lives, or that this very unit has found alive."""
        born = [path for path in self._changed if self._registers[path].stored_alive]
        found = {path for path in paths if any(child.startswith(child_prefixes(path)) for child in born)}
        return found | self._tx.parents_of_living(paths, self._core.scope.contains)

    def count_alive(self) -> int:
        """How many paths in scope the store was last known to hold; too many, while a new scope is not counted yet."""
        alive, carried = self._tx.count_alive(), self._units.count_carried()
        return alive if carried is None else min(alive, carried)

    @property
    def changed(self) -> tuple[MetaPath, ...]:
        """Paths whose register this unit has changed, in order."""
        return tuple(self._changed)

    @property
    def opened(self) -> set[MetaPath]:
        """Paths that got a row in the outbox within this unit."""
        return self._opened

    def take(self, outcome: Outcome) -> Register:
        """Take an outcome: its register, its acts, and what the path needs next.

        The path stays as it was where the outcome would publish it, and the scope does not let it leave.
        """
        path = outcome.register.path
        before = self._registers.get(path)
        if not all(publishing.admits(self._core.scope, act) for act in outcome.acts):
            outcome = stays_here(before or Register(path=path, own=self._core.floor))
            self._tally["published", "kept"] += 1
        register = outcome.register
        if register is not before and register != before:
            self._registers[path] = register
            if path not in self._changed:
                known = before.known if before is not None else None
                self._changed[path] = known.digest if known is not None else None
            if register.hold is not None and (before is None or before.hold is None):
                self._tally["held", register.hold.reason] += 1
        for act in outcome.acts:
            self._act(act)
        match outcome.need:
            case Need.READ:
                self._reads[path] = None
            case Need.TOPICS:
                self._topics[path] = None
            case Need.NOTHING | Need.BROKERS | Need.RELATED:
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
                self._tally["decisions", act.decision] += 1
            case RecordConflict():
                self._tx.conflict(act, self.now)
                self._tally["conflicts", act.reason] += 1
            case FillConflict():
                self._tx.fill_conflict(act)
            case DropHeld(path=path):
                self._tx.drop_held(path)
            case ReleaseHeld(path=path):
                self._release(path)
            case HoldEvent(event=event, until=until):
                self._tx.hold_event(event, until, self.now)
            case Quarantine(path=path, code=code, detail=detail, value=value):
                poison = DeadLetter(
                    origin="store", code=code, detail=detail, position=f"{path} {self.now}", path=path, payload=value
                )
                self.quarantine(poison)
            case _:
                raise TypeError(f"no such act: {act!r}")

    def _release(self, path: MetaPath) -> None:
        event = self._tx.held_publication(path)
        self._tx.drop_held(path)
        if event is not None:
            self._opened.add(path)
            self._published.append(event)

    def quarantine(self, poison: DeadLetter) -> None:
        """Keep something that cannot be handled."""
        self._tx.quarantine(poison, self.now)
        self.poisons.append(poison)
        self._tally["quarantined", poison.code] += 1

    def _note_waiting(self, register: Register) -> None:
        parked = register.parked
        if parked is None or not register.due:
            return
        resource = classify(register.path)
        if parked.reason is ParkReason.PARENT_MISSING and resource is not None and resource.parent is not None:
            self._waits[register.path, resource.parent] = None
        if parked.reason is ParkReason.VALUE_MISSING:
            self._wanting[register.path] = None
        if parked.reason is ParkReason.CHILDREN_ALIVE:
            self._waits[register.path, register.path] = None  # a child that dies wakes its parent

    def afterwards(self, step: Callable[[], None]) -> None:
        """What memory takes over once the transaction is committed."""
        self._afterwards.append(step)

    def store(self) -> None:
        """Write everything into the transaction."""
        if self._changed:
            self._tx.save(self._registers[path] for path in self._changed)
            changes = [(path, before, self._registers[path]) for path, before in self._changed.items()]
            self._followed = [follow(self._tx, changes) for follow in self._units.followers]
        if self._published and not self._core.observing:
            publishing.enqueue(self._core.scope, self._tx, self._published)
        if self._journal:
            self._tx.journal(self._journal, self.now)

    def settle(self) -> None:
        """After the commit: memory takes over what was stored, and who listens is told of it."""
        for step in (*self._afterwards, *self._followed):
            step()
        committed = Committed(
            changed={path: self._registers[path] for path in self._changed},
            published=tuple(self._published),
            reads=tuple(self._reads),
            topics=tuple(self._topics),
            waits=tuple(self._waits),
            wanting=tuple(self._wanting),
        )
        for listener in self._units.listeners:
            listener(committed)
        if self._published:
            self._tally["published", "stamped"] += len(self._published)
