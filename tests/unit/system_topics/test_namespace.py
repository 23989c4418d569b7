"""Topics that brokers delete, their policies with them: nobody has removed these, and they come back with the topic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from syncer.conflict.register import ParkReason
from syncer.model import EventType, MetaPath
from syncer.replacing import replace
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Entry, read_answerable
from syncer.stores.sqlite import OutsideWriter
from syncer.system_topics.log import GONE, UnreadablePolicy
from syncer.system_topics.policies import key_of
from tests.support.topic_logs import TopicCluster
from tests.support.topic_process import BASE, ONE, OTHER, PATH, REGION, SPACE, THREE, TWO, Process, Start, claim_of
from tests.support.topic_region import TopicRegion

Begin: TypeAlias = "Callable[[], Awaitable[TopicRegion]]"
TOPIC = "persistent://acme/orders/a"


@pytest.fixture
def begin(file: Path, start: Start) -> Begin:
    OutsideWriter(file).put(MetaPath("/admin/policies/acme"), b'{"adminRoles":[],"allowedClusters":["here"]}')
    database = MemoryDatabase(REGION, "db")

    async def region() -> TopicRegion:
        found = TopicRegion(await start(raises=False), MemoryState(database))
        await found.begin()
        found.published = [each for each in found.published if each.path in {PATH, OTHER}]
        return found

    return region


async def read_on(region: TopicRegion) -> None:
    """Read what brokers have written, and do what follows."""
    await region.process.store.read_partly([PATH])
    await region.work()


async def comes_back(region: TopicRegion, cluster: TopicCluster) -> None:
    """The topic is there again, and it is time to try."""
    cluster.topics["acme/orders"].add(TOPIC)
    region.process.source.topic("acme/orders").found_at = float("-inf")
    region.driver.noticed([PATH], region.later())
    await region.work()


async def undecided(process: Process) -> dict[MetaPath, Entry | None]:
    return dict((await read_answerable(process.store, [PATH, OTHER])).undecided)


def nothing_is_told(region: TopicRegion) -> bool:
    """Nothing was published, no conflict kept, and nothing is held."""
    with region.state.transaction() as tx:
        conflicts = tx.kept_conflicts().things
    return not region.published and not conflicts and region.register(PATH).hold is None


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("ours", [False, True])
async def test_policies_that_go_with_their_topic_are_due_again_and_come_back_with_it(
    begin: Begin, cluster: TopicCluster, *, compacted: bool, restarts: bool, ours: bool
) -> None:
    region = await begin()
    if ours:
        cluster.edit(PATH, ONE)
        await read_on(region)
        assert [each.type for each in region.published] == [EventType.CREATED]
    else:
        region.hear(PATH, ONE)
        await region.work()
    region.published.clear()
    assert await region.process.value() == ONE
    if not compacted or not restarts:
        cluster.delete_topic(PATH)
        await read_on(region)
    else:
        await region.process.store.close()
        cluster.delete_topic(PATH)
    if compacted:
        cluster.compact("acme/orders")
    if restarts:
        region = await begin()
    await read_on(region)
    register = region.register(PATH)
    assert await region.process.value() is None
    assert nothing_is_told(region)
    assert (register.known is not None and register.known.alive, register.due, register.stored) == (True, True, None)
    assert register.parked is not None
    if compacted and restarts:  # nothing of it was read, and no peer is here that has the value
        assert register.parked.reason is ParkReason.VALUE_MISSING
        return
    assert register.parked.reason is ParkReason.PARENT_MISSING
    assert register.parked.detail == f"the topic {TOPIC} does not exist here yet"
    await comes_back(region, cluster)
    assert await region.process.value() == ONE
    assert not region.register(PATH).due
    assert nothing_is_told(region)


async def test_policies_that_an_operator_removes_are_removed_everywhere(begin: Begin, cluster: TopicCluster) -> None:
    region = await begin()
    region.hear(PATH, ONE)
    await region.work()
    cluster.edit(PATH, None)
    assert await undecided(region.process) == {OTHER: None}
    await read_on(region)
    assert [each.type for each in region.published] == [EventType.DELETED]


async def test_what_the_group_has_changed_meanwhile_comes_with_the_topic(begin: Begin, cluster: TopicCluster) -> None:
    region = await begin()
    region.hear(PATH, ONE)
    await region.work()
    cluster.delete_topic(PATH)
    await read_on(region)
    region.hear(PATH, TWO)
    await region.work()
    await comes_back(region, cluster)
    assert await region.process.value() == TWO


async def test_what_the_group_removes_needs_no_write_where_the_topic_is_gone(
    begin: Begin, cluster: TopicCluster
) -> None:
    region = await begin()
    region.hear(PATH, ONE)
    await region.work()
    cluster.delete_topic(PATH)
    region.hear(PATH, None)
    await read_on(region)
    register = region.register(PATH)
    assert register.known is not None
    assert (register.known.alive, register.due, register.stored_alive) == (False, False, False)
    await comes_back(region, cluster)
    assert await region.process.value() is None
    assert not region.published


async def test_policies_of_a_topic_that_is_made_anew_are_an_operators(begin: Begin, cluster: TopicCluster) -> None:
    region = await begin()
    region.hear(PATH, ONE)
    await region.work()
    cluster.delete_topic(PATH)
    await read_on(region)
    cluster.edit(PATH, TWO)
    await read_on(region)
    assert [each.value for each in region.published] == [TWO]


async def test_a_namespace_that_has_lost_its_topic_of_policies_is_given_them_again(
    begin: Begin, cluster: TopicCluster
) -> None:
    former = await begin()
    former.hear(PATH, ONE)
    await former.work()
    await former.process.store.close()
    del cluster.messages["acme/orders"]
    region = await begin()
    region.now, region._told = former.now, former._told
    assert nothing_is_told(region)
    assert region.register(PATH).value_missing
    region.hear(PATH, TWO)
    await region.work()
    assert await region.process.value() == TWO


async def test_policies_go_with_their_namespace(begin: Begin, cluster: TopicCluster, file: Path) -> None:
    region = await begin()
    region.hear(PATH, ONE)
    await region.work()
    OutsideWriter(file).delete(SPACE)
    assert await undecided(region.process) == {}
    region.driver.noticed([PATH], region.later())
    await region.work()
    assert (EventType.DELETED, PATH) in [(each.type, each.path) for each in region.published]


async def test_what_stood_there_last_is_told(start: Start, cluster: TopicCluster) -> None:
    process = await start()
    assert await undecided(process) == {PATH: None, OTHER: None}
    cluster.edit(PATH, ONE)
    entry = (await process.store.read([PATH]))[PATH]
    assert await undecided(process) == {OTHER: None}
    cluster.delete_topic(PATH)
    assert await undecided(process) == {PATH: entry, OTHER: None}
    assert {each.path async for page in process.store.scan(BASE) for each in page} == set()
    cluster.put("acme/orders", key_of(PATH), UnreadablePolicy("newer"), None)
    assert await undecided(process) == {OTHER: None}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("compacted", [False, True])
async def test_what_is_put_back_where_a_topic_is_gone_removes_nothing(
    start: Start, cluster: TopicCluster, *, known: bool, compacted: bool
) -> None:
    process = await start()
    if known:
        cluster.edit(PATH, ONE)
        cluster.delete_topic(PATH)
    cluster.put("acme/orders", key_of(OTHER), ONE, claim_of(process))
    cluster.put("acme/orders", key_of(PATH), THREE, replace(claim_of(process), fence=0))
    assert await process.value() is None
    message = cluster.messages["acme/orders"][-1]
    assert message.claim is not None
    assert (message.held, message.claim.restores, message.claim.gone) == (None, True, True)
    if compacted:
        cluster.compact("acme/orders")
        process = await start()
    assert await process.value() is None
    assert PATH in await undecided(process)


async def test_a_listing_from_before_a_topic_was_deleted_counts_no_more(start: Start, cluster: TopicCluster) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    topic = process.source.topic("acme/orders")
    await process.value()
    assert await process.source.exists(topic, TOPIC)
    cluster.delete_topic(PATH)
    await process.value()
    assert topic.topics == {"persistent://acme/orders/b"}
    assert not await process.source.exists(topic, TOPIC)
    assert GONE not in [each.held for each in cluster.messages["acme/orders"][:-1]]
