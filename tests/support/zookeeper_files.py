"""Writes ZooKeeper's files as its formats say, apart from the product's readers."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ACL = struct.pack("!i", 1) + struct.pack("!ii", 31, 5) + b"world" + struct.pack("!i", 6) + b"anyone"
OPEN_ACL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """A node with its stat."""

    path: str
    value: bytes
    czxid: int
    mzxid: int
    mtime: int
    version: int = 0
    owner: int = 0

    def __bytes__(self) -> bytes:
        stat = struct.pack("!qqqqiiiqq", self.czxid, self.mzxid, 0, self.mtime, self.version, 0, 0, self.owner, 0)
        return text(self.path) + buffer(self.value) + struct.pack("!q", OPEN_ACL) + stat


def text(value: str) -> bytes:
    """A text with its length."""
    return buffer(value.encode())


def buffer(value: bytes) -> bytes:
    """Bytes with their length."""
    return struct.pack("!i", len(value)) + value


def snapshot(nodes: Iterable[Znode], *, extras: bool = True) -> bytes:
    """A snapshot file; with ``extras`` as 3.9 writes it, without as 3.4 did."""
    head = struct.pack("!4siq", b"ZKSN", 2, -1)
    sessions = struct.pack("!i", 1) + struct.pack("!qi", 77, 30_000)
    acls = struct.pack("!i", 1) + struct.pack("!q", 1) + ACL
    root = Znode(path="", value=b"", czxid=0, mzxid=0, mtime=0)
    content = head + sessions + acls + bytes(root) + b"".join(map(bytes, nodes)) + text("/")
    content = sealed(content)
    if extras:
        content = sealed(content + struct.pack("!qiq", 1, 2, 3))
        content = sealed(content + struct.pack("!q", 1))
    return content


def sealed(content: bytes) -> bytes:
    """Content with its checksum behind it."""
    return content + struct.pack("!q", zlib.adler32(content)) + text("/")


def create(node: Znode) -> tuple[int, bytes]:
    """The transaction part that makes a node."""
    body = text(node.path) + buffer(node.value) + ACL + bytes([node.owner != 0]) + struct.pack("!i", 1)
    return 1, body


def delete(path: str) -> tuple[int, bytes]:
    """The part that deletes one."""
    return 2, text(path)


def set_data(path: str, value: bytes, version: int) -> tuple[int, bytes]:
    """The part that writes one."""
    return 5, text(path) + buffer(value) + struct.pack("!i", version)


def multi(parts: Iterable[tuple[int, bytes]]) -> tuple[int, bytes]:
    """Several parts as one transaction."""
    listed = list(parts)
    return 14, struct.pack("!i", len(listed)) + b"".join(
        struct.pack("!i", kind) + buffer(body) for kind, body in listed
    )


def close_session() -> tuple[int, bytes]:
    """The end of a session."""
    return -11, b""


def error() -> tuple[int, bytes]:
    """A transaction, or a part of one, that was refused."""
    return -1, struct.pack("!i", -101)


def record(zxid: int, time: int, part: tuple[int, bytes], *, session: int = 77) -> bytes:
    """A record of the log."""
    kind, body = part
    txn = struct.pack("!qiqqi", session, 1, zxid, time, kind) + body + struct.pack("!iq", 2, 99)  # its digest
    return struct.pack("!qi", zlib.adler32(txn), len(txn)) + txn + b"B"


def log(records: Iterable[bytes], *, padding: int = 64) -> bytes:
    """A log file."""
    return struct.pack("!4siq", b"ZKLG", 2, 0) + b"".join(records) + bytes(padding)


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """Files in a folder."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder
