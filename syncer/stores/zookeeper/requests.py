"""The requests that kazoo 2.11 lacks, as bytes: recursive watches, reads of many paths, stats of what was written.

Requests carry their bytes ready made, so that the connection's thread cannot fail on one; answers are parsed there.

Source: ZooKeeper 3.9, zookeeper.jute, MultiOperationRecord, MultiResponse.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from syncer.model import Revision

NO_NODE: Final = -101
NO_AUTH: Final = -102
BAD_VERSION: Final = -103
NO_CHILDREN_FOR_EPHEMERALS: Final = -108
NODE_EXISTS: Final = -110
NOT_EMPTY: Final = -111
INVALID_ACL: Final = -114
NOT_READ_ONLY: Final = -119
BAD_ARGUMENTS: Final = -8

CONTAINER_OWNER: Final = -(1 << 63)
"""Owner of a container node, which is no session."""

_PERMISSION_BITS: Final = {"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}
_OK: Final = 0
_NOT_REACHED: Final = -2
"""Code of a multi's operations after the one that failed."""

_INT: Final = struct.Struct("!i")
_PART_HEADER: Final = struct.Struct("!iBi")
_PART_OF_PATH: Final = struct.Struct("!iBii")
"""A part's head, and the length of the path behind it."""
_STAT: Final = struct.Struct("!qqqqiiiqiiq")

_CREATE2: Final = 15
_DELETE: Final = 2
_SET_DATA: Final = 5
_GET_DATA: Final = 4
_GET_CHILDREN: Final = 8
_FAILED: Final = -1
_END: Final = _PART_HEADER.pack(-1, 1, -1)


class Stat(NamedTuple):
    """ZooKeeper's record of a node; times in milliseconds since the epoch."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int

    @property
    def revision(self) -> Revision:
        """The store's token for this state of the node; see :func:`revision_of`."""
        return revision_of(self.mzxid, self.version, self.czxid)

    @property
    def ephemeral(self) -> bool:
        """Whether the node goes away by itself."""
        return is_ephemeral(self.ephemeral_owner)


class Node(NamedTuple):
    """A node as read."""

    value: bytes
    stat: Stat


class Failed(NamedTuple):
    """One part of a request failed, with ZooKeeper's error code."""

    code: int


class Permission(NamedTuple):
    """One entry of an ACL: permission bits, scheme, id."""

    bits: int
    scheme: str
    identity: str

    @classmethod
    def read(cls, entry: str) -> Permission:
        """Read ``scheme:id:permissions``.

        Raises:
            ValueError: It is something else.
        """
        scheme, _, rest = entry.partition(":")
        identity, colon, letters = rest.rpartition(":")
        if not scheme or not colon or not letters or not set(letters) <= set(_PERMISSION_BITS):
            raise ValueError(f"{entry!r} is not scheme:id:permissions, with permissions of the letters cdrwa")
        return cls(sum(_PERMISSION_BITS[letter] for letter in set(letters)), scheme, identity)


def revision_of(mzxid: int, version: int, czxid: int) -> Revision:
    """The token of a node's state: its last write, its version, its creation."""
    return Revision(f"{mzxid}.{version}.{czxid}")


def is_ephemeral(owner: int) -> bool:
    """Whether a node with this owner goes away by itself: with a session, or after a time."""
    return owner not in {0, CONTAINER_OWNER}


def _text(value: str) -> bytes:
    raw = value.encode()
    return _INT.pack(len(raw)) + raw


def _buffer(value: bytes) -> bytes:
    return _INT.pack(len(value)) + value


def _read_buffer(data: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = _INT.unpack_from(data, offset)
    start = offset + 4
    return (b"", start) if length < 0 else (data[start : start + length], start + length)


def _read_stat(data: bytes, offset: int) -> tuple[Stat, int]:
    return Stat._make(_STAT.unpack_from(data, offset)), offset + _STAT.size


class Request:
    """A request with its bytes ready made."""

    type: ClassVar[int]
    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body = body

    @property
    def size(self) -> int:
        """Bytes of the request without its header."""
        return len(self._body)

    def serialize(self) -> bytes:
        """The bytes to send."""
        return self._body

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> object:
        """Parse the answer."""
        del data, offset
        return None


class Sync(Request):
    """Let the server catch up with its leader; answered when it has."""

    type = 9
    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(_text(path))


class AddRecursiveWatch(Request):
    """Watch a path and all below, until the connection ends. The path need not exist."""

    type = 106
    _RECURSIVE: ClassVar[int] = 1
    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(_text(path) + _INT.pack(self._RECURSIVE))


class RemoveWatches(Request):
    """End all watches on a path."""

    type = 18
    _ANY: ClassVar[int] = 3
    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(_text(path) + _INT.pack(self._ANY))


class MultiRead(Request):
    """Read many nodes, or the names of many nodes' children, in the order given; each answer stands for itself."""

    type = 22
    __slots__ = ()

    @classmethod
    def nodes(cls, paths: Sequence[str]) -> MultiRead:
        """Read values and stats; the answer is a list of ``Node`` or ``Failed``."""
        return cls(cls._parts(_GET_DATA, paths))

    @classmethod
    def children(cls, paths: Sequence[str]) -> MultiRead:
        """Read the children's names; the answer is a list of lists of names, or ``Failed``."""
        return cls(cls._parts(_GET_CHILDREN, paths))

    @staticmethod
    def _parts(kind: int, paths: Sequence[str]) -> bytes:
        head = _PART_OF_PATH.pack
        return b"".join([head(kind, 0, -1, len(raw)) + raw + b"\0" for raw in map(str.encode, paths)]) + _END

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Node | list[str] | Failed]:
        """Parse the parts of the answer."""
        results: list[Node | list[str] | Failed] = []
        while True:
            kind, done, _ = _PART_HEADER.unpack_from(data, offset)
            offset += _PART_HEADER.size
            if done:
                return results
            if kind == _GET_DATA:
                value, offset = _read_buffer(data, offset)
                stat, offset = _read_stat(data, offset)
                results.append(Node(value, stat))
            elif kind == _GET_CHILDREN:
                names, offset = cls._names(data, offset)
                results.append(names)
            else:
                results.append(Failed(_INT.unpack_from(data, offset)[0]))
                offset += 4

    @staticmethod
    def _names(data: bytes, offset: int) -> tuple[list[str], int]:
        (count,) = _INT.unpack_from(data, offset)
        offset += 4
        names: list[str] = []
        length_at = _INT.unpack_from
        for _ in range(count):
            (length,) = length_at(data, offset)
            start = offset + 4
            offset = start + max(length, 0)
            names.append(data[start:offset].decode())
        return names, offset


class Multi(Request):
    """Write many nodes in one transaction, all or none."""

    type = 14
    __slots__ = ()

    def __init__(self, parts: Sequence[bytes]) -> None:
        super().__init__(b"".join(parts) + _END)

    @staticmethod
    def create(path: str, value: bytes, acl: Sequence[Permission]) -> bytes:
        """Create a lasting node; its result is its stat."""
        entries = b"".join(_INT.pack(each.bits) + _text(each.scheme) + _text(each.identity) for each in acl)
        head = _PART_HEADER.pack(_CREATE2, 0, -1)
        return head + _text(path) + _buffer(value) + _INT.pack(len(acl)) + entries + _INT.pack(0)

    @staticmethod
    def set_data(path: str, value: bytes, version: int) -> bytes:
        """Overwrite a node at a version; its result is its stat."""
        return _PART_HEADER.pack(_SET_DATA, 0, -1) + _text(path) + _buffer(value) + _INT.pack(version)

    @staticmethod
    def delete(path: str, version: int) -> bytes:
        """Delete a node at a version; its result is ``None``."""
        return _PART_HEADER.pack(_DELETE, 0, -1) + _text(path) + _INT.pack(version)

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Stat | Failed | None]:
        """Parse the parts of the answer; when one failed, nothing was written and every part is ``Failed``."""
        results: list[Stat | Failed | None] = []
        while True:
            kind, done, _ = _PART_HEADER.unpack_from(data, offset)
            offset += _PART_HEADER.size
            if done:
                return results
            if kind == _FAILED:
                results.append(Failed(_INT.unpack_from(data, offset)[0]))
                offset += 4
            elif kind == _DELETE:
                results.append(None)
            else:
                if kind == _CREATE2:
                    _, offset = _read_buffer(data, offset)
                stat, offset = _read_stat(data, offset)
                results.append(stat)


def first_failure(results: Sequence[Stat | Failed | None]) -> tuple[int, int] | None:
    """Index and code of the part because of which a transaction was refused, or ``None`` when it was not."""
    for index, result in enumerate(results):
        if isinstance(result, Failed) and result.code not in {_OK, _NOT_REACHED}:
            return index, result.code
    return None
