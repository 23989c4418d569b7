"""The pumps of an active daemon: each moves observations to the driver or actions away from it, and decides nothing.

    store.watch ─▶ watch ─▶ scan        read ◀─▶ store.read        write ─▶ store.apply
    bus.receive ─▶ receive              publish ─▶ bus.publish     tick: clock, heartbeats, operations, status

A pump that meets an error worth repeating waits and repeats; :class:`~syncer.errors.Fenced` ends all of them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio
import structlog

from syncer.bus.codec import encode, is_change_of
from syncer.bus.contract import Bus, Delivery, Outgoing
from syncer.bus.messages import Control
from syncer.errors import AccessDenied, PayloadInvalid, StateUnavailable, StoreUnavailable, SyncerError
from syncer.model import MetaPath, Millis, Region
from syncer.paths import CLUSTERS, is_under
from syncer.replication.consuming import arrived_of
from syncer.replication.driver import Driver
from syncer.replication.operations import Effect, Wanted
from syncer.replication.pace import Backoff, Pace
from syncer.replication.scanning import Scan
from syncer.replication.topics import TopicProbe
from syncer.replication.worker import DriverThread
from syncer.replication.writing import Batch
from syncer.state.contract import OutboxRow
from syncer.stores.contract import Armed, BatchRefused, Beat, Changed, Gap, MetadataStore, WatchSignal

log = structlog.get_logger()

IDLE_S: Final = 1.0
TICK_S: Final = 1.0
PRUNE_EVERY_S: Final = 600.0
PUBLISH_LIMIT: Final = 500
LONG_ENOUGH_S: Final = 30.0
"""A pump that ran so long had recovered: its next failure waits shortly again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Intervals and ceilings of the pumps. Units: seconds; writes per second."""

    heartbeat_s: float = 10.0
    journal_retention_s: float = 30 * 86400.0
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


class Pumps:
    """Runs one driver against one store and one bus for as long as this daemon is its region's writer.

    Args:
        driver: The steps.
        thread: Where they run.
        store: The region's store, open.
        bus: The region's bus, open.
        probe: Asks whether topics exist below a path.
        region: The region's id.
        timing: Intervals.
        version: Of this program, for heartbeats.
        native_names: Cluster names that go into the payload instead of region ids, for regions running Pulsar's own
            synchronizer.
        clock: The clock; the demo skews it.
    """

    def __init__(  # noqa: PLR0913 - everything that the pumps connect
        self,
        driver: Driver,
        thread: DriverThread,
        store: MetadataStore,
        bus: Bus,
        probe: TopicProbe,
        *,
        region: Region,
        timing: Timing,
        version: str,
        native_names: Mapping[Region, str] | None = None,
        clock: Callable[[], Millis] = wall_clock_ms,
    ) -> None:
        self.driver = driver
        self._thread = thread
        self._store = store
        self._bus = bus
        self._probe = probe
        self._region = region
        self._timing = timing
        self._version = version
        self._native_names = native_names
        self._clock = clock
        self._pace = Pace(timing.max_writes_per_s)
        self._readable, self._writable, self._publishable, self._questions = Signal(), Signal(), Signal(), Signal()
        self._rescan = Signal()
        self._scan: Scan | None = None
        self._clusters_stale = True
        self._controls: list[Control] = []
        self.alive_at = time.monotonic()

    async def run(self) -> None:
        """Become the writer and replicate until cancelled.

        Raises:
            Fenced: Another daemon has become the writer.
            PreconditionFailed: The store is not the one that the database belongs to.
        """
        if not self.driver.context.observing:
            await self._activate()
        await self._forever(self._learn_clusters)  # a guard asks for them before the first write
        async with anyio.create_task_group() as tasks:
            for pump in (
                self._watch,
                self._scanner,
                self._reader,
                self._writer,
                self._publisher,
                self._receiver,
                self._prober,
                self._ticker,
                self._pruner,
            ):
                tasks.start_soon(self._forever, pump)

    async def _forever(self, pump: Callable[[], Awaitable[None]]) -> None:
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
                self.driver.context.tally["repeats", exc.code] += 1
                await backoff.pause()

    # -- becoming the writer

    async def _activate(self) -> None:
        backoff = Backoff()
        path = self.driver.context.fence_path
        while True:
            try:
                entry = (await self._store.read([path]))[path]
                write = await self._thread.call(self.driver.raise_fence, entry, secrets.token_hex(8))
                answer = (await self._store.apply([write]))[0]
                settled = await self._thread.call(self.driver.activated, write, answer, self._clock())
                log.info("fence_raised", region=self._region, open_writes_settled=settled)
                return
            except BatchRefused as exc:
                if isinstance(exc.cause, AccessDenied):
                    raise exc.cause from exc
                log.info("fence_contended", region=self._region, cause=str(exc.cause))
            except SyncerError as exc:
                if not exc.retryable:
                    raise
                log.warning("activation_repeats", code=exc.code, cause=exc.message)
            await backoff.pause()

    # -- local changes

    async def _watch(self) -> None:
        prefixes = sorted({*self.driver.context.scope.prefixes, MetaPath(CLUSTERS)})
        try:
            async for signal in self._store.watch(prefixes):
                await self._take_signal(signal)
        finally:
            self._scan = None
            with anyio.CancelScope(shield=True):
                await self._thread.call(self.driver.gap)

    async def _take_signal(self, signal: WatchSignal) -> None:
        match signal:
            case Armed():
                self._scan = await self._thread.call(self.driver.armed)
                self._rescan.wake()
            case Changed(paths):
                self._clusters_stale |= any(is_under(path, CLUSTERS) for path in paths)
                if not await self._thread.call(self.driver.noticed, paths, self._clock()):
                    log.warning("too_many_changes_pending", region=self._region)
                    await self._begin_again()
                self._readable.wake()
            case Beat():
                await self._thread.call(self.driver.beat, self._clock())
            case Gap(reason):
                log.warning("watch_gap", region=self._region, reason=reason)
                self._scan = None
                await self._thread.call(self.driver.gap)

    async def _begin_again(self) -> None:
        """Our own set of pending paths ran over: what was noticed since is found by a scan."""
        await self._thread.call(self.driver.gap)
        await self._thread.call(self.driver.context.dirty.clear)
        self._scan = await self._thread.call(self.driver.armed)
        self._rescan.wake()

    async def _scanner(self) -> None:
        while True:
            await self._rescan.wait(IDLE_S)
            if self._clusters_stale:
                await self._learn_clusters()
            scan = self._scan
            if scan is None:
                continue
            if not scan.finished:
                await self._run_scan(scan)
            elif await self._thread.call(self.driver.scan_complete, scan, self._clock()):
                log.info("scan_complete", region=self._region, resources=scan.met)
                self._scan = None

    async def _run_scan(self, scan: Scan) -> None:
        began = time.monotonic()
        fence = self.driver.context.fence_path
        for prefix in self.driver.context.scope.prefixes:
            pages = self._store.scan(prefix).__aiter__()
            while True:
                ticket = await self._thread.call(self.driver.issue_page)
                try:
                    page = await anext(pages)
                    fence_entry = (await self._store.read([fence]))[fence]
                except StopAsyncIteration:
                    await self._thread.call(self.driver.give_up_page, ticket)
                    break
                except BaseException:
                    with anyio.CancelScope(shield=True):
                        await self._thread.call(self.driver.give_up_page, ticket)
                    raise
                if self._scan is not scan:  # a gap began another scan
                    await self._thread.call(self.driver.give_up_page, ticket)
                    return
                await self._thread.call(self.driver.take_page, scan, ticket, page, fence_entry, self._clock())
                self._wake_all()
        await self._thread.call(self.driver.end_scan, scan)
        log.info("scan_read", region=self._region, resources=scan.met, duration_s=round(time.monotonic() - began, 3))
        self._readable.wake()
        self._rescan.wake()

    async def _learn_clusters(self) -> None:
        self._clusters_stale = False
        names: set[str] = set()
        try:
            async for page in self._store.scan(MetaPath(CLUSTERS)):
                names.update(entry.path.split("/")[3] for entry in page if entry.path.count("/") == 3 and entry.value)
        except SyncerError:
            self._clusters_stale = True
            raise
        await self._thread.call(self.driver.know_clusters, names)

    async def _reader(self) -> None:
        while True:
            plan = await self._thread.call(self.driver.plan_reads)
            if plan is None:
                await self._readable.wait(IDLE_S)
                continue
            try:
                answers = await self._store.read(plan.paths)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self._thread.call(self.driver.give_up, plan)
                raise
            await self._thread.call(self.driver.take_answers, plan, answers, self._clock())
            self._wake_all()

    def _wake_all(self) -> None:
        self._writable.wake()
        self._publishable.wake()
        self._questions.wake()

    async def _prober(self) -> None:
        while True:
            asked = await self._thread.call(self.driver.questions)
            for path in asked:
                answer = await self._probe.ask(path)
                await self._thread.call(self.driver.answer_topics, path, answer, self._clock())
                self._readable.wake()
            if not asked:
                await self._questions.wait(IDLE_S)

    # -- writes

    async def _writer(self) -> None:
        while True:
            transaction = await self._thread.call(self.driver.next_transaction)
            if transaction is None:
                await self._writable.wait(IDLE_S)
                continue
            batch, writes = transaction
            await self._pace.take(len(batch.writes))
            try:
                answers = await self._store.apply(writes)
            except BatchRefused as refusal:
                log.info("batch_refused", region=self._region, cause=str(refusal.cause))
                await self._until_stored(self.driver.refused, batch, refusal)
            except StoreUnavailable as exc:
                log.warning("answer_lost", region=self._region, batch=batch.number, cause=exc.message)
                await self._find_out(batch)
            else:
                await self._until_stored(self.driver.landed, batch, answers)
            self._readable.wake()

    async def _find_out(self, batch: Batch) -> None:
        """The answer of a transaction was lost: its receipt tells; a rewritten fence keeps it from landing later."""
        backoff = Backoff()
        path = self.driver.context.fence_path
        while True:
            await backoff.pause()
            try:
                entry = (await self._store.read([path]))[path]
                write = await self._thread.call(self.driver.probe_lost, entry)
                rewritten = (await self._store.apply([write]))[0] if write is not None else None
            except BatchRefused:
                continue
            except StoreUnavailable as exc:
                log.warning("store_unavailable", region=self._region, cause=exc.message)
                continue
            await self._until_stored(self.driver.lost, batch, rewritten)
            return

    async def _until_stored(self, step: Callable[..., None], *args: object) -> None:
        """An answer of the outside world is taken however long the database needs."""
        backoff = Backoff()
        while True:
            try:
                await self._thread.call(step, *args, self._clock())
                return
            except SyncerError as exc:
                if not exc.retryable:
                    raise
                log.warning("state_unavailable", region=self._region, cause=exc.message)
                await backoff.pause()

    # -- the bus

    async def _publisher(self) -> None:
        while True:
            rows = await self._thread.call(self.driver.outbox, PUBLISH_LIMIT)
            if not rows:
                await self._publishable.wait(IDLE_S)
                continue
            messages: list[Outgoing] = []
            try:
                for row in rows:
                    messages.append(encode(row.event, native_names=self._native_names))  # noqa: PERF401 - how many tells
            except PayloadInvalid as exc:
                await self._set_aside(rows[len(messages)], exc)
                continue
            try:
                await self._publish(rows, messages)
            except PayloadInvalid as exc:
                await self._set_aside(rows[exc.args[1] if len(exc.args) > 1 else 0], exc)
                continue
            self._readable.wake()

    async def _publish(self, rows: list[OutboxRow], messages: list[Outgoing]) -> None:
        """What is on its way is finished even when the daemon stops: else it would be published again at the start."""
        with anyio.CancelScope(shield=True):  # both calls have deadlines of their own
            await self._bus.publish(messages)
            try:
                await self._thread.call(self.driver.published, rows, self._clock())
                return
            except StateUnavailable as exc:
                log.warning("state_unavailable", region=self._region, cause=exc.message)
        await self._until_stored(self.driver.published, rows)

    async def _set_aside(self, row: OutboxRow, cause: PayloadInvalid) -> None:
        """One event can never be sent as it is: it is quarantined, the others are published again."""
        log.error("event_unsendable", region=self._region, path=row.event.path, cause=cause.message)
        await self._until_stored(self.driver.unsendable, row, cause.message)

    async def _receiver(self) -> None:
        async for delivery in self._bus.receive():
            await self._until_stored(self._consume, delivery)
            await self._bus.acknowledge(delivery)
            self._readable.wake()

    def _consume(self, delivery: Delivery, now: Millis) -> None:
        own = self.driver.context.identity.database_id  # what it has published was folded when it was stamped
        others = [each for each in delivery.messages if not is_change_of(own, each.properties)]
        if others:
            arrived = [arrived_of(each.payload, each.properties, each.position) for each in others]
            self.driver.consume(arrived, now)

    # -- time

    async def _ticker(self) -> None:
        next_heartbeat = time.monotonic()
        while True:
            self.alive_at = time.monotonic()
            now = self._clock()
            await self._thread.call(self.driver.tick, now)
            for effect in await self._thread.call(self.driver.operate, now):
                await self._do(effect)
            await self._send_controls()
            await self._thread.call(self.driver.report, now)
            if time.monotonic() >= next_heartbeat and not self.driver.context.observing:
                next_heartbeat = time.monotonic() + self._timing.heartbeat_s
                await self._beat(now)
            self._readable.wake()
            self._wake_all()
            await anyio.sleep(TICK_S)

    async def _beat(self, now: Millis) -> None:
        beat = await self._thread.call(self.driver.heartbeat, now, self._version)
        try:
            await self._bus.publish([encode(beat, native_names=self._native_names)])
        except SyncerError as exc:
            log.warning("heartbeat_not_sent", region=self._region, code=exc.code, cause=exc.message)

    async def _send_controls(self) -> None:
        """What others are asked for is kept until the bus has it."""
        while self._controls:
            try:
                await self._bus.publish([encode(self._controls[0], native_names=self._native_names)])
            except SyncerError as exc:
                log.warning("control_not_sent", region=self._region, code=exc.code, cause=exc.message)
                return
            self._controls.pop(0)

    async def _pruner(self) -> None:
        while True:
            before = Millis(self._clock() - int(self._timing.journal_retention_s * 1000))
            pruned = await self._thread.call(self.driver.prune, before)
            await anyio.sleep(IDLE_S if pruned else PRUNE_EVERY_S)

    async def _do(self, effect: Effect) -> None:
        match effect:
            case Wanted(action=action, paths=paths, reason=reason):
                control = Control(
                    region=self._region,
                    sender=self.driver.context.identity.database_id,
                    action=action,
                    paths=paths,
                    reason=reason,
                    sent_at_ms=self._clock(),
                )
                self._controls.append(control)
            case None:
                pass
