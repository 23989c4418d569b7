"""A topic whose broker hangs: it holds up nobody but who asks for it, and they are told when it is read."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from syncer.errors import ParentMissing, StoreUnavailable
from syncer.model import MetaPath
from syncer.paths import namespace_path
from syncer.stores.contract import BatchRefused, Put, read_answerable
from syncer.stores.sqlite import OutsideWriter
from syncer.system_topics import pulsar
from syncer.system_topics.log import LogMessage
from syncer.system_topics.pulsar import PulsarTopicLog
from syncer.waiting import WAIT_S
from tests.support.topic_logs import MemoryTopicLog, TopicCluster
from tests.support.topic_process import (
    BASE,
    BOUNDS,
    FENCE,
    ONE,
    OTHER,
    PATH,
    RECORD,
    SPACE,
    TWO,
    Process,
    Start,
)
from tests.unit.system_topics.test_store import Watch, scanned

SHORT = replace(BOUNDS, patience=timedelta(seconds=2))
ELSEWHERE = MetaPath(f"{BASE}/acme/other/persistent/a")


class Hanging:
    """A broker that hangs at a step of one namespace, until it goes on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.asked = 0
        self.ends: Callable[[], object] = lambda: None
        for name in ("read_on", "prepare"):
            patch.setattr(MemoryTopicLog, name, self._slow(getattr(MemoryTopicLog, name)))

    def _slow(self, step: Callable[..., object]) -> Callable[..., object]:
        async def slow(log: MemoryTopicLog, *given: object) -> object:
            if log._namespace == "acme/orders" and not self.goes_on.is_set():
                self.asked += 1
                await self.goes_on.wait()
                self.ends()
            return await step(log, *given)  # type: ignore[misc]  # any step of it

        return slow


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch, file: Path, cluster: TopicCluster) -> Hanging:
    OutsideWriter(file).put(namespace_path("acme", "other"), b"{}")
    cluster.edit(ELSEWHERE, ONE)
    cluster.edit(PATH, ONE)
    return Hanging(monkeypatch)


@pytest.fixture
async def process(start: Start, broker: Hanging) -> Process:
    assert broker.goes_on.is_set()
    return await start(bounds=SHORT)


async def asked_in_vain(process: Process, *paths: MetaPath) -> dict[MetaPath, str]:
    """Ask for some paths; those of them that are withheld, all others being answered."""
    async with asyncio.timeout(WAIT_S):
        answers, withheld, _ = await read_answerable(process.store, [*paths, ELSEWHERE, SPACE, FENCE])
    assert {ELSEWHERE, SPACE, FENCE} <= set(answers)
    return dict(withheld)


@pytest.mark.parametrize("known", [True, False])
async def test_who_asks_for_a_topic_that_hangs_is_told_when_it_is_read(
    process: Process, cluster: TopicCluster, broker: Hanging, *, known: bool
) -> None:
    if known:
        assert await process.value() == ONE
    watch = Watch(process.store)
    await watch.armed()
    broker.goes_on.clear()
    assert "still being read" in (await asked_in_vain(process, PATH))[PATH]
    assert set(await asked_in_vain(process, PATH, OTHER)) == {PATH, OTHER}
    assert broker.asked == 1
    cluster.edit(ELSEWHERE, TWO)
    await watch.until(ELSEWHERE)
    broker.goes_on.set()
    await watch.until(OTHER)
    assert await process.value() == ONE
    assert await asked_in_vain(process, PATH) == {}
    await watch.end()


async def test_of_those_who_ask_at_once_one_reading_goes_on(process: Process, broker: Hanging) -> None:
    watch = Watch(process.store)
    await watch.armed()
    await process.value()
    broker.goes_on.clear()
    found = await asyncio.gather(*(asked_in_vain(process, each) for each in (PATH, OTHER, PATH)))
    assert [list(each) for each in found] == [[PATH], [OTHER], [PATH]]
    assert len(process.source.late._left) == 1
    broker.goes_on.set()
    await watch.until(OTHER)
    assert not process.source.late._left
    assert not process.source.topic("acme/orders").lock.locked()
    await watch.end()


async def test_a_topic_that_always_takes_longer_is_answered_all_the_same(process: Process, broker: Hanging) -> None:
    watch = Watch(process.store)
    await watch.armed()
    await process.value()
    broker.goes_on.clear()
    assert OTHER in await asked_in_vain(process, OTHER)
    broker.goes_on.set()
    await watch.until(OTHER)
    broker.goes_on.clear()
    assert await asked_in_vain(process, PATH) == {}
    broker.goes_on.set()
    await watch.end()


@pytest.mark.parametrize("error", [StoreUnavailable("a test"), RuntimeError("a test")])
async def test_a_reading_that_fails_late_is_begun_again(process: Process, broker: Hanging, error: Exception) -> None:
    watch = Watch(process.store)
    await watch.armed()
    await process.value()

    def fail() -> None:
        broker.ends = lambda: None
        raise error

    broker.goes_on.clear()
    broker.ends = fail
    assert OTHER in await asked_in_vain(process, OTHER)
    broker.goes_on.set()
    await watch.until(OTHER)
    assert await process.value() == ONE
    await watch.end()


@pytest.mark.parametrize("step", ["read", "prepare"])
async def test_a_write_is_refused_before_anything_is_said_of_it(
    process: Process, cluster: TopicCluster, broker: Hanging, step: str
) -> None:
    watch = Watch(process.store)
    await watch.armed()
    entry = (await process.store.read([PATH]))[PATH]
    assert entry is not None
    if step == "prepare":
        cluster.hooks["read"] = [broker.goes_on.clear]
    else:
        broker.goes_on.clear()
    before = (await process.plain.read([FENCE]))[FENCE]
    with pytest.raises(BatchRefused) as refused:
        await process.write(Put(path=PATH, value=TWO, expected=entry.revision))
    assert (refused.value.index, refused.value.guard) == (1, None)
    assert isinstance(refused.value.cause, ParentMissing)
    assert await process.plain.read([FENCE, RECORD]) == {FENCE: before, RECORD: None}
    broker.goes_on.set()
    async with asyncio.timeout(WAIT_S):
        while await process.value() == ONE:
            await watch.until(PATH)
            with contextlib.suppress(BatchRefused):  # told when it was read, and what goes on has not ended yet
                await process.write(Put(path=PATH, value=TWO, expected=entry.revision))
    assert await process.value() == TWO
    await watch.end()


async def test_who_wants_all_or_nothing_waits(process: Process, broker: Hanging) -> None:
    broker.goes_on.clear()
    assert PATH in await asked_in_vain(process, PATH)
    asking = asyncio.create_task(process.value())
    assert PATH in await asked_in_vain(process, PATH), "which comes after the patience with it"
    assert not asking.done()
    broker.goes_on.set()
    assert await asking == ONE


async def test_what_goes_on_by_itself_ends_with_the_store(process: Process, broker: Hanging) -> None:
    broker.goes_on.clear()
    assert PATH in await asked_in_vain(process, PATH)
    async with asyncio.timeout(WAIT_S):
        await process.store.close()
    assert not process.source.late._left
    assert not process.source.topic("acme/orders").lock.locked()


async def test_who_is_gone_leaves_no_lock_behind(process: Process) -> None:
    """However far what was begun for him had come."""
    topic = process.source.topic("acme/orders")
    for rounds in range(12):
        reading = asyncio.create_task(process.source.read([PATH]))
        for _ in range(rounds):
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        async with asyncio.timeout(WAIT_S), topic.lock:
            pass
    assert await process.value() == ONE


class Portions(MemoryTopicLog):
    """A topic of which two messages are read at once."""

    ends = True

    @property
    def at_end(self) -> bool:  # type: ignore[override]  # it is told by what was read
        """Whether nothing is left."""
        return not self.behind

    async def read_on(self) -> list[LogMessage]:
        """Read two messages."""
        if self._next and not self.ends:
            Portions.ends = True
            raise StoreUnavailable("a test")
        found = self._messages[self._next : self._next + 2]
        self._next += len(found)
        return found


@pytest.mark.parametrize("ends", [True, False])
async def test_nothing_is_answered_before_the_end_is_read_and_nothing_of_it_is_lost(
    start: Start, cluster: TopicCluster, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    monkeypatch.setattr("tests.support.topic_logs.MemoryTopicLog", Portions)
    process = await start()
    cluster.edit(PATH, ONE)
    assert await process.value() == ONE
    told = process.source.notices.join()
    cluster.edit(OTHER, ONE)
    for _ in range(3):
        cluster.edit(PATH, ONE)
    cluster.edit(PATH, TWO)
    monkeypatch.setattr(Portions, "ends", ends)
    if not ends:
        with pytest.raises(StoreUnavailable):
            await process.value()
        assert told.take() is None
    assert await process.value() == TWO
    found = told.take()
    assert found is not None
    assert set(getattr(found, "paths", ())) == {PATH, OTHER}
    assert len(await scanned(process.store)) == 2


class Producing:
    """A reader of a partition that somebody fills faster than it is read."""

    def __init__(self, left: int) -> None:
        self.left = left

    def is_connected(self) -> bool:
        """It is."""
        return True

    def has_message_available(self) -> bool:
        """Whether there is more."""
        return self.left > 0

    def read_next(self, timeout_millis: int) -> NoValue:
        """The next one."""
        assert timeout_millis
        self.left -= 1
        return NoValue()


class NoValue:
    """A message without a value."""

    def has_null_value(self) -> bool:
        """It has none."""
        return True


@pytest.mark.parametrize(("left", "taken", "at_end"), [((3, 2), 5, True), ((9, 2), 6, False), ((0, 9), 4, False)])
def test_so_much_is_read_of_a_topic_at_once(
    monkeypatch: pytest.MonkeyPatch, left: tuple[int, ...], taken: int, *, at_end: bool
) -> None:
    monkeypatch.setattr(pulsar, "READ_AT_ONCE", 4)
    log = PulsarTopicLog(None, "acme/orders", ["one", "two"])  # type: ignore[arg-type]  # nobody is asked
    log._readers = [Producing(each) for each in left]  # type: ignore[misc]  # they take their place
    assert (len(log._drain()), log.at_end) == (taken, at_end)


async def test_a_namespace_that_was_gone_while_its_topic_hung_is_read_anew(
    process: Process, cluster: TopicCluster, broker: Hanging, file: Path
) -> None:
    assert await process.value() == ONE
    broker.goes_on.clear()
    assert PATH in await asked_in_vain(process, PATH)
    outside = OutsideWriter(file)
    outside.delete(SPACE)
    async with asyncio.timeout(WAIT_S):
        answers, _, _ = await read_answerable(process.store, [PATH, ELSEWHERE])
    assert answers[PATH] is None
    assert answers[ELSEWHERE] is not None
    outside.put(SPACE, b"{}")
    cluster.messages["acme/orders"] = []
    broker.goes_on.set()
    assert await process.value() is None
    assert set(await scanned(process.store)) == {ELSEWHERE}
