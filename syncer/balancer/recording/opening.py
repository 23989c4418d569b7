"""The file of a history: made where there is none, checked, and set aside where it is damaged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from syncer.balancer.recording.tables import APPLICATION, CLUSTER, VERSION, facts, metadata
from syncer.errors import HistoryForeign, HistoryMissing, HistoryUnavailable
from syncer.state.sql import opening

_MAGIC: Final = b"SQLite format 3\0"
_MARK_AT: Final = slice(68, 72)
_HEADER_BYTES: Final = 100
_SIDES: Final = ("-wal", "-shm", "-journal")
_BUSY_S: Final = 5.0
_WAL_BYTES: Final = 1 << 20


def opened_to_write(path: Path, cluster: str) -> tuple[Engine, Path | None]:
    """Open the file for its one writer, and make it where there is none.

    A history of ours that is damaged is set aside beside it, and a new one begins.

    Args:
        path: The file.
        cluster: Name of the cluster's table, whose history it is.

    Returns:
        The engine, and where a damaged file was set aside.

    Raises:
        HistoryForeign: The file is no history, of another cluster, or of a newer version: it is left as it is.
        HistoryUnavailable: It cannot be read or written.
    """
    if not _has_content(path):
        _create(path)
        return _made(path, cluster), None
    _check_mark(path)
    try:
        return _checked(path, cluster), None
    except _Damaged:
        aside = path.with_name(f"{path.name}.damaged")
        _set_aside(path, aside)
        _create(path)
        return _made(path, cluster), aside


def opened_to_read(path: Path, cluster: str) -> Engine:
    """Open the file beside its writer; nothing is written.

    Args:
        path: The file.
        cluster: Name of the cluster's table, whose history it is.

    Raises:
        HistoryMissing: There is no file.
        HistoryForeign: The file is no history, damaged, of another cluster, or of a newer version.
        HistoryUnavailable: It cannot be read.
    """
    if not _has_content(path):
        raise HistoryMissing(f"there is no history of the load of {cluster}: {path} does not exist")
    _check_mark(path)
    engine = _engine(path, writing=False)
    try:
        with translated(path), engine.connect() as connection, connection.begin():
            _check_facts(connection, path, cluster)
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise what SQLAlchemy raises as errors of this program.

    Args:
        path: The file.

    Raises:
        HistoryUnavailable: It cannot be read or written now.
        HistoryForeign: It is damaged.
    """
    try:
        yield
    except OperationalError as exc:
        raise HistoryUnavailable(
            f"the history of load {path} cannot be used: {opening.cause_of(exc)}",
            hint="See its rights and the room of its disk; recording goes on by itself.",
        ) from exc
    except SQLAlchemyError as exc:
        raise _Damaged(f"the history of load {path} is damaged: {opening.cause_of(exc)}") from exc


class _Damaged(HistoryForeign):
    """A history of ours whose pages cannot be read."""


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise HistoryUnavailable(f"the history of load {path} cannot be looked at: {exc.strerror}") from exc


def _create(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as exc:
        raise HistoryUnavailable(
            f"the history of load {path} cannot be created: {exc.strerror}",
            hint="Let the daemon's user write the directory, or name another file by 'path' in [cluster.NAME.history].",
        ) from exc


def _check_mark(path: Path) -> None:
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as exc:
        raise HistoryUnavailable(f"the history of load {path} cannot be read: {exc.strerror}") from exc
    if not header.startswith(_MAGIC) or int.from_bytes(header[_MARK_AT], "big") != APPLICATION:
        raise HistoryForeign(f"{path} is no history of load")


def _engine(path: Path, *, writing: bool) -> Engine:
    return opening.connect(
        opening.parse_url(f"sqlite:///{path.absolute()}"),
        "writer" if writing else "reader",
        synchronous="NORMAL",
        busy_timeout_s=_BUSY_S,
    )


def _made(path: Path, cluster: str) -> Engine:
    engine = _engine(path, writing=True)
    with translated(path):
        with closing(engine.raw_connection()) as raw:
            cursor = raw.cursor()
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
            cursor.execute(f"PRAGMA application_id = {APPLICATION}")
        with engine.begin() as connection:
            metadata.create_all(connection)
            connection.execute(insert(facts).values(name=CLUSTER, value=cluster))
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
        _write_ahead(engine)
    return engine


def _checked(path: Path, cluster: str) -> Engine:
    engine = _engine(path, writing=True)
    try:
        with translated(path):
            with engine.begin() as connection:
                _check_facts(connection, path, cluster)
                found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
                if found != "ok":
                    raise _Damaged(f"the history of load {path} is damaged: {found}")
            _write_ahead(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _check_facts(connection: Connection, path: Path, cluster: str) -> None:
    version = connection.exec_driver_sql("PRAGMA user_version").scalar()
    if version != VERSION:
        raise HistoryForeign(f"the history of load {path} is of version {version}, and this program knows {VERSION}")
    owner = connection.execute(select(facts.c.value).where(facts.c.name == CLUSTER)).scalar()
    if owner != cluster:
        raise HistoryForeign(f"the history of load {path} is of the cluster {owner!r}, not of {cluster!r}")


def _write_ahead(engine: Engine) -> None:
    with closing(engine.raw_connection()) as raw:
        cursor = raw.cursor()
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")


def _set_aside(path: Path, aside: Path) -> None:
    try:
        path.replace(aside)
        for side in _SIDES:
            with suppress(FileNotFoundError):
                path.with_name(path.name + side).unlink()
    except OSError as exc:
        raise HistoryUnavailable(f"the damaged history of load {path} cannot be set aside: {exc.strerror}") from exc
