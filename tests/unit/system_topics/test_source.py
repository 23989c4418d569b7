"""Policies of topics that do not exist here: tried now and then, visible, and written once the topic is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncer.conflict.register import ParkReason
from syncer.errors import TopicPoliciesWithheld
from syncer.model import MetaPath, Millis
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import BatchRefused
from syncer.stores.sqlite import OutsideWriter
from syncer.system_topics import source
from syncer.system_topics.log import UnreadablePolicy
from syncer.system_topics.policies import key_of
from tests.support.topic_logs import MemoryTopicLog, TopicCluster
from tests.support.topic_process import BASE, ONE, OTHER, PATH, REGION, THREE, TWO, Process, Start
from tests.support.topic_region import TopicRegion

ABSENT = MetaPath(f"{BASE}/acme/orders/persistent/absent")
DECLARED = MetaPath("/admin/partitioned-topics/acme/orders/persistent/absent")
MINUTE_S = 60

pytestmark = pytest.mark.anyio


async def begun(process: Process) -> TopicRegion:
    region = TopicRegion(process, MemoryState(MemoryDatabase(REGION, "d")))
    await region.begin()
    return region


async def minute(region: TopicRegion) -> None:
    """A minute's ticks."""
    end = region.now + MINUTE_S * 1_000
    while region.now < end:
        region.driver.tick(Millis(region.now + 1_000))
        region.now += 1_000
        await region.work()


def counting(region: TopicRegion, monkeypatch: pytest.MonkeyPatch) -> list[BatchRefused]:
    """Refusals of the store, as they come."""
    refusals: list[BatchRefused] = []
    apply = region.process.store.apply

    async def counted(writes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as the store's own
        try:
            return await apply(writes)
        except BatchRefused as refusal:
            refusals.append(refusal)
            raise

    monkeypatch.setattr(region.process.store, "apply", counted)
    return refusals


async def test_a_policy_of_a_topic_that_is_not_here_is_tried_ever_less_often_and_lands_when_it_comes(
    start: Start, cluster: TopicCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LISTED_S", 0.0)  # the clock of the test is another one
    cluster.edit(PATH, ONE)
    region = await begun(await start(raises=False))
    refusals = counting(region, monkeypatch)
    region.hear(ABSENT, TWO)
    await region.work()
    assert len(refusals) == 1
    parked = region.register(ABSENT).parked
    assert parked is not None
    assert parked.reason is ParkReason.PARENT_MISSING
    assert "does not exist here yet" in parked.detail
    await minute(region)
    assert 3 <= len(refusals) <= 8
    cluster.topics["acme/orders"].add("persistent://acme/orders/absent")
    await minute(region)
    assert await region.process.value(ABSENT) == TWO
    assert region.register(ABSENT).parked is None


async def test_it_is_tried_at_once_when_the_topic_is_declared(start: Start, cluster: TopicCluster, file: Path) -> None:
    cluster.edit(PATH, ONE)
    process = await start(raises=False)
    region = await begun(process)
    region.hear(ABSENT, TWO)
    await region.work()
    OutsideWriter(file).put(DECLARED, b'{"partitions":2}')
    region.driver.noticed(process.source.noticed([DECLARED]), region.later())
    await region.work()
    assert await process.value(ABSENT) == TWO


async def test_what_brokers_refuse_to_take_is_not_tried_all_the_time(
    start: Start, cluster: TopicCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic can be read, so nothing of it is withheld: only the producer is refused."""
    cluster.edit(PATH, ONE)
    region = await begun(await start(raises=False))
    refusals = counting(region, monkeypatch)

    async def refused(*_: object) -> bytes:
        raise TopicPoliciesWithheld("acme/orders: ProducerBlockedQuotaExceeded")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryTopicLog, "prepare", refused)
        region.hear(OTHER, TWO)
        await minute(region)
    assert 3 <= len(refusals) <= 8
    await minute(region)
    assert await region.process.value(OTHER) == TWO


async def test_what_cannot_be_put_back_is_not_looked_for_again_and_again(start: Start, cluster: TopicCluster) -> None:
    """A broker's edit that nobody here can read, under a message of ours that came too late."""
    process = await start()
    cluster.edit(PATH, ONE)
    assert await process.value() == ONE
    cluster.hooks["append"] = [lambda: cluster.put("acme/orders", key_of(PATH), UnreadablePolicy("newer"), None)]
    with pytest.raises(BatchRefused):
        await process.put(THREE)
    cluster.trace.clear()
    _, withheld, _ = await process.store.read_partly([PATH])
    assert list(withheld) == [PATH]
    assert cluster.trace.count("read") <= 2
