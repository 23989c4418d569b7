"""The store itself: calls on its lane, and the watch that arms again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import ClassVar, Final

from pydantic import BaseModel

from syncer.errors import AccessDenied, InvariantBroken, StoreError, StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Beat, Capabilities, Changed, Entry, Gap, WatchSignal, Write, Written
from syncer.stores.sqlite import entries
from syncer.stores.sqlite.config import SqliteConfig
from syncer.stores.sqlite.entries import Clock
from syncer.stores.sqlite.file import MAX_VALUE_BYTES
from syncer.stores.sqlite.lane import Lane
from syncer.stores.sqlite.log import Log

MAX_BATCH_WRITES: Final = 500
MAX_BATCH_BYTES: Final = 8 * 1024 * 1024
BEAT_S: Final = 2.0
MAX_WAIT_S: Final = 0.5
"""A watch's thread waits so long at a time; below every deadline that a configuration may set."""

REARM_PAUSE_S: Final = 0.5


class SqliteStore:
    """A region's metadata in an SQLite file.

    Args:
        config: Where the file is.
        clock: Gives the modification times of what this store writes; SQLite's own clock when not given.
    """

    config_model: ClassVar[type[BaseModel]] = SqliteConfig

    def __init__(self, config: SqliteConfig, *, clock: Clock | None = None) -> None:
        self._config = config
        self._clock = clock
        self._lane: Lane | None = None
        self._watches: set[Lane] = set()

    @property
    def capabilities(self) -> Capabilities:
        """Modification times, but no parents."""
        return Capabilities(
            modified_times=True,
            real_parents=False,
            transactions=True,
            max_batch_writes=MAX_BATCH_WRITES,
            max_batch_bytes=MAX_BATCH_BYTES,
            max_value_bytes=MAX_VALUE_BYTES,
        )

    async def open(self) -> None:
        """Open the file, or make it; see the contract. May be called again after it failed."""
        if self._lane is not None:
            raise InvariantBroken("the SQLite store was opened twice")
        lane = self._lane = Lane(self._config, "sqlite-store")
        try:
            await lane.run(lambda file: file.connection(create=True))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the file and end all watches; see the contract."""
        lane, self._lane = self._lane, None
        for each in [*self._watches, *([] if lane is None else [lane])]:
            await each.close()

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read all paths from one snapshot."""
        found = await self._open_lane().run(entries.read, paths)
        return {path: found.get(path) for path in paths}

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Apply all or nothing; see the contract."""
        if not writes:
            return ()
        if len({write.path for write in writes}) != len(writes):
            raise InvariantBroken("a batch names one path twice")
        now_ms = None if self._clock is None else self._clock()
        revisions = await self._open_lane().run(entries.apply, writes, now_ms)
        return tuple(Written(path=write.path, revision=revisions.get(write.path)) for write in writes)

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Stream pages in the order of the paths, each a fresh snapshot of its part."""
        below, end = prefix.rstrip("/") + "/", prefix.rstrip("/") + "0"
        lane = self._open_lane()
        first = await self.read([prefix])
        if (entry := first[prefix]) is not None:
            yield (entry,)
        after: str | None = below
        while after is not None:
            page, after = await lane.run(entries.page, after, end)
            if page:
                yield page

    async def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Report changes by reading the log; a pruned log, a replaced file and a failed look are gaps."""
        self._open_lane()
        lane = Lane(self._config, "sqlite-watch")
        self._watches.add(lane)
        try:
            while True:
                try:
                    async for signal in self._follow(lane, prefixes):
                        yield signal
                except AccessDenied:
                    raise
                except StoreError as exc:
                    if self._lane is None:
                        return
                    yield Gap(exc.message)
                await asyncio.sleep(REARM_PAUSE_S)
        finally:
            self._watches.discard(lane)
            await lane.close()

    async def _follow(self, lane: Lane, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Arm and report until the log no longer joins on.

        Raises:
            StoreUnavailable: Changes may have been missed.
        """
        loop = asyncio.get_running_loop()
        poll_s = self._config.poll_interval.total_seconds()
        log = Log()
        await lane.run(log.arm)
        yield Armed()
        beat_at = loop.time()
        while True:
            wait_s = max(0.0, min(beat_at - loop.time(), MAX_WAIT_S))
            whole, changed = await lane.run(log.changes_within, wait_s, poll_s, lane.stopping)
            paths = tuple(path for path in changed if any(_covers(prefix, path) for prefix in prefixes))
            if paths:
                yield Changed(paths)
            if whole and loop.time() >= beat_at:
                beat_at = loop.time() + BEAT_S
                yield Beat()

    def _open_lane(self) -> Lane:
        if self._lane is None:
            raise StoreUnavailable(f"the SQLite store {self._config.path} is not open")
        return self._lane


def _covers(prefix: MetaPath, path: MetaPath) -> bool:
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else prefix + "/")
