"""Reads any store through the contract that its adapter keeps: for kinds that have no reader of their own.

One reader scans while the adapter's watch tells what changes. What it has told of is read again until nothing has
changed between two beats: then all is of one moment. A store that never rests so long is taken as it is after some
rounds; each path is then what it was at some moment of the last one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Final, cast

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.found import Batch, Found
from spark_snapshot.sources.reach import WHOLE, Reach, Share
from spark_snapshot.sources.spool import Spool, settled
from syncer.errors import StoreError, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Beat, Changed, Entry, Gap, MetadataStore, WatchSignal

ROUNDS: Final = 4
"""How often what has changed meanwhile is read again; each takes two beats, of at most 5 seconds."""
PATIENCE_S: Final = 30.0
"""How long a watch may say nothing; the contract has it say something every 5 seconds."""
READ_PATHS: Final = 500

Make = Callable[[], MetadataStore]
"""Makes the adapter; nothing is connected."""


def read(make: Make, reach: Reach, share: Share = WHOLE) -> Iterator[Batch]:
    """Read what is asked for, in batches of bounded size.

    Begins anew, a few times, when the store does not answer or its watch has a gap.

    Raises:
        StoreUnavailable: It does not answer.
        StoreError: What else the adapter says.
    """

    def attempt(spool: Spool) -> None:
        asyncio.run(_read(make(), Folders(reach, share), reach.roots, spool))

    return settled(attempt, again=(StoreUnavailable,), digests=reach.digests)


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


async def _read(store: MetadataStore, folders: Folders, roots: Sequence[MetaPath], spool: Spool) -> None:
    watch = _Watch()
    following = None
    try:
        await store.open()
        following = asyncio.create_task(watch.follow(store.watch(roots)))
        await watch.armed()
        for root in roots:
            async with aclosing(cast("AsyncGenerator[tuple[Entry, ...]]", store.scan(root))) as pages:
                async for page in pages:
                    found = (_found(folders, each) for each in page)
                    spool.add(Batch.of(each for each in found if each is not None))
        await _settle(store, folders, watch, spool)
    finally:
        if following is not None:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
        await store.close()


async def _settle(store: MetadataStore, folders: Folders, watch: _Watch, spool: Spool) -> None:
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
    if not entry.value or entry.ephemeral:  # an inner node is empty, the other a session's
        return None
    return folders.found(entry.path, entry.value, entry.modified_at_ms, entry.revision)


class _Watch:
    """What a store's watch has told so far."""

    def __init__(self) -> None:
        self._signals: asyncio.Queue[WatchSignal | StoreError] = asyncio.Queue()

    async def follow(self, signals: AsyncIterator[WatchSignal]) -> None:
        """Listen, until the task is cancelled."""
        try:
            async with aclosing(cast("AsyncGenerator[WatchSignal]", signals)) as open_signals:
                async for signal in open_signals:
                    self._signals.put_nowait(signal)
        except StoreError as exc:
            self._signals.put_nowait(exc)
        else:
            self._signals.put_nowait(Gap("the watch has ended"))

    async def armed(self) -> None:
        """Wait until every change is told of.

        Raises:
            StoreUnavailable: There is a gap, or nothing is heard.
        """
        while not isinstance(await self._next(), Armed):
            pass

    async def told(self) -> list[MetaPath]:
        """All that has changed up to a moment that is not before this call, since the last one; no path twice.

        Raises:
            StoreUnavailable: There is a gap, or nothing is heard.
        """
        changed: dict[MetaPath, None] = {}
        for _ in range(self._signals.qsize()):
            changed.update(_paths(await self._next()))
        beats = 0
        while beats < 2:
            signal = await self._next()
            changed.update(_paths(signal))
            beats += isinstance(signal, Beat)
        return list(changed)

    async def _next(self) -> WatchSignal:
        try:
            signal = await asyncio.wait_for(self._signals.get(), PATIENCE_S)
        except TimeoutError as exc:
            raise StoreUnavailable(f"the store's watch has said nothing for {PATIENCE_S:g} s") from exc
        if isinstance(signal, StoreError):
            raise signal
        if isinstance(signal, Gap):
            raise StoreUnavailable(f"the store's watch has missed changes: {signal.reason}")
        return signal


def _paths(signal: WatchSignal) -> dict[MetaPath, None]:
    return dict.fromkeys(signal.paths) if isinstance(signal, Changed) else {}
