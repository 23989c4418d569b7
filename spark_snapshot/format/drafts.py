"""Snapshots that are being made: a folder that nobody takes for a snapshot, until its manifest stands in it.

On a disk the folder has another name until then, and a lock tells whether its writer still lives: it is taken, and
looked at, by one at a time in a region, which a lock of the region's folder sees to; in an object store,
where renaming is copying and there are no locks, the manifest alone decides. What was given up is cleared by the next
one that is taken; on a disk it is gone on with instead, if one wishes, when all that it needs was read already.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from spark_snapshot.format.layout import DATA, PARTIAL, new_id, region_folder, snapshots_in
from spark_snapshot.format.manifest import MANIFEST
from spark_snapshot.format.places import Place
from syncer.errors import DiskFull, NotFound, PreconditionFailed, SnapshotError, SnapshotUnwritten

READ: Final = "READ.json"
"""Stands in a draft when all that the snapshot is made of has been read."""
LOCK: Final = ".lock"
GIVEN_UP_AFTER_MS: Final = 24 * 3_600_000
"""In an object store there are no locks: an unfinished folder of this age is given up."""


class WrittenManifest(Protocol):
    """The manifest of a snapshot, or of what is written like one."""

    def text(self) -> str:
        """The manifest as it is written."""


@dataclass(frozen=True, slots=True)
class SnapshotDraft:
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

    @property
    def resumable(self) -> bool:
        """Whether a run that was stopped can be gone on with: where a lock tells that it was given up."""
        return self.place.local is not None

    def empty(self, name: str) -> Place:
        """A folder in it that does not exist.

        Raises:
            SnapshotUnwritten: What stands there cannot be removed.
        """
        folder = self.place / name
        with refused(self.place):
            if folder.exists():
                self.place.files.delete_dir(folder.path)
        return folder

    def write(self, name: str, text: str) -> None:
        """Write a file in it.

        Raises:
            SnapshotUnwritten: It cannot be written.
        """
        with refused(self.place):
            _write_text(self.place, name, text)

    def publish(self, manifest: WrittenManifest, folders: Collection[str] = (DATA,)) -> Place:
        """Make a snapshot of it: only its rows and its manifest stay, and it gets its name.

        Args:
            manifest: Tells what it holds.
            folders: Those of its rows.

        Raises:
            SnapshotUnwritten: The place refuses that.
        """
        with refused(self.place):
            self._tidy(folders)
            directory = self.place.local
            if directory is None:
                _write_text(self.place, MANIFEST, manifest.text())
                return self.place
            for name in folders:
                flush_all(self.place / name)
            _write_text(self.place, MANIFEST, manifest.text())
            published = directory.rename(directory.parent / self.id)
            self.home.flush()
            (published / LOCK).unlink()  # last: whoever looks for what was given up finds it taken until then
            return self.home / self.id

    def _tidy(self, folders: Collection[str]) -> None:
        for name in self.place.folders():
            if name not in folders:
                self.place.files.delete_dir((self.place / name).path)
        if (self.place / READ).exists():
            self.place.files.delete_file((self.place / READ).path)


@contextmanager
def begun(folder: Place, region: str, *, taken_at_ms: int) -> Iterator[SnapshotDraft]:
    """A new draft; what was given up before is cleared.

    It is gone afterwards unless it was published, or all was read and nothing is wrong with the snapshot or its place.
    """
    home = region_folder(folder, region)
    name = new_id(taken_at_ms, secrets.token_hex(3))
    place = home / (name if home.local is None else f".{name}{PARTIAL}")
    with contextlib.ExitStack() as stack:
        with refused(home):
            home.files.create_dir(home.path)
            with _locked(home):
                _clear(folder, region, now_ms=taken_at_ms)
                place.files.create_dir(place.path)
                stack.enter_context(_locked(place))
        stack.enter_context(_kept_or_gone(place))
        yield SnapshotDraft(home, place)


def check_locks(folder: Place) -> None:
    """Refuse a folder in which nobody can tell whether a draft's writer lives.

    Raises:
        PreconditionFailed: It is in an object store.
    """
    if folder.local is None:
        raise PreconditionFailed(
            f"{folder} has no locks: whether a run was given up, or still works, cannot be told",
            hint="Take a snapshot without --resume.",
        )


@contextmanager
def resumed(folder: Place, region: str) -> Iterator[SnapshotDraft]:
    """The newest draft of a region that was given up and of which all was read.

    Raises:
        NotFound: There is none.
        PreconditionFailed: The folder is in an object store: nobody could tell whether a draft's writer lives.
    """
    check_locks(folder)
    home = region_folder(folder, region)
    with contextlib.ExitStack() as stack:
        with refused(home), _locked(home) if home.exists() else contextlib.nullcontext():
            for place in sorted(snapshots_in(folder, region).unfinished, key=lambda each: each.name, reverse=True):
                if (place / READ).exists() and _given_up(place):
                    stack.enter_context(_locked(place))
                    break
            else:
                raise NotFound(
                    f"nothing of region {region} was read whole and then given up in {folder}",
                    hint="Take a snapshot without --resume.",
                )
        stack.enter_context(_kept_or_gone(place))
        yield SnapshotDraft(home, place)


def flush_all(folder: Place) -> None:
    """Have a folder with its files survive a power failure."""
    for name in folder.file_names():
        (folder / name).flush()
    folder.flush()


def _clear(folder: Place, region: str, *, now_ms: int) -> None:
    """Remove what was given up unfinished; folders that somebody still writes are left."""
    young = new_id(now_ms - GIVEN_UP_AFTER_MS, "000000")
    for each in snapshots_in(folder, region).unfinished:
        if _given_up(each) if each.local is not None else each.name < young:
            with contextlib.suppress(FileNotFoundError):  # whoever made it has just finished, or removed it
                each.files.delete_dir(each.path)


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


def _write_text(folder: Place, name: str, text: str) -> None:
    """Write a file of a folder; on a disk it is there whole or not at all, whatever happens."""
    beside = folder / (name if folder.local is None else f".{name}.new")
    with beside.files.open_output_stream(beside.path) as stream:
        stream.write(text.encode())
    beside.flush()
    if folder.local is not None:
        (folder.local / beside.name).rename(folder.local / name)
        folder.flush()


@contextmanager
def _locked(folder: Place) -> Iterator[None]:
    """Hold a folder's lock, where there are locks; wait for whoever has it."""
    directory = folder.local
    if directory is None:
        yield
        return
    lock = os.open(directory / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextmanager
def _kept_or_gone(place: Place) -> Iterator[None]:
    try:
        yield
    except BaseException as exc:
        useless = isinstance(exc, SnapshotError | DiskFull) or place.local is None or not (place / READ).exists()
        if useless and not (place / MANIFEST).exists():
            with contextlib.suppress(OSError):
                place.files.delete_dir(place.path)
        raise


def _given_up(draft: Place) -> bool:
    """Whether nobody holds the lock of a draft on a disk. Asked by whoever holds the lock of its region."""
    directory = draft.local
    assert directory is not None  # noqa: S101 - narrows the type
    try:
        lock = os.open(directory / LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True
    except PermissionError:
        return False  # somebody else's
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
