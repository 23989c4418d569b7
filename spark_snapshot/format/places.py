"""Places of files: a directory of this machine, or a folder of an object store, named by a URI.

Spark's workers and this process both reach a place: Spark by Hadoop's file systems, this process by Arrow's. A relative
name would mean another directory to each of them, and is refused.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from syncer.errors import PreconditionFailed

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's name of a file system, and Arrow's."""

MAX_READ_BYTES: Final = 256 << 20
"""Of a file that is read into memory; a manifest of a snapshot of 10,000 buckets has some megabytes."""

_PATTERN: Final = frozenset("*?[]{}\\")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder.

    Args:
        files: The file system of this process.
        path: The folder in it.
        location: The folder as Spark is told of it.
    """

    files: pafs.FileSystem
    path: str
    location: str

    @property
    def local(self) -> Path | None:
        """The directory, when it is one of this machine."""
        return Path(self.path) if isinstance(self.files, pafs.LocalFileSystem) else None

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self.path.rstrip("/").rpartition("/")[2]

    def __truediv__(self, name: str) -> Place:
        return Place(self.files, f"{self.path.rstrip('/')}/{name}", f"{self.location.rstrip('/')}/{name}")

    def __str__(self) -> str:
        return str(self.local) if self.local is not None else self.location

    def exists(self) -> bool:
        """Whether there is something."""
        return self._info().type is not pafs.FileType.NotFound

    def size(self) -> int | None:
        """Bytes of a file; ``None`` when there is no such file."""
        info = self._info()
        return int(info.size) if info.type is pafs.FileType.File else None

    def folders(self) -> list[str]:
        """Names of the folders in it, in order."""
        return self._names(pafs.FileType.Directory)

    def file_names(self) -> list[str]:
        """Names of the files in it, in order."""
        return self._names(pafs.FileType.File)

    def read(self) -> bytes:
        """Read a whole file, of those that fit into memory.

        Raises:
            OSError: There is none, it is a pipe or a device, or it is too large.
        """
        info = self._info()
        if info.type in {pafs.FileType.Unknown, pafs.FileType.Directory} or (info.size or 0) > MAX_READ_BYTES:
            raise OSError(errno.EINVAL, f"it is no regular file of at most {MAX_READ_BYTES} bytes", str(self))
        with self.files.open_input_stream(self.path) as stream:
            return bytes(stream.read())

    def flush(self) -> None:
        """Have a file, or a folder's names, survive a power failure; an object store keeps what it has taken."""
        if self.local is None:
            return
        descriptor = os.open(self.local, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _info(self) -> pafs.FileInfo:
        return self.files.get_file_info(self.path)

    def _names(self, kind: pafs.FileType) -> list[str]:
        selector = pafs.FileSelector(self.path, allow_not_found=True)
        return sorted(info.base_name for info in self.files.get_file_info(selector) if info.type is kind)


def place(name: str | Path) -> Place:
    """Find a place by an absolute path or a URI.

    Raises:
        PreconditionFailed: The name is relative, of a file system that is not known here, or reads like a pattern.
    """
    text = str(name)
    scheme, separator, rest = text.partition("://")
    if separator and scheme != "file":
        try:
            files, path = pafs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
        except (pa.ArrowException, OSError, ValueError) as exc:
            raise PreconditionFailed(
                f"{text} cannot be reached: {exc}", hint="Check the address and the credentials of the object store."
            ) from exc
        return Place(files, path, text.rstrip("/"))
    local = Path(unquote(rest) if separator else text)
    if not local.is_absolute():
        raise PreconditionFailed(
            f"{text} is relative; Spark would look for it elsewhere", hint="Name an absolute path, or a URI."
        )
    if _PATTERN.intersection(str(local)):
        raise PreconditionFailed(
            f"{text} has a character that Spark takes for a pattern",
            hint="Name a folder without any of *?[]{}\\ in it.",
        )
    return Place(pafs.LocalFileSystem(), str(local), f"file://{local}")
