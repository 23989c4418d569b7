"""Topics, hashes and ranges: which bundle of a namespace a topic is in.

Every namespace cuts the ring of hashes, 0 to 0xffffffff, at its boundaries. A bundle holds its lower boundary; its
upper one belongs to the next bundle. The last bundle is closed on paper, and Pulsar cannot serve its last hash.

Source: NamespaceBundleFactory, NamespaceBundles, TopicName, Pulsar 4.0.8.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from zlib import crc32

from syncer.errors import BoundariesInvalid, TopicUnservable

if TYPE_CHECKING:
    from collections.abc import Sequence

FULL_UPPER_BOUND: Final = 0xFFFFFFFF
_BOUNDARY: Final = re.compile(r"0[xX][0-9a-fA-F]{1,8}")
_PARTS_OF_A_SHORT_NAME: Final = (1, 3)
_FEWEST_PARTS_OF_A_FULL_NAME: Final = 3


def completed(topic: str) -> str:
    """Complete a topic's short name, as clients and brokers do before they hash it.

    Args:
        topic: 'topic', 'tenant/namespace/topic' or a full name.

    Raises:
        TopicUnservable: It is no name of a topic.
    """
    if "://" not in topic:
        parts = topic.split("/")
        if len(parts) not in _PARTS_OF_A_SHORT_NAME:
            raise TopicUnservable(f"'{topic}' is neither 'topic' nor 'tenant/namespace/topic' nor a full name")
        return f"persistent://public/default/{topic}" if len(parts) == 1 else f"persistent://{topic}"
    _namespace_parts(topic)
    return topic


def namespace_of_topic(topic: str) -> str:
    """Name the namespace of a topic's full name; of an old name with a cluster in it, tenant/cluster/namespace.

    Raises:
        TopicUnservable: It is no full name of a topic.
    """
    return "/".join(_namespace_parts(topic))


def _namespace_parts(topic: str) -> list[str]:
    domain, _, rest = topic.partition("://")
    parts = rest.split("/", 3)
    if domain not in {"persistent", "non-persistent"} or len(parts) < _FEWEST_PARTS_OF_A_FULL_NAME:
        raise TopicUnservable(f"'{topic}' is no full name of a topic, such as persistent://tenant/namespace/topic")
    return parts[:-1]


def topic_hash(topic: str) -> int:
    """Hash a topic's full name, its partition's suffix included: CRC-32 of UTF-8, unsigned."""
    return crc32(topic.encode("utf-8", "replace"))


def boundary_text(position: int) -> str:
    """Write a position on the ring as Pulsar does."""
    return f"0x{position:08x}"


def range_text(lower: int, upper: int) -> str:
    """Write a range as the name of a bundle ends."""
    return f"{boundary_text(lower)}_{boundary_text(upper)}"


def range_of_bundle(bundle: str) -> tuple[int, int]:
    """Read the range from the name of a bundle, or from a range alone.

    Raises:
        BoundariesInvalid: The name does not end with a range.
    """
    lower, _, upper = bundle.rpartition("/")[2].partition("_")
    if not (_BOUNDARY.fullmatch(lower) and _BOUNDARY.fullmatch(upper)):
        raise BoundariesInvalid(f"'{bundle}' is no bundle: it must end like 0x00000000_0x40000000")
    return int(lower, 16), int(upper, 16)


def namespace_of_bundle(bundle: str) -> str:
    """Name the namespace of a bundle's full name."""
    return bundle.rpartition("/")[0]


def default_boundaries(count: int) -> list[int]:
    """Cut the ring into as many bundles as a new namespace gets.

    Raises:
        BoundariesInvalid: Fewer than one bundle is asked for, or more than there are hashes.
    """
    if not 1 <= count <= FULL_UPPER_BOUND:
        raise BoundariesInvalid(f"a namespace cannot have {count} bundles")
    segment = 2**32 // count
    return [*(number * segment for number in range(count)), FULL_UPPER_BOUND]


def parsed_boundaries(texts: Sequence[str], namespace: str = "") -> list[int]:
    """Read a namespace's boundaries, and see that their ranges cover the ring once.

    Args:
        texts: Boundaries as local policies hold them.
        namespace: Whose they are, for the message.

    Raises:
        BoundariesInvalid: One cannot be read, or they do not rise from 0x00000000 to 0xffffffff.
    """
    whose = f"the boundaries of {namespace}" if namespace else "the boundaries"
    for text in texts:
        if not _BOUNDARY.fullmatch(text):
            raise BoundariesInvalid(f"{whose} hold '{text}', which is no position such as 0x40000000")
    found = [int(text, 16) for text in texts]
    if found[:1] != [0] or found[-1:] != [FULL_UPPER_BOUND] or any(low >= high for low, high in pairwise(found)):
        raise BoundariesInvalid(
            f"{whose} must rise from 0x00000000 to 0xffffffff, and are {', '.join(texts) or 'none'}"
        )
    return found


def bundle_number(boundaries: Sequence[int], position: int) -> int:
    """Find the bundle of a position on the ring, by its number among its namespace's.

    Raises:
        TopicUnservable: No bundle holds it, as Pulsar looks it up.
    """
    number = bisect_right(boundaries, position) - 1
    if not 0 <= number < len(boundaries) - 1:
        raise TopicUnservable(
            f"no bundle holds the hash {boundary_text(position)}: Pulsar fails to look such a topic up"
        )
    return number


def bundle_range(boundaries: Sequence[int], position: int) -> str:
    """Find the range that holds a position on the ring.

    Raises:
        TopicUnservable: No bundle holds it, as Pulsar looks it up.
    """
    number = bundle_number(boundaries, position)
    return range_text(boundaries[number], boundaries[number + 1])
