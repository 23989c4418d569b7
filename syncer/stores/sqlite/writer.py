"""An outside writer to the file, beside any store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Final

from syncer.stores.sqlite.config import SqliteConfig
from syncer.stores.sqlite.entries import Clock, set_time
from syncer.stores.sqlite.file import File, transaction

PATIENCE: Final = timedelta(seconds=60)
"""How long a write waits for other writers: it has no caller whose deadline it must keep."""


class OutsideWriter:
    """Writes to the file as any other program would: without conditions, in this thread, blocking.

    For people, demonstrations and tests. Safe beside any number of stores on the same file.

    Args:
        path: The store's file; made when there is none.
        clock: Gives the modification times; SQLite's own clock when not given.
    """

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        self._clock = clock
        self._file = File(SqliteConfig(path=path, timeout=PATIENCE))
        self._connection = self._file.connection(create=True)

    def put(self, path: str, value: bytes) -> None:
        """Create the path, or write over it."""
        with transaction(self._connection):
            self._connection.execute(
                "INSERT INTO entries (path, value) VALUES (?, ?)"
                " ON CONFLICT (path) DO UPDATE SET value = excluded.value",
                (path, value),
            )
            if self._clock is not None:
                set_time(self._connection, [path], self._clock())

    def delete(self, path: str) -> bool:
        """Delete the path; whether it existed."""
        return self._connection.execute("DELETE FROM entries WHERE path = ?", (path,)).rowcount > 0

    def get(self, path: str) -> bytes | None:
        """The value, or ``None``."""
        row = self._connection.execute("SELECT CAST(value AS BLOB) FROM entries WHERE path = ?", (path,)).fetchone()
        return None if row is None else bytes(row[0])

    def items(self) -> dict[str, bytes]:
        """Every path with its value."""
        rows = self._connection.execute("SELECT path, CAST(value AS BLOB) FROM entries").fetchall()
        return {path: bytes(value) for path, value in rows}

    def close(self) -> None:
        """Close the file."""
        self._file.close()
