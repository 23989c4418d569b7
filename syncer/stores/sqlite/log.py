"""The log of changes, followed by a watch."""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import Final

from syncer.errors import StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.sqlite.file import File, snapshot

MAX_NOTICE_PATHS: Final = 5000


class Log:
    """Where one watch stands in the log of changes. All calls on the watch's thread."""

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._data_version = -1
        self._last = 0

    def arm(self, file: File) -> None:
        """Take the log's end as the beginning."""
        self._connection = file.connection()
        self._last = _last_change(self._connection)

    def changes_within(
        self, file: File, wait_s: float, poll_s: float, stopping: threading.Event
    ) -> tuple[bool, tuple[MetaPath, ...]]:
        """Look every ``poll_s`` until there is a change, at most ``wait_s`` long; in the thread, which is cheap."""
        end = time.monotonic() + wait_s
        while True:
            whole, paths = self.changes(file)
            if paths or not whole or time.monotonic() >= end or stopping.wait(poll_s):
                return whole, paths

    def changes(self, file: File) -> tuple[bool, tuple[MetaPath, ...]]:
        """What was changed since the last call: whether that is all for now, and the paths.

        Raises:
            StoreUnavailable: Some of it can no longer be told.
        """
        connection = file.connection()
        if connection is not self._connection:
            raise StoreUnavailable("the SQLite file was replaced by another one")
        # Another connection's commit changes it; this one never writes. Cheap: no lock, no page is read.
        (data_version,) = connection.execute("PRAGMA data_version").fetchone()
        if data_version == self._data_version:
            return True, ()
        with snapshot(connection):
            (oldest,) = connection.execute("SELECT min(id) FROM changes").fetchone()
            newest = _last_change(connection)
            rows = connection.execute(
                "SELECT id, path FROM changes WHERE id > ? ORDER BY id LIMIT ?", (self._last, MAX_NOTICE_PATHS)
            ).fetchall()
        if newest < self._last:
            raise StoreUnavailable("the log of changes went back: the SQLite file was restored from a copy")
        if newest > self._last and (oldest is None or oldest > self._last + 1):
            raise StoreUnavailable("the log of changes was pruned beyond what the watch had read")
        if rows:
            self._last = rows[-1][0]
        whole = self._last == newest
        if whole:
            self._data_version = data_version
        return whole, tuple(dict.fromkeys(MetaPath(path) for _, path in rows))


def _last_change(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return 0 if row is None else int(row[0])
