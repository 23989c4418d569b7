"""What the property tests draw from: regions, stamps, JSON documents, and histories of authors who read and write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

from syncer.conflict.projection import PROJECTIONS
from syncer.model import (
    NOTHING_SEEN,
    Counter,
    Digest,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Seen,
    Stamp,
    TieOrder,
    counter_of,
)

TENANT: Final = MetaPath("/admin/policies/acme")
NOW: Final = Millis(1_700_000_000_000)

PATH_OF_KIND: Final[Mapping[ResourceKind, MetaPath]] = {
    ResourceKind.TENANT: TENANT,
    ResourceKind.NAMESPACE: MetaPath("/admin/policies/acme/orders"),
    ResourceKind.PARTITIONED_TOPIC: MetaPath("/admin/partitioned-topics/acme/orders/persistent/paid"),
    ResourceKind.CLUSTER: MetaPath("/admin/clusters/blue"),
    ResourceKind.RESOURCE_GROUP: MetaPath("/admin/resourcegroups/gold"),
    ResourceKind.ISOLATION_POLICY: MetaPath("/admin/clusters/blue/namespaceIsolationPolicies"),
    ResourceKind.TOPIC_POLICY: MetaPath("/admin/topic-policies/global/persistent/acme/orders/paid"),
}

ties = st.sampled_from(TieOrder)
kinds = st.sampled_from(ResourceKind)

# Beyond U+FFFF a character sorts below U+E000..U+FFFF by UTF-16 code units, and above them by code points.
region_ids = st.one_of(
    st.sampled_from(["a", "b", "aa", "A", "us-w", "ü", "\ue000", "\uffee", "\U00010000", "\U0001f600", "\U0010ffff"]),
    st.text(st.characters(), min_size=1, max_size=3),
).map(Region)

stamps = st.builds(Stamp, st.integers(0, 4).map(Millis), region_ids)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
integers = st.one_of(
    st.integers(-5, 5),
    st.integers(),
    st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64 - 1, 2**64, 10**18, 10**30]),
)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), integers, floats, texts)
nodes = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)

_roles = st.lists(texts, max_size=4)
_names = st.lists(st.sampled_from(["blue", "green", "ärger", "\U0001f600"]), max_size=4)
_auth = st.fixed_dictionaries(
    {},
    optional={
        "namespace_auth": st.dictionaries(texts, _roles, max_size=2),
        "destination_auth": st.dictionaries(texts, st.dictionaries(texts, _roles, max_size=2), max_size=2),
        "subscription_auth_roles": st.dictionaries(texts, _roles, max_size=2),
    },
)
_known_fields: dict[str, st.SearchStrategy[Any]] = {
    "adminRoles": _roles,
    "allowedClusters": _names,
    "replication_clusters": _names,
    "allowed_clusters": _names,
    "subscription_types_enabled": _names,
    "peerClusterNames": _names,
    "auth_policies": _auth,
    "bundles": st.fixed_dictionaries({"numBundles": st.integers(1, 64)}),
    "migrated": st.booleans(),
    "migratedClusterUrl": st.fixed_dictionaries({"serviceUrl": texts}),
    "serviceUrl": texts,
    "authenticationParameters": texts,
    "deleted": st.booleans(),
    "clusterThatCanDeleteNamespace": texts,
    "partitions": st.integers(0, 9),
    "properties": st.dictionaries(texts, texts, max_size=2),
}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A JSON object: fields that Pulsar writes, and fields that nobody knows."""
    known = draw(st.fixed_dictionaries({}, optional=_known_fields))
    return {**draw(st.dictionaries(texts, nodes, max_size=3)), **known}


def encoded(document: object) -> bytes:
    """A document as some broker would have stored it."""
    return json.dumps(document, ensure_ascii=False).encode()


def tenant_value(number: int) -> bytes:
    """A tenant's value; different numbers differ in their projections."""
    return encoded({"adminRoles": [], "number": number})


def tenant_digest(value: bytes | None) -> Digest | None:
    """Digest of a tenant's value, ``None`` for no value."""
    return None if value is None else PROJECTIONS[ResourceKind.TENANT].digest(value)


def tenant_event(
    value: bytes | None, stamp: Stamp, seen: Seen, *, by: Counter | None = None, base: Stamp | None = None
) -> MetadataChangeEvent:
    """An event about one tenant."""
    return MetadataChangeEvent(
        type=EventType.DELETED if value is None else EventType.MODIFIED,
        resource=ResourceKind.TENANT,
        resource_name="acme",
        path=TENANT,
        value=value,
        stamp=stamp,
        by=by or counter_of(stamp.region, 1),
        seen=seen,
        base=base,
    )


_NOTHING: Final = Stamp(Millis(0), Region(""))


@dataclass
class Author:
    """A region as its outside writers see it: what its store holds, and whose changes led there."""

    region: Region
    stamp: Stamp = _NOTHING
    seen: Seen = field(default_factory=lambda: NOTHING_SEEN)
    behind: frozenset[Stamp] = frozenset()


@dataclass(frozen=True)
class History:
    """Events, and for each the stamps of all changes that its author could see (itself included)."""

    events: tuple[MetadataChangeEvent, ...]
    behind: Mapping[Stamp, frozenset[Stamp]]

    def concurrent(self, left: Stamp, right: Stamp) -> bool:
        """Whether neither author could see the other's change."""
        return left not in self.behind[right] and right not in self.behind[left]

    def covered(self, stamp: Stamp) -> set[Stamp]:
        """What an author could see, and what those whom it saw had written before.

        The latter includes their changes that lost at home: their own region has kept these.
        """
        latest: dict[Region, int] = {}
        for past in self.behind[stamp]:
            latest[past.region] = max(latest.get(past.region, 0), past.updated_at_ms)
        return {event.stamp for event in self.events if event.stamp.updated_at_ms <= latest.get(event.stamp.region, -1)}

    @property
    def frontier(self) -> list[MetadataChangeEvent]:
        """Events that no later author covers."""
        seen = {past for stamp in self.behind for past in self.covered(stamp) if past != stamp}
        return [event for event in self.events if event.stamp not in seen]


@st.composite
def histories(draw: st.DrawFn, *, distinct: bool = True, regions: tuple[str, ...] = ("a", "b", "c")) -> History:
    """What some authors do to one path, with skewed clocks: write, delete, or take another's change into their store.

    Args:
        draw: Hypothesis.
        distinct: Every change has a value of its own, so that no two authors ever write the same.
        regions: Who writes.
    """
    authors = [Author(Region(name)) for name in regions]
    events: list[MetadataChangeEvent] = []
    behind: dict[Stamp, frozenset[Stamp]] = {}
    for number in range(draw(st.integers(1, 8))):
        author = draw(st.sampled_from(authors))
        if events and draw(st.sampled_from([True, False])):
            taken = draw(st.sampled_from(events))
            if taken.stamp.updated_at_ms > author.stamp.updated_at_ms:
                author.stamp, author.seen, author.behind = taken.stamp, taken.seen, behind[taken.stamp]
        clock = NOW + draw(st.integers(0, 6))
        stamp = Stamp(Millis(max(clock, author.stamp.updated_at_ms + 1, _own(events, author) + 1)), author.region)
        by = counter_of(author.region, 1)
        seen = {**author.seen, by: stamp.updated_at_ms}
        value = tenant_value(number if distinct else draw(st.integers(0, 2)))
        lives = distinct or draw(st.integers(0, 3)) > 0
        events.append(tenant_event(value if lives else None, stamp, seen, base=author.stamp))
        author.stamp, author.seen = stamp, seen
        author.behind = behind[stamp] = author.behind | {stamp}
    return History(tuple(events), behind)


def _own(events: list[MetadataChangeEvent], author: Author) -> int:
    return max((event.stamp.updated_at_ms for event in events if event.stamp.region == author.region), default=0)


@st.composite
def deliveries(draw: st.DrawFn, events: tuple[MetadataChangeEvent, ...]) -> list[MetadataChangeEvent]:
    """The events in any order, some of them several times."""
    again = draw(st.lists(st.sampled_from(events), max_size=4))
    return list(draw(st.permutations([*events, *again])))
