"""Resources on their way into a backup: taken in any order, given back in the order of the files. Memory is bounded.

A scan promises no order and may give a path twice when it changes meanwhile; the last one met counts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from syncer.backup.layout import file_of
from syncer.model import MetaPath
from syncer.paths import classify

_PAGE: Final = 500


class Spool:
    """A temporary database, in the directory that becomes the backup; it is gone when it is closed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(
            "CREATE TABLE resources (file TEXT, path TEXT, value BLOB, parent TEXT, PRIMARY KEY (file, path))"
            " WITHOUT ROWID"
        )
        self._connection.execute("CREATE TABLE paths (path TEXT PRIMARY KEY) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close and delete it."""
        self._connection.close()
        self._file.unlink(missing_ok=True)

    def add(self, resources: Iterable[tuple[MetaPath, bytes]]) -> None:
        """Take resources; what was there of the same path before is replaced."""
        rows = [(file_of(path), path, value, _parent(path)) for path, value in resources]
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT OR REPLACE INTO resources VALUES (?, ?, ?, ?)", rows)
        self._connection.executemany("INSERT OR IGNORE INTO paths VALUES (?)", [(row[1],) for row in rows])
        self._connection.execute("COMMIT")

    def drop(self, paths: Iterable[MetaPath]) -> None:
        """Forget resources that turned out to be gone."""
        for path in paths:
            self._connection.execute("DELETE FROM resources WHERE file = ? AND path = ?", (file_of(path), path))
            self._connection.execute("DELETE FROM paths WHERE path = ?", (path,))

    def orphans(self) -> dict[MetaPath, list[MetaPath]]:
        """Parents that were not met, with the children that were."""
        rows = self._connection.execute(
            "SELECT parent, path FROM resources WHERE parent IS NOT NULL AND parent NOT IN (SELECT path FROM paths)"
            " ORDER BY parent, path"
        )
        found: dict[MetaPath, list[MetaPath]] = {}
        for parent, path in rows:
            found.setdefault(MetaPath(parent), []).append(MetaPath(path))
        return found

    def files(self) -> list[str]:
        """The files, in order."""
        return [row[0] for row in self._connection.execute("SELECT DISTINCT file FROM resources ORDER BY file")]

    def resources(self, file: str) -> Iterator[tuple[MetaPath, bytes]]:
        """The resources of one file, in the order of their paths."""
        after = ""
        while True:
            rows = self._connection.execute(
                "SELECT path, value FROM resources WHERE file = ? AND path > ? ORDER BY path LIMIT ?",
                (file, after, _PAGE),
            ).fetchall()
            if not rows:
                return
            for path, value in rows:
                yield MetaPath(path), bytes(value)
            after = rows[-1][0]


def _parent(path: MetaPath) -> MetaPath | None:
    resource = classify(path)
    return resource.parent if resource is not None else None
