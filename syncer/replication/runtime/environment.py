"""The environment of all loops: the driver and its thread, store and bus, the clock, and the signals between them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

import anyio
import structlog

from syncer.admin.topic_probe import TopicProbe
from syncer.admin.version_probe import VersionProbe
from syncer.bus.contract import Bus
from syncer.errors import SyncerError
from syncer.model import Millis, Region
from syncer.replication.driver import Driver
from syncer.replication.runtime.backoff import Backoff
from syncer.replication.runtime.engine_thread import DriverThread
from syncer.stores.contract import MetadataStore

log = structlog.get_logger()

_Result = TypeVar("_Result")

IDLE_S: Final = 1.0
"""A pump that nobody wakes looks for work this often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Intervals and ceilings of the pumps. Units: seconds; writes per second."""

    heartbeat_s: float = 10.0
    journal_retention_s: float = 30 * 86400.0
    audit_retention_s: float = 400 * 86400.0
    max_writes_per_s: float | None = None


@dataclass(slots=True)
class Signal:
    """Wakes one pump. Setting it twice wakes it once."""

    _event: anyio.Event = field(default_factory=anyio.Event)

    def wake(self) -> None:
        """There may be work."""
        self._event.set()

    async def wait(self, timeout_s: float) -> None:
        """Sleep until woken, or for so long."""
        with anyio.move_on_after(timeout_s):
            await self._event.wait()
        self._event = anyio.Event()


def wall_clock_ms() -> Millis:
    """The clock of this machine."""
    return Millis(time.time_ns() // 1_000_000)


@dataclass(slots=True, kw_only=True)
class Environment:
    """What one driver is connected to.

    Args:
        driver: The steps.
        thread: Where they run.
        store: The region's store, open.
        bus: The region's bus, open.
        probe: Asks whether topics exist below a path.
        versions: Asks the brokers for their versions.
        region: The region's id.
        timing: Intervals.
        version: Of this program, for heartbeats.
        clock: The clock; the demo skews it.
    """

    driver: Driver
    thread: DriverThread
    store: MetadataStore
    bus: Bus
    probe: TopicProbe
    versions: VersionProbe
    region: Region
    timing: Timing
    version: str
    clock: Callable[[], Millis] = wall_clock_ms
    readable: Signal = field(default_factory=Signal)
    writable: Signal = field(default_factory=Signal)
    publishable: Signal = field(default_factory=Signal)
    questions: Signal = field(default_factory=Signal)
    absences: Signal = field(default_factory=Signal)
    roomy: Signal = field(default_factory=Signal)
    talkable: Signal = field(default_factory=Signal)
    heard: Signal = field(default_factory=Signal)

    def wake_all(self) -> None:
        """Something was decided: there may be something to write, to publish or to ask."""
        self.writable.wake()
        self.publishable.wake()
        self.questions.wake()
        self.absences.wake()

    @contextlib.contextmanager
    def timing_of(self, stage: str) -> Iterator[None]:
        """Note how long a batch takes in a stage, for the metrics."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.driver.note_timing(stage, time.perf_counter() - begin)

    async def until_stored(self, step: Callable[..., _Result], *args: object) -> _Result:
        """Take an answer of the outside world, however long the database needs for it."""
        backoff = Backoff()
        while True:
            try:
                return await self.thread.call(step, *args, self.clock())
            except SyncerError as exc:
                if not exc.retryable:
                    raise
                log.warning("state_unavailable", region=self.region, cause=exc.message)
                await backoff.pause()
