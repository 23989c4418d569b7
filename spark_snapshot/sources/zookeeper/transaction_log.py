"""ZooKeeper's transaction log: checked record by record, and what its transactions leave at each path.

A log ends in the zeros that ZooKeeper writes ahead of itself. One that just ends may have been cut between two records
and is refused, as is any gap in the numbers of the transactions.

Source: ZooKeeper 3.9, FileTxnLog, SerializeUtils, DataTree.processTxn, zookeeper.jute.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from spark_snapshot.sources.zookeeper.snapshot_file import SavedNode
from syncer.errors import StoreError, StoreFilesDamaged
from syncer.stores.zookeeper.requests import CONTAINER_OWNER

MAGIC: Final = b"ZKLG"
VERSION: Final = 2
MAX_RECORD_BYTES: Final = 256 << 20
ZEROS: Final = bytes(1 << 20)

_TTL_OWNER: Final = -(1 << 56)
"""Owner of a node that goes away after a time: not 0, and no session."""

_HEAD: Final = struct.Struct("!4siq")
_RECORD: Final = struct.Struct("!qi")
_TXN: Final = struct.Struct("!qiqqi")
_INT: Final = struct.Struct("!i")
_END_OF_RECORD: Final = b"B"
_COUNTER: Final = 0xFFFFFFFF


class LoggedKind(IntEnum):
    """What a transaction, or a part of one, does."""

    CLOSE_SESSION = -11
    CREATE_SESSION = -10
    ERROR = -1
    CREATE = 1
    DELETE = 2
    SET_DATA = 5
    SET_ACL = 7
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    RECONFIG = 16
    CREATE_CONTAINER = 19
    DELETE_CONTAINER = 20
    CREATE_TTL = 21


class LogDamaged(StoreFilesDamaged):
    """The file is no transaction log, or not a whole one, or transactions are missing."""


class LoggedTransaction(NamedTuple):
    """One transaction as logged."""

    session: int
    zxid: int
    time: int
    kind: int
    body: bytes


def transactions(file: Path) -> Iterator[LoggedTransaction]:
    """All transactions of a log, each checked.

    Raises:
        LogDamaged: A record does not fit its checksum, or the log does not end as a whole one does.
    """
    try:
        with file.open("rb") as stream:
            yield from _records(stream, file)
    except OSError as exc:
        raise StoreError(f"{file} cannot be read: {exc.strerror or exc}") from exc


def _records(stream: BinaryIO, file: Path) -> Iterator[LoggedTransaction]:
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size or _HEAD.unpack(head)[:2] != (MAGIC, VERSION):
        raise LogDamaged(f"{file} does not begin like a transaction log of ZooKeeper")
    last = 0
    while True:
        start = stream.tell()
        record = stream.read(_RECORD.size)
        if len(record) < _RECORD.size:  # also when these are zeros: a record may begin with as many
            raise LogDamaged(
                f"{file} ends without the zeros that ZooKeeper writes ahead: it may have been cut",
                hint="Copy it again. If the server runs with zookeeper.preAllocSize=0, read the live server instead.",
            )
        checksum, length = _RECORD.unpack(record)
        if checksum == 0 and length == 0:
            _must_be_zeros(record, stream, file, start)
            return
        if not 0 < length <= MAX_RECORD_BYTES:
            raise LogDamaged(f"{file}: a record of {length} bytes at {start}")
        body = stream.read(length)
        if len(body) < length or stream.read(1) != _END_OF_RECORD:
            raise LogDamaged(f"{file}: the record at {start} is not whole")
        if zlib.adler32(body) != checksum:
            raise LogDamaged(f"{file}: the record at {start} does not fit its checksum")
        if length < _TXN.size:
            raise LogDamaged(f"{file}: the record at {start} is too short for a transaction")
        session, _, zxid, time, kind = _TXN.unpack_from(body)
        if zxid <= last:
            raise LogDamaged(f"{file}: transaction 0x{zxid:x} stands behind 0x{last:x}")
        last = zxid
        yield LoggedTransaction(session, zxid, time, kind, body[_TXN.size :])


def _must_be_zeros(read: bytes, stream: BinaryIO, file: Path, start: int) -> None:
    """Check the end of a log: zeros, and nothing else."""
    piece = read
    while piece:
        if piece != ZEROS[: len(piece)]:
            raise LogDamaged(f"{file}: something that is no record stands behind the one before {start}")
        piece = stream.read(len(ZEROS))


def follows(zxid: int, last: int) -> bool:
    """Whether no transaction can have been between the two: the next number, or the first ones of a later epoch."""
    if zxid == last + 1:
        return True
    return zxid >> 32 > last >> 32 and zxid & _COUNTER <= 1


@dataclass(slots=True)
class _After:
    """What the transactions leave at one path.

    ``settled``: the outcome does not depend on what was there before: ``node``, or nothing. Otherwise ``node`` is what
    was created if nothing was there, and ``value`` what was written to whatever was there.
    """

    settled: bool = False
    node: SavedNode | None = None
    value: SavedNode | None = None


@dataclass(slots=True)
class Replay:
    """What the logged transactions make of a snapshot's nodes, path by path.

    A snapshot is written while the server goes on, so it may hold effects of transactions that are replayed over it:
    a node that is there already is not created again, one that is gone is not deleted again, and what is written last
    stays.

    Args:
        keeps: Whether a path matters; what happens at others is forgotten.
    """

    keeps: Callable[[bytes], bool]
    last: int
    _after: dict[bytes, _After] = field(default_factory=dict)
    _closed: dict[int, int] = field(default_factory=dict)

    def add(self, txn: LoggedTransaction, file: Path) -> None:
        """Replay the next transaction; one that the snapshot is known to hold is passed over.

        Raises:
            LogDamaged: Transactions before it are missing, or it cannot be understood.
        """
        if txn.zxid <= self.last:
            return
        if not follows(txn.zxid, self.last):
            raise LogDamaged(f"the transactions between 0x{self.last:x} and 0x{txn.zxid:x} are missing before {file}")
        try:
            self._replay(txn)
        except (struct.error, IndexError, ValueError) as exc:
            message = f"{file}: transaction 0x{txn.zxid:x} (kind {txn.kind}) cannot be understood: {exc}"
            raise LogDamaged(message, hint="It was written by a version of ZooKeeper that is not known.") from exc
        self.last = txn.zxid

    def touches(self, path: bytes, owner: int) -> bool:
        """Whether a node of the snapshot may have become something else."""
        return path in self._after or owner in self._closed

    def resolve(self, base: SavedNode) -> SavedNode | None:
        """What a node of the snapshot has become; each path is asked for once."""
        after = self._after.pop(base.path, None)
        if after is None:
            return None if base.owner in self._closed else base
        if after.settled:
            return after.node
        made = after.node
        if made is not None and self._closed.get(base.owner, made.czxid) < made.czxid:
            node: SavedNode | None = made
        else:
            node = None if base.owner in self._closed else base
        return _written(node, after.value)

    def rest(self) -> Iterator[SavedNode]:
        """What the transactions have made where the snapshot had nothing."""
        for after in self._after.values():
            node = after.node if after.settled else _written(after.node, after.value)
            if node is not None:
                yield node
        self._after.clear()

    def _replay(self, txn: LoggedTransaction) -> None:
        if txn.kind == LoggedKind.MULTI:
            parts = list(_parts(txn.body))
            if all(kind != LoggedKind.ERROR for kind, _ in parts):
                for kind, body in parts:
                    self._apply(txn, kind, body)
        else:
            self._apply(txn, txn.kind, txn.body)

    def _apply(self, txn: LoggedTransaction, kind: int, body: bytes) -> None:
        match kind:
            case LoggedKind.CREATE | LoggedKind.CREATE2 | LoggedKind.CREATE_CONTAINER | LoggedKind.CREATE_TTL:
                path, at = _buffer(body, 0)
                if self.keeps(path):
                    value, at = _buffer(body, at)
                    owner = _owner(kind, body, at, txn.session)
                    self._create(SavedNode(path, value, txn.zxid, txn.zxid, txn.time, 0, owner, txn.time))
            case LoggedKind.DELETE | LoggedKind.DELETE_CONTAINER:
                self._delete(_buffer(body, 0)[0])
            case LoggedKind.SET_DATA | LoggedKind.RECONFIG:
                path, at = _buffer(body, 0)
                if self.keeps(path):
                    value, at = _buffer(body, at)
                    (version,) = _INT.unpack_from(body, at)
                    self._write(SavedNode(path, value, 0, txn.zxid, txn.time, version, 0, 0))
            case LoggedKind.CLOSE_SESSION:
                self._close(txn.session, txn.zxid)
            case LoggedKind.CREATE_SESSION | LoggedKind.ERROR | LoggedKind.SET_ACL | LoggedKind.CHECK:
                return
            case _:
                raise ValueError("it is not known")

    def _create(self, node: SavedNode) -> None:
        after = self._after.setdefault(node.path, _After())
        if after.node is None:  # else it is there
            after.node = node

    def _delete(self, path: bytes) -> None:
        if self.keeps(path):
            self._after[path] = _After(settled=True)

    def _write(self, write: SavedNode) -> None:
        after = self._after.setdefault(write.path, _After())
        if after.settled:
            after.node = _written(after.node, write)
        else:
            after.value = write

    def _close(self, session: int, zxid: int) -> None:
        self._closed.setdefault(session, zxid)  # once more, as when it expires while it is closed, ends nothing
        for path, after in self._after.items():
            if after.node is not None and after.node.owner == session:
                self._after[path] = _After(settled=True)


def _written(node: SavedNode | None, write: SavedNode | None) -> SavedNode | None:
    """A node after a write; nothing is written where none is, nor over what was made later."""
    if node is None or write is None or write.mzxid < node.mzxid:
        return node
    return node._replace(value=write.value, mzxid=write.mzxid, mtime=write.mtime, version=write.version)


def _owner(kind: int, body: bytes, at: int, session: int) -> int:
    if kind == LoggedKind.CREATE_CONTAINER:
        return CONTAINER_OWNER
    if kind == LoggedKind.CREATE_TTL:
        return _TTL_OWNER
    (count,) = _INT.unpack_from(body, at)
    at += 4
    for _ in range(max(count, 0)):
        _, at = _buffer(body, at + 4)
        _, at = _buffer(body, at)
    return session if body[at] else 0


def _parts(body: bytes) -> Iterator[tuple[int, bytes]]:
    (count,) = _INT.unpack_from(body)
    at = 4
    for _ in range(count):
        (kind,) = _INT.unpack_from(body, at)
        part, at = _buffer(body, at + 4)
        yield kind, part


def _buffer(body: bytes, at: int) -> tuple[bytes, int]:
    (length,) = _INT.unpack_from(body, at)
    start = at + 4
    if length < 0:
        return b"", start
    if start + length > len(body):
        raise ValueError("it ends too early")
    return body[start : start + length], start + length
