"""Each daemon's own line in the sidecar database, standbys included: who is there, as what, since when, last seen when.

It is written beside the transactions of the writer, by a connection of its own, and decides nothing: who is the writer
is told by the epoch alone. Later versions may only add columns that may be NULL, so that an older daemon can go on
saying that it is there.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import URL, BigInteger, ColumnElement, Connection, Dialect, delete, func, inspect, literal, or_, select
from sqlalchemy import cast as sql_cast

from syncer.errors import StateForeign
from syncer.model import Millis
from syncer.state.sql import opening, tables
from syncer.state.sql.opening import translated
from syncer.state.sql.statements import upserting

BUSY_S: Final = 2.0
FORGET_AFTER_MS: Final = 24 * 3600 * 1000
KEPT: Final = 20
"""A daemon that dies at each start leaves a line each time; no more than these are kept."""


class DaemonRole(StrEnum):
    """What a daemon says of itself."""

    ACTIVE = "active"
    STANDBY = "standby"
    OBSERVER = "observer"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonRow:
    """A daemon's line as read.

    Args:
        id: Made at each start.
        host: Name of its machine.
        pid: Of its process there.
        version: Of the program.
        role: As it said last; whether it still is the writer tells the epoch.
        epoch: Under which it is, or was last, the writer.
        started_at_ms: When it started.
        since_ms: When it took this role.
        seen_at_ms: When it last wrote the line.
        age_ms: How long ago that was, by the database's clock.
        trouble: What keeps it from taking over; ``None``: nothing.
    """

    id: str
    host: str
    pid: int
    version: str
    role: DaemonRole
    epoch: int | None
    started_at_ms: Millis
    since_ms: Millis
    seen_at_ms: Millis
    age_ms: int
    trouble: str | None


class Presence:
    """Says that a daemon is there. Used by one thread at a time.

    Args:
        url: Of the sidecar database.
        host: Name of the machine.
        pid: Of the process.
        version: Of the program.
        clock: Where the database has no clock of its own (SQLite: it is on this machine).
    """

    def __init__(self, url: str, *, host: str, pid: int, version: str, clock: Callable[[], Millis]) -> None:
        self._url: Final[URL] = opening.parse_url(url)
        self._engine: Final = opening.connect(self._url, "asker", synchronous="NORMAL", busy_timeout_s=BUSY_S)
        self._clock = clock
        self._id: Final = secrets.token_hex(8)
        self._facts: Final[dict[str, Any]] = {"id": self._id, "host": host, "pid": pid, "version": version}
        self._role: DaemonRole | None = None
        self._started: int | None = None
        self._since: int = 0

    def report(self, role: DaemonRole, epoch: int | None = None) -> None:
        """Write the line. Nothing where the schema is still one that has no such table.

        Raises:
            StateUnavailable: The database cannot be written now.
        """
        with translated(self._url), self._engine.begin() as connection:
            if not inspect(connection).has_table(tables.daemons.name):
                return
            now = int(connection.execute(select(now_ms(connection.dialect, self._clock))).scalar_one())
            since = self._since if role is self._role else now
            started = now if self._started is None else self._started
            row = {
                **self._facts,
                "role": role.value,
                "epoch": epoch,
                "started_at": started,
                "since": since,
                "seen_at": now,
                "trouble": _trouble(connection),
            }
            connection.execute(upserting(connection.dialect, tables.daemons, row), row)
            _prune(connection, now)
        self._role, self._since, self._started = role, since, started

    def leave(self) -> None:
        """Remove the line: this daemon ends in order.

        Raises:
            StateUnavailable: The database cannot be written now.
        """
        if self._started is None:
            return
        with translated(self._url), self._engine.begin() as connection:
            connection.execute(delete(tables.daemons).where(tables.daemons.c.id == self._id))

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def now_ms(dialect: Dialect, clock: Callable[[], Millis]) -> ColumnElement[int]:
    """The time by the clock that all daemons of a database share."""
    if dialect.name != "postgresql":
        return literal(clock(), BigInteger)
    return sql_cast(func.floor(func.extract("epoch", func.clock_timestamp()) * 1000), BigInteger)


def read(connection: Connection, clock: Callable[[], Millis]) -> list[DaemonRow]:
    """All lines, those first that were seen last; one moment's age."""
    table = tables.daemons
    shown = (table.c.seen_at.desc(), table.c.host, table.c.pid, table.c.id)
    query = select(table, now_ms(connection.dialect, clock).label("now")).order_by(*shown)
    return [
        DaemonRow(
            id=row["id"],
            host=row["host"],
            pid=row["pid"],
            version=row["version"],
            role=DaemonRole(row["role"]),
            epoch=row["epoch"],
            started_at_ms=Millis(row["started_at"]),
            since_ms=Millis(row["since"]),
            seen_at_ms=Millis(row["seen_at"]),
            age_ms=max(0, row["now"] - row["seen_at"]),
            trouble=row["trouble"],
        )
        for row in connection.execute(query).mappings()
    ]


def _trouble(connection: Connection) -> str | None:
    """Why this version could not become the writer."""
    try:
        opening.revision(connection)
    except StateForeign as exc:
        return f"it cannot take over: {exc.message}"
    return None


def _prune(connection: Connection, now: int) -> None:
    """Drop lines that nobody writes any more."""
    table = tables.daemons
    newest = select(table.c.id).order_by(table.c.seen_at.desc(), table.c.id).limit(KEPT)
    connection.execute(delete(table).where(or_(table.c.seen_at < now - FORGET_AFTER_MS, table.c.id.not_in(newest))))
