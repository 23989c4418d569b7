"""A small disk of its own for a sidecar database, which can be full: a tmpfs where allowed, else a file limit."""

from __future__ import annotations

import ctypes
import os
import resource
import tempfile
from pathlib import Path
from typing import Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS: Final = 0x0002_0000
_RECURSIVELY_PRIVATE: Final = 0x4000 | 0x4_0000
_REMOUNT: Final = 0x20
_DETACH: Final = 2


def own_mounts() -> bool:
    """Give this process mounts of its own, which end with it; whether that is allowed here. Before any thread."""
    if _LIBC.unshare(_NEW_MOUNTS) != 0 or _LIBC.mount(b"none", b"/", None, _RECURSIVELY_PRIVATE, None) != 0:
        return False
    with tempfile.TemporaryDirectory(prefix="mount-") as place:  # a container may allow the one and not the other
        mounted = bool(_LIBC.mount(b"tmpfs", place.encode(), b"tmpfs", 0, b"size=65536") == 0)
        if mounted:
            _LIBC.umount(place.encode())
    return mounted


class SmallDisk:
    """Where one region's sidecar database lives.

    Args:
        directory: Where it is mounted.
        size_mb: As long as it is not full.
        mounted: Whether this process has mounts of its own; otherwise fullness is a limit on the daemon's files.
    """

    def __init__(self, directory: Path, *, size_mb: int, mounted: bool) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._size_bytes = size_mb << 20
        self.mounted = mounted
        if mounted:
            self._mount(0, self._size_bytes)

    @property
    def kind(self) -> str:
        """For the report."""
        return "tmpfs without room" if self.mounted else "limit on the size of the daemon's files"

    def fill(self, pid: int) -> None:
        """Leave no room: neither a file nor its journal grows any more."""
        if self.mounted:
            found = os.statvfs(self.directory)
            self._mount(_REMOUNT, (found.f_blocks - found.f_bfree) * found.f_frsize)
        else:
            self._limit(pid, max(each.stat().st_size for each in self.directory.iterdir()))

    def empty(self, pid: int | None) -> None:
        """Make room again."""
        if self.mounted:
            self._mount(_REMOUNT, self._size_bytes)
        elif pid is not None:
            self._limit(pid, resource.RLIM_INFINITY)

    def close(self) -> None:
        """Take it away, so that its directory can be removed; whoever has files open on it keeps them."""
        if self.mounted:
            _LIBC.umount2(str(self.directory).encode(), _DETACH)

    def _mount(self, flags: int, size_bytes: int) -> None:
        options = f"size={size_bytes}".encode()
        if _LIBC.mount(b"tmpfs", str(self.directory).encode(), b"tmpfs", flags, options) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"mount of a tmpfs: {os.strerror(number)}", str(self.directory))

    @staticmethod
    def _limit(pid: int, size_bytes: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, resource.RLIM_INFINITY))
