"""Reads any store through the contract that its adapter keeps: for kinds that have no reader of their own.

One reader scans while the adapter's watch tells what changes. What it has told of is read again until nothing has
changed between two beats: then all is of one moment. A store that does not rest so long is taken as it is after some
rounds; each path is then what it was at some moment of the last one. Nobody can tell from outside which of them it was,
so no moment is claimed of a snapshot that was read like this. Where no moment is asked for, one scan is all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Final, cast

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.found import Found, ResourceBatch, refused
from spark_snapshot.sources.reach import WHOLE, Share
from spark_snapshot.sources.spool import BatchSpool, settled
from spark_snapshot.sources.throttle import Throttle
from syncer.errors import AccessDenied, StoreError, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Beat, Changed, Entry, Gap, MetadataStore, WatchSignal
from syncer.wanted.contract import WantedPaths

ROUNDS: Final = 4
"""How often what has changed meanwhile is read again; each takes two beats, of at most 5 seconds."""
PATIENCE_S: Final = 30.0
"""How long a watch may say nothing; the contract has it say something every 5 seconds."""
READ_PATHS: Final = 500
MAX_TOLD: Final = 1_000_000
"""Changed paths that are kept in mind; a store that changes more during a scan is not read."""

Make = Callable[[], MetadataStore]
"""Makes the adapter; nothing is connected."""


def read(make: Make, wanted: WantedPaths, share: Share = WHOLE) -> Iterator[ResourceBatch]:
    """Read what is asked for, in batches of bounded size.

    Begins anew, a few times, when the store does not answer or its watch has a gap.

    Raises:
        StoreUnavailable: It does not answer.
        StoreError: What else the adapter says.
    """

    def attempt(spool: BatchSpool) -> None:
        asyncio.run((_read if wanted.terms.moment else _scan)(make, Folders(wanted, share), wanted, spool))

    return settled(attempt, again=(StoreUnavailable,), digests=wanted.terms.digests)


def value_at(make: Make, path: MetaPath) -> bytes | None:
    """The value at a path, ``None`` when there is none."""

    async def ask() -> bytes | None:
        store = make()
        try:
            await store.open()
            entry = (await store.read([path]))[path]
            return None if entry is None else entry.value
        finally:
            await store.close()

    return asyncio.run(ask())


async def _read(make: Make, folders: Folders, wanted: WantedPaths, spool: BatchSpool) -> None:
    """Scan, and read again what has changed."""
    store, watch = make(), _Watch()
    try:
        await store.open()
        async with watch.following(store.watch(wanted.roots)):
            await watch.armed()
            throttle = Throttle(wanted.terms)
            for root in wanted.roots:
                async for batch in _batches(store, folders, root, throttle):
                    spool.add(batch)
                    watch.check()
            await _settle(store, folders, watch, spool)
    finally:
        await store.close()


async def _scan(make: Make, folders: Folders, wanted: WantedPaths, spool: BatchSpool) -> None:
    """Scan, and nothing else."""
    store, throttle = make(), Throttle(wanted.terms)
    try:
        await store.open()
        for root in wanted.roots:
            try:
                async for batch in _batches(store, folders, root, throttle):
                    spool.add(batch)
            except AccessDenied:
                if not wanted.terms.forgiving:
                    raise
                spool.add(ResourceBatch.of([refused(root)]))
    finally:
        await store.close()


async def _batches(
    store: MetadataStore, folders: Folders, root: MetaPath, throttle: Throttle
) -> AsyncIterator[ResourceBatch]:
    async with aclosing(cast("AsyncGenerator[tuple[Entry, ...]]", store.scan(root))) as pages:
        async for page in pages:
            found = (_found(folders, each) for each in page)
            yield ResourceBatch.of(each for each in found if each is not None)
            throttle.took(len(page))
            await throttle.wait_in_loop()


async def _settle(store: MetadataStore, folders: Folders, watch: _Watch, spool: BatchSpool) -> None:
    for _ in range(ROUNDS):
        wanted = [path for path in await watch.told() if folders.wants(path)]
        if not wanted:
            return
        corrections: dict[MetaPath, Found | None] = {}
        for start in range(0, len(wanted), READ_PATHS):
            for path, entry in (await store.read(wanted[start : start + READ_PATHS])).items():
                corrections[path] = None if entry is None else _found(folders, entry)
        spool.correct(corrections)


def _found(folders: Folders, entry: Entry) -> Found | None:
    return folders.found(entry.path, entry.value, entry.modified_at_ms, entry.revision, session=entry.ephemeral)


class _Watch:
    """What a store's watch has told so far."""

    def __init__(self) -> None:
        self._changed: dict[MetaPath, None] = {}
        self._beats = 0
        self._armed = False
        self._broken: StoreError | None = None
        self._news = asyncio.Event()

    @asynccontextmanager
    async def following(self, signals: AsyncIterator[WatchSignal]) -> AsyncIterator[None]:
        """Listen until the end of the block."""
        task = asyncio.create_task(self._follow(signals))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    def check(self) -> None:
        """Raise what has broken the watch; see :meth:`told`."""
        if self._broken is not None:
            raise self._broken

    async def armed(self) -> None:
        """Wait until every change is told of; raises as :meth:`told` does."""
        while not self._armed:
            await self._next()

    async def told(self) -> list[MetaPath]:
        """All that has changed up to a moment that is not before this call, since the last one; no path twice.

        Raises:
            StoreUnavailable: There is a gap, or nothing is heard.
            StoreError: The watch has ended with another error.
        """
        begun = self._beats
        while self._beats < begun + 2:  # the first may have been on its way already: it tells of an earlier moment
            await self._next()
        changed, self._changed = self._changed, {}
        return list(changed)

    async def _next(self) -> None:
        self._news.clear()
        try:
            self.check()
            await asyncio.wait_for(self._news.wait(), PATIENCE_S)
        except TimeoutError as exc:
            raise StoreUnavailable(f"the store's watch has said nothing for {PATIENCE_S:g} s") from exc
        self.check()

    async def _follow(self, signals: AsyncIterator[WatchSignal]) -> None:
        try:
            async with aclosing(cast("AsyncGenerator[WatchSignal]", signals)) as open_signals:
                async for signal in open_signals:
                    self._take(signal)
                    if self._broken is not None:
                        return
            self._break(StoreUnavailable("the store's watch has ended"))
        except StoreError as exc:
            self._break(exc)
        except Exception as exc:  # noqa: BLE001 - of an adapter that anybody may have written
            error = StoreError(f"the store's watch has failed: {exc!r}")
            error.__cause__ = exc
            self._break(error)

    def _take(self, signal: WatchSignal) -> None:
        match signal:
            case Armed():
                self._armed = True
            case Changed(paths=paths):
                self._changed.update(dict.fromkeys(paths))
                if len(self._changed) > MAX_TOLD:
                    self._break(StoreUnavailable(f"the store changed at more than {MAX_TOLD} paths while it was read"))
            case Beat():
                self._beats += 1
            case Gap(reason=reason):
                self._break(StoreUnavailable(f"the store's watch has missed changes: {reason}"))
        self._news.set()

    def _break(self, error: StoreError) -> None:
        self._broken = error
        self._news.set()
