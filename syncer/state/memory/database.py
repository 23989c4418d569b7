"""The tables of a database in memory, and how changes of them are taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from syncer.conflict.acts import Journal
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.classes.periods import ScopePeriod
from syncer.conflict.register import Register
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region, Stamp
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.contract.identity import Identity
from syncer.state.contract.jobs import JobRow
from syncer.state.contract.membership import Membership
from syncer.state.contract.migrations import Migration, MigrationEvent
from syncer.state.contract.operations import Operation
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.quarantine import DeadLetterRow
from syncer.state.contract.repairs import RefusedTelling, Repair, Telling
from syncer.state.contract.tree import KeptTree
from syncer.state.contract.work.ledger_audits import KeptLedgerAudit
from syncer.state.contract.work.move_runs import KeptMoveRun

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Final[Any] = object()


class MemoryDatabase:
    """All that one database keeps, as plain dictionaries. A table of one row has the key ``""``."""

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
        self.scope_periods: dict[str, tuple[ScopePeriod, ...]] = {"": ()}
        self.repairs: dict[int, Repair] = {}
        self.tellings: dict[tuple[int, int], Telling | RefusedTelling] = {}
        self.jobs: dict[int, JobRow] = {}
        self.move_runs: dict[int, KeptMoveRun] = {}
        self.move_run_plans: dict[int, str] = {}
        self.move_outcomes: dict[tuple[int, int], str] = {}
        self.ledger_audits: dict[int, KeptLedgerAudit] = {}
        self.migrations: dict[int, Migration] = {}
        self.migration_plans: dict[int, str] = {}
        self.migration_values: dict[tuple[int, str], str] = {}
        self.migration_events: dict[tuple[int, int], MigrationEvent] = {}


class UndoLog:
    """Changes of tables, each with what takes it back."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db: Final = database
        self._undo: Final[list[Callable[[], None]]] = []

    def undo(self) -> None:
        """Take every change back, the last one first."""
        while self._undo:
            self._undo.pop()()

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


def _back(table: dict[K, V], key: K, former: V) -> None:
    if former is _ABSENT:
        table.pop(key, None)
    else:
        table[key] = former
