"""Reads a file of ``etcdctl snapshot save``, with no server: what the store held at the newest revision in it.

The file is a bbolt database with the SHA-256 of it behind it. The bucket ``key`` has every write that was not compacted
away, by its revision; it is read from the newest one back, and the first that is met of a key is what the key holds.
A compaction takes a key's older writes before its newer ones, and its newest only when that is a delete, so one that
was going on changes nothing.

All of it or nothing: the checksum is looked at before anything is handed out.

Source: etcd 3.5 and 3.6, client/v3/snapshot, server/storage/mvcc (revision.go, kvstore.go, kvstore_compaction.go).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from google.protobuf.message import DecodeError

from spark_snapshot.sources.etcd.bolt import HEAD_BYTES, Bolt, Leaf, begins_like_one
from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.found import ResourceBatch, Row, batched
from spark_snapshot.sources.reach import WHOLE, Share
from syncer.errors import ConfigError, StoreError, StoreFilesDamaged
from syncer.model import MetaPath, Revision
from syncer.stores.etcd.keys import KeySpace
from syncer.stores.etcd.wire import Dynamic, load
from syncer.wanted.contract import WantedPaths

SEAL_BYTES: Final = hashlib.sha256().digest_size
BLOCK_BYTES: Final = 512
CHUNK_BYTES: Final = 1 << 20
FIRST_REVISION: Final = 1
"""Of a store in which nothing was ever written."""

HINT: Final = "Take it with 'etcdctl snapshot save FILE'; a copy of a member's own file may be of two moments."

_KEYS: Final = b"key"
_META: Final = b"meta"
_COMPACTED: Final = (b"scheduledCompactRev", b"finishedCompactRev")
_REVISION_BYTES: Final = 17
_MARKS: Final = (b"", b"t")
"""Of a write, and of a delete."""
_BETWEEN: Final = ord("_")
_KEY_TAG: Final = 0x0A
"""Field 1 of ``mvccpb.KeyValue``, of bytes."""
_LONG: Final = 0x80
"""A length of less than so much is one byte."""
_VARINT_BYTES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdFile:
    """Where the file is.

    Args:
        file: The file.
        namespace: What stands before every path.
    """

    file: Path
    namespace: str = ""


class ReaderPart(NamedTuple):
    """What one of several readers reads; all of the same file, whatever takes its place meanwhile."""

    share: Share = WHOLE
    seal: bytes | None = None


def parts(place: EtcdFile, count: int) -> list[ReaderPart]:
    """Divide the file among readers; raises as :func:`read` does where it is no such file at all."""
    with SnapshotFile(place) as saved:
        return [ReaderPart(Share(index, count), saved.seal) for index in range(count)]


def read(place: EtcdFile, wanted: WantedPaths, part: ReaderPart | None = None) -> Iterator[ResourceBatch]:
    """Read what is asked for, as it was at the newest revision of the file.

    The names of the keys that are asked for stay in memory, no values.

    Raises:
        ConfigError: There is no such file, or it is none of ``etcdctl snapshot save``.
        StoreFilesDamaged: It is not whole, or became another one while it was read.
        StoreError: It cannot be read.
    """
    share, seal = part or ReaderPart()
    with SnapshotFile(place) as saved:
        saved.check(seal)
        yield from batched(saved.found(wanted, share))


class SnapshotFile:
    """The file, open from ``with`` to its end; only then it is known that it stayed what it was."""

    def __init__(self, place: EtcdFile) -> None:
        self._file = place.file
        self._keys = KeySpace(place.namespace)
        self._descriptor = -1
        self._state: tuple[int, int] = (0, 0)
        self.seal = b""
        """The checksum that the file tells; :meth:`check` says whether it is right."""

    def __enter__(self) -> Self:
        try:
            self._descriptor = os.open(self._file, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is told to be none of ours
        except FileNotFoundError as exc:
            raise ConfigError(f"there is no file {self._file}", hint="Every worker must see it.") from exc
        except OSError as exc:
            raise StoreError(f"{self._file} cannot be read: {exc.strerror or exc}") from exc
        try:
            self._state = self._look()
            self.seal = self._sealed()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._look() != self._state:
                raise self._damaged("it was written to while it was read")
        finally:
            self._close()

    def check(self, seal: bytes | None = None) -> None:
        """Read all of it.

        Args:
            seal: The checksum of the file that is meant; ``None``: of any.

        Raises:
            StoreFilesDamaged: The checksum does not fit, or it is another file.
        """
        if seal is not None and seal != self.seal:
            raise self._damaged("it became another one while it was read")
        summed = hashlib.sha256()
        at, end = 0, self._state[0] - SEAL_BYTES
        while at < end:
            piece = self._read(at, min(CHUNK_BYTES, end - at))
            summed.update(piece)
            at += len(piece)
        if summed.digest() != self.seal:
            raise self._damaged("its checksum does not fit its content")

    def found(self, wanted: WantedPaths, share: Share) -> Iterator[ResourceBatch]:
        """What is asked for, the newest first, page by page. Check the file before."""
        prefixes = tuple(self._keys.key(root) for root in wanted.roots)
        folders, path_of = Folders(wanted, share), self._keys.path
        seen: set[bytes] = set()
        for leaf in self._bolt().backwards(_KEYS):
            page = leaf.page
            rows: list[Row] = []
            for revision, name, start, size in self._writes(leaf):
                if name in seen or not name.startswith(prefixes):
                    continue
                path = path_of(name)
                if path is not None and not folders.wants(path):
                    continue
                seen.add(name)
                if path is None or len(revision) > _REVISION_BYTES:
                    continue
                kv = self._decoded(page[start : start + size])
                newest = kv.mod_revision
                if kv.key != name or newest != _main(revision):
                    raise self._damaged(f"a value of {name!r} has another revision than its key")
                row = folders.found(path, kv.value, None, Revision(str(newest)), session=bool(kv.lease))
                if row is not None:
                    rows.append(row)
            yield ResourceBatch.of(rows)

    def value_at(self, path: MetaPath) -> bytes | None:
        """The value at a path, ``None`` when there is none. Check the file before."""
        wanted = self._keys.key(path)
        for leaf in self._bolt().backwards(_KEYS):
            for revision, name, start, size in self._writes(leaf):
                if name == wanted:
                    deleted = len(revision) > _REVISION_BYTES
                    return None if deleted else bytes(self._decoded(leaf.page[start : start + size]).value)
        return None

    def revision(self) -> int:
        """The newest revision: of the last write, or of the last compaction where that took the last write with it."""
        bolt = self._bolt()
        found = [
            page[start : start + size]
            for page, elements in bolt.backwards(_META)
            for key, start, size, _ in elements
            if key in _COMPACTED
        ]
        found += next((leaf.elements[0][:1] for leaf in bolt.backwards(_KEYS) if leaf.elements), ())
        for each in found:
            self._check_revision(each)
        return max([FIRST_REVISION, *map(_main, found)])

    def _writes(self, leaf: Leaf) -> list[tuple[bytes, bytes, int, int]]:
        """The writes of a page, the newest first: revision, key, where the message begins, its size."""
        page, found = leaf.page, []
        for revision, start, size, _ in leaf.elements:
            self._check_revision(revision)
            length = page[start + 1] if size > 1 else _LONG
            if length < _LONG and page[start] == _KEY_TAG and length + 2 <= size:
                name = page[start + 2 : start + 2 + length]
            else:
                name = self._long_name(page[start : start + size])
            found.append((revision, name, start, size))
        return found

    def _long_name(self, message: bytes) -> bytes:
        """The key that a write is of: the first field of its message, and all of it that a delete has."""
        size = 0
        if message[:1] == _KEY_TAG.to_bytes():
            for index, byte in enumerate(message[1 : 1 + _VARINT_BYTES]):
                size |= (byte & 0x7F) << (7 * index)
                if byte < _LONG:
                    start = 2 + index
                    if start + size <= len(message):
                        return message[start : start + size]
                    break
        raise self._damaged(f"a write is of no key: {message[:100]!r}")

    def _check_revision(self, key: bytes) -> None:
        """Refuse what is no key of the bucket; one is longer by its mark when it deletes."""
        if len(key) < _REVISION_BYTES or key[8] != _BETWEEN or key[_REVISION_BYTES:] not in _MARKS:
            raise self._damaged(f"{key!r} is no revision")

    def _decoded(self, message: bytes) -> Dynamic:
        try:
            return load().messages["KeyValue"].FromString(message)
        except DecodeError as exc:
            raise self._damaged(f"a write cannot be read: {message[:100]!r}") from exc

    # -- the file

    def _sealed(self) -> bytes:
        """The checksum at its end.

        Raises:
            ConfigError: It is no file of ``etcdctl snapshot save``.
        """
        size = self._state[0]
        regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        if not regular or size <= HEAD_BYTES or not begins_like_one(self._read(0, HEAD_BYTES)):
            raise ConfigError(f"{self._file} is no snapshot of etcd", hint=HINT)
        if size % BLOCK_BYTES == 0:
            raise ConfigError(
                f"{self._file} has no checksum at its end: it is a copy of a member's own file", hint=HINT
            )
        if size % BLOCK_BYTES != SEAL_BYTES:
            raise self._damaged(f"{size} bytes are not pages and a checksum: it was cut off")
        return self._read(size - SEAL_BYTES, SEAL_BYTES)

    def _bolt(self) -> Bolt:
        return Bolt(self._file, self._descriptor, self._state[0] - SEAL_BYTES)

    def _look(self) -> tuple[int, int]:
        """Size and time of the last write."""
        state = os.fstat(self._descriptor)
        return state.st_size, state.st_mtime_ns

    def _read(self, start: int, count: int) -> bytes:
        try:
            piece = os.pread(self._descriptor, count, start)
        except OSError as exc:
            raise StoreError(f"{self._file} cannot be read: {exc.strerror or exc}") from exc
        if len(piece) != count:
            raise self._damaged("it became shorter while it was read")
        return piece

    def _damaged(self, what: str) -> StoreFilesDamaged:
        return StoreFilesDamaged(f"{self._file} is no whole snapshot of etcd: {what}")

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _main(revision: bytes) -> int:
    """The revision that a key of the bucket stands for; what stands behind it counts within a transaction."""
    return int.from_bytes(revision[:8])
