"""The file of tokens on disk: read whole with its owner's rights checked, and replaced whole by one at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from syncer import local_files, ownership
from syncer.access import tokens
from syncer.access.tokens import RightsFile
from syncer.errors import PreconditionFailed, RightsUnreadable

MAX_BYTES: Final = 1 << 20
_STRANGERS_MAY: Final = stat.S_IRWXO | stat.S_IWGRP


@dataclass(frozen=True, slots=True)
class FileState:
    """By what a file is known to be the same as before; all zero: there is none."""

    inode: int = 0
    size: int = 0
    modified_ns: int = 0
    changed_ns: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The file at one moment."""

    rights: RightsFile
    stamp: FileState


def stamp_of(path: Path) -> FileState:
    """By what a file is known now; one that cannot be looked at is like one that is not there."""
    try:
        return _stamp(path.stat())
    except (OSError, ValueError):
        return FileState()


def read(path: Path, *, anybodys: bool = False) -> Reading:
    """Read a file; one that is not there yet gives rights to nobody.

    Args:
        path: The file.
        anybodys: Take one of another user too: the superuser changes the daemon's.

    Raises:
        RightsUnreadable: It cannot be read, others than its owner may write or read it, or it holds something else;
            the message says nothing of what it holds.
    """
    try:
        with local_files.opened(path) as file:
            found = os.fstat(file.fileno())
            _check_owner(path, found, anybodys=anybodys)
            text = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Reading(RightsFile(), FileState())
    except OSError as exc:
        raise RightsUnreadable(f"{path} cannot be read: {exc.strerror or exc}") from exc
    if len(text) > MAX_BYTES:
        raise RightsUnreadable(f"{path} has more than {MAX_BYTES} bytes: it is no file of tokens")
    try:
        return Reading(tokens.parse(text), _stamp(found))
    except ValueError as exc:
        raise RightsUnreadable(f"{path} is no file of tokens: {exc}") from None


def _check_owner(path: Path, found: os.stat_result, *, anybodys: bool) -> None:
    """Who may write the file gives rights; who may read it learns names."""
    if found.st_mode & _STRANGERS_MAY:
        raise RightsUnreadable(
            f"{path} may be read or written by others than its owner (mode {stat.S_IMODE(found.st_mode):04o})",
            hint=f"Look whether all tokens in it are yours, then 'chmod 600 {path}'.",
        )
    if not anybodys and found.st_uid not in {0, os.geteuid()}:
        raise RightsUnreadable(
            f"{path} belongs to user {ownership.user(found.st_uid)}, who could give rights to anybody",
            hint=f"Give it to the user of the daemon: 'chown {ownership.ourselves()} {path}'.",
        )


def _stamp(found: os.stat_result) -> FileState:
    return FileState(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class FileChange:
    """What a file holds, under its lock; ``write`` replaces it."""

    def __init__(self, path: Path, rights: RightsFile, former: os.stat_result | None) -> None:
        self._path, self._former = path, former
        self.rights = rights

    def write(self, rights: RightsFile) -> None:
        """Replace the file whole: a reader, or a crash, meets the former one or the new one. Its owner stays.

        Raises:
            PreconditionFailed: It cannot be written; the former one is as it was.
        """
        folder = self._path.parent
        draft = folder / f".{self._path.name}.{secrets.token_hex(4)}"
        try:
            descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                if self._former is not None:
                    os.fchown(file.fileno(), self._former.st_uid, self._former.st_gid)
                    os.fchmod(file.fileno(), stat.S_IMODE(self._former.st_mode))
                file.write(tokens.dump(rights))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
            _make_durable(folder)
        except OSError as exc:
            with suppress(OSError):
                draft.unlink()
            raise _unwritten(self._path, exc) from exc
        self.rights = rights


@contextmanager
def changing(path: Path) -> Iterator[FileChange]:
    """Hold a file alone, to change it; whoever wants to change it at the same time waits.

    Raises:
        RightsUnreadable: It cannot be used as it is.
        PreconditionFailed: It cannot be written.
    """
    path = Path(os.path.realpath(path))
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise _unwritten(path, exc) from exc
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        former: os.stat_result | None
        try:
            former = path.stat()
        except FileNotFoundError:
            former = None
        _keep_owner(descriptor, former)
        yield FileChange(path, read(path, anybodys=os.geteuid() == 0).rights, former)
    finally:
        os.close(descriptor)


def _keep_owner(descriptor: int, former: os.stat_result | None) -> None:
    """Let the owner of the file lock it too, where the superuser came first."""
    if former is not None and os.geteuid() == 0:
        os.fchown(descriptor, former.st_uid, former.st_gid)


def _make_durable(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as exc:
        if exc.errno != errno.EINVAL:  # not every file system can
            raise
    finally:
        os.close(descriptor)


def _unwritten(path: Path, exc: OSError) -> PreconditionFailed:
    return PreconditionFailed(
        f"{path} cannot be written: {exc.strerror or exc}",
        hint="Run it as the user of the daemon, in a directory that this user may write.",
    )
