"""Loops of an active daemon: each moves observations to the driver or actions away from it, and decides nothing.

    store.watch ─▶ watch ─▶ scan        read ◀─▶ store.read        write ─▶ store.apply ─▶ land
    bus.receive ─▶ receive              publish ─▶ bus.publish     tick: clock, heartbeats, operations, status

A pump that meets an error worth repeating waits and repeats; :class:`~syncer.errors.Fenced` ends all of them.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import structlog

from syncer.errors import SyncerError
from syncer.model import Millis
from syncer.replication.control.repair import Turn
from syncer.replication.driver import Driver
from syncer.replication.runtime.backoff import Backoff
from syncer.replication.runtime.bus_loop import BusPumps
from syncer.replication.runtime.environment import IDLE_S, Environment
from syncer.replication.runtime.store_loop import StorePumps

log = structlog.get_logger()

TICK_S: Final = 1.0
VERSIONS_S: Final = 3.0
"""How long the first scan waits for the brokers to tell their versions."""
REPAIR_LOOK_S: Final = {Turn.MORE: 0.0, Turn.FULL: 0.02, Turn.IDLE: 0.5}
"""How long until a repair is looked at again."""
PRUNE_EVERY_S: Final = 600.0
LAST_MARK_S: Final = 2.0
"""How long a daemon that stops takes at most to leave a mark."""
LONG_ENOUGH_S: Final = 30.0
"""A pump that ran so long had recovered: its next failure waits shortly again."""


class Pumps:
    """Runs one driver against one store and one bus for as long as this daemon is its region's writer."""

    def __init__(self, around: Environment, *beside: Callable[[], Awaitable[None]]) -> None:
        """Run them with others beside them.

        Args:
            around: What the driver is connected to.
            beside: What runs as long as these do; an error of it that a repeat can mend has it begin again.
        """
        self._around = around
        self._beside = beside
        self._store = StorePumps(around)
        self._bus = BusPumps(around)
        self.alive_at = time.monotonic()

    @property
    def driver(self) -> Driver:
        """The driver that is run."""
        return self._around.driver

    async def run(self) -> None:
        """Become the writer and replicate until cancelled.

        Raises:
            Fenced: Another daemon has become the writer.
            PreconditionFailed: The store is not the one that the database belongs to.
        """
        store = self._store
        await self._forever(store.look_at_migration)
        if not self.driver.observing:
            await self._wait_for_the_store()
            await store.activate()
        await self._forever(store.learn_clusters)  # a guard asks for them before the first write
        await self._forever(store.look_for_scalable)
        with anyio.move_on_after(VERSIONS_S):  # before the first scan, which is another one else
            await store.ask_versions()
        try:
            await self._pump()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(LAST_MARK_S, shield=True):
                await self._advance_counter_last()
            raise

    async def _pump(self) -> None:
        store, bus = self._store, self._bus
        async with anyio.create_task_group() as tasks:
            for pump in (
                store.watch,
                store.scanner,
                store.reader,
                store.writer,
                store.lander,
                store.prober,
                store.migration_looker,
                store.scalable_looker,
                store.versioner,
                store.policies_keeper,
                bus.publisher,
                bus.receiver,
                bus.comparer,
                bus.corresponder,
                self._ticker,
                self._repairer,
                self._pruner,
                *self._beside,
            ):
                tasks.start_soon(self._forever, pump)

    async def _wait_for_the_store(self) -> None:
        """While Pulsar migrates the store, the fence is not raised either; what is waited for is shown meanwhile."""
        while self.driver.store_unwritable:
            self.alive_at = time.monotonic()
            await self._around.thread.call(self.driver.report, self._around.clock())
            await anyio.sleep(TICK_S)
            await self._forever(self._store.look_at_migration)

    async def _advance_counter_last(self) -> None:
        """Leave the fence as the database is: so a backup of either that is put back before the next start is known."""
        if not self.driver.may_advance_counter or not self.driver.counter_behind or self.driver.store_unwritable:
            return
        try:
            await self._store.mark()
        except SyncerError as exc:
            log.info("last_mark_not_set", code=exc.code, cause=exc.message)

    async def _forever(self, pump: Callable[[], Awaitable[object]]) -> None:
        """Run a pump; after an error that a repeat can mend, wait and run it again."""
        backoff = Backoff()
        while True:
            began = time.monotonic()
            try:
                await pump()
                return
            except SyncerError as exc:
                if not exc.retryable:
                    raise
                if time.monotonic() - began > LONG_ENOUGH_S:
                    backoff.reset()
                log.warning("pump_repeats", pump=pump.__name__.strip("_"), code=exc.code, cause=exc.message)
                self.driver.count("repeats", exc.code)
                await backoff.pause()

    async def _ticker(self) -> None:
        next_heartbeat = time.monotonic()
        while True:
            self.alive_at = time.monotonic()
            now = self._around.clock()
            await self._around.thread.call(self.driver.tick, now)
            for effect in await self._around.thread.call(self.driver.operate, now):
                self._bus.keep(effect)
            await self._bus.send_controls()
            await self._around.thread.call(self.driver.report, now)
            asked = self.driver.starting or self.driver.answer_greeting()
            if (asked or time.monotonic() >= next_heartbeat) and not self.driver.observing:
                next_heartbeat = time.monotonic() + self._around.timing.heartbeat_s
                await self._bus.beat(now)
            self._around.readable.wake()
            self._around.wake_all()
            await anyio.sleep(TICK_S)

    async def _repairer(self) -> None:
        while True:
            turn = await self._around.thread.call(self.driver.repair, self._around.clock())
            if turn is not Turn.IDLE:
                self._around.wake_all()
            await anyio.sleep(REPAIR_LOOK_S[turn])

    async def _pruner(self) -> None:
        while True:
            now, timing = self._around.clock(), self._around.timing
            before, audit_before = (
                Millis(now - int(kept_s * 1000)) for kept_s in (timing.journal_retention_s, timing.audit_retention_s)
            )
            pruned = await self._around.thread.call(self.driver.prune, before, audit_before)
            await anyio.sleep(IDLE_S if pruned else PRUNE_EVERY_S)
