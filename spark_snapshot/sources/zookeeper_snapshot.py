"""ZooKeeper's snapshot file: its nodes as it lists them, after all of it was checked.

A snapshot that is still being written, or was cut, is readable up to its end: what tells a whole one is the node with
the path ``/`` that closes the list, and the checksums behind it (Adler-32 of all that stands before each).

Source: ZooKeeper 3.9, FileSnap, DataTree.serialize, SnapStream.sealStream.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from spark_snapshot.sources.snappy import SnappyFile
from syncer.errors import StoreError, StoreFilesDamaged

MAGIC: Final = b"ZKSN"
VERSION: Final = 2
CHUNK_BYTES: Final = 1 << 20
MAX_FIELD_BYTES: Final = 256 << 20

_HEAD: Final = struct.Struct("!4siq")
_INT: Final = struct.Struct("!i")
_LONG: Final = struct.Struct("!q")
_SESSION: Final = struct.Struct("!qi")
_STAT: Final = struct.Struct("!8xqq8xqi8xq8x")
"""ACL's number, then the stat: of it created by, written by, written at, version, owner."""
_ZXIDS: Final = struct.Struct("!16xq36xq")
"""Of the same: written by, and the children's last change; the creation is not later than the last write."""
_SEAL: Final = struct.Struct("!qi1s")
_CLOSING: Final = b"/"
_SLASH: Final = _CLOSING[0]
_DIGEST: Final = struct.Struct("!qiq")


class Saved(NamedTuple):
    """A node as the file holds it; times in milliseconds since the epoch."""

    path: bytes
    value: bytes
    czxid: int
    mzxid: int
    mtime: int
    version: int
    owner: int


class SnapshotDamaged(StoreFilesDamaged):
    """The file is no snapshot, or not a whole one."""


def check(file: Path) -> int:
    """Read all of a file; the newest transaction whose effect it holds.

    Raises:
        SnapshotDamaged: It is no snapshot, is cut, or a checksum does not fit.
    """
    newest = 0
    with _open(file) as stream:
        tape = _Tape(stream, file, summed=True)
        for data, _, value_at, size in _walk(tape):
            mzxid, pzxid = _ZXIDS.unpack_from(data, value_at + size)
            newest = max(newest, mzxid)
            newest = max(newest, pzxid)
        tape.close_up()
    return newest


def nodes(file: Path, prefixes: tuple[bytes, ...]) -> Iterator[Saved]:
    """The nodes whose path starts with one of the prefixes, in the file's order. Check the file before."""
    with _open(file) as stream:
        tape = _Tape(stream, file, summed=False)
        for data, start, value_at, size in _walk(tape):
            path = data[start : value_at - 4]
            if path.startswith(prefixes):
                end = value_at + size
                yield Saved(path, data[value_at:end], *_STAT.unpack_from(data, end))


class _Tape:
    """A stream that is looked at through a window, and summed as the window moves on, if it is to be."""

    def __init__(self, stream: BinaryIO, file: Path, *, summed: bool) -> None:
        self.data = b""
        self.at = 0
        self._stream = stream
        self._file = file
        self._summed = summed
        self._sum = 1
        self._ended = False

    def need(self, count: int) -> int:
        """Have that many bytes in the window; where they begin. The bytes before are dropped."""
        if len(self.data) - self.at < count:
            if self._summed:
                self._sum = zlib.adler32(memoryview(self.data)[: self.at], self._sum)
            rest = [self.data[self.at :]]
            have = len(rest[0])
            while have < count:
                piece = self._read(max(CHUNK_BYTES, count - have))
                if not piece:
                    raise self.damaged("it ends too early")
                rest.append(piece)
                have += len(piece)
            self.data, self.at = b"".join(rest), 0
        return self.at

    def skip(self, count: int) -> int:
        """Go on over that many bytes; where they begin in the window."""
        start = self.need(count)
        self.at = start + count
        return start

    def take(self, form: struct.Struct) -> tuple[Any, ...]:
        """Take what has that form."""
        start = self.skip(form.size)  # the window moves before it is looked into
        return form.unpack_from(self.data, start)

    def count(self) -> int:
        """Take the number of a list's members; an absent list has none."""
        (count,) = self.take(_INT)
        if count < -1:
            raise self.damaged(f"a list of {count} members")
        return int(max(count, 0))

    def pass_field(self) -> None:
        """Go over a text or a buffer."""
        (length,) = self.take(_INT)
        self.skip(self.length(length))

    def length(self, length: int) -> int:
        """A field's length, if it can be one; an absent field is empty."""
        if not -1 <= length <= MAX_FIELD_BYTES:
            raise self.damaged(f"a field of {length} bytes")
        return max(length, 0)

    def close_up(self) -> None:
        """Check all that stands behind the nodes: seals, and between them what later versions have added."""
        rest = bytearray(self.data[self.at :])
        summed = zlib.adler32(self.data[: self.at], self._sum)
        while piece := self._read(CHUNK_BYTES):
            rest += piece
            if len(rest) > CHUNK_BYTES:
                raise self.damaged("something follows its end")
        sizes = {
            _SEAL.size: (),
            2 * _SEAL.size + _DIGEST.size: (_DIGEST.size,),
            2 * _SEAL.size + _LONG.size: (_LONG.size,),
            3 * _SEAL.size + _DIGEST.size + _LONG.size: (_DIGEST.size, _LONG.size),
        }
        if len(rest) not in sizes:
            raise self.damaged(f"its end has {len(rest)} bytes, which none of the known versions writes")
        at = 0
        for extra in (0, *sizes[len(rest)]):
            summed = zlib.adler32(rest[at : at + extra], summed)
            at += extra
            seal, closing_length, closing = _SEAL.unpack_from(rest, at)
            if seal != summed:
                raise self.damaged("its checksum does not fit its content")
            if closing_length != 1 or closing != _CLOSING:
                raise self.damaged("its end is not marked")
            summed = zlib.adler32(rest[at : at + _SEAL.size], summed)
            at += _SEAL.size

    def damaged(self, what: str) -> SnapshotDamaged:
        """The error that names the file."""
        return SnapshotDamaged(f"{self._file} is not a whole snapshot of ZooKeeper: {what}")

    def _read(self, count: int) -> bytes:
        if self._ended:
            return b""
        try:
            piece = self._stream.read(count)
        except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as exc:
            raise self.damaged(str(exc) or "it cannot be unpacked") from exc
        except OSError as exc:
            raise StoreError(f"{self._file} cannot be read: {exc.strerror or exc}") from exc
        self._ended = not piece
        return piece


def _walk(tape: _Tape) -> Iterator[tuple[bytes, int, int, int]]:
    """For each node: the window, where in it the path and the value begin, the size of the value."""
    magic, version, _ = tape.take(_HEAD)
    if magic != MAGIC or version != VERSION:
        raise tape.damaged("it does not begin like one")
    for _ in range(tape.count()):
        tape.skip(_SESSION.size)
    for _ in range(tape.count()):
        tape.skip(_LONG.size)
        for _ in range(tape.count()):
            tape.skip(_INT.size)
            tape.pass_field()
            tape.pass_field()
    while not _at_closing(tape):
        yield from _in_window(tape)
    tape.at += _INT.size + len(_CLOSING)


def _at_closing(tape: _Tape) -> bool:
    """Whether the nodes end here; if not, have the next one in the window as a whole."""
    start = tape.need(_INT.size)
    (length,) = _INT.unpack_from(tape.data, start)
    if length < 0:
        raise tape.damaged("a node without a path")
    head = _INT.size + tape.length(length)
    start = tape.need(head)
    if tape.data[start + _INT.size : start + head] == _CLOSING:
        return True
    start = tape.need(head + _INT.size)
    (size,) = _INT.unpack_from(tape.data, start + head)
    tape.need(head + _INT.size + tape.length(size) + _STAT.size)
    return False


def _in_window(tape: _Tape) -> Iterator[tuple[bytes, int, int, int]]:
    """The nodes that the window has as a whole."""
    data, at, limit, unpack = tape.data, tape.at, len(tape.data), _INT.unpack_from
    while at + 4 <= limit:
        (length,) = unpack(data, at)
        value_at = at + 8 + length
        if value_at > limit or length < 0 or (length == 1 and data[at + 4] == _SLASH):
            return
        (size,) = unpack(data, value_at - 4)
        if size < 0:
            if size < -1:
                return
            size = 0
        end = value_at + size + _STAT.size
        if end > limit:
            return
        tape.at = end
        yield data, at + 4, value_at, size
        at = end


def _open(file: Path) -> BinaryIO:
    try:
        if file.suffix == ".gz":
            return cast("BinaryIO", gzip.open(file, "rb"))
        if file.suffix == ".snappy":
            return cast("BinaryIO", SnappyFile(file))
        return file.open("rb")
    except OSError as exc:
        raise StoreError(f"{file} cannot be read: {exc.strerror or exc}") from exc
