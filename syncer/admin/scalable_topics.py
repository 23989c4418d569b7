"""Scalable topics (``topic://``) of a cluster, counted in its own store: they belong to it, and are never carried.

The record of one names segments, and each segment's topic and ledgers are in its cluster alone.

Source: ``ScalableTopicResources`` of Pulsar 5.0.0-M1: ``/topics/TENANT/NAMESPACE/TOPIC`` in the local store, the name
encoded as at ``/admin/partitioned-topics``; what stands below a record is the cluster's working state.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.model import MetaPath, ResourceKind
from syncer.paths import PARTITIONED_TOPICS, classify
from syncer.stores.contract import Entry, MetadataStore, TellsNames

SCALABLE: Final = "/topics"
MOST_ENTRIES: Final = 200_000
"""So many entries below ``/topics`` are looked at; a cluster with more is counted in part."""
MOST_NAMESPACES: Final = 1_000
LISTED_AT_ONCE: Final = 20
"""Namespaces whose names are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalableCount:
    """How many scalable topics clusters have.

    Args:
        total: Scalable topics.
        namespaces: How many each namespace has; of very many some only.
        whole: All were looked at.
    """

    total: int = 0
    namespaces: Mapping[str, int] = field(default_factory=dict)
    whole: bool = True

    def document(self) -> dict[str, object]:
        """As the daemon's report has it."""
        return {"total": self.total, "namespaces": dict(self.namespaces), "whole": self.whole}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalableFound(ScalableCount):
    """What a look at a cluster's store has found.

    Args:
        shadowed: Paths of partitioned topics of the same names, be they declared or not.
    """

    shadowed: frozenset[MetaPath] = frozenset()


async def find_scalable(store: MetadataStore, most: int = MOST_ENTRIES) -> ScalableFound:
    """Look through a cluster's store.

    Args:
        store: Open; one that is no cluster's own has none.
        most: Entries to look at.

    Raises:
        StoreError: It cannot be asked.
    """
    tally, shadowed, seen = Tally[str](), set[MetaPath](), 0
    async for page in store.scan(MetaPath(SCALABLE)):
        for entry in page:
            if (found := _record(entry)) is not None:
                tally[f"{found[0]}/{found[1]}"] += 1
                shadowed.add(MetaPath(f"{PARTITIONED_TOPICS}/{found[0]}/{found[1]}/persistent/{found[2]}"))
        seen += len(page)
        if seen >= most:
            break
    return ScalableFound(
        total=tally.total(), namespaces=first_of(tally), shadowed=frozenset(shadowed), whole=seen < most
    )


async def count_scalable(store: MetadataStore, most: int = MOST_ENTRIES) -> ScalableCount:
    """Count those of a cluster's store by their names; no value is read where the store can tell names alone.

    Args:
        store: Open; one that is no cluster's own has none.
        most: Names to look at.

    Raises:
        StoreError: It cannot be asked.
    """
    if not isinstance(store, TellsNames):
        return await find_scalable(store, most)
    tally, seen = Tally[str](), 0
    for tenant in await _below(store, [MetaPath(SCALABLE)]):
        spaces = await _below(store, [tenant]) if seen < most else []
        seen += 1 + len(spaces)
        for start in range(0, len(spaces), LISTED_AT_ONCE):
            topics = await _below(store, spaces[start : start + LISTED_AT_ONCE]) if seen < most else []
            seen += len(topics)
            tally.update(topic.removeprefix(f"{SCALABLE}/").rpartition("/")[0] for topic in topics)
    return ScalableCount(total=tally.total(), namespaces=first_of(tally), whole=seen < most)


async def _below(store: TellsNames, paths: Iterable[MetaPath]) -> list[MetaPath]:
    found = await store.names(list(paths))
    return [MetaPath(f"{path}/{name}") for path, names in found.items() for name in names]


def first_of(tally: Mapping[str, int]) -> dict[str, int]:
    """As many namespaces as are told one by one, in the order of their names."""
    return {name: tally[name] for name in sorted(tally)[:MOST_NAMESPACES]}


def record_path(path: MetaPath) -> MetaPath | None:
    """Where the record stands of the scalable topic that has the name of a partitioned one; ``None``: it is no such."""
    resource = classify(path)
    if resource is None or resource.kind is not ResourceKind.PARTITIONED_TOPIC:
        return None
    tenant, namespace, domain, topic = path.split("/")[3:7]
    return MetaPath(f"{SCALABLE}/{tenant}/{namespace}/{topic}") if domain == "persistent" else None


def _record(entry: Entry) -> tuple[str, str, str] | None:
    parts = entry.path.split("/")
    return (parts[2], parts[3], parts[4]) if len(parts) == 5 and entry.value else None
