"""Entries read and written by plain functions on one connection."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from syncer.errors import NotEmpty, RevisionMismatch, ValueRefused
from syncer.model import MetaPath, Millis, Revision
from syncer.stores.contract import BatchRefused, Delete, Entry, Put, Write
from syncer.stores.sqlite.file import MAX_VALUE_BYTES, File, transaction

PAGE_ENTRIES: Final = 1000
PAGE_BYTES: Final = 1024 * 1024

_COLUMNS: Final = "path, CAST(value AS BLOB), revision, modified_at_ms"
_AT_PATHS: Final = "path IN (SELECT value FROM json_each(?))"

Clock = Callable[[], Millis]


def read(file: File, paths: Sequence[MetaPath]) -> dict[MetaPath, Entry]:
    """What exists of the paths, from one snapshot."""
    statement = f"SELECT {_COLUMNS} FROM entries WHERE {_AT_PATHS}"  # noqa: S608 - constants
    rows = file.connection().execute(statement, (_encoded([path for path in paths if _is_text(path)]),))
    return {row[0]: _entry(row) for row in rows}


def page(file: File, after: str, end: str) -> tuple[tuple[Entry, ...], str | None]:
    """One page of what lies between; and where the next one begins, ``None`` after the last."""
    statement = f"SELECT {_COLUMNS} FROM entries WHERE path > ? AND path < ? ORDER BY path LIMIT ?"  # noqa: S608 - constants
    found: list[Entry] = []
    size = 0
    with contextlib.closing(file.connection().execute(statement, (after, end, PAGE_ENTRIES))) as rows:
        for row in rows:
            found.append(_entry(row))
            size += len(row[1]) + len(row[0])
            if size >= PAGE_BYTES or len(found) == PAGE_ENTRIES:
                return tuple(found), row[0]
    return tuple(found), None


def apply(file: File, writes: Sequence[Write], now_ms: Millis | None) -> dict[MetaPath, Revision]:
    """Check and write in one transaction; the new revision of each path that was put."""
    puts = [write.path for write in writes if isinstance(write, Put)]
    for index, write in enumerate(writes):
        _check_size(index, write)
    connection = file.connection()
    with transaction(connection):
        everything = _encoded([write.path for write in writes])
        before = _revisions(connection, everything)
        for index, write in enumerate(writes):
            actual = before.get(write.path)
            if actual != write.expected or (isinstance(write, Delete) and actual is None):
                is_at = f"is at revision {actual}" if actual else "does not exist"
                expected = write.expected if write.expected is not None else "absent"
                raise BatchRefused(index, RevisionMismatch(f"{write.path} {is_at}, expected {expected}"))
            if isinstance(write, Delete) and (child := _first_below(connection, write.path)) is not None:
                raise BatchRefused(index, NotEmpty(f"{write.path} has children in the store, such as {child}"))
            _write(connection, index, write)
        if now_ms is not None:
            set_time(connection, puts, now_ms)
        after = _revisions(connection, everything)
    return {path: after[path] for path in puts}


def _check_size(index: int, write: Write) -> None:
    if isinstance(write, Put) and len(write.value) > MAX_VALUE_BYTES:
        size = len(write.value)
        cause = ValueRefused(f"the value of {write.path} has {size} bytes; at most {MAX_VALUE_BYTES} are allowed")
        raise BatchRefused(index, cause)
    if not _is_text(write.path):
        raise BatchRefused(index, ValueRefused(f"the path {write.path!r} cannot be written as UTF-8"))


def _write(connection: sqlite3.Connection, index: int, write: Write) -> None:
    try:
        if isinstance(write, Delete):
            connection.execute("DELETE FROM entries WHERE path = ?", (write.path,))
        elif write.expected is None:
            connection.execute("INSERT INTO entries (path, value) VALUES (?, ?)", (write.path, write.value))
        else:
            connection.execute("UPDATE entries SET value = ? WHERE path = ?", (write.value, write.path))
    except sqlite3.IntegrityError as exc:
        raise BatchRefused(index, ValueRefused(f"the SQLite store refuses the path {write.path!r}: {exc}")) from exc


def set_time(connection: sqlite3.Connection, paths: Sequence[str], now_ms: Millis) -> None:
    """Replace the time that the triggers noted, in the transaction of the change itself."""
    statement = f"UPDATE entries SET modified_at_ms = ? WHERE {_AT_PATHS}"  # noqa: S608 - constants
    connection.execute(statement, (now_ms, _encoded(paths)))


def _revisions(connection: sqlite3.Connection, paths: str) -> dict[str, Revision]:
    rows = connection.execute(f"SELECT path, revision FROM entries WHERE {_AT_PATHS}", (paths,))  # noqa: S608 - constants
    return {path: Revision(str(revision)) for path, revision in rows}


def _first_below(connection: sqlite3.Connection, path: MetaPath) -> str | None:
    """One of the paths below, if there is any; ``0`` follows ``/``."""
    statement = "SELECT path FROM entries WHERE path > ? AND path < ? ORDER BY path LIMIT 1"
    row = connection.execute(statement, (f"{path}/", f"{path}0")).fetchone()
    return None if row is None else str(row[0])


def _entry(row: tuple[str, bytes, int, int]) -> Entry:
    path, value, revision, modified_at_ms = row
    return Entry(
        path=MetaPath(path), value=value, revision=Revision(str(revision)), modified_at_ms=Millis(modified_at_ms)
    )


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encoded(paths: Sequence[str]) -> str:
    """The paths as one parameter."""
    return json.dumps(paths, ensure_ascii=False)
