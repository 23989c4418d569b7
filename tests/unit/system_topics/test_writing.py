"""Writes to topics of policies, whatever brokers do at each step, and wherever a process ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from syncer.errors import ParentMissing, RevisionMismatch, StoreUnavailable, ValueRefused
from syncer.model import MetaPath
from syncer.replication.fence import Fence
from syncer.stores.contract import (
    BatchRefused,
    Entry,
    Put,
    Write,
)
from syncer.stores.sqlite import OutsideWriter
from syncer.system_topics.policies import key_of
from syncer.waiting import WAIT_S
from tests.support.topic_logs import Died, MemoryTopicLog, TopicCluster, death, lost_answer, nothing
from tests.support.topic_process import (
    BASE,
    BOUNDS,
    FENCE,
    FOUR,
    ONE,
    OTHER,
    PATH,
    RECORD,
    SPACE,
    THREE,
    TWO,
    Start,
    claim_of,
    policies,
)


async def test_a_write_stands_in_the_topic_and_its_receipt_in_the_fence(start: Start, cluster: TopicCluster) -> None:
    process = await start()
    written = await process.put(ONE)
    entry = (await process.store.read([PATH]))[PATH]
    assert entry is not None
    assert (entry.value, entry.revision) == (ONE, written.revision)
    found = await process.plain.read([FENCE, RECORD])
    fence = found[FENCE]
    assert fence is not None
    assert Fence.decode(fence.value).landed == ("1.1",)
    assert found[RECORD] is None
    await process.put(None)
    assert await process.value() is None
    assert [each.held for each in cluster.messages["acme/orders"]] == [ONE, None]


async def test_a_write_decided_on_something_else_is_refused_before_anything_is_sent(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    with pytest.raises(BatchRefused) as refused:
        await process.write(Put(path=PATH, value=TWO, expected=None))
    assert isinstance(refused.value.cause, RevisionMismatch)
    assert (refused.value.index, refused.value.guard) == (1, None)
    assert len(cluster.messages["acme/orders"]) == 1
    await process.put(TWO)
    assert await process.value() == TWO


async def test_a_broker_that_is_faster_keeps_its_value_and_the_write_is_refused(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    await process.value()
    cluster.hooks["append"] = [lambda: cluster.edit(PATH, TWO)]
    cluster.trace.clear()
    with pytest.raises(BatchRefused) as refused:
        await process.put(THREE)
    assert cluster.trace[:3] == ["read", "read", "prepare"]
    assert isinstance(refused.value.cause, RevisionMismatch)
    assert refused.value.guard is not None
    assert await process.value() == TWO
    assert [each.held for each in cluster.messages["acme/orders"]] == [ONE, TWO, THREE, TWO]
    assert not process.store.take_overtaken()
    await process.put(FOUR)  # the fence is known as it stands
    assert await process.value() == FOUR


async def test_what_can_no_longer_be_put_back_is_told(start: Start, cluster: TopicCluster) -> None:
    process = await start()
    cluster.edit(PATH, ONE)

    cluster.hooks["append"] = [lambda: cluster.edit(PATH, TWO)]
    cluster.hooks["appended"] = [lambda: cluster.edit(PATH, FOUR)]
    with pytest.raises(BatchRefused):
        await process.put(THREE)
    (lost,) = process.store.take_overtaken()
    assert (lost.path, lost.value, lost.lost_at_ms < lost.by_at_ms) == (PATH, TWO, True)
    assert await process.value() == FOUR
    process.store.put_back([lost])
    assert process.store.take_overtaken() == (lost,)
    assert process.store.take_overtaken() == ()


async def test_brokers_that_never_rest_end_with_one_value_and_every_other_one_known(
    start: Start, cluster: TopicCluster
) -> None:
    """At every step that a client makes a broker edits first: nothing of theirs is gone that was not read or told."""
    process = await start()
    cluster.edit(PATH, ONE)
    edits = iter(range(100, 1000))

    def edit() -> None:
        cluster.edit(PATH, policies(maxConsumerPerTopic=next(edits)))

    seen = set[bytes]()
    for _ in range(20):
        cluster.hooks = {"append": [edit] * 3, "appended": [edit] * 2}
        value = await process.value()
        if value is not None:
            seen.add(value)
        try:
            await process.put(policies(messageTTLInSeconds=next(edits)))
        except BatchRefused:
            continue
    cluster.hooks.clear()
    standing = await process.value()
    told = {each.value for each in process.store.take_overtaken()}
    log = cluster.messages["acme/orders"]
    for at, message in enumerate(log[:-1]):
        after = log[at + 1]
        if message.claim is None and after.claim is not None and after.claim.expected != message.id:
            restored = any(each.held == message.held and each.claim is not None for each in log[at + 2 :])
            assert restored or message.held in told or message.held in seen or message.held == standing


STEPS = range(1, 9)


@pytest.mark.parametrize("last", STEPS)
@pytest.mark.parametrize("edits", [False, True])
@pytest.mark.parametrize("end", [death, lost_answer])
async def test_after_a_crash_at_any_step_the_fence_says_whether_the_write_has_landed(
    start: Start, cluster: TopicCluster, last: int, edits: bool, end: Callable[[str], None]
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    entry = (await process.store.read([PATH]))[PATH]
    assert entry is not None
    number, writes = process.next_batch(Put(path=PATH, value=TWO, expected=entry.revision))

    def with_edit(step: str) -> None:
        if step == "append":
            cluster.edit(PATH, THREE)

    cluster.steps.extend([with_edit if edits else nothing] * (last - 1) + [end])
    landed: bool | None = None
    try:
        await process.store.apply(writes)
        landed = True
    except BatchRefused:
        landed = False
    except (Died, StoreUnavailable):
        pass
    cluster.steps.clear()
    successor = await start(bounds=BOUNDS)
    told = await successor.find_out(number)
    if landed is not None:
        assert told is landed
    standing = [
        each
        for each in cluster.messages["acme/orders"]
        if each.claim is not None and each.claim.batch == number and not each.claim.restores
    ]
    assert await successor.value() == (TWO if told else THREE if edits and standing else ONE)
    late = cluster.messages["acme/orders"]
    if not told and standing:
        cluster.put("acme/orders", standing[0].key, TWO, standing[0].claim)  # a copy that was still on its way
        assert await successor.value() in {ONE, THREE}
    assert late
    await successor.put(FOUR)
    assert await successor.value() == FOUR
    assert (await successor.plain.read([RECORD]))[RECORD] is None


@pytest.mark.parametrize("breaks", [1, 2])
@pytest.mark.parametrize("applies_first", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("edits", ["", "append", "appended"])
async def test_a_lost_answer_of_the_store_is_found_out_by_the_fence(
    start: Start, cluster: TopicCluster, breaks: int, *, applies_first: bool, restarts: bool, edits: str
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    entry = (await process.store.read([PATH]))[PATH]
    assert entry is not None
    number, writes = process.next_batch(Put(path=PATH, value=TWO, expected=entry.revision))
    process.plain.breaks, process.plain.applies_first = breaks, applies_first
    cluster.hooks = {edits: [lambda: cluster.edit(PATH, THREE)]} if edits else {}
    lost = True
    try:
        await process.store.apply(writes)
    except StoreUnavailable:
        pass
    except BatchRefused:
        lost = False  # a broker was faster, so that nothing of the store was asked any more
    cluster.hooks.clear()
    process.plain.breaks = -1
    if restarts:
        process = await start()
    landed = await process.find_out(number)
    sent = [each for each in cluster.messages["acme/orders"] if each.claim is not None and each.claim.batch == number]
    assert landed is (bool(sent) and edits != "append")
    assert lost is (breaks == 1 or edits != "append")
    expected = {"": TWO if landed else ONE, "append": THREE if sent else ONE, "appended": THREE if sent else ONE}
    assert await process.value() == expected[edits]
    await process.put(FOUR)
    assert await process.value() == FOUR
    assert (await process.plain.read([RECORD]))[RECORD] is None


async def test_a_write_lost_on_its_way_cannot_come_after_it_was_said_not_to_have_landed(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    await process.value()
    cluster.hooks["append"] = [lambda: lost_answer("append")]  # before anything was stored
    cluster.trace.clear()
    with pytest.raises(StoreUnavailable):
        await process.put(TWO)
    assert cluster.trace[-1] == "append"
    claim = replace(
        claim_of(process),
        batch="1.1",
        expected=cluster.messages["acme/orders"][0].id,
    )
    assert await process.find_out("1.1") is False
    cluster.put("acme/orders", "__G__persistent://acme/orders/a", TWO, claim)
    assert await process.value() == ONE


async def test_a_reading_that_began_before_a_write_failed_does_not_hide_its_record(
    start: Start, cluster: TopicCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    await process.value()
    read, came, gate = process.plain.read, asyncio.Event(), asyncio.Event()

    async def late(paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        found = await read(paths)
        came.set()
        await gate.wait()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(process.plain, "read", late)
        reading = asyncio.create_task(process.store.read([FENCE]))
        await asyncio.wait_for(came.wait(), WAIT_S)
    cluster.hooks["appended"] = [lambda: lost_answer("appended")]
    with pytest.raises(StoreUnavailable):
        await process.put(TWO)
    gate.set()
    await reading
    assert await process.find_out("1.1") is True


async def test_a_former_writer_is_fenced_out(start: Start, cluster: TopicCluster) -> None:
    former = await start()
    cluster.edit(PATH, ONE)
    await former.value()
    await start()
    with pytest.raises(BatchRefused) as refused:
        await former.put(TWO)
    assert refused.value.index == 0
    assert await former.value() == ONE


async def test_a_message_with_a_fence_that_nobody_has_had_is_a_brokers_edit(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    await process.put(ONE)
    forged = replace(claim_of(process), fence=10**9, batch="9", expected="elsewhere")
    cluster.put("acme/orders", key_of(PATH), TWO, forged)
    assert await process.value() == TWO
    await process.put(THREE)
    assert await process.value() == THREE
    assert [each.held for each in cluster.messages["acme/orders"]] == [ONE, TWO, THREE]


async def test_messages_of_a_later_writer_count_for_who_has_read_a_lower_fence(
    start: Start, cluster: TopicCluster
) -> None:
    former = await start()
    await former.put(ONE)
    assert await former.value() == ONE
    later = await start()
    await later.put(TWO)
    assert await former.value() == TWO
    fold = former.source.topic("acme/orders").fold
    assert fold is not None
    standing = fold.standing(key_of(PATH))
    assert standing is not None
    assert standing.ours


async def test_what_was_read_for_somebody_who_has_gone_is_read_again(
    start: Start, cluster: TopicCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading is given up after its messages were taken from the client: none of them is missed."""
    process = await start()
    await process.put(ONE)
    read_on, taken = MemoryTopicLog.read_on, asyncio.Event()

    async def taken_in_vain(log: MemoryTopicLog) -> object:
        await read_on(log)
        taken.set()
        return await asyncio.Event().wait()

    cluster.edit(PATH, TWO)
    with monkeypatch.context() as patch:
        patch.setattr(MemoryTopicLog, "read_on", taken_in_vain)
        reading = asyncio.create_task(process.value())
        await asyncio.wait_for(taken.wait(), WAIT_S)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert await process.value() == TWO
    assert cluster.open == 1


async def test_a_topic_that_does_not_exist_is_waited_for(start: Start, cluster: TopicCluster) -> None:
    process = await start()
    path = MetaPath(f"{BASE}/acme/orders/persistent/later")
    with pytest.raises(BatchRefused) as refused:
        await process.put(ONE, path)
    assert isinstance(refused.value.cause, ParentMissing)
    assert "acme/orders" not in cluster.messages
    OutsideWriter(process.plain._config.path).put(
        MetaPath("/admin/partitioned-topics/acme/orders/persistent/later"), b'{"partitions":2}'
    )
    await process.put(ONE, path)
    assert await process.value(path) == ONE


async def test_an_edit_that_comes_while_the_topic_of_policies_is_made_is_not_overwritten(
    start: Start, cluster: TopicCluster
) -> None:
    process = await start()
    cluster.hooks["make"] = [lambda: cluster.edit(PATH, TWO)]
    with pytest.raises(BatchRefused) as refused:
        await process.put(ONE)
    assert isinstance(refused.value.cause, RevisionMismatch)
    assert await process.value() == TWO
    assert [each.held for each in cluster.messages["acme/orders"]] == [TWO]


async def test_a_value_that_the_brokers_do_not_know_is_refused(start: Start, cluster: TopicCluster) -> None:
    process = await start()
    cluster.edit(PATH, ONE)
    with pytest.raises(BatchRefused) as refused:
        await process.put(policies(unknownField=1))
    assert isinstance(refused.value.cause, ValueRefused)
    assert len(cluster.messages["acme/orders"]) == 1


async def test_what_is_kept_in_a_topic_is_written_alone(start: Start) -> None:
    process = await start()
    assert process.store.capabilities.alone(PATH)
    assert not process.store.capabilities.alone(SPACE)
    two: list[Write] = [Put(path=each, value=ONE, expected=None) for each in (PATH, OTHER)]
    with pytest.raises(BatchRefused) as refused:
        await process.store.apply(two)
    assert isinstance(refused.value.cause, ValueRefused)


async def test_a_command_writes_without_a_fence_of_its_own(start: Start, cluster: TopicCluster) -> None:
    writer = await start()
    command = await start(writes=False)
    await command.store.apply([Put(path=PATH, value=ONE, expected=None)])
    assert await writer.value() == ONE
    entry = (await command.store.read([PATH]))[PATH]
    assert entry is not None
    cluster.hooks["append"] = [lambda: cluster.edit(PATH, TWO)]
    with pytest.raises(BatchRefused):
        await command.store.apply([Put(path=PATH, value=THREE, expected=entry.revision)])
    assert await writer.value() == TWO
