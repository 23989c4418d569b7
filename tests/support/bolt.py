"""Files as ``etcdctl snapshot save`` writes them, made page by page: what a real server writes seldom, or never."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from spark_snapshot.sources.etcd.bolt import MAGIC, VERSION, fnv64a
from syncer.stores.etcd.wire import load

PAGE_BYTES: Final = 4096
BRANCH: Final = 1
LEAF: Final = 2
META: Final = 4
NO_FREE_LIST: Final = 0xFFFFFFFFFFFFFFFF

Bucket = Mapping[bytes, bytes]


def revision(main: int, sub: int = 0, *, deletes: bool = False) -> bytes:
    """A key of the bucket ``key``."""
    return main.to_bytes(8) + b"_" + sub.to_bytes(8) + (b"t" if deletes else b"")


def write(name: str, value: bytes, main: int, **fields: Any) -> tuple[bytes, bytes]:
    """A write of a key, as that bucket has it."""
    message = load().messages["KeyValue"](
        **{"key": name.encode(), "value": value, "create_revision": main, "mod_revision": main, "version": 1, **fields}
    )
    return revision(main), message.SerializeToString()


def delete(name: str, main: int) -> tuple[bytes, bytes]:
    """A delete of a key."""
    return revision(main, deletes=True), load().messages["KeyValue"](key=name.encode()).SerializeToString()


def leaf(number: int, items: Sequence[tuple[bytes, bytes]], *, buckets: bool = False, overflow: int = 0) -> bytes:
    """A page of keys and values, without the zeros at its end."""
    head = struct.pack("<QHHI", number, LEAF, len(items), overflow)
    table, data = b"", b""
    for index, (key, value) in enumerate(items):
        position = (len(items) - index) * 16 + len(data)
        table += struct.pack("<IIII", int(buckets), position, len(key), len(value))
        data += key + value
    return head + table + data


def branch(number: int, below: Sequence[tuple[bytes, int]]) -> bytes:
    """A page that names the first keys of others."""
    head = struct.pack("<QHHI", number, BRANCH, len(below), 0)
    table, data = b"", b""
    for index, (key, page) in enumerate(below):
        table += struct.pack("<IIQ", (len(below) - index) * 16 + len(data), len(key), page)
        data += key
    return head + table + data


def meta(number: int, root: int, pages: int, transaction: int, **changed: int) -> bytes:
    """A meta page."""
    facts = {"magic": MAGIC, "version": VERSION, "page_bytes": PAGE_BYTES, "flags": 0} | changed
    body = struct.pack(
        "<IIIIQQQQQ",
        *(facts[name] for name in ("magic", "version", "page_bytes", "flags")),
        *(root, 0, NO_FREE_LIST, pages, transaction),
    )
    return struct.pack("<QHHI", number, META, 0, 0) + body + struct.pack("<Q", fnv64a(body))


def paged(pages: Sequence[bytes]) -> bytes:
    """Pages one behind the other, each at the next whole page."""
    return b"".join(page.ljust(-(-len(page) // PAGE_BYTES) * PAGE_BYTES, b"\0") for page in pages)


def sealed(database: bytes) -> bytes:
    """With the checksum behind it."""
    return database + hashlib.sha256(database).digest()


def in_line(items: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A bucket that lies in the value of its name."""
    return struct.pack("<QQ", 0, 0) + leaf(0, items)


def rooted(page: int) -> bytes:
    """A bucket that begins at a page."""
    return struct.pack("<QQ", page, 0)


def database(items: Sequence[tuple[bytes, bytes]], *, each: int = 3, facts: Bucket | None = None) -> bytes:
    """A database of etcd's with these writes, in order: leaves of so many, below branches of so many.

    Args:
        items: Of the bucket ``key``.
        each: How many a page has.
        facts: Of the bucket ``meta``.
    """
    pages: list[bytes] = []
    at = 3

    def add(page: bytes) -> int:
        nonlocal at
        number = at
        pages.append(page)
        at += -(-len(page) // PAGE_BYTES)
        return number

    level: list[tuple[bytes, int]] = []
    for start in range(0, len(items), each):
        part = items[start : start + each]
        overflow = -(-len(leaf(at, part)) // PAGE_BYTES) - 1
        level.append((part[0][0], add(leaf(at, part, overflow=overflow))))
    while len(level) > 1:
        parts = [level[start : start + each] for start in range(0, len(level), each)]
        level = [(part[0][0], add(branch(at, part))) for part in parts]
    key = rooted(level[0][1]) if level else in_line([])
    root = leaf(2, [(b"key", key), (b"meta", in_line(sorted((facts or {}).items())))], buckets=True)
    return paged([meta(0, 2, at, 7), meta(1, 2, at, 6), root, *pages])
