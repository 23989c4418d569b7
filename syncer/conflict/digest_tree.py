"""The digest tree, a Merkle tree with sums for hashes: two fixed levels of 256 over all that is known to be alive.

A path belongs for ever to the bucket that its hash names: 256 groups of 256 buckets. An *element* is the hash of a path
and the digest of its known value; a bucket's sum is the sum of its elements modulo 2^128, a group's the sum of its
buckets', the root the sum of all. Stamps, dead paths, holds and parked writes are not hashed: two regions whose known
values are equal have equal trees, however they came by them, and in whatever order.

Why a sum: it commutes and can be inverted, so a change costs two hashes and touches one bucket, and nothing is ever
read again to keep it. Why it can be trusted: elements are 128 bits of BLAKE2b, so two different sets have equal sums
with probability 2^-128. That holds against accident, which is what is looked for here: messages that were lost. It does
not hold against somebody who may write metadata and searches for sets of many values with equal sums; whoever may do
that has shorter ways to spoil a value. A bucket also counts its elements, and a sum travels for buckets by its lower 64
bits only: groups and root travel whole, so that an accident there shows as groups that differ without a bucket that
does. Which bucket a path belongs to needs to be spread evenly and nothing else: a checksum names it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final
from zlib import crc32

from syncer.model import Digest, MetaPath

GROUPS: Final = 256
BUCKETS: Final = 256
"""Of each group."""
SUM_BYTES: Final = 16
SHAPE: Final = "256x256/crc32/blake2b-128/1"
"""Changes whenever sums of the same registers would; trees of different shapes are never compared."""

_MASK: Final = (1 << (8 * SUM_BYTES)) - 1
_ENTRY: Final = struct.Struct(f">H{SUM_BYTES}si")

_NO_CHANGE: Final = (0, 0)

Changes = dict[int, tuple[int, int]]
"""Bucket → what is added to its sum and to its count."""


def bucket_of(path: MetaPath) -> int:
    """Number of a path's bucket, 0 to 65,535; the upper eight bits are its group."""
    return crc32(path.encode()) & 0xFFFF


def element(path: MetaPath, digest: Digest) -> int:
    """What a living path adds to its bucket's sum. No path holds a NUL: two pairs never make the same text."""
    return _element(path.encode(), digest)


def note(changes: Changes, path: MetaPath, before: Digest | None, after: Digest | None) -> None:
    """Add one path's change to ``changes``; ``None`` stands for dead or unknown."""
    if before == after:
        return
    raw = path.encode()
    bucket = crc32(raw) & 0xFFFF
    added, count = changes.get(bucket, _NO_CHANGE)
    if before is not None:
        added -= _element(raw, before)
        count -= 1
    if after is not None:
        added += _element(raw, after)
        count += 1
    changes[bucket] = (added & _MASK, count)


def _element(raw: bytes, digest: Digest) -> int:
    return int.from_bytes(blake2b(raw + b"\0" + digest, digest_size=SUM_BYTES).digest())


def packed(changes: Changes) -> bytes:
    """Changes as bytes, to be kept beside the rows that they sum."""
    return b"".join(_ENTRY.pack(bucket, added.to_bytes(SUM_BYTES), count) for bucket, (added, count) in changes.items())


def unpacked(kept: bytes) -> Changes:
    """What :func:`packed` has packed."""
    return {bucket: (int.from_bytes(added), count) for bucket, added, count in _ENTRY.iter_unpack(kept)}


class DigestTree:
    """The sums of one scope. Buckets that were never touched take no memory."""

    __slots__ = ("_counts", "_groups", "_sums", "count")

    def __init__(self) -> None:
        self._sums: dict[int, int] = {}
        self._counts: dict[int, int] = {}
        self._groups = [0] * GROUPS
        self.count = 0

    def apply(self, changes: Mapping[int, tuple[int, int]]) -> None:
        """Take changes over, as :func:`note` has gathered them."""
        sums, counts, groups = self._sums, self._counts, self._groups
        for bucket, (added, count) in changes.items():
            sums[bucket] = (sums.get(bucket, 0) + added) & _MASK
            groups[bucket // BUCKETS] = (groups[bucket // BUCKETS] + added) & _MASK
            if count:
                counts[bucket] = counts.get(bucket, 0) + count
                self.count += count

    @property
    def groups(self) -> Sequence[int]:
        """The sums of all groups."""
        return tuple(self._groups)

    @property
    def root(self) -> int:
        """The sum of everything."""
        return sum(self._groups) & _MASK

    def buckets(self, group: int) -> Sequence[int]:
        """The sums of a group's buckets."""
        first = group * BUCKETS
        return [self._sums.get(bucket, 0) for bucket in range(first, first + BUCKETS)]

    def held(self, bucket: int) -> int:
        """How many living paths a bucket holds."""
        return self._counts.get(bucket, 0)

    def differing(self, group: int, theirs: Iterable[int], bits: int) -> list[int]:
        """Numbers of the buckets of a group whose sums differ in their lower ``bits``."""
        mask = (1 << bits) - 1
        pairs = zip(self.buckets(group), theirs, strict=True)
        return [group * BUCKETS + place for place, (own, their) in enumerate(pairs) if (own ^ their) & mask]

    def pages(self) -> dict[int, bytes]:
        """All groups that hold something, as bytes: changes that make them from nothing."""
        pages: dict[int, Changes] = {}
        for bucket, entry in self._everything().items():
            pages.setdefault(bucket // BUCKETS, {})[bucket] = entry
        return {group: packed(entries) for group, entries in sorted(pages.items())}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DigestTree):
            return NotImplemented
        return self._everything() == other._everything()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def _everything(self) -> Changes:
        found = {bucket: (total, self._counts.get(bucket, 0)) for bucket, total in self._sums.items()}
        return {bucket: entry for bucket, entry in found.items() if entry != (0, 0)}
