"""The file: its tables and triggers, and one connection to it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from typing import Final

from syncer.errors import StoreError, StoreUnavailable
from syncer.stores.sqlite.config import SqliteConfig

APPLICATION_ID: Final = 0x70735F6D
"""Marks the file as one of ours (``PRAGMA application_id``)."""

SCHEMA_VERSION: Final = 1
BUSY_SHARE: Final = 0.9
"""Part of a call's deadline that waiting for another writer may take; so the cause is told, not just the delay."""

MAX_VALUE_BYTES: Final = 1024 * 1024

# A change's number becomes the entry's revision. The log is pruned every 64 changes, by whoever writes.
_SCHEMA: Final = """
CREATE TABLE entries (
    path TEXT NOT NULL PRIMARY KEY
        CHECK (typeof(path) = 'text' AND path GLOB '/?*' AND path NOT GLOB '*/' AND path NOT GLOB '*//*'
               AND instr(CAST(path AS BLOB), x'00') = 0),
    value BLOB NOT NULL CHECK (length(CAST(value AS BLOB)) <= {max_value_bytes}),
    revision INTEGER NOT NULL DEFAULT 0,
    modified_at_ms INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL);
CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO settings (name, value) VALUES ('retained_changes', {retained_changes});
CREATE TRIGGER entry_created AFTER INSERT ON entries BEGIN
    INSERT INTO changes (path) VALUES (NEW.path);
    UPDATE entries SET revision = (SELECT max(id) FROM changes), modified_at_ms = {now} WHERE path = NEW.path;
END;
CREATE TRIGGER entry_modified AFTER UPDATE OF path, value ON entries BEGIN
    INSERT INTO changes (path) SELECT OLD.path WHERE OLD.path IS NOT NEW.path;
    INSERT INTO changes (path) VALUES (NEW.path);
    UPDATE entries SET revision = (SELECT max(id) FROM changes), modified_at_ms = {now} WHERE path = NEW.path;
END;
CREATE TRIGGER entry_deleted AFTER DELETE ON entries BEGIN
    INSERT INTO changes (path) VALUES (OLD.path);
END;
CREATE TRIGGER changes_pruned AFTER INSERT ON changes WHEN NEW.id % 64 = 0 BEGIN
    DELETE FROM changes WHERE id <= NEW.id - (SELECT value FROM settings WHERE name = 'retained_changes');
END;
PRAGMA application_id = {application_id};
PRAGMA user_version = {schema_version};
"""
_NOW_MS: Final = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"


class File:
    """One connection to the file; every call on one thread. Opens again when the file was replaced."""

    def __init__(self, config: SqliteConfig) -> None:
        self._config = config
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)

    def connection(self, *, create: bool = False) -> sqlite3.Connection:
        """The connection; made when there is none, or when the path names another file than it did.

        Raises:
            StoreUnavailable: The file is gone; only the store's own opening makes one.
        """
        path = self._config.path
        try:
            identity = self._stat()
        except FileNotFoundError:
            if not create:
                self.close()
                raise StoreUnavailable(f"the SQLite store {path} does not exist any more") from None
            identity = (0, 0)
        if self._connection is not None and identity == self._identity:
            return self._connection
        self.close()
        busy_s = self._config.timeout.total_seconds() * BUSY_SHARE
        mode = "rwc" if create else "rw"
        if create:
            with contextlib.suppress(OSError):  # what is wrong with the place, SQLite says
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(connection)
            self._identity = self._stat()
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def interrupt(self) -> None:
        """Stop the statement that runs now; callable from any thread."""
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(sqlite3.ProgrammingError):
                connection.interrupt()

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _stat(self) -> tuple[int, int]:
        found = os.stat(self._config.path)  # noqa: PTH116 - a hot path: Path.stat costs three times as much
        return found.st_dev, found.st_ino

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA trusted_schema = ON")
        if self._application_id(connection) == 0 and _is_empty(connection):
            self._create(connection)
        if self._application_id(connection) != APPLICATION_ID:
            raise StoreError(
                f"{self._config.path} is an SQLite file, but not a metadata store", hint="Correct 'store.path'."
            )
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA_VERSION:
            raise StoreError(f"{self._config.path} has schema {version}; this program knows {SCHEMA_VERSION}")
        connection.execute(f"PRAGMA synchronous = {self._config.synchronous}")

    def _create(self, connection: sqlite3.Connection) -> None:
        """Make the tables, unless another process is faster."""
        connection.execute("PRAGMA journal_mode = WAL")
        schema = _SCHEMA.format(
            max_value_bytes=MAX_VALUE_BYTES,
            retained_changes=self._config.retained_changes,
            now=_NOW_MS,
            application_id=APPLICATION_ID,
            schema_version=SCHEMA_VERSION,
        )
        with transaction(connection):
            if _is_empty(connection):
                for statement in _statements(schema):
                    connection.execute(statement)

    @staticmethod
    def _application_id(connection: sqlite3.Connection) -> int:
        (found,) = connection.execute("PRAGMA application_id").fetchone()
        return int(found)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A write transaction: all or nothing; waits for other writers at its beginning only."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Several reads of one state."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(tables) == 0


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one at a time (``executescript`` would commit the transaction around it)."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
