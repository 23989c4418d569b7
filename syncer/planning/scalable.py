"""Scalable topics (``topic://``) of a side of a comparison: counted, and neither compared nor carried.

A cluster keeps them in its own store. Where the store at hand is another one, for it serves several clusters or is a
configuration store alone, the brokers are asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from syncer.admin.etcd_ending import ETCD
from syncer.admin.scalable_topics import ScalableCount, count_scalable
from syncer.admin.topic_probe import BOOKKEEPER_NODES
from syncer.admin.version_probe import VersionProbe
from syncer.errors import StoreError
from syncer.stores.contract import MetadataStore

WITHOUT: Final = frozenset({"sqlite", ETCD})
"""Kinds of stores whose clusters have none: there is no cluster, or one that is too old for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalableSide:
    """What a side has of them.

    Args:
        side: What it is, for people.
        count: How many; ``None``: they were not counted.
        trouble: Why they were not; empty: they were.
    """

    side: str
    count: ScalableCount | None = None
    trouble: str = ""


async def scalable_side(
    side: str, store: MetadataStore, kind: str, brokers: VersionProbe, *, alone: bool
) -> ScalableSide | None:
    """Count those of a region; what goes wrong is told, never an exception.

    Args:
        side: What it is, for people.
        store: Of the region, open.
        kind: Of its adapter.
        brokers: Of the region.
        alone: The store serves one cluster at most.
    """
    if kind in WITHOUT:
        return None
    seen: ScalableCount | None = None
    trouble = "the store is no cluster's own" if alone else "the store serves several clusters, which have their own"
    try:
        found = await count_scalable(store)
        if alone and (found.total or any((await store.read(BOOKKEEPER_NODES)).values())):
            seen = found
    except StoreError as exc:
        trouble = exc.message
    if seen is None:
        told = await brokers.scalable()
        seen, trouble = told.count, f"{trouble}, and {told.trouble}"
    return ScalableSide(side=side, count=seen, trouble="" if seen is not None else trouble)
