"""Reads a store in an SQLite file, as it was at one moment: all pages from one read transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.found import ResourceBatch, batched
from spark_snapshot.sources.reach import WHOLE, Share
from syncer.errors import StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Entry
from syncer.stores.sqlite.config import SqliteConfig
from syncer.stores.sqlite.entries import page
from syncer.stores.sqlite.entries import read as read_paths
from syncer.stores.sqlite.file import File, snapshot
from syncer.stores.sqlite.lane import translated
from syncer.wanted.contract import WantedPaths


def read(config: SqliteConfig, wanted: WantedPaths, share: Share = WHOLE) -> Iterator[ResourceBatch]:
    """Read what is asked for in batches of bounded size.

    Raises:
        StoreUnavailable: The file does not exist or cannot be read now.
        StoreError: It is no metadata store, or damaged.
    """
    with _reading(config) as file, snapshot(file.connection()):
        folders = Folders(wanted, share)
        for root in wanted.roots:
            yield from batched(_asked_for(entries, folders) for entries in _pages(file, root))


def position(config: SqliteConfig) -> int:
    """The number of the last change."""
    with _reading(config) as file:
        (number,) = file.connection().execute("SELECT coalesce(max(id), 0) FROM changes").fetchone()
        return int(number)


def value_at(config: SqliteConfig, path: MetaPath) -> bytes | None:
    """The value at a path, ``None`` when there is none."""
    with _reading(config) as file:
        entry = read_paths(file, [path]).get(path)
        return None if entry is None else entry.value


def _pages(file: File, root: MetaPath) -> Iterator[Iterable[Entry]]:
    yield read_paths(file, [root]).values()
    after: str | None = f"{root}/"
    while after is not None:
        entries, after = page(file, after, f"{root}0")
        yield entries


def _asked_for(entries: Iterable[Entry], folders: Folders) -> ResourceBatch:
    found = (folders.found(each.path, each.value, each.modified_at_ms, each.revision) for each in entries)
    return ResourceBatch.of(each for each in found if each is not None)


@contextmanager
def _reading(config: SqliteConfig) -> Iterator[File]:
    with closing(File(config)) as file:
        try:
            yield file
        except sqlite3.Error as exc:
            raise translated(exc, config.path) from exc
        except OSError as exc:
            raise StoreUnavailable(f"the SQLite store {config.path} cannot be used: {exc}") from exc
