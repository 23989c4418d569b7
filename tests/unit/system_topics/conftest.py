"""A cluster of topics in memory, and processes over one store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from syncer.paths import namespace_path
from syncer.stores.sqlite import OutsideWriter
from tests.support.topic_logs import TopicCluster
from tests.support.topic_process import (
    Process,
    Start,
)


@pytest.fixture
def cluster() -> TopicCluster:
    found = TopicCluster()
    found.topics["acme/orders"] |= {"persistent://acme/orders/a", "persistent://acme/orders/b"}
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "store.db"
    outside = OutsideWriter(found)
    outside.put(namespace_path("acme", "orders"), b'{"replication_clusters":["here"]}')
    return found


@pytest.fixture
async def start(file: Path, cluster: TopicCluster) -> AsyncIterator[Start]:
    made: list[Process] = []

    async def begin(*, raises: bool = True, **given: object) -> Process:
        process = Process(file, cluster, **given)  # type: ignore[arg-type]  # as they are given
        await process.store.open()
        made.append(process)
        if raises and given.get("writes", True):
            await process.become_writer()
        return process

    yield begin
    cluster.steps.clear()
    for each in made:
        await each.store.close()
