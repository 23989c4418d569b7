"""A store whose global topic policies are in part kept in system topics: one store for everything above it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, Final, cast

from syncer.errors import TopicPoliciesWithheld, ValueRefused
from syncer.model import MetaPath, Region
from syncer.paths import GLOBAL_TOPIC_POLICIES, fence_path, is_under
from syncer.replacing import replace
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Capabilities,
    Changed,
    Entry,
    Gap,
    MetadataStore,
    PartlyRead,
    Put,
    TellsNames,
    WatchSignal,
    Write,
    Written,
)
from syncer.stores.topic_policies import OvertakenPolicies, TopicPoliciesStanding
from syncer.system_topics.notices import PolicyWatcher
from syncer.system_topics.source import SystemTopics
from syncer.system_topics.writing import TopicWriter

_BOTH: Final = 2


class SystemTopicStore:
    """Implements :class:`syncer.stores.contract.MetadataStore` over another one and a source of topic policies.

    Args:
        store: The store.
        source: The topics of the selected namespaces.
        region: Whose store it is.
        writes: This process may become the region's writer: it settles what another left under way.
    """

    def __init__(self, store: MetadataStore, source: SystemTopics, region: Region, *, writes: bool = False) -> None:
        self._store = store
        self._source = source
        self._fence = fence_path(region)
        self._writes = writes
        self._writer = TopicWriter(store, source, region, self._fence)
        source.fence.path = self._fence
        if writes:
            source.writer = self._writer

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store; what is kept in a topic is written alone."""
        return replace(self._store.capabilities, alone=self._source.keeps)

    async def open(self) -> None:
        """Connect to the store; topics are opened when they are asked for."""
        await self._store.open()

    async def close(self) -> None:
        """Disconnect from both."""
        await self._source.close()
        await self._store.close()

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read many paths.

        Raises:
            TopicPoliciesWithheld: One of them cannot be told.
        """
        answers, withheld, _ = await self._read(paths, waits=True)
        for path, why in withheld.items():
            raise TopicPoliciesWithheld(f"{path}: {why}")
        return answers

    async def read_partly(self, paths: Sequence[MetaPath]) -> PartlyRead:
        """Read what can be read: topics first, then the store, so that the fence is the freshest."""
        return await self._read(paths, waits=False)

    async def _read(self, paths: Sequence[MetaPath], *, waits: bool) -> PartlyRead:
        kept = [path for path in paths if self._source.keeps(path)]
        told = await self._source.read(kept, waits=waits) if kept else PartlyRead({}, {})
        others = [path for path in paths if path not in told.answers and path not in told.withheld]
        found = dict(await self._store.read(others))
        if self._writes and self._fence in others:
            found[self._fence] = await self._writer.with_open_writes(found[self._fence])
        return PartlyRead(
            {path: found[path] if path in found else told.answers[path] for path in paths if path not in told.withheld},
            told.withheld,
            told.undecided,
        )

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Apply all writes or none: what is kept in a topic with the fence alone, or for a command by itself."""
        kept = [index for index, each in enumerate(writes) if self._source.keeps(each.path)]
        if not kept:
            if self._writes and writes and writes[0].path == self._fence:
                return await self._writer.write_fence(tuple(writes))
            return await self._store.apply(writes)
        first = writes[0]
        if len(writes) == _BOTH and kept == [1] and isinstance(first, Put) and first.path == self._fence:
            return await self._writer.write(first, writes[1])
        if len(writes) == 1:
            return (await self._writer.write_unfenced(first),)
        raise BatchRefused(kept[0], ValueRefused(f"{writes[kept[0]].path} is kept in a topic, and is written alone"))

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Stream the store's entries, but for what is kept in topics, and then what is kept there."""
        async for page in self._store.scan(prefix):
            left = tuple(entry for entry in page if not self._source.keeps(entry.path))
            if left:
                yield left
        if is_under(prefix, GLOBAL_TOPIC_POLICIES) or is_under(GLOBAL_TOPIC_POLICIES, prefix):
            async for page in self._source.scan():
                found = tuple(entry for entry in page if is_under(entry.path, prefix))
                if found:
                    yield found

    async def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Report changes of both; a notice of a topic may come some seconds late, never too early."""
        if not any(is_under(each, GLOBAL_TOPIC_POLICIES) for each in prefixes):
            async for signal in self._store.watch(prefixes):
                yield signal
            return
        await self._source.begin()
        watcher = self._source.notices.join()
        turns = _Turns(self._store, prefixes)
        try:
            async for signal in _merged(turns, watcher):
                yield self._noticed(signal) if isinstance(signal, Changed) else signal
        finally:
            self._source.notices.leave(watcher)
            await turns.end()

    def _noticed(self, signal: Changed) -> Changed:
        more = self._source.noticed(signal.paths)
        if not more:
            return signal
        marks = (*signal.marks, *[""] * len(more)) if signal.marks else ()
        return Changed((*signal.paths, *more), marks)

    # -- what it tells beside

    def topic_policies(self) -> TopicPoliciesStanding:
        """How the source fares."""
        return self._source.standing()

    def take_overtaken(self) -> Sequence[OvertakenPolicies]:
        """What was overtaken and not yet taken."""
        taken = tuple(self._source.overtaken)
        self._source.overtaken.clear()
        return taken

    def put_back(self, overtaken: Sequence[OvertakenPolicies]) -> None:
        """What could not be kept is told again."""
        self._source.overtaken.extendleft(reversed(overtaken))


class NamesSystemTopicStore(SystemTopicStore):
    """The same over a store that can tell what stands right below paths."""

    def __init__(
        self, store: MetadataStore, source: SystemTopics, region: Region, telling: TellsNames, *, writes: bool = False
    ) -> None:
        super().__init__(store, source, region, writes=writes)
        self._telling = telling

    async def names(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Sequence[str]]:
        """The names one step below each path, as the store has them."""
        return await self._telling.names(paths)


def with_system_topics(
    store: MetadataStore, source: SystemTopics, region: Region, *, writes: bool = False
) -> SystemTopicStore:
    """The store with a source of topic policies beside it."""
    if isinstance(store, TellsNames):
        return NamesSystemTopicStore(store, source, region, store, writes=writes)
    return SystemTopicStore(store, source, region, writes=writes)


class _Turns:
    """A watch of a store, taken one signal at a time by one task: a beat is never begun before it is asked for."""

    def __init__(self, store: MetadataStore, prefixes: Sequence[MetaPath]) -> None:
        self._signals = cast("AsyncGenerator[WatchSignal, None]", store.watch(prefixes))
        self._wanted = asyncio.Event()
        self._coming: asyncio.Future[WatchSignal | None] | None = None
        self._task = asyncio.create_task(self._run())

    def coming(self) -> asyncio.Future[WatchSignal | None]:
        """The next signal, ``None`` at the end of the watch; asked for by this, once."""
        if self._coming is None:
            self._coming = asyncio.get_running_loop().create_future()
            self._wanted.set()
        return self._coming

    def take(self) -> WatchSignal | None:
        """The signal that has come."""
        coming, self._coming = self.coming(), None
        return coming.result()

    async def end(self) -> None:
        """End the watch."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        async with contextlib.aclosing(self._signals) as signals:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                coming = self.coming()
                try:
                    signal = await anext(signals, None)
                except Exception as exc:  # noqa: BLE001 - whoever waits for the signal is told
                    coming.set_exception(exc)
                    return
                coming.set_result(signal)


async def _merged(turns: _Turns, watcher: PolicyWatcher) -> AsyncIterator[WatchSignal]:
    """Signals of the store in their order, and notices of the source between them, once the watch is armed."""
    armed = False
    while True:
        coming = turns.coming()
        waiting = asyncio.create_task(watcher.wakes.wait()) if armed else None  # else nothing would be taken
        either: set[asyncio.Future[Any]] = {coming} if waiting is None else {coming, waiting}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if waiting is not None:
                waiting.cancel()
        if coming.done():
            signal = turns.take()
            if signal is None:
                return
            armed = armed or isinstance(signal, Armed)
            yield signal
        told = watcher.take() if armed else None
        if told is not None:
            yield told
        if isinstance(told, Gap):
            yield Armed()  # notices were kept all the time
