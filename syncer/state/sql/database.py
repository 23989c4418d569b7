"""The sidecar database on SQLite or PostgreSQL, as its one writer uses it."""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, RootTransaction, RowMapping, delete, insert, select, update
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from syncer.conflict.changeover import NEWEST
from syncer.errors import Fenced, InvariantBroken, StateForeign, StateUnavailable
from syncer.model import Millis, Region, database_id
from syncer.state.contract.identity import Identity
from syncer.state.sql import opening, tables
from syncer.state.sql.cache import Cache, Facts
from syncer.state.sql.copying import keep_copy
from syncer.state.sql.opening import BUSY_TIMEOUT_S, Synchronous, translated
from syncer.state.sql.statements import inserting, statements_of
from syncer.state.sql.transaction import SqlTransaction

REDIAL_S: Final = 1.0


def wall_clock() -> Millis:
    """Milliseconds since the epoch, UTC."""
    return Millis(time.time_ns() // 1_000_000)


def new_id(region: Region) -> str:
    """An id that no other database has, and that shows its region."""
    return database_id(secrets.token_hex(16), region)


def identity_of(row: RowMapping) -> tuple[Identity, int]:
    """The facts of a database and its number of living paths, from the columns by name."""
    facts: Any = {name: value for name, value in row.items() if name not in {"one", "alive_count", "genesis"}}
    return Identity(**facts, first_scan_done=bool(row["genesis"])), row["alive_count"]


class SqlState:
    """Implements :class:`syncer.state.contract.state.State`. Threads may share it; their transactions take turns.

    Invariant: the cache holds only what is committed, or written by the open transaction.
    """

    def __init__(
        self,
        engine: Engine,
        url: URL,
        region: Region,
        *,
        busy_timeout_s: float,
        clock: Callable[[], Millis],
        naming: Callable[[], str] | None = None,
    ) -> None:
        """Take an engine whose database has its schema; ``naming`` gives ids to new databases."""
        self.engine: Final = engine
        self._url = url
        self._region = region
        self._busy_timeout_s = busy_timeout_s
        self._clock = clock
        self._naming = naming or partial(new_id, region)
        self._statements = statements_of(engine.dialect)
        self._cache = Cache()
        self._turns = threading.Lock()
        self._owner: int | None = None
        self._connection: Connection | None = None
        self._file = opening.file_of(url)
        self._inode = self._found()
        self._epoch: int | None = None
        self._not_active = f"this daemon is not the active one on the sidecar database of {region}"
        self._hint: str | None = None
        self._down: tuple[float, str] | None = None
        with translated(url), engine.begin() as connection:
            self.database_id = self._introduce(connection)

    @classmethod
    def open(
        cls,
        url: str,
        region: Region,
        *,
        synchronous: Synchronous = "FULL",
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        clock: Callable[[], Millis] = wall_clock,
    ) -> SqlState:
        """Open a region's sidecar database; make it where needed. An older schema waits for :meth:`activate`.

        Args:
            url: ``sqlite:////absolute/path``, ``sqlite://`` (in memory) or ``postgresql://…``.
            region: Id of the region that it must belong to.
            synchronous: SQLite's setting; ``FULL`` loses no acknowledged commit when the power fails.
            busy_timeout_s: How long a transaction waits for other writers and threads.
            clock: For the ages of outbox rows.

        Raises:
            ConfigError: The URL cannot be used.
            StateForeign: It belongs to another region or to a newer version.
            StateUnavailable: It cannot be opened now.
        """
        parsed = opening.parse_url(url)
        path = opening.file_of(parsed)
        if path is not None:
            opening.create_file(path)
        engine = opening.connect(parsed, "writer", synchronous=synchronous, busy_timeout_s=busy_timeout_s)
        try:
            opening.prepare(engine, parsed)
            return cls(engine, parsed, region, busy_timeout_s=busy_timeout_s, clock=clock)
        except BaseException:
            engine.dispose()
            raise

    def close(self) -> None:
        """Let go of the database. A transaction that is still open is undone."""
        with self._turn():
            self._hang_up()
            self._epoch = None
            self.engine.dispose()

    def activate(self) -> Identity:
        """Become the writer: raise the epoch, read the facts anew. Transactions of a former writer fail from then on.

        An older schema is brought up to date in the same transaction, when nobody works with it any more.

        Raises:
            StateForeign: The database was replaced by another one, or a newer version has changed its schema.
            StateUnavailable: The database cannot be used now.
        """
        with self._turn(), translated(self._url):
            self._epoch = None
            self._cache.clear()
            try:
                connection = self._connected()
                opening.end_abandoned(connection)
                with connection.begin():
                    table = tables.identity
                    connection.execute(update(table).values(epoch=table.c.epoch + 1))
                    opening.bring_up_to_date(connection)
                    new = update(table).where(table.c.projections.is_(None))
                    connection.execute(new.values(projections=NEWEST.kept_as))
                    identity = self._read(connection)
            except BaseException as exc:
                self._hang_up(exc)
                raise
            self._epoch = identity.epoch
            return identity

    def keep_copy(self) -> None:
        """Keep this database as it is beside it; see :meth:`syncer.state.contract.state.State.keep_copy`.

        Raises:
            StateUnavailable: There is no room for it, or it cannot be written.
        """
        file = opening.file_of(self._url)
        if file is not None:
            with self._turn(), translated(self._url):
                keep_copy(file)

    def erase_deleted(self) -> None:
        """Rewrite a file; see :meth:`syncer.state.contract.state.State.erase_deleted`.

        Raises:
            StateUnavailable: There is no room for it, or somebody reads it for long.
        """
        if opening.file_of(self._url) is not None:
            with self._turn(), translated(self._url):
                raw: Any = self._connected().connection.driver_connection
                for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    try:
                        raw.execute(statement).fetchall()
                    except sqlite3.Error as exc:
                        raise StateUnavailable(f"{statement}: {exc}") from exc

    def renew(self, generation: int, store_id: str, rebuild: str, *, carry: bool = False) -> Identity:
        """Begin anew as another database, under a new id; see :meth:`syncer.state.contract.state.State.renew`.

        Raises:
            Fenced: Another daemon has become active since; nothing was changed.
            StateUnavailable: The database cannot be used now; nothing was changed.
        """
        named = self._naming()
        facts = {
            "database_id": named,
            "generation": max(generation, self._born()),
            "genesis": False,
            "store_id": store_id,
            "last_sequence": 0,
            "alive_until": 0,
            "alive_count": 0,
            "rebuild": rebuild,
            "landed": None,
            "mark": 0,
            "marked": 0,
        }
        with self._turn(), translated(self._url):
            self._cache.clear()
            connection = self._connected()
            try:
                with connection.begin():
                    mine = tables.identity.c.epoch == self._epoch
                    if connection.execute(update(tables.identity).where(mine).values(facts)).rowcount != 1:
                        raise self._fenced()
                    if carry:
                        names = ("path", "head", "value")
                        rows = select(*(tables.outbox.c[name] for name in names)).order_by(tables.outbox.c.sequence)
                        connection.execute(insert(tables.carried).from_select(names, rows))
                    for table in tables.OF_THE_GROUP:
                        connection.execute(delete(table))
                self.database_id = named
                with connection.begin():
                    return self._read(connection)
            except BaseException:
                self._hang_up()
                raise

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """Begin a transaction of the active writer; commits when the block ends, undoes everything when it raises.

        Raises:
            Fenced: Not active, or another daemon has become active since; nothing was written.
            StateUnavailable: The database cannot be used now. Nothing was written, or, when a server's answer to the
                commit was lost, nobody can tell: then this daemon is not active any more, and finds out what was
                written by becoming active again, as after a crash.
        """
        with self._turn(), translated(self._url):
            if self._epoch is None:
                raise Fenced(self._not_active, hint=self._hint)
            try:
                connection = self._connected()
            except SQLAlchemyError as exc:
                self._hang_up(exc)
                raise
            work: SqlTransaction | None = None
            before = self._cache.facts
            try:
                begun = connection.begin()
                self._check(connection)
                before = self._cache.facts
                work = SqlTransaction(connection, self._statements, self._cache, self._clock)
                yield work
                if not work.finish():
                    raise self._fenced()
                self._commit(begun)
            except BaseException as exc:
                self._undo(connection, work, before, exc)
                raise

    def _commit(self, begun: RootTransaction) -> None:
        try:
            begun.commit()
        except SQLAlchemyError:
            if self.engine.dialect.name == "postgresql":
                self._epoch = None
                self._not_active = (
                    f"whether the last commit on the sidecar database of {self._region} landed is not known"
                )
                self._hint = "Nothing to do: the daemon becomes active again and reads what the database holds."
            raise

    def _undo(
        self,
        connection: Connection,
        work: SqlTransaction | None,
        before: Facts,
        cause: BaseException,
    ) -> None:
        """Forget what was rolled back. After an error of the database itself nothing that is remembered counts."""
        cache = self._cache
        if isinstance(cause, SQLAlchemyError | Fenced):
            cache.clear()
            self._hang_up(cause)
            return
        try:
            connection.rollback()
        except SQLAlchemyError as exc:
            cache.clear()
            self._hang_up(exc)
            return
        cache.facts = before
        cache.consumed.clear()
        cache.open = None
        cache.value_missing = None
        cache.conflicts = None
        cache.tree_number = None
        if work is not None and work.all_touched:
            cache.registers.clear()
        cache.registers.forget(work.touched if work is not None else ())

    def _check(self, connection: Connection) -> None:
        row = connection.exec_driver_sql(self._statements.epoch).first()
        if row is None or row[0] != self._epoch:
            raise self._fenced()
        if self._cache.identity is None:
            self._read(connection)

    def _fenced(self) -> Fenced:
        self._epoch = None
        self._not_active = f"another daemon has become active on the sidecar database of {self._region}"
        self._hint = None
        return Fenced(self._not_active)

    def _read(self, connection: Connection) -> Identity:
        row = connection.execute(select(tables.identity)).mappings().one()
        if row["database_id"] != self.database_id:
            raise StateForeign(
                f"the sidecar database of {self._region} was replaced by another one ({row['database_id']})",
                hint="Restart the daemon; it takes the new database for what it is.",
            )
        identity, alive = identity_of(row)
        self._cache.identity, self._cache.alive = identity, alive
        return identity

    def _introduce(self, connection: Connection) -> str:
        """Make the row of facts if there is none, and tell the database's id."""
        table = tables.identity
        new = inserting(connection.dialect, table).on_conflict_do_nothing()
        facts = {
            "one": 1,
            "region": self._region,
            "database_id": self._naming(),
            "generation": self._born(),
            "genesis": False,
            "epoch": 0,
            "last_sequence": 0,
            "alive_until": 0,
            "alive_count": 0,
        }
        connection.execute(new, facts)
        region, database_id = connection.execute(select(table.c.region, table.c.database_id)).one()
        if region != self._region:
            raise StateForeign(f"the sidecar database belongs to region {region}, not to {self._region}")
        return str(database_id)

    def _born(self) -> int:
        """A generation that no database before had, as long as the clock did not go back: seconds since the epoch."""
        return max(1, self._clock() // 1000)

    # -- the one connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        me = threading.get_ident()
        if self._owner == me:
            raise InvariantBroken("a transaction was begun inside another one")
        if not self._turns.acquire(timeout=self._busy_timeout_s):
            raise StateUnavailable("the sidecar database is busy: another thread's transaction does not end")
        self._owner = me
        try:
            yield
        finally:
            self._owner = None
            self._turns.release()

    def _connected(self) -> Connection:
        if self._inode != self._found():
            self._hang_up()
            raise StateUnavailable(
                f"the file of the sidecar database was removed or replaced: {self._file}",
                hint="Put the file back, or restart the daemon; nothing is acknowledged until then.",
            )
        if self._connection is None:
            if self._down is not None and time.monotonic() < self._down[0]:
                raise StateUnavailable(f"the server of the sidecar database did not answer just now: {self._down[1]}")
            self._connection = self.engine.connect()
            self._down = None
        return self._connection

    def _hang_up(self, cause: BaseException | None = None) -> None:
        """Let go of the connection.

        Args:
            cause: Why. After an error of a server nobody dials again for a moment: each call would wait for it in
                turn, and a daemon whose calls all wait looks as if it hung.
        """
        connection, self._connection = self._connection, None
        self._cache.clear()
        server = self.engine.dialect.name == "postgresql"
        if server and isinstance(cause, OperationalError) and not opening.refuses_statement(cause):
            self._down = (time.monotonic() + REDIAL_S, opening.cause_of(cause))
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.close()

    def _found(self) -> tuple[int, int] | None:
        """Which file stands at the path: device and inode."""
        if self._file is None:
            return None
        try:
            status = self._file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino
