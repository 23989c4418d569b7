"""Scalable topics as a cluster's store has them: counted, bounded, and told from what stands below their records."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from syncer.admin.client import AdminClient, AdminSettings
from syncer.admin.scalable_topics import ScalableCount, count_scalable, find_scalable, record_path
from syncer.admin.topic_probe import BOOKKEEPER_NODES, StoreProbe
from syncer.admin.topics import AdminProbe
from syncer.conflict.guards import Topics
from syncer.model import MetaPath, Revision
from syncer.stores.contract import Entry
from tests.support.admin_server import Asked, serving

NAMESPACE = MetaPath("/admin/policies/t/n")
TOPIC = MetaPath("/admin/partitioned-topics/t/n/persistent/a%2Fb")
OTHER = MetaPath("/admin/partitioned-topics/t/n/persistent/other")
RECORD = b'{"epoch":0,"nextSegmentId":2,"segments":{}}'


class Held:
    """A store that holds these paths; just enough of one to be read and scanned."""

    def __init__(self, paths: dict[str, bytes], *, own: bool = True) -> None:
        own_nodes: dict[str, bytes] = {BOOKKEEPER_NODES[0]: b"x"} if own else {}
        self.paths = {**paths, **own_nodes}

    def entry(self, path: str) -> Entry:
        return Entry(path=MetaPath(path), value=self.paths[path], revision=Revision("1"), modified_at_ms=None)

    async def read(self, paths: Sequence[MetaPath]) -> dict[MetaPath, Entry | None]:
        return {path: self.entry(path) if path in self.paths else None for path in paths}

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        for path in sorted(self.paths):
            if path == prefix or path.startswith(f"{prefix}/"):
                yield (self.entry(path),)


def store(**more: bytes) -> Any:
    held = {
        "/topics": b"",
        "/topics/t": b"",
        "/topics/t/n": b"",
        "/topics/t/n/a%2Fb": RECORD,
        "/topics/t/n/a%2Fb/controller": b"broker",
        "/topics/t/n/a%2Fb/subscriptions": b"",
        "/topics/t/n/a%2Fb/subscriptions/s": b"{}",
        "/topics/t/m/x": RECORD,
        "/topics/t/m/y": RECORD,
    }
    return Held({**held, **more})


async def test_records_are_counted_by_namespace_and_what_is_below_them_is_not() -> None:
    found = await find_scalable(store())
    assert (found.total, found.namespaces, found.whole) == (3, {"t/m": 2, "t/n": 1}, True)
    assert TOPIC in found.shadowed
    assert OTHER not in found.shadowed
    assert found.document() == {"total": 3, "namespaces": {"t/m": 2, "t/n": 1}, "whole": True}
    assert (await find_scalable(Held({}))).total == 0  # type: ignore[arg-type]  # all of a store that is asked


async def test_a_look_is_bounded_and_says_so() -> None:
    found = await find_scalable(store(), most=4)
    assert not found.whole
    assert found.total < 3


class Named(Held):
    """A store that tells names alone, and of which no value may be read."""

    async def names(self, paths: Sequence[MetaPath]) -> dict[MetaPath, list[str]]:
        return {
            path: sorted({each[len(path) + 1 :].split("/")[0] for each in self.paths if each.startswith(f"{path}/")})
            for path in paths
        }

    async def read(self, paths: Sequence[MetaPath]) -> dict[MetaPath, Entry | None]:
        raise AssertionError(paths)

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        raise AssertionError(prefix)
        yield ()


async def test_names_suffice_to_count_where_a_store_can_tell_them() -> None:
    named: Any = Named(store().paths)
    count = ScalableCount(total=3, namespaces={"t/m": 2, "t/n": 1})
    assert await count_scalable(named) == count
    found = await count_scalable(store())
    assert (found.total, found.namespaces, found.whole) == (count.total, count.namespaces, count.whole)
    empty: Any = Named({})
    assert await count_scalable(empty) == ScalableCount()


@pytest.mark.parametrize(("most", "total"), [(1, 0), (3, 0), (4, 3)])
async def test_counting_names_is_bounded_and_says_so(most: int, total: int) -> None:
    named: Any = Named(store().paths)
    found = await count_scalable(named, most)
    assert (found.total, found.whole) == (total, False)


def test_only_persistent_partitioned_topics_can_have_become_scalable() -> None:
    assert record_path(TOPIC) == "/topics/t/n/a%2Fb"
    assert record_path(MetaPath("/admin/partitioned-topics/t/n/non-persistent/a")) is None
    assert record_path(NAMESPACE) is None
    assert record_path(MetaPath("/elsewhere")) is None


async def test_a_clusters_own_store_tells() -> None:
    probe = StoreProbe(store(), has_brokers=True)
    assert await probe.ask(TOPIC) is Topics.SCALABLE
    assert await probe.ask(OTHER) is Topics.NONE
    assert await probe.ask(NAMESPACE) is Topics.SOME
    assert await probe.ask(MetaPath("/admin/policies/t/empty")) is Topics.NONE
    assert await probe.ask(MetaPath("/admin/policies/t")) is Topics.NONE
    assert await StoreProbe(store(), has_brokers=False).ask(TOPIC) is Topics.NONE
    elsewhere: Any = Held({}, own=False)
    assert await StoreProbe(elsewhere, has_brokers=True).ask(TOPIC) is Topics.CANNOT_ASK


@pytest.mark.parametrize(
    ("status", "topic", "namespace"),
    [
        (200, Topics.SCALABLE, Topics.SOME),
        (404, Topics.NONE, Topics.NONE),
        (500, Topics.CANNOT_ASK, Topics.CANNOT_ASK),
    ],
)
async def test_brokers_tell_and_older_ones_know_of_none(status: int, topic: Topics, namespace: Topics) -> None:
    def answer(asked: Asked) -> tuple[int, str]:
        if asked.path.startswith("/admin/v2/scalable/"):
            return status, '["topic://t/n/a/b"]' if status == 200 else '{"reason":"no"}'
        return 200, "[]"

    with serving(answer) as url:
        client = AdminClient(AdminSettings(url=url, retry_for=timedelta(0)))
        try:
            assert await AdminProbe(client).ask(TOPIC) is topic
            assert await AdminProbe(client).ask(NAMESPACE) is namespace
        finally:
            await client.close()
