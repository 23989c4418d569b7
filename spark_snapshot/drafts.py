"""Snapshots that are being made: a folder that nobody takes for a snapshot, until its manifest stands in it.

On a disk the folder has another name until then, and a lock tells whether its writer still lives; in an object store,
where renaming is copying and there are no locks, the manifest alone decides. What was given up is cleared by the next
one that is taken, or gone on with, when all that it needs was read already.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_snapshot.layout import DATA, PARTIAL, is_id, listing, new_id, region_folder
from spark_snapshot.manifest import MANIFEST, Manifest
from spark_snapshot.places import Place
from syncer.errors import DiskFull, NotFound, SnapshotError, SnapshotUnwritten

READ: Final = "READ.json"
"""Stands in a draft when all that the snapshot is made of has been read."""
LOCK: Final = ".lock"
GIVEN_UP_AFTER_MS: Final = 24 * 3_600_000
"""In an object store there are no locks: an unfinished folder of this age is given up."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A snapshot that is being made, under a lock where there are locks.

    Args:
        home: Its region's folder.
        place: Its own, in that.
    """

    home: Place
    place: Place

    @property
    def id(self) -> str:
        """The name that the snapshot will have."""
        return self.place.name.removeprefix(".").removesuffix(PARTIAL)

    def empty(self, name: str) -> Place:
        """A folder in it that does not exist."""
        folder = self.place / name
        if folder.exists():
            self.place.files.delete_dir(folder.path)
        return folder

    def publish(self, manifest: Manifest) -> Place:
        """Make a snapshot of it: only its rows and its manifest stay, and it gets its name."""
        self._tidy()
        directory = self.place.local
        if directory is None:
            write_text(self.place, MANIFEST, manifest.text())
            return self.place
        data = self.place / DATA
        for name in data.file_names():
            (data / name).flush()
        data.flush()
        write_text(self.place, MANIFEST, manifest.text())
        (directory / LOCK).unlink()
        self.place.flush()
        directory.rename(directory.parent / self.id)
        self.home.flush()
        return self.home / self.id

    def _tidy(self) -> None:
        for name in self.place.folders():
            if name != DATA:
                self.place.files.delete_dir((self.place / name).path)
        if (self.place / READ).exists():
            self.place.files.delete_file((self.place / READ).path)


@contextmanager
def begun(folder: Place, region: str, *, taken_at_ms: int) -> Iterator[Draft]:
    """A new draft; what was given up before is cleared.

    It is gone afterwards unless it was published, or all was read and nothing is wrong with the snapshot or its place.
    """
    home = region_folder(folder, region)
    name = new_id(taken_at_ms, secrets.token_hex(3))
    place = home / (name if home.local is None else f".{name}{PARTIAL}")
    with refused(home):
        clear(folder, region, now_ms=taken_at_ms)
        place.files.create_dir(place.path)
        with _locked(place), _kept_or_gone(place):
            yield Draft(home, place)


@contextmanager
def resumed(folder: Place, region: str) -> Iterator[Draft]:
    """The newest draft of a region that was given up and of which all was read.

    Raises:
        NotFound: There is none.
    """
    home = region_folder(folder, region)
    with refused(home), contextlib.ExitStack() as stack:
        for place in sorted(listing(folder, region).unfinished, key=lambda each: each.name, reverse=True):
            if (place / READ).exists() and (place.local is None or _lock_is_free(place.local)):
                stack.enter_context(_locked(place))
                stack.enter_context(_kept_or_gone(place))
                break
        else:
            raise NotFound(
                f"nothing of region {region} was read whole and then given up in {folder}",
                hint="Take a snapshot without --resume.",
            )
        yield Draft(home, place)


def clear(folder: Place, region: str, *, now_ms: int) -> list[Place]:
    """Remove what was given up unfinished; folders that somebody still writes are left. Says what was removed."""
    removed = []
    for each in listing(folder, region).unfinished:
        if each.local is None:
            if is_id(each.name) and each.name >= new_id(now_ms - GIVEN_UP_AFTER_MS, "000000"):
                continue
        elif not _lock_is_free(each.local):
            continue
        each.files.delete_dir(each.path)
        removed.append(each)
    return removed


@contextmanager
def refused(where: Place) -> Iterator[None]:
    """Say of a place that refuses files that it does.

    Raises:
        SnapshotUnwritten: It does.
    """
    try:
        yield
    except OSError as exc:
        raise SnapshotUnwritten(f"{where} cannot be written: {exc.strerror or exc}") from exc


def write_text(folder: Place, name: str, text: str) -> None:
    """Write a file of a folder; on a disk it is there whole or not at all, whatever happens."""
    beside = folder / (name if folder.local is None else f".{name}.new")
    with beside.files.open_output_stream(beside.path) as stream:
        stream.write(text.encode())
    beside.flush()
    if folder.local is not None:
        (folder.local / beside.name).rename(folder.local / name)
        folder.flush()


@contextmanager
def _locked(place: Place) -> Iterator[None]:
    directory = place.local
    if directory is None:
        yield
        return
    lock = os.open(directory / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


@contextmanager
def _kept_or_gone(place: Place) -> Iterator[None]:
    try:
        yield
    except BaseException as exc:
        if isinstance(exc, SnapshotError | DiskFull | OSError) or not (place / READ).exists():
            with contextlib.suppress(OSError):
                place.files.delete_dir(place.path)
        raise


def _lock_is_free(directory: Path) -> bool:
    try:
        lock = os.open(directory / LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
