"""The values that every part of the product speaks in. No IO, no clock.

Units: every time is an ``int`` of milliseconds since the epoch, UTC (``Millis``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final, NewType

from syncer.making import made_quickly

MetaPath = NewType("MetaPath", str)
"""A key of a metadata store: starts with ``/``, no empty segment, no trailing ``/``."""

Region = NewType("Region", str)
"""Unique id of a region in the whole system; not a cluster's name."""

Counter = NewType("Counter", str)
"""Who counted a change: ``region~generation``. No two sidecar databases of a region have the same generation."""

Millis = NewType("Millis", int)

Digest = NewType("Digest", bytes)
"""Hash of a projection's canonical bytes; equality of values is equality of digests."""

Revision = NewType("Revision", str)
"""A store's own token for one state of one path; opaque, compared for equality only."""

Seen = Mapping[Counter, Millis]
"""Version vector: the latest change of each counter that an author had seen in its store, its own included."""

NOTHING_SEEN: Final[Seen] = {}

FIRST_REAL_TIME_MS: Final = 1_000_000_000_000
"""Stamps below are baselines, see :func:`baseline_time`: older than any real time. Units: this is in September 2001."""

BASELINE_ROOM: Final = 100
"""Times between the baselines of two generations: a baseline that is completed later is stamped with one of them."""

_MAX_DIGITS: Final = 12
_COUNTERS: Final = 1024


class EventType(StrEnum):
    """What happened to a path."""

    CREATED = "Created"
    MODIFIED = "Modified"
    DELETED = "Deleted"


class ResourceKind(StrEnum):
    """What a path means."""

    TENANT = "tenant"
    NAMESPACE = "namespace"
    PARTITIONED_TOPIC = "partitioned-topic"
    CLUSTER = "cluster"
    RESOURCE_GROUP = "resource-group"
    ISOLATION_POLICY = "isolation-policy"
    TOPIC_POLICY = "topic-policy"


class TieOrder(StrEnum):
    """Who wins when two stamps have the same time."""

    SMALLER_REGION = "smaller"
    NATIVE = "native"


@made_quickly
@dataclass(frozen=True, slots=True)
class Stamp:
    """When and where a value was written. Totally ordered by a :class:`TieOrder`.

    Source: PIP-136, "Handling race condition".
    """

    updated_at_ms: Millis
    region: Region

    @property
    def is_baseline(self) -> bool:
        """Whether this stamps a value found at first contact rather than a change."""
        return self.updated_at_ms < FIRST_REAL_TIME_MS

    def __str__(self) -> str:
        return f"{self.updated_at_ms}@{self.region}"


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a path as the group knows it.

    ``digest is None`` means deleted (a tombstone). ``value`` holds the author's whole value while this region still
    has to write it, and is dropped once the store holds it.
    """

    stamp: Stamp
    by: Counter
    seen: Seen
    digest: Digest | None
    value: bytes | None = field(default=None, repr=False)

    @property
    def alive(self) -> bool:
        """Whether the path exists in this version."""
        return self.digest is not None


@made_quickly
@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataChangeEvent:
    """One change of one path, as published on the bus.

    Args:
        type: Created, Modified or Deleted.
        resource: What the path means.
        resource_name: The resource's name as Pulsar's tools spell it (``tenant/namespace``).
        path: Key of the store.
        value: The author's whole value; ``None`` exactly for ``DELETED``.
        stamp: Time and region of the change.
        by: Counter of the author; together with the time it names one value for ever.
        seen: What the author had seen in its store, this change included.
        base: Stamp that the author's store held before, for people only.
        sender: Id of the sidecar database that published it; empty for a native region.
        sequence: Running number of the sender, without gaps; 0 for a native region.
        whole: The author fills in the fields that its own brokers do not know: what the value lacks was removed.
    """

    type: EventType
    resource: ResourceKind
    resource_name: str
    path: MetaPath
    value: bytes | None = field(repr=False)
    stamp: Stamp
    by: Counter
    seen: Seen
    base: Stamp | None = None
    sender: str = ""
    sequence: int = 0
    whole: bool = True


def database_id(chance: str, region: Region) -> str:
    """Name a sidecar database of a region: whoever reads the name knows the region.

    Args:
        chance: Hexadecimal digits that no other database has.
        region: Its region.
    """
    return f"{chance}@{region}"


def home_of(database: str) -> Region | None:
    """The region that a database's name shows; ``None``: it was named by a version that did not show it."""
    chance, _, region = database.partition("@")
    return Region(region) if region and chance.isalnum() else None


@lru_cache(_COUNTERS)
def counter_of(region: Region, generation: int) -> Counter:
    """Name the counter of one generation of a region."""
    return Counter(f"{region}~{generation}")


def generation_of(counter: str, region: Region) -> int:
    """The generation that a counter names; 0 when it is not one of this region's."""
    of, _, text = counter.rpartition("~")
    return int(text) if of == region and text.isdecimal() and text.isascii() and len(text) <= _MAX_DIGITS else 0


def baseline_time(generation: int) -> Millis:
    """The time that a database of this generation stamps what it finds at first contact.

    A later generation has an earlier one: what a newcomer brings does not displace what the group has found before.
    """
    return Millis(FIRST_REAL_TIME_MS - generation * BASELINE_ROOM)
