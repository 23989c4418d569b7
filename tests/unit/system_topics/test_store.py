"""A store with system topics beside it: what it answers, scans, watches, and what it cannot tell."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncer.errors import ParentMissing, TopicPoliciesWithheld
from syncer.model import MetaPath, Millis, Revision
from syncer.paths import namespace_path
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Changed,
    Entry,
    Gap,
    Put,
    WatchSignal,
    read_answerable,
)
from syncer.stores.sqlite import OutsideWriter
from syncer.system_topics.policies import key_of
from syncer.system_topics.store import SystemTopicStore
from syncer.waiting import WAIT_S, until
from tests.support.topic_logs import TopicCluster, lost_answer
from tests.support.topic_process import (
    BASE,
    BOUNDS,
    FENCE,
    ONE,
    OTHER,
    PATH,
    SPACE,
    THREE,
    TWO,
    Start,
    claim_of,
)


async def scanned(store: SystemTopicStore, prefix: MetaPath = BASE) -> dict[MetaPath, Entry]:
    return {entry.path: entry async for page in store.scan(prefix) for entry in page}


async def test_what_brokers_write_is_read_and_scanned_as_entries(start: Start, cluster: TopicCluster) -> None:
    first = cluster.edit(PATH, ONE)
    cluster.put("acme/orders", "persistent://acme/orders/a", TWO, None)
    process = await start()
    entry = (await process.store.read([PATH, OTHER]))[PATH]
    assert entry == Entry(path=PATH, value=ONE, revision=Revision(first), modified_at_ms=Millis(1001))
    assert await scanned(process.store) == {PATH: entry}
    cluster.edit(PATH, None)
    assert await process.value() is None


@pytest.mark.parametrize("cause", ["replicated", "service", "fault"])
async def test_what_cannot_be_told_is_neither_absent_nor_in_the_way(
    start: Start, cluster: TopicCluster, file: Path, cause: str
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    await process.put(TWO)
    outside = OutsideWriter(file)
    await process.source.close()
    process = await start()
    if cause == "replicated":
        outside.put(SPACE, b'{"replication_clusters":["here","there"]}')
    elif cause == "service":
        cluster.service = "the brokers keep topic policies by MetadataStoreTopicPoliciesService, not in system topics"
    else:
        cluster.faults["acme/orders"] = "403"
    answers, withheld, _ = await read_answerable(process.store, [PATH, SPACE, FENCE])
    assert set(answers) == {SPACE, FENCE}
    assert set(withheld) == {PATH}
    with pytest.raises(TopicPoliciesWithheld):
        await process.store.read([PATH])
    assert await scanned(process.store) == {}
    with pytest.raises(BatchRefused) as refused:
        await process.write(Put(path=PATH, value=THREE, expected=None))
    assert isinstance(refused.value.cause, ParentMissing)
    standing = process.store.topic_policies()
    assert (standing.replicated, list(standing.withheld)) == (
        (("acme/orders",), []) if cause == "replicated" else ((), ["acme/orders"])
    )


async def test_the_policies_of_a_namespace_that_is_gone_are_absent(
    start: Start, cluster: TopicCluster, file: Path
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    assert await process.value() == ONE
    OutsideWriter(file).delete(SPACE)
    assert await process.value() is None
    assert await scanned(process.store) == {}


class Watch:
    """A watch of a store, and the signals that it has given."""

    def __init__(self, store: SystemTopicStore) -> None:
        self.signals: list[WatchSignal] = []
        self._task = asyncio.create_task(self._run(store))

    async def _run(self, store: SystemTopicStore) -> None:
        async for signal in store.watch([MetaPath("/admin/policies"), BASE]):
            self.signals.append(signal)

    async def until(self, path: MetaPath) -> None:
        """Wait until a path is told."""
        await until(
            lambda: any(isinstance(each, Changed) and path in each.paths for each in self.signals),
            f"{path} is told",
            shown=lambda: self.signals,
        )
        self.signals.clear()

    async def armed(self) -> None:
        """Wait until it is armed."""
        await until(lambda: Armed() in self.signals, "the watch is armed")

    async def end(self) -> None:
        """End it."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def test_a_watch_tells_of_both(start: Start, cluster: TopicCluster, file: Path) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    watch = Watch(process.store)
    await watch.armed()
    await scanned(process.store)
    cluster.edit(PATH, TWO)
    await watch.until(PATH)
    OutsideWriter(file).put(SPACE, b'{"replication_clusters":["here"],"message_ttl_in_seconds":1}')
    await watch.until(SPACE)
    OutsideWriter(file).delete(SPACE)
    await watch.until(PATH)  # it went with its namespace
    process.source.notices.gap("a test")
    await until(lambda: Gap("a test") in watch.signals and Armed() in watch.signals, "a gap, and armed again")
    await watch.end()


@pytest.mark.parametrize("cause", ["replicated", "fault"])
async def test_who_asked_in_vain_is_told_when_it_can_be_answered(
    start: Start, cluster: TopicCluster, file: Path, cause: str
) -> None:
    process = await start()
    cluster.edit(OTHER, ONE)
    if cause == "fault":
        cluster.faults["acme/orders"] = "no answer"
    else:
        OutsideWriter(file).put(SPACE, b'{"replication_clusters":["here","there"]}')
    watch = Watch(process.store)
    await watch.armed()
    _, withheld, _ = await read_answerable(process.store, [PATH])
    assert PATH in withheld
    cluster.faults.clear()
    if cause == "replicated":
        OutsideWriter(file).put(SPACE, b'{"replication_clusters":["here"]}')
    await watch.until(PATH)
    assert await process.value() is None
    assert await process.value(OTHER) == ONE
    await watch.end()


async def test_idle_topics_are_closed_beyond_the_bound_and_still_answered(
    start: Start, cluster: TopicCluster, file: Path
) -> None:
    paths = [MetaPath(f"{BASE}/acme/n{number}/persistent/a") for number in range(10)]
    for number, path in enumerate(paths):
        OutsideWriter(file).put(namespace_path("acme", f"n{number}"), b"{}")
        cluster.edit(path, ONE)
    process = await start(bounds=replace(BOUNDS, max_readers=3))
    assert set(await scanned(process.store)) == set(paths)
    assert cluster.open <= 3
    cluster.edit(paths[0], TWO)
    assert await process.value(paths[0]) == TWO
    assert cluster.open <= 3


async def test_a_look_makes_no_topic_and_opens_none(start: Start, cluster: TopicCluster) -> None:
    process = await start()
    assert await process.value() is None
    assert await scanned(process.store) == {}
    assert cluster.messages == {}
    assert cluster.open == 0


async def test_a_delete_that_was_compacted_away_is_found_when_a_topic_is_read_anew(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    cluster.edit(OTHER, ONE)
    assert await process.value() == ONE
    topic = process.source.topic("acme/orders")
    cluster.delete_topic(PATH)
    cluster.compact("acme/orders")
    async with topic.lock:
        await process.source.bring_up(topic, anew=True)
    assert await process.value() is None


async def test_brokers_that_went_over_to_the_store_go_on_where_a_topic_is(start: Start, cluster: TopicCluster) -> None:
    """Pulsar 4.2: a namespace that has a topic of policies stays with it, and others have theirs in the store."""
    cluster.elsewhere = True
    cluster.edit(PATH, ONE)
    process = await start()
    assert await process.value() == ONE
    await process.put(TWO)
    free = MetaPath(f"{BASE}/acme/free/persistent/a")
    outside = OutsideWriter(process.plain._config.path)
    outside.put(namespace_path("acme", "free"), b"{}")
    _, withheld, _ = await read_answerable(process.store, [free])
    assert "in the metadata store" in withheld[free]
    assert "acme/free" not in cluster.messages


async def turns() -> None:
    """Let every task of the loop that can go on do so, many times: one that is busy with nothing is seen."""
    for _ in range(500):
        await asyncio.sleep(0)


async def test_notices_that_cannot_be_told_yet_wait_until_the_watch_is_armed(
    start: Start, cluster: TopicCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that does not arm for long leaves nobody busy with what waits."""
    process = await start()
    arms, asked, looked = asyncio.Event(), asyncio.Event(), 0
    watch, wait = process.plain.watch, asyncio.wait

    async def late(prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        asked.set()
        await arms.wait()
        async for signal in watch(prefixes):
            yield signal

    async def counted(*given: Any, **more: Any) -> Any:
        nonlocal looked
        looked += "return_when" in more  # a reading that comes late is waited for, too, and by itself
        return await wait(*given, **more)

    monkeypatch.setattr(process.plain, "watch", late)
    watching = Watch(process.store)
    await asyncio.wait_for(asked.wait(), WAIT_S)
    await turns()
    monkeypatch.setattr(asyncio, "wait", counted)
    process.source.notices.notify((PATH,))
    await turns()
    assert looked == 0
    arms.set()
    await watching.until(PATH)
    await watching.end()


async def test_what_was_overtaken_is_told_once_however_often_its_topic_is_read(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    cluster.hooks["append"] = [lambda: cluster.edit(PATH, TWO)]
    cluster.hooks["appended"] = [lambda: cluster.edit(PATH, ONE)]
    with pytest.raises(BatchRefused):
        await process.put(THREE)
    topic = process.source.topic("acme/orders")
    async with topic.lock:
        await process.source.bring_up(topic, anew=True)
    assert len(process.store.take_overtaken()) == 1
    successor = await start()
    await successor.value()
    assert len(successor.store.take_overtaken()) == 1


async def test_what_a_reading_has_found_is_told_although_nothing_can_be_put_back(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    await process.value()
    watch = Watch(process.store)
    await watch.armed()
    cluster.edit(OTHER, ONE)
    await watch.until(OTHER)
    claim = replace(claim_of(process), expected="elsewhere")
    cluster.hooks["append"] = [lambda: lost_answer("append")]
    cluster.put("acme/orders", key_of(PATH), THREE, claim)
    cluster.put("acme/orders", key_of(OTHER), TWO, None)
    with contextlib.suppress(TopicPoliciesWithheld):
        await process.value()
    await watch.until(OTHER)
    await watch.end()


@pytest.mark.parametrize("seen_by", ["a read", "a look", "the list of namespaces"])
async def test_a_namespace_that_is_made_again_has_none_of_its_former_policies(
    start: Start, cluster: TopicCluster, file: Path, seen_by: str
) -> None:
    """A reader that has outlived its topic goes on in the new one, and knows nothing of that."""
    process = await start()
    cluster.edit(PATH, ONE)
    assert await process.value() == ONE
    told = process.source.notices.join()
    topic, outside = process.source.topic("acme/orders"), OutsideWriter(file)
    outside.delete(SPACE)
    if seen_by == "a read":
        assert await process.value() is None
    elif seen_by == "a look":
        topic.note_gone()
        await process.source._look_at(topic)
    else:
        assert await scanned(process.store) == {}
    found = told.take()
    assert isinstance(found, Changed)
    assert set(found.paths) == {PATH}
    assert cluster.open == 0
    cluster.messages["acme/orders"] = []
    outside.put(SPACE, b'{"replication_clusters":["here"]}')
    assert await process.value() is None
    assert await scanned(process.store) == {}
    cluster.edit(OTHER, TWO)
    assert await process.value(OTHER) == TWO
    assert set(await scanned(process.store)) == {OTHER}
    process.source.notices.leave(told)


async def test_who_asked_in_vain_is_told_when_the_namespace_is_gone(
    start: Start, cluster: TopicCluster, file: Path
) -> None:
    process = await start()
    cluster.faults["acme/orders"] = "no answer"
    watch = Watch(process.store)
    await watch.armed()
    _, withheld, _ = await read_answerable(process.store, [PATH])
    assert PATH in withheld
    OutsideWriter(file).delete(SPACE)
    await watch.until(PATH)
    assert await process.value() is None
    await watch.end()
