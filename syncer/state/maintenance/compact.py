"""Compaction of a sidecar database: what is past its retention goes, unused space is given back.

The daemon must not run. It is asked for in two ways: a daemon says that it is there, and its file is locked as long as
anybody has it open, be it frozen or silent. Nobody is made to stop being the writer: should a daemon be missed on a
server, each of the two waits for the other's locks, and tries again or gives up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import URL, Connection, select
from sqlalchemy.exc import OperationalError

from syncer.errors import PreconditionFailed, StateUnavailable
from syncer.model import Millis, Region
from syncer.state.sql import opening, tables
from syncer.state.sql.database import wall_clock
from syncer.state.sql.opening import BUSY_TIMEOUT_S, translated
from syncer.state.sql.transaction import prune
from syncer.state.views.region import Views

RUNNING_MS: Final = 15_000
"""A daemon says every few seconds that it is there; one that did so lately is taken as running."""
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What compacting has gained. Units: ``before``, ``after`` bytes, of the file, or of the tables and indexes."""

    rows: int
    before: int
    after: int


class _Place(Protocol):
    """What the two kinds of database do in ways of their own, on one connection."""

    def size(self, connection: Connection, /) -> int: ...

    def alone(self, connection: Connection) -> None: ...

    def shrink(self, connection: Connection) -> None: ...


@dataclass(frozen=True, slots=True)
class _File:
    path: Path

    def size(self, _: Connection) -> int:
        return self.path.stat().st_size

    def alone(self, connection: Connection) -> None:
        """Lock the file for this connection alone, which is refused while anybody else has it open."""
        _outside(connection, "PRAGMA locking_mode = EXCLUSIVE")
        try:
            with connection.begin():
                connection.execute(select(tables.identity.c.one))
        except OperationalError as exc:
            if getattr(exc.orig, "sqlite_errorname", None) != "SQLITE_BUSY":
                raise
            raise PreconditionFailed(
                f"somebody else has {self.path} open: a daemon that is frozen or hangs, or a program that reads it",
                hint="Stop every daemon of this database and whatever looks into it, and try again.",
            ) from exc

    def shrink(self, connection: Connection) -> None:
        _outside(connection, "VACUUM", "PRAGMA optimize", "PRAGMA wal_checkpoint(TRUNCATE)")


class _Server:
    def size(self, connection: Connection) -> int:
        with connection.begin():
            return sum(
                connection.exec_driver_sql(f"SELECT pg_total_relation_size('{table.name}')").scalar_one()
                for table in tables.metadata.sorted_tables
            )

    def alone(self, connection: Connection) -> None:
        """Others wait for their turn at each table, and so does this connection; it may work for long."""
        from syncer.state.sql import postgres  # noqa: PLC0415 - its client is not installed everywhere

        postgres.without_haste(connection)

    def shrink(self, connection: Connection) -> None:
        raw: Any = connection.connection.driver_connection
        raw.autocommit = True
        _outside(connection, *(f"VACUUM (FULL, ANALYZE) {table.name}" for table in tables.metadata.sorted_tables))


def compact(
    url: str,
    region: Region,
    *,
    journal_retention_s: float,
    audit_retention_s: float,
    busy_timeout_s: float = BUSY_TIMEOUT_S,
) -> Compacted:
    """Prune, vacuum, and refresh the planner's statistics.

    Args:
        url: Of the sidecar database.
        region: Whose it is.
        journal_retention_s: Decisions that are older go, and repairs and migrations that were over by then.
        audit_retention_s: Finished operations that are older go.
        busy_timeout_s: How long others who use it are waited for.

    Raises:
        PreconditionFailed: A daemon runs, or somebody else has the database open.
        StateError: There is no database, or it cannot be used.
    """
    with closing(Views.open(url, region)) as views:
        _check_no_daemon(views)
    parsed = opening.parse_url(url)
    path = opening.file_of(parsed)
    place: _Place = _File(path) if path is not None else _Server()
    now = wall_clock()
    old, audit_old = (Millis(now - int(kept_s * 1000)) for kept_s in (journal_retention_s, audit_retention_s))
    engine = opening.connect(parsed, "asker", busy_timeout_s=busy_timeout_s)
    try:
        with _no_room(parsed), translated(parsed), engine.connect() as connection:
            place.alone(connection)
            before = place.size(connection)
            dropped = 0
            while gone := _pruned(connection, old, audit_old):
                dropped += gone
            place.shrink(connection)
            return Compacted(rows=dropped, before=before, after=place.size(connection))
    finally:
        engine.dispose()


def _outside(connection: Connection, *statements: str) -> None:
    """Run statements that no transaction may contain; SQLAlchemy would begin one."""
    raw: Any = connection.connection.driver_connection
    for statement in statements:
        try:
            raw.execute(statement)
        except connection.dialect.loaded_dbapi.Error as exc:
            raise StateUnavailable(f"{statement}: {exc}") from exc


def _check_no_daemon(views: Views) -> None:
    reported = views.status().reported_at_ms
    ages = [each.age_ms for each in views.daemons()]
    if reported is not None:
        ages.append(wall_clock() - reported)
    if ages and min(ages) < RUNNING_MS:
        raise PreconditionFailed(
            f"a daemon works on this database: it said so {max(0, min(ages)) / 1000:.1f} s ago",
            hint=f"Stop it, wait {RUNNING_MS // 1000} s, and try again; what is old is pruned while it runs anyway.",
        )


def _pruned(connection: Connection, before: Millis, audit_before: Millis) -> int:
    with connection.begin():
        return prune(connection, before, _PAGE, audit_before)


@contextmanager
def _no_room(url: URL) -> Iterator[None]:
    try:
        yield
    except StateUnavailable as exc:
        raise StateUnavailable(
            f"the sidecar database {opening.safe(url)} cannot be compacted: {exc.message}",
            hint="Nothing is lost. It needs about as much free disk as the database is large.",
        ) from exc
