"""ZooKeeper's snapshot file: its nodes as it lists them, window by window, and the check that all of it is whole.

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
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias, cast

from spark_snapshot.sources.zookeeper.snappy import SnappyFile
from syncer.errors import StoreError, StoreFilesDamaged

MAGIC: Final = b"ZKSN"
VERSION: Final = 2
CHUNK_BYTES: Final = 256 << 10
MAX_FIELD_BYTES: Final = 256 << 20

_HEAD: Final = struct.Struct("!4siq")
_INT: Final = struct.Struct("!i")
_LONG: Final = struct.Struct("!q")
_SESSION: Final = struct.Struct("!qi")
STAT: Final = struct.Struct("!8xqq8xqi8xq8x")
"""ACL's number, then the stat: of it created by, written by, written at, version, owner."""
CREATED_AT: Final = struct.Struct("!24xq")
"""Of the same: the time of creation."""
_STAT_BYTES: Final = STAT.size
_ZXIDS: Final = struct.Struct("!16xq36xq")
"""Of the same: written by, and the children's last change; the creation is not later than the last write."""
_SEAL: Final = struct.Struct("!qi1s")
_CLOSING: Final = b"/"
_SLASH: Final = _CLOSING[0]
_DIGEST: Final = struct.Struct("!qiq")

Span: TypeAlias = tuple[int, int, int]
"""Where in a window a node's path, its value and its stat begin; the value's length lies before it."""
Window: TypeAlias = tuple[bytes, list[Span]]
"""Some bytes of a file, and the nodes that they hold as a whole."""


class SavedNode(NamedTuple):
    """A node as the file holds it; times in milliseconds since the epoch."""

    path: bytes
    value: bytes
    czxid: int
    mzxid: int
    mtime: int
    version: int
    owner: int
    ctime: int


class ZooKeeperFileDamaged(StoreFilesDamaged):
    """The file is no snapshot, or not a whole one."""


def check(file: Path) -> int:
    """Read all of a file; the newest transaction whose effect it holds.

    Raises:
        ZooKeeperFileDamaged: It is no snapshot, is cut, or a checksum does not fit.
    """
    newest, zxids = 0, _ZXIDS.unpack_from
    with _open(file) as stream:
        tape = _Tape(stream, file, summed=True)
        for data, spans in _windows(tape):
            for _, _, stat_at in spans:
                newest = max(newest, *zxids(data, stat_at))
        tape.close_up()
    return newest


def windows(file: Path) -> Iterator[Window]:
    """All nodes in the file's order, some at a time. Check the file before."""
    with _open(file) as stream:
        yield from _windows(_Tape(stream, file, summed=False))


def saved(data: bytes, span: Span) -> SavedNode:
    """A node of a window."""
    path_at, value_at, stat_at = span
    czxid, mzxid, mtime, version, owner = STAT.unpack_from(data, stat_at)
    (ctime,) = CREATED_AT.unpack_from(data, stat_at)
    value = data[value_at:stat_at]
    return SavedNode(data[path_at : value_at - 4], value, czxid, mzxid, mtime, version, owner, ctime)


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

    def damaged(self, what: str) -> ZooKeeperFileDamaged:
        """The error that names the file."""
        return ZooKeeperFileDamaged(f"{self._file} is not a whole snapshot of ZooKeeper: {what}")

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


def _windows(tape: _Tape) -> Iterator[Window]:
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
        yield tape.data, _in_window(tape)
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
    tape.need(head + _INT.size + tape.length(size) + _STAT_BYTES)
    return False


def _in_window(tape: _Tape) -> list[Span]:
    """The nodes that the window has as a whole, which it is moved over."""
    data, at, limit, unpack = tape.data, tape.at, len(tape.data), _INT.unpack_from
    spans: list[Span] = []
    while at + 4 <= limit:
        (length,) = unpack(data, at)
        value_at = at + 8 + length
        if value_at > limit or length < 0 or (length == 1 and data[at + 4] == _SLASH):
            break
        (size,) = unpack(data, value_at - 4)
        stat_at = value_at + size
        if size < 0:
            if size < -1:
                break
            stat_at = value_at
        end = stat_at + _STAT_BYTES
        if end > limit:
            break
        spans.append((at + 4, value_at, stat_at))
        at = end
    tape.at = at
    return spans


def _open(file: Path) -> BinaryIO:
    try:
        if file.suffix == ".gz":
            return cast("BinaryIO", gzip.open(file, "rb"))
        if file.suffix == ".snappy":
            return cast("BinaryIO", SnappyFile(file))
        return file.open("rb")
    except OSError as exc:
        raise StoreError(f"{file} cannot be read: {exc.strerror or exc}") from exc
