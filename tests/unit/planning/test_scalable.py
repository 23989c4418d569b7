"""Scalable topics of a side of a comparison: seen in a cluster's own store, or told by brokers, or left open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from syncer.admin.scalable_answers import ScalableTold
from syncer.admin.scalable_topics import ScalableCount
from syncer.admin.topic_probe import BOOKKEEPER_NODES
from syncer.admin.version_probe import NobodyToAsk
from syncer.errors import AccessDenied
from syncer.model import MetaPath
from syncer.planning.scalable import ScalableSide, scalable_side

pytestmark = pytest.mark.anyio

TOLD = ScalableCount(total=7, namespaces={"t/n": 7})


class NamedStore:
    """A store that holds some scalable topics of one namespace, and is a cluster's own or not."""

    def __init__(self, *topics: str, own: bool = True, denied: bool = False) -> None:
        self.tree = {"/topics": ["t"], "/topics/t": ["n"], "/topics/t/n": list(topics)} if topics else {}
        self.own = own
        self.denied = denied

    async def names(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Sequence[str]]:
        if self.denied:
            raise AccessDenied("/topics may not be read")
        return {path: self.tree.get(path, []) for path in paths}

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, object]:
        return {path: b"x" if self.own and path == BOOKKEEPER_NODES[0] else None for path in paths}

    open = close = apply = scan = watch = capabilities = None


class BrokersOfOne(NobodyToAsk):
    """Brokers that tell of some."""

    async def scalable(self) -> ScalableTold:
        return ScalableTold(count=TOLD)


async def side(store: Any, *, told: bool = False, alone: bool = True, kind: str = "zookeeper") -> ScalableSide | None:
    return await scalable_side("east", store, kind, BrokersOfOne() if told else NobodyToAsk(), alone=alone)


async def test_a_clusters_own_store_tells_and_no_broker_is_asked() -> None:
    two = ScalableSide(side="east", count=ScalableCount(total=2, namespaces={"t/n": 2}))
    assert await side(NamedStore("a", "b"), told=True) == two
    assert await side(NamedStore("a", "b", own=False), told=True) == two, "its bookies may have another store"
    assert await side(NamedStore(), told=True) == ScalableSide(side="east", count=ScalableCount())


@pytest.mark.parametrize(
    ("store", "alone", "why"),
    [
        (NamedStore(own=False), True, "the store is no cluster's own"),
        (NamedStore("a"), False, "the store serves several clusters, which have their own"),
        (NamedStore(denied=True), True, "/topics may not be read"),
    ],
)
async def test_else_brokers_are_asked_and_where_there_are_none_that_is_said(
    store: NamedStore,
    alone: bool,
    why: str,
) -> None:
    assert await side(store, told=True, alone=alone) == ScalableSide(side="east", count=TOLD)
    untold = await side(store, alone=alone)
    assert untold == ScalableSide(side="east", trouble=f"{why}, and no [admin] is configured")


@pytest.mark.parametrize("kind", ["sqlite", "etcd"])
async def test_stores_whose_clusters_cannot_have_any_are_not_looked_at(kind: str) -> None:
    assert await side(NamedStore("a"), kind=kind, told=True) is None
