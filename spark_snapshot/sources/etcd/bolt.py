"""The pages of a bbolt database that nobody writes to: its buckets, and the keys of one, from the last to the first.

Nothing in the file is believed: each page is read once, must be inside the file and be what it is said to be, and keys
must be in order, between those that the page above tells. What does not fit ends the reading.

Source: go.etcd.io/bbolt 1.3 and 1.4, page.go, bucket.go, tx.go; layout version 2, little-endian.
"""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from syncer.errors import StoreError, StoreFilesDamaged

MAGIC: Final = 0xED0CDAED
VERSION: Final = 2
MIN_PAGE_BYTES: Final = 512
MAX_PAGE_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 64

_BRANCH: Final = 0x01
_LEAF: Final = 0x02
_META: Final = 0x04
_IS_BUCKET: Final = 0x01

_HEAD: Final = struct.Struct("<QHHI")
"""Of a page: its number, what it is, how many elements it has, how many pages more it takes."""
_FACTS: Final = struct.Struct("<IIIIQQQQQ")
"""Of a meta page: magic, version, size of pages, flags, root's page and sequence, free pages, pages, transaction."""
_SUM: Final = struct.Struct("<Q")
_IN_BRANCH: Final = struct.Struct("<IIQ")
"""Where the key lies (from here on), its size, the page below."""
_IN_LEAF: Final = struct.Struct("<IIII")
"""What it is, where the key lies (from here on), its size, the size of the value behind it."""
_BUCKET: Final = struct.Struct("<QQ")
"""Its root page, or 0: the page follows here; its sequence."""

HEAD_BYTES: Final = _HEAD.size + 4
"""So much of a file shows whether it is a database at all."""

_FNV_BASIS: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3
_MASK: Final = (1 << 64) - 1


Element: TypeAlias = tuple[bytes, int, int, bool]
"""A key, where in the page its value begins, the size of that, whether it is a bucket. Plain: millions are made."""


class Leaf(NamedTuple):
    """A page with keys and values; its elements from the last to the first."""

    page: bytes
    elements: list[Element]


def begins_like_one(head: bytes) -> bool:
    """Whether a file with this beginning is a bbolt database."""
    return head[_HEAD.size : HEAD_BYTES] == MAGIC.to_bytes(4, "little")


class Bolt:
    """A database in an open file.

    Args:
        file: Its name, for errors.
        descriptor: The open file.
        size: How many bytes of it are the database.

    Raises:
        StoreFilesDamaged: It is no whole database.
        StoreError: It cannot be read.
    """

    def __init__(self, file: Path, descriptor: int, size: int) -> None:
        self._file = file
        self._descriptor = descriptor
        self._page_bytes = self._size_of_pages()
        first, second = self._meta(0), self._meta(1)
        _, self._root, self._pages = max(first, second)
        if self._pages * self._page_bytes != size:
            raise self.damaged(f"it has {size} bytes, and {self._pages} pages of {self._page_bytes}")

    def backwards(self, bucket: bytes) -> Iterator[Leaf]:
        """The keys of a bucket, the last one first.

        Raises:
            StoreFilesDamaged: The file is not whole, or has no such bucket.
            StoreError: It cannot be read.
        """
        for page, elements in self._walk(self._root):
            for key, start, size, is_bucket in elements:
                if key == bucket and is_bucket:
                    if size < _BUCKET.size:
                        raise self.damaged(f"the bucket {bucket!r} has no root")
                    root, _ = _BUCKET.unpack_from(page, start)
                    if root:
                        yield from self._walk(root)
                    else:
                        yield self._inline(page[start + _BUCKET.size : start + size])
                    return
        raise self.damaged(f"it has no bucket {bucket!r}")

    def damaged(self, what: str) -> StoreFilesDamaged:
        """The error that names the file."""
        return StoreFilesDamaged(f"{self._file} is no whole database of etcd: {what}")

    # -- the tree

    def _walk(self, root: int) -> Iterator[Leaf]:
        seen = bytearray(self._pages)
        todo: list[tuple[int, bytes, bytes | None, int]] = [(root, b"", None, 0)]
        while todo:
            number, low, high, depth = todo.pop()
            page, kind, count = self._page(number, seen)
            if kind == _LEAF and (count or number == root):
                yield self._leaf(page, count, low, high)
            elif kind == _BRANCH and count and depth < MAX_DEPTH:
                todo += self._branch(page, count, low, high, depth + 1)
            else:
                raise self.damaged(f"page {number} is of the kind {kind} with {count} elements")

    def _inline(self, page: bytes) -> Leaf:
        """A bucket that is so small that it lies in the value of its name."""
        if len(page) < _HEAD.size:
            raise self.damaged("a bucket without a page")
        _, kind, count, overflow = _HEAD.unpack_from(page)
        if kind != _LEAF or overflow:
            raise self.damaged(f"a bucket with a page of the kind {kind}")
        return self._leaf(page, count, b"", None)

    def _leaf(self, page: bytes, count: int, low: bytes, high: bytes | None) -> Leaf:
        limit = len(page)
        at = first = _HEAD.size + count * _IN_LEAF.size
        if first > limit:
            raise self.damaged(f"a page of {limit} bytes has {count} elements")
        elements: list[Element] = []
        for flags, position, key_bytes, size in reversed(list(_IN_LEAF.iter_unpack(page[_HEAD.size : first]))):
            at -= _IN_LEAF.size
            key_at = at + position
            start = key_at + key_bytes
            if key_at < first or start + size > limit:
                raise self.damaged("an element lies outside of its page")
            key = page[key_at:start]
            if high is not None and key >= high:
                raise self.damaged(f"the key {key!r} is not before {high!r}")
            high = key
            elements.append((key, start, size, flags == _IS_BUCKET))
        if elements and elements[-1][0] < low:
            raise self.damaged(f"the key {elements[-1][0]!r} stands behind {low!r}")
        return Leaf(page, elements)

    def _branch(
        self, page: bytes, count: int, low: bytes, high: bytes | None, depth: int
    ) -> list[tuple[int, bytes, bytes | None, int]]:
        """The pages below, with the keys between which theirs are."""
        first = _HEAD.size + count * _IN_BRANCH.size
        if first > len(page):
            raise self.damaged(f"a page of {len(page)} bytes has {count} elements")
        below: list[tuple[int, bytes]] = []
        for index, (position, key_bytes, number) in enumerate(_IN_BRANCH.iter_unpack(page[_HEAD.size : first])):
            start = _HEAD.size + index * _IN_BRANCH.size + position
            if start < first or start + key_bytes > len(page):
                raise self.damaged("an element lies outside of its page")
            below.append((number, page[start : start + key_bytes]))
        keys = [low, *(key for _, key in below)]
        if any(one > other or (one == other and at) for at, (one, other) in enumerate(itertools.pairwise(keys))):
            raise self.damaged("the keys above a page are not in order")
        if high is not None and keys[-1] >= high:
            raise self.damaged(f"the key {keys[-1]!r} is not before {high!r}")
        ends = [*(key for _, key in below[1:]), high]
        return [(number, key, end, depth) for (number, key), end in zip(below, ends, strict=True)]

    # -- pages

    def _page(self, number: int, seen: bytearray) -> tuple[bytes, int, int]:
        """A page that has not been seen yet, with all that belongs to it: its bytes, its kind, its elements."""
        if not 2 <= number < self._pages:
            raise self.damaged(f"it has no page {number}")
        page = self._read(number * self._page_bytes, self._page_bytes)
        named, kind, count, overflow = _HEAD.unpack_from(page)
        end = number + 1 + overflow
        if named != number or end > self._pages:
            raise self.damaged(f"page {number} says that it is page {named}, and takes {overflow} more")
        if overflow:
            page = self._read(number * self._page_bytes, (1 + overflow) * self._page_bytes)
        if any(seen[number:end]):
            raise self.damaged(f"page {number} belongs to two")
        seen[number:end] = b"\1" * (end - number)
        return page, kind, count

    def _size_of_pages(self) -> int:
        head = self._read(0, _HEAD.size + _FACTS.size)
        magic, version, page_bytes, *_ = _FACTS.unpack_from(head, _HEAD.size)
        if magic != MAGIC or version != VERSION:
            raise self.damaged("it does not begin like one")
        if not MIN_PAGE_BYTES <= page_bytes <= MAX_PAGE_BYTES or page_bytes & (page_bytes - 1):
            raise self.damaged(f"its pages have {page_bytes} bytes")
        return int(page_bytes)

    def _meta(self, number: int) -> tuple[int, int, int]:
        """What a meta page says: the transaction, the root's page, how many pages there are."""
        page = self._read(number * self._page_bytes, _HEAD.size + _FACTS.size + _SUM.size)
        named, kind, _, _ = _HEAD.unpack_from(page)
        magic, version, page_bytes, _, root, _, _, pages, transaction = _FACTS.unpack_from(page, _HEAD.size)
        (checksum,) = _SUM.unpack_from(page, _HEAD.size + _FACTS.size)
        if (named, kind, magic, version, page_bytes) != (number, _META, MAGIC, VERSION, self._page_bytes):
            raise self.damaged(f"page {number} is not what it has to be")
        if checksum != fnv64a(page[_HEAD.size : _HEAD.size + _FACTS.size]):
            raise self.damaged(f"the checksum of page {number} does not fit")
        return transaction, root, pages

    def _read(self, start: int, count: int) -> bytes:
        """Bytes of the file. Not a map of it: what is cut off behind our back must be an error, not a signal."""
        try:
            read = os.pread(self._descriptor, count, start)
        except OSError as exc:
            raise StoreError(f"{self._file} cannot be read: {exc.strerror or exc}") from exc
        if len(read) != count:
            raise self.damaged("it ends too early")
        return read


def fnv64a(content: bytes) -> int:
    """The checksum of a meta page."""
    summed = _FNV_BASIS
    for byte in content:
        summed = ((summed ^ byte) * _FNV_PRIME) & _MASK
    return summed
