"""The real sidecar code on SQLite, beside the plain tables that the referee looks at: each is held against the other.

Every call of a transaction is made on both, and must give the same. What survives a crash is what SQLite keeps: in
memory what was committed, in a file what SQLite recovers from a log whose last transaction was torn.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, cast

from sqlalchemy import Connection, Engine, event, update
from sqlalchemy.exc import OperationalError

from syncer.model import Millis, Region
from syncer.state.contract.identity import Identity
from syncer.state.contract.repairs import Repair, Telling
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.contract.tree import KeptTree
from syncer.state.sql import opening, tables
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.simulation.disk import Crash, Disk, DiskState, DiskTransaction, Tables, Trouble
from tests.simulation.faults import MODES
from tests.simulation.history import Violation
from tests.simulation.shrinking import Short, shrink
from tests.simulation.world import World, play

_ALL: Final = 10**6
_IDLE: Final[list[Engine]] = []
"""Engines on memory that nobody uses."""
_UNORDERED: Final = frozenset({"peers"})
"""Of these the contract promises no order."""


@cache
def _empty() -> bytes:
    """A database that has its schema and nothing else, as the program makes it."""
    with tempfile.TemporaryDirectory(prefix="syncer-simulation-") as directory:
        url = opening.parse_url(f"sqlite:///{directory}/empty.db")
        opening.create_file(Path(directory) / "empty.db")
        engine = opening.connect(url, "writer")
        opening.prepare(engine, url)
        engine.dispose()
        return (Path(directory) / "empty.db").read_bytes()


def _memory() -> Engine:
    """An engine on a database in memory; one that nobody uses any more knows its statements already."""
    return _IDLE.pop() if _IDLE else opening.connect(opening.parse_url("sqlite://"), "writer")


class SqlDisk(Disk):
    """One region's database: SQLite, in memory or, with ``directory``, in files there."""

    def __init__(self, region: Region, directory: Path | None = None) -> None:
        super().__init__(region)
        self.armed = False
        """The transaction that commits next has changed something: trouble may strike."""
        self._opened: list[SqlState] = []
        """Kept until nobody works with the database: what is collected at some moment would roll back what is open."""
        self._directory = directory
        self._files = 0
        self._url = opening.parse_url("sqlite://")
        self._engine = self._make(_empty())
        self.open()  # gives the database its name

    # -- what it stands on

    def _make(self, image: bytes, log: bytes = b"") -> Engine:
        """An engine on a database of this content."""
        if self._directory is None:
            engine = _memory()
            raw: Any = engine.raw_connection()
            raw.driver_connection.deserialize(_without_wal(image))
            raw.close()
        else:
            self._files += 1
            file = self._directory / f"{self.tables.identity.region}-{self._files}.db"
            file.write_bytes(image)
            if log:
                _log_of(file).write_bytes(log)
            self._url = opening.parse_url(f"sqlite:///{file}")
            engine = opening.connect(self._url, "writer", synchronous="NORMAL")  # this machine keeps its power
            event.listen(engine, "connect", _no_checkpoints)
        event.listen(engine, "commit", self._committing)
        return engine

    def _image(self) -> bytes:
        raw: Any = self._engine.raw_connection()
        image: bytes = raw.driver_connection.serialize()
        raw.close()
        return image

    def _committing(self, connection: Connection) -> None:
        del connection
        if self.armed and self.trouble is Trouble.UNAVAILABLE:
            self.trouble = Trouble.NONE
            raise OperationalError("COMMIT", None, sqlite3.OperationalError("database or disk is full"))

    def log(self) -> Path | None:
        """The file whose end a power failure would tear; ``None``: there is none, or somebody else works with it."""
        file = opening.file_of(self._url)
        return _log_of(file) if file is not None and self.alone() else None

    def tear(self, log: Path, before: int) -> None:
        """The power has failed: of the last transaction some bytes are in the log, not all of them.

        Args:
            log: The log, with the transaction.
            before: How long it was without.
        """
        file = opening.file_of(self._url)
        assert file is not None
        written, image = log.read_bytes(), file.read_bytes()
        torn = len(written) > before  # otherwise there was nothing that had to be written
        kept = written[: Random(self.commits).randint(before, len(written) - 1)] if torn else written
        self._let_go()
        self._engine = self._make(image, kept)
        self.torn += torn

    def _let_go(self) -> None:
        """Nobody works with the database any more."""
        for state in self._opened:
            state._hang_up()
        self._opened.clear()
        event.remove(self._engine, "commit", self._committing)
        if self._directory is None:
            _IDLE.append(self._engine)
        else:
            self._engine.dispose()

    # -- what a world does with it

    def open(self) -> State:
        """A daemon opens the database."""
        real = SqlState(
            self._engine,
            self._url,
            self.tables.identity.region,
            busy_timeout_s=1.0,
            clock=lambda: Millis(self.born() * 1000),
            naming=lambda: self.tables.identity.database_id,
        )
        self._opened.append(real)
        return cast("State", MirroredState(self, real))

    def ask(self, kind: str, **arguments: str) -> int:
        """A person asks for an operation."""
        number = super().ask(kind, **arguments)
        real = Views(self._engine, self._engine, self._url, clock=lambda: Millis(0))
        if real.ask(kind, arguments, "operator", "simulated") != number:
            raise Violation("sidecar", "", f"operation {number} has another number")
        return number

    def bring_in(self, repair: Repair, tellings: Sequence[Telling]) -> int:
        """A person brings a repair in, as the command line does."""
        number = super().bring_in(repair, tellings)
        real = Views(self._engine, self._engine, self._url, clock=lambda: Millis(0))
        if real.begin_repair(repair) != number:
            raise Violation("sidecar", "", f"repair {number} has another number")
        real.add_tellings(number, tellings)
        real.end_loading(self.tables.repairs[number])
        return number

    def set_facts(self, **facts: Any) -> None:
        """A person, or the command line, sets facts of the database while no daemon works with it."""
        super().set_facts(**facts)
        with self._engine.begin() as connection:
            connection.execute(update(tables.identity).values(**facts))
        for state in self._opened:
            state._cache.clear()

    def backup(self) -> Tables:
        """A copy, which may come back one day."""
        copy = super().backup()
        copy.image = self._image()
        return copy

    def lose(self, copy: Tables | None) -> None:
        """The database is gone; at its place there is a new one, or an old copy."""
        super().lose(copy)
        self._let_go()
        self._engine = self._make(copy.image if copy is not None else _empty())
        self.open()

    def compare(self) -> None:
        """Everything that the database holds is what the plain tables hold.

        Raises:
            Violation: It is not.
        """
        state = self.open()
        state.activate()
        with state.transaction() as tx:
            tx.identity()
            paths = [register.path for register in tx.page(_ALL)]
            tx.registers(paths)
            tx.outbox(_ALL)
            tx.future_events(Millis(1 << 60), _ALL)
            tx.consumed(tx.senders())
            tx.living(_ALL)
            tx.dead(_ALL, Millis(1 << 60))
            tx.dying(_ALL)
            tx.unapplied()
            tx.unfolded()
            tx.count_alive()
            tx.tree()
            tx.peers()
            tx.membership()
            tx.scope_periods()
            for path in {*paths, *self.tables.held}:
                tx.held_publication(path)
            for row in [*self.tables.conflicts.values()]:
                tx.conflict_row(row.id)

    def close(self) -> None:
        """The world ends."""
        self._let_go()


class MirroredState:
    """Implements :class:`syncer.state.contract.state.State` twice, for one daemon."""

    def __init__(self, disk: SqlDisk, real: SqlState) -> None:
        self._disk = disk
        self._real = real
        self._plain = DiskState(disk)

    def activate(self) -> Identity:
        """Become the writer."""
        identity: Identity = _same("activate", self._real.activate(), self._plain.activate())
        return identity

    def keep_copy(self) -> None:
        """Keep the file."""
        self._real.keep_copy()

    def erase_deleted(self) -> None:
        """Rewrite the file."""
        self._real.erase_deleted()

    def renew(self, generation: int, store_id: str, rebuild: str, *, carry: bool = False) -> Identity:
        """Begin anew as another database."""
        plain = self._plain.renew(generation, store_id, rebuild, carry=carry)
        identity: Identity = _same("renew", self._real.renew(generation, store_id, rebuild, carry=carry), plain)
        return identity

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin a transaction."""
        disk, before, log = self._disk, 0, None
        try:
            with self._real.transaction() as real:
                plain = DiskTransaction(disk.tables)
                yield cast("Transaction", MirroredTransaction(real, plain))
                changed = plain.changed
                disk.armed = changed is not None
                trouble = disk.trouble if disk.armed else Trouble.NONE
                if trouble is Trouble.CRASH_BEFORE:
                    disk.trouble = Trouble.NONE
                    log = disk.log()
                    if log is None:
                        raise Crash("before the commit")
                    before = log.stat().st_size if log.exists() else 0
        finally:
            disk.armed = False
        if log is not None:
            disk.tear(log, before)
            raise Crash("before the commit")
        if changed is not None:
            disk.tables = changed
            disk.commits += 1
        if trouble is Trouble.CRASH_AFTER:
            disk.trouble = Trouble.NONE
            raise Crash("after the commit")


class MirroredTransaction:
    """Implements :class:`~syncer.state.contract.transaction.Transaction`: both get each call.

    They must give the same.
    """

    def __init__(self, real: Transaction, plain: DiskTransaction) -> None:
        self._real = real
        self._plain = plain

    def __getattr__(self, name: str) -> Callable[..., Any]:
        real, plain = getattr(self._real, name), getattr(self._plain, name)

        def both(*arguments: Any, **more: Any) -> Any:
            taken = [list(each) if isinstance(each, Iterator) else each for each in arguments]
            return _same(name, real(*taken, **more), plain(*taken, **more))

        return both


def _same(name: str, real: Any, plain: Any) -> Any:
    left, right = (sorted(real, key=repr), sorted(plain, key=repr)) if name in _UNORDERED else (real, plain)
    if isinstance(real, KeptTree) and isinstance(plain, KeptTree):
        left, right = replace(real, log=tuple(real.log)), replace(plain, log=tuple(plain.log))
    if isinstance(left, dict) and isinstance(right, dict):
        left, right = list(left.items()), list(right.items())
    if left != right:
        raise Violation("sidecar", "", f"{name}: the database answers {left!r}, and should answer {right!r}")
    return real


def _no_checkpoints(connection: Any, record: object) -> None:
    del record
    connection.execute("PRAGMA wal_autocheckpoint = 0")


def _log_of(file: Path) -> Path:
    return file.with_name(file.name + "-wal")


def _without_wal(image: bytes) -> bytes:
    """The same database for memory, which has no log beside it: bytes 18 and 19 of the header say so."""
    return image[:18] + b"\x01\x01" + image[20:]


@contextmanager
def databases(mode: str) -> Iterator[Callable[[Region], SqlDisk]]:
    """What makes the databases of a schedule: in memory; in files where commits are cut short, to be torn there."""
    if not MODES[mode].cut:
        yield SqlDisk
        return
    with tempfile.TemporaryDirectory(prefix="syncer-simulation-") as directory:
        yield lambda region: SqlDisk(region, Path(directory))


def play_on_sqlite(mode: str, seed: int) -> World:
    """Play one seed of a mode on real databases, with messages as the bytes of the topic.

    Raises:
        Violation: A rule was broken; its notes tell the story.
    """
    with databases(mode) as disks:
        return play(mode, seed, disks, coded=True)


def shrink_on_sqlite(mode: str, seed: int) -> Short | None:
    """Shrink a schedule that breaks on real databases."""
    with databases(mode) as disks:
        return shrink(mode, seed, disks, coded=True)
