"""Bodies of the messages by which two regions walk down their digest trees: bytes and back, strictly checked.

step        body
groups      the 256 sums of the groups, 16 bytes each
buckets     per differing group: its number, one byte, and the lower 8 bytes of the sums of its 256 buckets
listing     buckets, and every living path that the sender knows in them with digest and stamp; compressed JSON
remainder   the same of the other side, without the paths that were just listed to it
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import orjson

from syncer.bus.wire.fields import is_id
from syncer.conflict.digest_tree import BUCKETS, GROUPS, SUM_BYTES
from syncer.conflict.projection import DIGEST_BYTES
from syncer.errors import PayloadInvalid, ValueRefused
from syncer.model import Digest, MetaPath, Millis, Region, Stamp
from syncer.paths import checked

SHORT_BYTES: Final = 8
"""Of a bucket's sum."""
GROUPS_PER_MESSAGE: Final = 16
BUCKETS_PER_MESSAGE: Final = 4096
ENTRIES_PER_MESSAGE: Final = 1000
LISTED_BYTES: Final = 512 * 1024
"""Of the paths in one message; JSON may write a sign of them with up to six bytes."""
MAX_LISTING_BYTES: Final = 8 * 1024 * 1024
"""Of a listing, unpacked: more than a region puts into one message."""

_SHORT: Final = (1 << (8 * SHORT_BYTES)) - 1
_GROUP_BYTES: Final = 1 + BUCKETS * SHORT_BYTES


class TreeStep(StrEnum):
    """How far down a message is."""

    GROUPS = "groups"
    BUCKETS = "buckets"
    LISTING = "listing"
    REMAINDER = "remainder"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A living path as one region knows it."""

    path: MetaPath
    digest: Digest
    stamp: Stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a region holds in some buckets.

    Args:
        buckets: Their numbers.
        entries: Living paths in them.
        differing: How many paths of the listing that this one answers did differ.
        refused: How many entries were no such thing; they are left out, and the others judged all the same.
        fault: What was wrong with the first of them.
    """

    buckets: Sequence[int]
    entries: Sequence[TreeEntry]
    differing: int = 0
    refused: int = 0
    fault: str = ""


def groups_body(groups: Sequence[int]) -> bytes:
    """The sums of all groups."""
    return b"".join(total.to_bytes(SUM_BYTES) for total in groups)


def groups_of(body: bytes) -> list[int]:
    """The sums of all groups.

    Raises:
        PayloadInvalid: It has not the length of 256 sums.
    """
    if len(body) != GROUPS * SUM_BYTES:
        raise PayloadInvalid(f"{GROUPS} sums of groups have {GROUPS * SUM_BYTES} bytes, not {len(body)}")
    return [int.from_bytes(body[at : at + SUM_BYTES]) for at in range(0, len(body), SUM_BYTES)]


def buckets_body(groups: Mapping[int, Sequence[int]]) -> bytes:
    """Sums of the buckets of some groups."""
    return b"".join(
        bytes((group,)) + b"".join((total & _SHORT).to_bytes(SHORT_BYTES) for total in sums)
        for group, sums in groups.items()
    )


def buckets_of(body: bytes) -> dict[int, list[int]]:
    """Lower parts of the sums of the buckets of some groups.

    Raises:
        PayloadInvalid: It holds no whole number of groups, or too many.
    """
    count, rest = divmod(len(body), _GROUP_BYTES)
    if rest or count > GROUPS:
        raise PayloadInvalid(f"sums of buckets come in groups of {_GROUP_BYTES} bytes; these are {len(body)}")
    found: dict[int, list[int]] = {}
    for start in range(0, len(body), _GROUP_BYTES):
        places = range(start + 1, start + _GROUP_BYTES, SHORT_BYTES)
        found[body[start]] = [int.from_bytes(body[at : at + SHORT_BYTES]) for at in places]
    return found


def listing_body(listing: Listing) -> bytes:
    """A listing."""
    entries = [
        (entry.path, entry.digest.hex(), entry.stamp.updated_at_ms, entry.stamp.region) for entry in listing.entries
    ]
    return zlib.compress(orjson.dumps((listing.differing, list(listing.buckets), entries)))


def listing_of(body: bytes) -> Listing:
    """A listing, without the entries that cannot be understood: one path that nobody understands stops no other one.

    Raises:
        PayloadInvalid: It cannot be unpacked, is too large, or is no listing.
    """
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(body, MAX_LISTING_BYTES)
        if not unpacking.eof:
            raise PayloadInvalid(f"a listing is cut off, or larger than {MAX_LISTING_BYTES} bytes")
        differing, buckets, told = orjson.loads(text)
        found = Listing(
            buckets=[_number(bucket, GROUPS * BUCKETS) for bucket in buckets],
            entries=[],
            differing=_number(differing, 1 << 31),
        )
        listed = list(told)
    except (zlib.error, ValueError, TypeError) as exc:
        raise PayloadInvalid(f"malformed listing: {exc}") from exc
    entries: list[TreeEntry] = []
    faults: list[str] = []
    for entry in listed:
        try:
            entries.append(_entry(*entry))
        except (ValueError, TypeError, ValueRefused) as exc:
            faults.append(str(exc))
    return replace(found, entries=entries, refused=len(faults), fault=faults[0] if faults else "")


def _entry(path: object, digest: object, time_ms: object, region: object) -> TreeEntry:
    if not (isinstance(path, str) and isinstance(digest, str) and isinstance(region, str) and is_id(region)):
        raise TypeError("an entry is path, digest, time and region")
    raw = bytes.fromhex(digest)
    if len(raw) != DIGEST_BYTES:
        raise ValueError(f"a digest has {DIGEST_BYTES} bytes, not {len(raw)}")
    return TreeEntry(checked(path), Digest(raw), Stamp(Millis(_number(time_ms, 1 << 62)), Region(region)))


def _number(value: object, beyond: int) -> int:
    if type(value) is not int or not 0 <= value < beyond:
        raise ValueError(f"a number from 0 to {beyond - 1} is due, not {value!r}")
    return value
