"""The digest tree: sums over everything that is known to be alive, two fixed levels of 256, kept up change by change.

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
does.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from syncer.model import Digest, MetaPath

GROUPS: Final = 256
BUCKETS: Final = 256
"""Of each group."""
SUM_BYTES: Final = 16
SHAPE: Final = "256x256/blake2b-128/1"
"""Changes whenever sums of the same registers would; trees of different shapes are never compared."""

_MASK: Final = (1 << (8 * SUM_BYTES)) - 1
_ENTRY: Final = struct.Struct(f">H{SUM_BYTES}si")

Changes = dict[int, tuple[int, int]]
"""Bucket → what is added to its sum and to its count."""


def bucket_of(path: MetaPath) -> int:
    """Number of a path's bucket, 0 to 65,535; the upper eight bits are its group."""
    return int.from_bytes(hashlib.blake2b(path.encode(), digest_size=2).digest())


def element(path: MetaPath, digest: Digest) -> int:
    """What a living path adds to its bucket's sum."""
    return int.from_bytes(hashlib.blake2b(b"%b\0%b" % (path.encode(), digest), digest_size=SUM_BYTES).digest())


def note(changes: Changes, path: MetaPath, before: Digest | None, after: Digest | None) -> None:
    """Add one path's change to ``changes``; ``None`` stands for dead or unknown."""
    if before == after:
        return
    bucket = bucket_of(path)
    added, count = changes.get(bucket, (0, 0))
    if before is not None:
        added, count = added - element(path, before), count - 1
    if after is not None:
        added, count = added + element(path, after), count + 1
    changes[bucket] = (added & _MASK, count)


def packed(changes: Changes) -> bytes:
    """Changes as bytes, to be kept beside the rows that they sum."""
    return b"".join(_ENTRY.pack(bucket, added.to_bytes(SUM_BYTES), count) for bucket, (added, count) in changes.items())


def unpacked(kept: bytes) -> Changes:
    """What :func:`packed` has packed."""
    return {bucket: (int.from_bytes(added), count) for bucket, added, count in _ENTRY.iter_unpack(kept)}


class DigestTree:
    """The sums of one scope. Groups that were never touched take no memory."""

    __slots__ = ("_counts", "_sums", "count", "groups", "root")

    def __init__(self) -> None:
        self._sums: dict[int, list[int]] = {}
        self._counts: dict[int, list[int]] = {}
        self.groups: Final = [0] * GROUPS
        self.root = 0
        self.count = 0

    def apply(self, changes: Mapping[int, tuple[int, int]]) -> None:
        """Take changes over, as :func:`note` has gathered them."""
        for bucket, (added, count) in changes.items():
            group, place = divmod(bucket, BUCKETS)
            sums = self._sums.get(group)
            if sums is None:
                sums = self._sums[group] = [0] * BUCKETS
                self._counts[group] = [0] * BUCKETS
            sums[place] = (sums[place] + added) & _MASK
            self._counts[group][place] += count
            self.groups[group] = (self.groups[group] + added) & _MASK
            self.root = (self.root + added) & _MASK
            self.count += count

    def buckets(self, group: int) -> Sequence[int]:
        """The sums of a group's buckets."""
        return self._sums.get(group, _NOTHING)

    def held(self, bucket: int) -> int:
        """How many living paths a bucket holds."""
        group, place = divmod(bucket, BUCKETS)
        counts = self._counts.get(group)
        return counts[place] if counts is not None else 0

    def differing(self, group: int, theirs: Iterable[int], bits: int) -> list[int]:
        """Numbers of the buckets of a group whose sums differ in their lower ``bits``."""
        mask = (1 << bits) - 1
        first = group * BUCKETS
        pairs = zip(self.buckets(group), theirs, strict=True)
        return [first + place for place, (own, their) in enumerate(pairs) if (own ^ their) & mask]

    def page(self, group: int) -> bytes:
        """One group as bytes: changes that make it from nothing."""
        return packed(dict(self._entries(group)))

    def pages(self) -> dict[int, bytes]:
        """All groups that were ever touched, as bytes."""
        return {group: self.page(group) for group in sorted(self._sums)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DigestTree):
            return NotImplemented
        return self._everything() == other._everything()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def _everything(self) -> Changes:
        return dict(entry for group in self._sums for entry in self._entries(group))

    def _entries(self, group: int) -> Iterator[tuple[int, tuple[int, int]]]:
        pairs = zip(self._sums[group], self._counts[group], strict=True)
        for place, (added, count) in enumerate(pairs):
            if added or count:
                yield group * BUCKETS + place, (added, count)


_NOTHING: Final = (0,) * BUCKETS
