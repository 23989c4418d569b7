"""The state on plain dictionaries: who may write, what is undone, what a database begins anew with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from syncer.conflict.changeover import NEWEST
from syncer.errors import Fenced, InvariantBroken
from syncer.model import Millis
from syncer.state.contract.identity import Identity
from syncer.state.contract.operations import MAX_PENDING_STOPS, Operation, check_room
from syncer.state.contract.tree import KeptTree
from syncer.state.memory.database import MemoryDatabase
from syncer.state.memory.selection import pending_operations
from syncer.state.memory.transaction import MemoryTransaction


class MemoryState:
    """Implements :class:`syncer.state.contract.state.State`. Not to be shared by threads."""

    def __init__(self, database: MemoryDatabase) -> None:
        self.database: Final = database
        self._epoch: int | None = None
        self._open: MemoryTransaction | None = None

    def activate(self) -> Identity:
        """Become the writer: raise the epoch, which fences off a former one."""
        identity = self.database.facts[""]
        raised = self.database.facts[""] = replace(
            identity, epoch=identity.epoch + 1, projections=identity.projections or NEWEST.kept_as
        )
        self._epoch = raised.epoch
        return raised

    def keep_copy(self) -> None:
        """Keep no copy: nothing here outlives the process."""

    def erase_deleted(self) -> None:
        """Erase nothing: nothing here is in a file."""

    def renew(self, generation: int, store_id: str, rebuild: str, *, carry: bool = False) -> Identity:
        """Begin anew as another database, under a new id; see :meth:`syncer.state.contract.state.State.renew`."""
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
            projections=identity.projections,
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
        """Ask the daemon to do something, as an operator's command does; the number of the operation.

        Raises:
            OperationsFull: As many of this kind wait as may; nothing was asked.
        """
        number = self.database.numbers.get("operations", 0) + 1
        operation = Operation(id=number, kind=kind, arguments=dict(arguments), asked_by=asked_by, reason=reason)
        found = (each for each, _ in self.database.operations.values())
        check_room([operation], {kind: len(pending_operations(found, MAX_PENDING_STOPS, {kind}, ()))})
        self.database.numbers["operations"] = number
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
