"""The recorder: it looks at one cluster at an interval, and keeps what it sees.

    look (in a thread of its own) ─▶ sample ─▶ changes of owner ─▶ file ─▶ outcomes of runs that are over ─▶ wait

A cluster that is away, or a file that cannot be written, is a trouble that is shown; the next look comes all the same.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import anyio.to_thread
import structlog

from syncer.balancer.history.outcomes import prediction_ratio
from syncer.balancer.history.sample import sample_of
from syncer.balancer.picture import LoadManager
from syncer.balancer.reading.cluster import LoadSources, read_picture
from syncer.balancer.recording.moves import outcome_of
from syncer.balancer.recording.writing import HistoryWriter
from syncer.errors import HistoryForeign, InvariantBroken, LoadDataInvalid, NotInTime, SyncerError

if TYPE_CHECKING:
    from syncer.balancer.decoding.records import LoadRecords
    from syncer.balancer.history.thinning import HistoryBounds
    from syncer.balancer.picture import LoadPicture
    from syncer.balancer.reading.listener import LoadListener
    from syncer.balancer.recording.moves import EndedRuns
    from syncer.model import Millis

log = structlog.get_logger()

SHARE: Final = 0.1
"""Of the time, that looks take at most."""
LOOK_S: Final = 60.0
"""A look that takes longer is given up."""


class RecordedClusters(Protocol):
    """Opens clusters by the names of their tables."""

    def sources(self, table: str) -> AbstractAsyncContextManager[LoadSources]:
        """What a cluster's load is read from."""

    def listener(self, table: str) -> LoadListener:
        """A listener to the load topics of a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is recorded of a cluster: into which file, how often, and within which bounds."""

    table: str
    path: Path
    every_s: float
    bounds: HistoryBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingStanding:
    """How a recorder fares; times and figures None where there are none."""

    last_ms: int | None = None
    size_bytes: int = 0
    trouble: SyncerError | None = None
    set_aside: Path | None = None
    outcomes: int = 0
    ratio: float | None = None


class LoadRecorder:
    """Records the load of one cluster until it is cancelled; ``standing`` is how it fares."""

    def __init__(
        self,
        recording: Recording,
        clusters: RecordedClusters,
        runs: EndedRuns,
        now_ms: Callable[[], Millis],
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Make it; nothing is opened yet.

        Args:
            recording: What is recorded.
            clusters: Opens the cluster.
            runs: Lists our own moves.
            now_ms: The time.
            sleep: Waits for so many seconds.
        """
        self._recording = recording
        self._clusters = clusters
        self._runs = runs
        self._now_ms = now_ms
        self._sleep = sleep
        self._writer: HistoryWriter | None = None
        self._listener: LoadListener | None = None
        self.standing = RecordingStanding()

    async def run(self) -> None:
        """Record until cancelled; no error of the cluster or of the file ends it."""
        async with AsyncExitStack() as stack:
            stack.callback(self._close)
            while True:
                began = time.monotonic()
                await self._try(stack)
                took = time.monotonic() - began
                await self._sleep(max(self._recording.every_s - took, took * (1 / SHARE - 1)))

    async def _try(self, stack: AsyncExitStack) -> None:
        failure = None
        try:
            await self._turn(stack)
        except SyncerError as exc:
            failure = exc
        except Exception as exc:
            failure = InvariantBroken(f"{type(exc).__name__}: {exc}")
            log.exception("load_recording_failed", cluster=self._recording.table)
        before = self.standing.trouble
        if failure is not None and (before is None or before.code != failure.code):
            log.warning("load_not_recorded", cluster=self._recording.table, code=failure.code, cause=failure.message)
        elif failure is None and before is not None:
            log.info("load_recorded_again", cluster=self._recording.table)
        if isinstance(failure, HistoryForeign):
            self._close()
        self.standing = replace(self.standing, trouble=failure)

    async def _turn(self, stack: AsyncExitStack) -> None:
        own = self._recording
        if self._writer is None:
            self._writer = await anyio.to_thread.run_sync(partial(HistoryWriter, own.path, own.table, own.bounds))
            aside = self._writer.set_aside
            if aside is not None:
                log.error("load_history_set_aside", cluster=own.table, file=str(aside))
                self.standing = replace(self.standing, set_aside=aside)
        picture = await self._look(None if self._listener is None else await self._listener.heard())
        if picture.manager is LoadManager.EXTENSIBLE and self._listener is None:
            self._listener = await stack.enter_async_context(self._clusters.listener(own.table))
        if not picture.registered:
            raise LoadDataInvalid(f"no broker of {picture.cluster} is registered", hint="See whether its brokers run.")
        await anyio.to_thread.run_sync(self._record, self._writer, picture)

    async def _look(self, records: LoadRecords | None) -> LoadPicture:
        """Read the picture on a thread of its own: decoding it may take long, and the loop has others to serve."""

        async def look() -> LoadPicture:
            with anyio.fail_after(LOOK_S):
                async with self._clusters.sources(self._recording.table) as sources:
                    return await read_picture(replace(sources, records=records), self._now_ms())

        try:
            return await anyio.to_thread.run_sync(lambda: anyio.run(look), abandon_on_cancel=True)
        except TimeoutError as exc:
            raise NotInTime(f"a look at the load of {self._recording.table} took longer than {LOOK_S:.0f} s") from exc

    def _record(self, writer: HistoryWriter, picture: LoadPicture) -> None:
        for change in writer.record(sample_of(picture)):
            log.debug("unload_observed", bundle=change.bundle, source=change.source, target=change.target)
        self.standing = replace(self.standing, last_ms=picture.taken_ms, size_bytes=writer.size_bytes)
        for run in self._runs.after(writer.last_run()):
            found = [
                outcome
                for move, came in run.moves
                if run.table == self._recording.table
                and came.asked_ms
                and (outcome := outcome_of(move, came, writer.sample_before(came.asked_ms[-1]))) is not None
            ]
            writer.keep_run(run.number, found)
        outcomes = writer.outcomes()
        self.standing = replace(self.standing, outcomes=len(outcomes), ratio=prediction_ratio(outcomes))

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
