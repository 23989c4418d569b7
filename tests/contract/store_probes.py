"""Probes of a store: a watch that is read in the background, and a writer that does not stop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Final, Self

import pytest

from syncer.errors import StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Changed, Gap, MetadataStore, WatchSignal
from tests.contract.store_harness import DEADLINE_S, OutsideWriter

BEAT_LIMIT_S: Final = 5.0


class Watching:
    """A watch that is read in the background: every signal and every path, in order."""

    def __init__(self, store: MetadataStore, *prefixes: MetaPath) -> None:
        self._iterator = store.watch(prefixes)
        self._task = asyncio.create_task(self._read())
        self.signals: list[WatchSignal] = []
        self.paths: set[MetaPath] = set()

    async def _read(self) -> None:
        async for signal in self._iterator:
            self.signals.append(signal)
            if isinstance(signal, Changed):
                assert signal.paths
                self.paths.update(signal.paths)

    async def until(self, met: Callable[[], bool], *, what: str, deadline_s: float = DEADLINE_S) -> None:
        """Wait for a condition on what was seen."""
        end = time.monotonic() + deadline_s
        while not met():
            if self._task.done():
                self._task.result()
                pytest.fail(f"the watch ended before {what}")
            if time.monotonic() > end:
                pytest.fail(f"not in {deadline_s} s: {what}; last signals: {self.signals[-5:]}")
            await asyncio.sleep(0.005)

    async def armed(self) -> None:
        """Wait for the first ``Armed``."""
        await self.until(lambda: Armed() in self.signals, what="armed")

    async def saw(self, *paths: MetaPath) -> None:
        """Wait until all these were reported; a gap is no excuse."""
        await self.until(lambda: self.paths.issuperset(paths), what=f"{paths[-1]} reported")
        assert not self.gaps, self.gaps

    @property
    def gaps(self) -> list[Gap]:
        """The gaps so far."""
        return [signal for signal in self.signals if isinstance(signal, Gap)]

    async def close(self) -> None:
        """Stop reading and close the iterator."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await aclose(self._iterator)


class Hammer:
    """A thread that writes as fast as it can until told to stop.

    Args:
        outside: Its own writer.
        step: Called with 0, 1, 2, …; each call writes something.
    """

    def __init__(self, outside: OutsideWriter, step: Callable[[OutsideWriter, int], None]) -> None:
        self.begun = 0
        self._outside = outside
        self._step = step
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hammer", daemon=True)
        self._failure: BaseException | None = None

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.begun += 1
                self._step(self._outside, self.begun - 1)
        except BaseException as exc:  # noqa: BLE001 - handed to the test's own thread
            self._failure = exc

    async def reach(self, count: int) -> None:
        """Wait until so many steps were begun."""
        end = time.monotonic() + DEADLINE_S
        while self.begun < count and self._failure is None:
            assert time.monotonic() < end, f"only {self.begun} of {count} writes"
            await asyncio.sleep(0.002)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Finish the step under way; raise what went wrong."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, DEADLINE_S)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure


async def drain(signals: AsyncIterator[WatchSignal]) -> None:
    with contextlib.suppress(StoreUnavailable):
        async for _ in signals:
            pass


async def aclose(signals: AsyncIterator[WatchSignal]) -> None:
    """Close an iterator as ``contextlib.aclosing`` would; the contract's iterators are generators."""
    await signals.aclose()  # type: ignore[attr-defined]  # AsyncIterator does not say it


def living_threads() -> int:
    """Python threads that somebody has to end; asyncio's own pool comes and goes."""
    return sum(not thread.name.startswith("asyncio") for thread in threading.enumerate())
