"""Opening a sidecar database: engines, the file, schema migration, and errors in the words of this program.

SQLite needs two things from us: transactions that begin when we say so (``BEGIN IMMEDIATE`` for a writer, so that what
it has read cannot be overtaken), and a file that is never made again by accident once it was there.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files as files_of
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, column, create_engine, event, inspect, make_url, select, table, text
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    IntegrityError,
    NoSuchModuleError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool, StaticPool

from syncer import ownership
from syncer.errors import ConfigError, InvariantBroken, StateDenied, StateForeign, StateUnavailable
from syncer.ownership import Closed

Synchronous = Literal["FULL", "NORMAL"]
Access = Literal["writer", "reader", "asker"]

BUSY_TIMEOUT_S: Final = 10.0
_CACHE_KIB: Final = 32_768
_STATEMENTS: Final = 256
SECRET_PARAMETERS: Final = ("password", "sslpassword", "oauth_client_secret")
"""Parameters of a PostgreSQL URL that nobody may see."""

_ALEMBIC: Final = threading.Lock()
"""Alembic keeps what it works on in its modules: one change of a schema at a time in a process."""

_REVISIONS: Final = table("alembic_version", column("version_num"))
_FILE_OF_REVISION: Final = re.compile(r"r(\d{4})_\w+\.py")

_NOT_ALLOWED: Final = "42501"
_CLOSED: Final = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")
"""What SQLite says, among other things, where rights are wanting."""
_REFUSING: Final = ("22", "54")
"""Classes of PostgreSQL's codes: data that cannot be, and limits of the program, as of the size of an index's entry."""
_MIGRATION_LOCK: Final = 0x73796E636572  # "syncer"


def parse_url(url: str) -> URL:
    """Read the URL of a sidecar database.

    Raises:
        ConfigError: It is no URL, or names a database that is neither SQLite nor PostgreSQL.
    """
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as exc:
        raise ConfigError(
            "'state.url' is not the URL of a database", hint="For example sqlite:////var/lib/x.db"
        ) from exc
    if name == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if name != "sqlite":
        raise ConfigError(f"'state.url' names a {name} database; SQLite and PostgreSQL are known")
    return parsed


def safe(url: URL) -> str:
    """The URL without its secrets."""
    hidden = url.update_query_dict({name: "***" for name in SECRET_PARAMETERS if name in url.query})
    return hidden.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def file_of(url: URL) -> Path | None:
    """The file of a SQLite database; ``None`` when it is in memory or PostgreSQL."""
    if url.get_backend_name() != "sqlite" or url.database in {None, "", ":memory:"}:
        return None
    return Path(str(url.database)).absolute()


def is_there(path: Path) -> bool:
    """Whether a database's file is there.

    Raises:
        StateDenied: This user may not look, or not read it.
    """
    if (found := ownership.closed(path)) is not None:
        raise _denied(path, found)
    return path.exists()


def _denied(path: Path, found: Closed) -> StateDenied:
    place = "" if found.place == path else f": {found.place} is closed"
    return StateDenied(
        f"user {ownership.ourselves()} has no right to the sidecar database {path}{place}; it belongs to user "
        f"{found.owner}",
        owner=found.owner,
    )


def _denied_to_us(url: URL) -> StateDenied | None:
    """Why a file could not be opened or written, where that is for want of rights."""
    path = file_of(url)
    if path is None:
        return None
    found = ownership.closed_database(path, writing=False) or ownership.closed_database(path, writing=True)
    return None if found is None else _denied(path, found)


def create_file(path: Path) -> None:
    """Make the empty file, readable by its owner only; SQLite's side files take over its mode. One that exists stays.

    Raises:
        StateDenied: This user may not write the directory, or not look into it.
        StateUnavailable: The directory does not exist or cannot be written.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except FileNotFoundError as exc:
        raise StateUnavailable(
            f"the directory of the sidecar database does not exist: {path.parent}",
            hint="Create it, owned by the user of the daemon; it holds the only copy of the daemon's state.",
        ) from exc
    except OSError as exc:
        closed = ownership.closed(path.parent, writing=True) if isinstance(exc, PermissionError) else None
        if closed is not None:
            raise _denied(path, closed) from exc
        raise StateUnavailable(f"the sidecar database {path} cannot be created: {exc.strerror}") from exc


def connect(
    url: URL, access: Access, *, synchronous: Synchronous = "FULL", busy_timeout_s: float = BUSY_TIMEOUT_S
) -> Engine:
    """Make an engine; nothing is dialled yet.

    Args:
        url: From :func:`parse_url`.
        access: ``writer``: the daemon's. ``reader``: cannot write. ``asker``: writes, but waits in line like anyone.
        synchronous: SQLite's own setting. ``NORMAL`` may forget acknowledged commits when the power fails.
        busy_timeout_s: How long to wait for another writer.

    Raises:
        ConfigError: It is PostgreSQL, whose client is not installed.
    """
    if url.get_backend_name() == "postgresql":
        _needs_client()
        from syncer.state.sql import postgres  # noqa: PLC0415 - its client is not installed everywhere

        return postgres.make_engine(
            url, reading=access == "reader", deadlines=postgres.Deadlines.scaled(busy_timeout_s / BUSY_TIMEOUT_S)
        )
    path = file_of(url)
    begin = "BEGIN" if access == "reader" else "BEGIN IMMEDIATE"

    def dial() -> sqlite3.Connection:
        target = ":memory:" if path is None else f"file:{quote(str(path))}?mode={'ro' if access == 'reader' else 'rw'}"
        connection = sqlite3.connect(
            target,
            timeout=busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS,
            uri=path is not None,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        if access == "reader":
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
        return connection

    engine = create_engine("sqlite://", creator=dial, poolclass=StaticPool if path is None else NullPool)

    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "begin", on_begin)
    return engine


def _needs_client() -> None:
    if importlib.util.find_spec("psycopg") is None:
        raise ConfigError(
            "'state.url' names a PostgreSQL database, but its client is not installed",
            hint="Install it: pip install 'pulsar-syncer[postgresql]'",
        )


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Raise what SQLAlchemy and the drivers raise as errors of this program.

    Raises:
        StateDenied: This user has no right to it.
        StateUnavailable: Locked, full, read-only, gone, cut off, damaged.
        InvariantBroken: A statement that the database cannot accept: a bug.
    """
    try:
        yield
    except SQLAlchemyError as exc:
        if _sqlstate(exc) == _NOT_ALLOWED:
            raise StateDenied(
                f"the sidecar database {safe(url)} does not allow it: {cause_of(exc)}",
                hint="Make the user of 'state.url' the owner of the database.",
            ) from exc
        if refuses_statement(exc):
            raise InvariantBroken(f"the sidecar database refused a statement: {cause_of(exc)}") from exc
        if _sqlite_code(exc).startswith(_CLOSED) and (denied := _denied_to_us(url)) is not None:
            raise denied from exc
        place = safe(url)
        raise StateUnavailable(f"the sidecar database {place} cannot be used: {cause_of(exc)}") from exc


def refuses_statement(exc: BaseException) -> bool:
    """Whether a database refuses what it was asked, and works all the same: it would refuse it again."""
    if isinstance(exc, IntegrityError | ProgrammingError | DataError):
        return True
    return isinstance(exc, SQLAlchemyError) and _sqlstate(exc).startswith(_REFUSING)


def _sqlstate(exc: SQLAlchemyError) -> str:
    """PostgreSQL's own code; empty for another database."""
    return getattr(getattr(exc, "orig", None), "sqlstate", None) or ""


def _sqlite_code(exc: SQLAlchemyError) -> str:
    """SQLite's own code; empty for another database."""
    return str(getattr(getattr(exc, "orig", None), "sqlite_errorname", None) or "")


def cause_of(exc: SQLAlchemyError) -> str:
    """What the driver said, in one line."""
    return str(getattr(exc, "orig", None) or exc).strip().splitlines()[0]


def prepare(engine: Engine, url: URL) -> None:
    """Make the schema where there is none; two processes may do it at once. An older one is left as it is.

    Whoever is the writer may still work with the older one: :func:`bring_up_to_date` is the next writer's first act.

    Raises:
        ConfigError: The database cannot hold our text.
        StateForeign: The schema is of a newer version of this program.
        StateUnavailable: The database cannot be used.
    """
    path = file_of(url)
    with translated(url):
        if path is not None:
            with engine.connect() as connection:
                raw: Any = connection.connection.driver_connection
                raw.execute("PRAGMA journal_mode = WAL")
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
                encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
                if encoding != "UTF8":
                    raise ConfigError(
                        f"the database of 'state.url' is encoded as {encoding}",
                        hint="Create one with ENCODING 'UTF8'; names and values may hold any character.",
                    )
            if revision(connection) is None:
                _upgrade(connection)


def end_abandoned(connection: Connection) -> None:
    """End what a frozen writer has left open on a server; nothing in a file, which has no such thing."""
    if connection.dialect.name == "postgresql":
        from syncer.state.sql import postgres  # noqa: PLC0415 - its client is not installed everywhere

        with connection.begin():
            postgres.end_abandoned(connection)


def bring_up_to_date(connection: Connection) -> None:
    """Bring the schema to this version's, in the open transaction of who has just become the writer.

    Raises:
        StateForeign: The schema is of a newer version of this program.
    """
    if revision(connection) == head():
        return
    if connection.dialect.name == "postgresql":
        from syncer.state.sql import postgres  # noqa: PLC0415 - its client is not installed everywhere

        with postgres.long_enough(connection):
            _upgrade(connection)
    else:
        _upgrade(connection)


def is_made(url: URL) -> bool:
    """Whether a daemon has made its schema in the database of a server.

    Raises:
        ConfigError: The client of PostgreSQL is not installed.
        StateForeign: The schema is of a newer version of this program.
        StateUnavailable: The database cannot be reached.
    """
    engine = connect(url, "reader")
    try:
        with translated(url), engine.connect() as connection:
            return revision(connection) is not None
    finally:
        engine.dispose()


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - it takes a tenth of a command's start, and most change no schema
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", "syncer.state:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    with _ALEMBIC:
        command.upgrade(config, "head")


@cache
def head() -> str:
    """The newest schema revision that this version knows."""
    return max(_known())


def revision(connection: Connection) -> str | None:
    """The schema revision of a database; ``None`` when it has none yet.

    Raises:
        StateForeign: This version does not know it.
    """
    if not inspect(connection).has_table(_REVISIONS.name):
        return None
    current: str | None = connection.scalar(select(_REVISIONS.c.version_num))
    if current is not None and current not in _known():
        raise StateForeign(
            f"the sidecar database has schema revision {current}, which this version does not know",
            hint="Start the version that wrote it, or a newer one.",
        )
    return current


@cache
def _known() -> frozenset[str]:
    """Revisions by the names of their files, as alembic itself would find them."""
    files = (
        _FILE_OF_REVISION.fullmatch(each.name) for each in (files_of("syncer.state.migrations") / "versions").iterdir()
    )
    known = frozenset(found[1] for found in files if found is not None)
    if not known:
        raise InvariantBroken("this installation has no schema revision: it is not whole")
    return known
