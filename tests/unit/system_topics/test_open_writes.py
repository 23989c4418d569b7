"""Writes whose outcome nobody can tell: their record, what the fence says of them, and that nothing else waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import orjson
import pytest

from syncer.errors import StoreUnavailable, ValueInvalid
from syncer.model import MetaPath
from syncer.replacing import replace
from syncer.replication.fence import Fence
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Entry
from syncer.stores.sqlite import OutsideWriter
from syncer.system_topics.open_writes import (
    OpenWrite,
    PendingWrite,
    decode_pending,
    encode_pending,
    reconciled,
    told,
)
from tests.support.topic_logs import TopicCluster
from tests.support.topic_process import BASE, FENCE, FOUR, ONE, PATH, RECORD, REGION, SPACE, THREE, TWO, Start
from tests.support.topic_region import TopicRegion

HELD = Fence(number=3, database_id="d", generation=1, store_id="s", landed=("2.1", "3.1"))


def pending(batch: str, database: str = "d") -> PendingWrite:
    return PendingWrite(batch=batch, database=database, store_id="s", fence=3, path=MetaPath(f"/p/{batch}"))


def test_one_write_is_recorded_as_former_versions_did_and_several_as_a_list() -> None:
    one, two = pending("3.2"), pending("3.3")
    document = {"batch": "3.2", "database": "d", "store": "s", "fence": 3, "path": "/p/3.2"}
    assert orjson.loads(encode_pending([one])) == document
    assert decode_pending(encode_pending([one])) == [one]
    assert decode_pending(encode_pending([one, two])) == [one, two]
    assert decode_pending(b"") == []


@pytest.mark.parametrize("value", [b"{", b"7", b"[7]", b"{}", b'{"batch":"1.1"}'])
def test_a_record_that_somebody_else_wrote_is_not_read(value: bytes) -> None:
    with pytest.raises(ValueInvalid):
        decode_pending(value)


def test_what_the_fence_has_a_receipt_of_is_not_open() -> None:
    known = [OpenWrite(pending("3.2"), landed=True), OpenWrite(pending("3.4"))]
    found = reconciled(known, [pending("3.1"), pending("3.1", "another"), pending("3.2"), pending("3.3")], HELD)
    assert [(each.pending.batch, each.pending.database, each.landed) for each in found] == [
        ("3.1", "another", None),
        ("3.2", "d", True),
        ("3.3", "d", None),
    ]


def test_what_was_settled_is_told_to_a_writer_whose_fence_names_it() -> None:
    naming = replace(HELD, untold=("3.2", "3.3", "3.4"))
    opened = [
        OpenWrite(pending("3.2"), landed=True),
        OpenWrite(pending("3.3"), landed=False),
        OpenWrite(pending("3.4")),
        OpenWrite(pending("3.5"), landed=True),
        OpenWrite(pending("3.6", "another")),
    ]
    ours = told(naming, opened, ours=True)
    assert (ours.untold, ours.found, ours.landed) == (("3.4", "3.5"), ("3.2",), HELD.landed)
    others = told(naming, opened, ours=False)
    assert (others.untold, others.found) == (("3.2", "3.3", "3.4", "3.5"), ())
    assert told(naming, [], ours=True).untold == ()


def test_it_stays_recorded_until_it_is_settled_and_no_fence_names_it() -> None:
    naming, open_write = replace(HELD, untold=("3.2",)), OpenWrite(pending("3.2"))
    assert open_write.kept_with(HELD)
    open_write.landed = False
    assert not open_write.kept_with(HELD)
    assert open_write.kept_with(naming)
    assert not OpenWrite(pending("3.2", "another"), landed=False).kept_with(naming)


TENANT = MetaPath("/admin/policies/acme")
OTHER_SPACE = MetaPath("/admin/policies/acme/parts")
FRESH = MetaPath("/admin/policies/acme/fresh")
OTHER_TOPIC = MetaPath(f"{BASE}/acme/parts/persistent/c")
Begin: TypeAlias = "Callable[[], Awaitable[TopicRegion]]"


@pytest.fixture
def begin(file: Path, cluster: TopicCluster, start: Start) -> Begin:
    outside = OutsideWriter(file)
    outside.put(TENANT, b'{"adminRoles":[],"allowedClusters":["here"]}')
    outside.put(OTHER_SPACE, b'{"replication_clusters":["here"]}')
    cluster.topics["acme/parts"].add("persistent://acme/parts/c")
    database = MemoryDatabase(REGION, "db")

    async def region() -> TopicRegion:
        state = MemoryState(database)
        found = TopicRegion(await start(raises=False), state)
        await found.begin()
        return found

    return region


async def holds_one(region: TopicRegion) -> None:
    """The path holds what another region has."""
    region.hear(PATH, ONE)
    await region.work()
    assert await region.process.value(PATH) == ONE


def strand(cluster: TopicCluster, *, arrives: bool) -> None:
    """The next message is not answered, and its topic answers nothing from then on."""

    def breaks() -> None:
        cluster.faults["acme/orders"] = "no broker"
        raise StoreUnavailable("no answer")

    cluster.hooks["appended" if arrives else "append"] = [breaks]


async def plain(region: TopicRegion, path: MetaPath) -> Entry | None:
    return (await region.process.plain.read([path]))[path]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("fate", ["arrived", "lost", "late", "too late"])
@pytest.mark.parametrize("moves_on", [False, True])
async def test_one_topic_waits_and_nothing_else(
    begin: Begin, cluster: TopicCluster, fate: str, *, restarts: bool, moves_on: bool
) -> None:
    region = await begin()
    await holds_one(region)
    published = len(region.published)
    strand(cluster, arrives=fate == "arrived")
    stamp = region.hear(PATH, TWO)
    await region.work()
    (batch,) = region.open_batches
    written = await plain(region, RECORD)
    assert written is not None
    assert [each.batch for each in decode_pending(written.value)] == [batch]
    (intended,) = [each for each in (region.register(PATH).intent,) if each is not None]
    assert (intended.batch, intended.version.stamp) == (batch, stamp)
    if restarts:
        region, published = await begin(), 0
        assert region.open_batches == (batch,)
    # all else goes on, and nobody waits for that topic
    region.hear(FRESH, b'{"replication_clusters":["here"]}')
    region.hear(OTHER_TOPIC, ONE)
    if moves_on:
        stamp = region.hear(PATH, THREE)
    cluster.trace.clear()
    assert (await region.process.store.read([FENCE]))[FENCE] is not None
    assert not cluster.trace
    await region.work()
    assert await plain(region, FRESH) is not None
    assert await region.process.value(OTHER_TOPIC) == ONE
    assert region.register(PATH).intent == intended
    assert region.open_batches == (batch,)
    # the topic answers again
    key = "__G__persistent://acme/orders/a"
    claim = replace(cluster.claims[-1], batch=batch)
    if fate == "late":
        cluster.put("acme/orders", key, TWO, claim)
    del cluster.faults["acme/orders"]
    await region.look_again(PATH)
    if fate == "too late":
        cluster.put("acme/orders", key, TWO, claim)
        await region.look_again(PATH)
    await region.work()
    register = region.register(PATH)
    assert await region.process.value(PATH) == (THREE if moves_on else TWO)
    assert register.intent is None
    assert not register.due
    assert register.stored is not None
    assert register.stored.stamp == stamp
    assert register.flips == ()
    assert len(region.published) == published
    assert not region.open_batches
    region.hear(FRESH, b'{"replication_clusters":["here"],"message_ttl_in_seconds":7}')
    await region.work()  # with the next write of the fence
    assert await plain(region, RECORD) is None


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_brokers_edit_of_what_had_landed_wins_over_it_and_is_told_once(
    begin: Begin, cluster: TopicCluster, *, restarts: bool
) -> None:
    region = await begin()
    await holds_one(region)
    published = len(region.published)
    strand(cluster, arrives=True)
    stamp = region.hear(PATH, TWO)
    await region.work()
    if restarts:
        region = await begin()
        published = 0
    cluster.edit(PATH, FOUR)
    del cluster.faults["acme/orders"]
    await region.look_again(PATH)
    await region.work()
    (event,) = region.published[published:]
    assert event.value == FOUR
    assert event.base == stamp
    assert stamp.updated_at_ms in event.seen.values()
    assert await region.process.value(PATH) == FOUR


async def test_a_record_of_a_former_version_is_settled_by_this_one(begin: Begin, cluster: TopicCluster) -> None:
    """It wrote the record of one write, and a fence that names nothing as untold."""
    region = await begin()
    await holds_one(region)
    strand(cluster, arrives=True)
    region.hear(PATH, TWO)

    class Ended(Exception):
        pass

    def ends(*_: object) -> None:
        raise Ended

    region.driver.probe_lost = ends  # type: ignore[method-assign, assignment]  # the process ends before it asks
    with pytest.raises(Ended):
        await region.work()
    fence = await plain(region, FENCE)
    assert fence is not None
    assert Fence.decode(fence.value).untold == ()
    stamp = region.hear(PATH, THREE)
    region = await begin()
    assert len(region.open_batches) == 1
    del cluster.faults["acme/orders"]
    await region.look_again(PATH)
    await region.work()
    assert await region.process.value(PATH) == THREE
    stored = region.register(PATH).stored
    assert stored is not None
    assert stored.stamp == stamp
    assert not region.published


async def test_what_a_lost_answer_left_is_found_out_at_once_where_the_topic_answers(
    begin: Begin, cluster: TopicCluster
) -> None:
    region = await begin()
    await holds_one(region)

    def breaks() -> None:
        raise StoreUnavailable("no answer")

    cluster.hooks["appended"] = [breaks]
    region.hear(PATH, TWO)
    await region.work()
    assert not region.open_batches
    assert not region.register(PATH).due
    assert [each.held for each in cluster.messages["acme/orders"]] == [ONE, TWO]


async def test_while_writing_fails_and_reading_does_not_the_topic_waits(begin: Begin, cluster: TopicCluster) -> None:
    region = await begin()
    await holds_one(region)

    def breaks() -> None:
        raise StoreUnavailable("no answer")

    cluster.hooks["append"] = [breaks] * 3
    region.hear(PATH, TWO)
    await region.work()
    assert len(region.open_batches) == 1
    for waits in (True, False):
        await region.look_again(PATH)
        topic = region.process.source.topic("acme/orders")
        assert (topic.trouble is not None) is waits
        await region.work()
        assert (len(region.open_batches) == 1) is waits
    assert await region.process.value(PATH) == TWO


async def test_a_namespace_that_is_gone_has_no_open_writes(begin: Begin, cluster: TopicCluster, file: Path) -> None:
    region = await begin()
    await holds_one(region)
    strand(cluster, arrives=False)
    region.hear(PATH, TWO)
    await region.work()
    assert len(region.open_batches) == 1
    OutsideWriter(file).delete(SPACE)
    region.driver.noticed([SPACE, PATH], region.later())
    await region.work()
    assert not region.open_batches
    assert region.register(PATH).intent is None


async def test_a_database_that_takes_the_place_of_another_does_not_read_before_it_is_settled(
    begin: Begin, cluster: TopicCluster, start: Start
) -> None:
    region = await begin()
    await holds_one(region)
    strand(cluster, arrives=False)
    region.hear(PATH, TWO)
    await region.work()
    (batch,) = region.open_batches
    other = await start(database="another")
    assert other.fence.untold == ()
    answers, withheld, _ = await other.store.read_partly([PATH, FENCE])
    assert set(withheld) == {PATH}
    fence = answers[FENCE]
    assert fence is not None
    assert Fence.decode(fence.value).untold == ()
    assert not [page async for page in other.store.scan(BASE)]
    del cluster.faults["acme/orders"]
    other.source.topic("acme/orders").tried_at = float("-inf")
    assert await other.value() == ONE
    cluster.put("acme/orders", "__G__persistent://acme/orders/a", TWO, replace(cluster.claims[-1], batch=batch))
    assert await other.value() == ONE
    await other.rewrite_fence()
    assert (await other.plain.read([RECORD]))[RECORD] is None


async def test_a_reading_that_began_before_the_write_tells_nothing_of_it(begin: Begin, cluster: TopicCluster) -> None:
    region = await begin()
    await holds_one(region)
    region.driver.noticed([SPACE], region.later())
    plan = region.driver.plan_reads()
    assert plan is not None
    answers, _, _ = await region.process.store.read_partly(plan.paths)
    strand(cluster, arrives=True)
    region.hear(PATH, TWO)
    await region.work()
    (batch,) = region.open_batches
    region.driver.take_answers(plan, answers, region.later())
    assert region.open_batches == (batch,)
    assert region.register(PATH).intent is not None


async def test_a_mark_that_is_written_again_does_not_hide_what_was_found_out(
    begin: Begin, cluster: TopicCluster
) -> None:
    region = await begin()
    await holds_one(region)
    strand(cluster, arrives=True)
    stamp = region.hear(PATH, TWO)
    await region.work()
    (batch,) = region.open_batches
    del cluster.faults["acme/orders"]
    await region.look_again(PATH)
    assert region.driver.mark(region.later()) is not None  # and its answer is lost
    entry = (await region.process.store.read([FENCE]))[FENCE]
    assert entry is not None
    assert Fence.decode(entry.value).found == (batch,)
    again = region.driver.probe_rollback_counter(entry)
    assert again is not None
    fence = Fence.decode(again.value)
    assert (fence.untold, fence.found, batch in fence.landed) == ((batch,), (), False)
    region.driver.marked(again, (await region.process.store.apply([again]))[0], region.later())
    await region.work()
    stored = region.register(PATH).stored
    assert stored is not None
    assert stored.stamp == stamp
    assert not region.open_batches
