"""A store with system topics beside it: read, scanned, watched, written to, whatever brokers do at each step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from syncer.errors import ParentMissing, RevisionMismatch, StoreUnavailable, TopicPoliciesWithheld, ValueRefused
from syncer.model import MetaPath, Millis, Region, Revision
from syncer.paths import fence_path, namespace_path
from syncer.replication.fence import Fence
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Changed,
    Delete,
    Entry,
    Gap,
    Put,
    WatchSignal,
    Write,
    Written,
    read_answerable,
)
from syncer.stores.sqlite import OutsideWriter, SqliteConfig, SqliteStore
from syncer.system_topics.log import WriterClaim
from syncer.system_topics.source import SourceBounds, SystemTopics
from syncer.system_topics.store import SystemTopicStore, with_system_topics
from syncer.system_topics.writing import record_path
from tests.support.topic_logs import Died, MemoryTopicLogs, TopicCluster, death, lost_answer, nothing

Start: TypeAlias = "Callable[..., Awaitable[Process]]"
REGION = Region("east")
FENCE, RECORD = fence_path(REGION), record_path(REGION)
BASE = MetaPath("/admin/topic-policies/global")
PATH = MetaPath(f"{BASE}/acme/orders/persistent/a")
OTHER = MetaPath(f"{BASE}/acme/orders/persistent/b")
SPACE = namespace_path("acme", "orders")
BOUNDS = SourceBounds(look_every=timedelta(hours=1), openings_per_s=1e6)


def policies(**given: object) -> bytes:
    return json.dumps({"isGlobal": True, **given}).encode()


ONE, TWO, THREE, FOUR = (policies(maxConsumerPerTopic=number) for number in (1, 2, 3, 4))


class BreakingStore(SqliteStore):
    """A store whose answer to a transaction is lost, with it or before it."""

    breaks: int = -1
    applies_first: bool = False

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Count down to the one that is lost."""
        self.breaks -= 1
        if self.breaks == 0 and not self.applies_first:
            raise StoreUnavailable("a test")
        answers = await super().apply(writes)
        if self.breaks == 0:
            raise StoreUnavailable("a test")
        return answers


class Process:
    """One daemon's store, and the fence that it holds."""

    def __init__(
        self, file: Path, cluster: TopicCluster, *, writes: bool = True, bounds: SourceBounds = BOUNDS
    ) -> None:
        self.plain = BreakingStore(SqliteConfig(path=file, timeout=timedelta(seconds=5)))
        self.source = SystemTopics(["acme/*"], self.plain, MemoryTopicLogs(cluster), bounds)
        self.store: SystemTopicStore = with_system_topics(self.plain, self.source, REGION, writes=writes)
        self.fence = Fence(number=0, database_id="d", generation=1, store_id="s")
        self.revision: Revision | None = None
        self.batch = 0

    async def become_writer(self) -> Fence:
        """Read the fence and raise it, as a daemon does; how it was read."""
        entry = (await self.store.read([FENCE]))[FENCE]
        present = Fence.decode(entry.value) if entry is not None else self.fence
        self.fence = replace(present, number=present.number + 1)
        put = Put(
            path=FENCE,
            value=self.fence.encode(),
            expected=entry.revision if entry is not None else None,
            scaffold=(MetaPath("/pulsar-syncer"), MetaPath("/pulsar-syncer/east")),
        )
        self.revision = (await self.store.apply([put]))[0].revision
        return present

    def next_batch(self, write: Write) -> tuple[str, list[Write]]:
        self.batch += 1
        number = f"{self.fence.number}.{self.batch}"
        return number, [Put(path=FENCE, value=self.fence.landing(number).encode(), expected=self.revision), write]

    async def write(self, write: Write) -> Written:
        number, writes = self.next_batch(write)
        try:
            fence, written = await self.store.apply(writes)
        except BatchRefused as refusal:
            if refusal.guard is not None:
                self.revision = refusal.guard.revision
            raise
        self.fence, self.revision = self.fence.landing(number), fence.revision
        return written

    async def put(self, value: bytes | None, path: MetaPath = PATH) -> Written:
        """Decide on what stands there now, and write."""
        entry = (await self.store.read([path]))[path]
        revision = entry.revision if entry is not None else None
        if value is None:
            assert revision is not None
            return await self.write(Delete(path=path, expected=revision))
        return await self.write(Put(path=path, value=value, expected=revision))

    async def value(self, path: MetaPath = PATH) -> bytes | None:
        entry = (await self.store.read([path]))[path]
        return entry.value if entry is not None else None


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

    async def begin(**given: object) -> Process:
        process = Process(file, cluster, **given)  # type: ignore[arg-type]  # as they are given
        await process.store.open()
        made.append(process)
        if given.get("writes", True):
            await process.become_writer()
        return process

    yield begin
    cluster.steps.clear()
    for each in made:
        await each.store.close()


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
    told = number in successor.fence.landed
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
        landed = number in process.fence.landed
    else:
        fence = (await process.store.read([FENCE]))[FENCE]
        assert fence is not None
        process.fence, process.revision = Fence.decode(fence.value), fence.revision
        landed = number in process.fence.landed
        rewritten = Put(path=FENCE, value=process.fence.encode(), expected=process.revision)
        process.revision = (await process.store.apply([rewritten]))[0].revision
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
    entry = (await process.store.read([FENCE]))[FENCE]
    assert entry is not None
    assert Fence.decode(entry.value).landed == ()
    cluster.put("acme/orders", "__G__persistent://acme/orders/a", TWO, claim)
    assert await process.value() == ONE


def claim_of(process: Process) -> WriterClaim:
    return WriterClaim(
        region=REGION, store_id="s", fence=process.fence.number, database="d", batch="", expected="", restores=False
    )


async def test_a_former_writer_is_fenced_out(start: Start, cluster: TopicCluster) -> None:
    former = await start()
    cluster.edit(PATH, ONE)
    await former.value()
    await start()
    with pytest.raises(BatchRefused) as refused:
        await former.put(TWO)
    assert refused.value.index == 0
    assert await former.value() == ONE


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
    answers, withheld = await read_answerable(process.store, [PATH, SPACE, FENCE])
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
        async with asyncio.timeout(10):
            while not any(isinstance(each, Changed) and path in each.paths for each in self.signals):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        self.signals.clear()

    async def armed(self) -> None:
        """Wait until it is armed."""
        async with asyncio.timeout(10):
            while Armed() not in self.signals:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

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
    async with asyncio.timeout(10):
        while Gap("a test") not in watch.signals or Armed() not in watch.signals:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
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
    _, withheld = await read_answerable(process.store, [PATH])
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
    cluster.edit(PATH, None)
    cluster.compact("acme/orders")
    async with topic.lock:
        await process.source.bring_up(topic, anew=True)
    assert await process.value() is None
