"""Probes of a store: a watch that is read in the background, and a writer that does not stop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Final, Self

from syncer.errors import StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Changed, Gap, MetadataStore, WatchSignal
from syncer.waiting import WAIT_S, until
from tests.contract.store_harness import OutsideWriter

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

    async def until(self, met: Callable[[], bool], *, what: str, within_s: float = WAIT_S) -> None:
        """Wait for a condition on what was seen; fail when the watch ends before."""

        def met_or_ended() -> bool:
            return met() or self._task.done()

        await until(met_or_ended, what, within_s=within_s, shown=lambda: self.signals[-5:])
        if not met():
            self._task.result()
            raise AssertionError(f"the watch ended before {what}")

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
        await until(lambda: self.begun >= count or self._failure is not None, f"{count} writes begun")

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Finish the step under way; raise what went wrong."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, WAIT_S)
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
