"""Loops between the store and the driver: notices, scans, reads, writes, and topic checks."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping
from typing import Final

import anyio
import structlog

from syncer.admin.etcd_ending import ETCD
from syncer.admin.scalable_topics import find_scalable
from syncer.errors import AccessDenied, StoreUnavailable, SyncerError
from syncer.model import MetaPath
from syncer.paths import CLUSTERS, is_under
from syncer.replication.local.apply import Landing
from syncer.replication.local.deletes.questions import namespaces_of
from syncer.replication.local.full_scan import Scan
from syncer.replication.local.store_migration import FLAG, LOOKED_AT
from syncer.replication.local.write_queue import Batch
from syncer.replication.runtime.backoff import Backoff, RateLimit
from syncer.replication.runtime.environment import IDLE_S, Environment, Signal
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Beat,
    Changed,
    Entry,
    Gap,
    Put,
    WatchSignal,
    Written,
    read_answerable,
)
from syncer.stores.topic_policies import TellsTopicPolicies

log = structlog.get_logger()

GATHERED: Final = 3
"""Answers that are stored together, while more are to come; few of all that may be open at once."""
GATHER_S: Final = 0.02
SCALABLE_EVERY_S: Final = 60.0
SCALABLE_ASKED_EVERY_S: Final = 600.0
"""How often brokers are asked for what a look would see at once: it takes a question for each namespace."""
WITHOUT_SCALABLE: Final = frozenset({"", "sqlite", ETCD})
"""Kinds of stores in which no cluster keeps scalable topics: those of no cluster, and the one that 5.0 refuses."""
POLICIES_EVERY_S: Final = 1.0
LOOK_EVERY_S: Final = 10.0
LOOK_FRESH_S: Final = 1.0
"""What was seen of a migration so lately counts for a write: brokers need longer to prepare, and the watch tells."""


class StorePumps:
    """Moves what the store says to the driver, and what the driver decides to the store."""

    def __init__(self, around: Environment) -> None:
        self._around = around
        self._rate = RateLimit(around.timing.max_writes_per_s)
        self._rescan = Signal()
        self._scan: Scan | None = None
        self._clusters_stale = True
        self._landings: list[Landing] = []
        self._landed = Signal()
        self._began = time.monotonic()
        self._looked_at = -math.inf
        self._scalable_asked_at = -math.inf
        self._look = Signal()

    async def activate(self) -> None:
        """Become the region's writer: read the fence, raise it, settle what dead incarnations left open."""
        backoff = Backoff()
        path = self._around.driver.fence_path
        while True:
            try:
                await self._until_writable()
                entry = (await self._around.store.read([path]))[path]
                write = await self._around.thread.call(
                    self._around.driver.raise_fence, entry, secrets.token_hex(8), self._around.clock()
                )
                answer = (await self._around.store.apply([write]))[0]
                settled = await self._around.thread.call(
                    self._around.driver.activated, write, answer, self._around.clock()
                )
                log.info("fence_raised", region=self._around.region, open_writes_settled=settled)
                if self._around.driver.rebuilding is not None:
                    log.warning("database_lost", region=self._around.region, cause=self._around.driver.rebuilding)
                return
            except BatchRefused as exc:
                if isinstance(exc.cause, AccessDenied):
                    raise exc.cause from exc
                log.info("fence_contended", region=self._around.region, cause=str(exc.cause))
            except SyncerError as exc:
                if not exc.retryable:
                    raise
                log.warning("activation_repeats", code=exc.code, cause=exc.message)
            await backoff.pause()

    async def watch(self) -> None:
        """Take the notices of the store; every arming begins a scan. Not before a lost database has heard its peers."""
        while self._around.driver.hearing:
            await self._around.heard.wait(IDLE_S)
        prefixes = sorted({*self._around.driver.prefixes, MetaPath(CLUSTERS), *self._flags})
        try:
            async for signal in self._around.store.watch(prefixes):
                await self._take_signal(signal)
        finally:
            self._scan = None
            with anyio.CancelScope(shield=True):
                await self._around.thread.quick(self._around.driver.gap)

    async def _take_signal(self, signal: WatchSignal) -> None:
        match signal:
            case Armed():
                self._scan = await self._around.thread.call(self._around.driver.armed)
                self._rescan.wake()
            case Changed(paths, marks):
                self._clusters_stale |= any(is_under(path, CLUSTERS) for path in paths)
                if self._flags and FLAG in paths:
                    self._looked_at = -math.inf
                    self._look.wake()
                if not await self._around.thread.quick(self._around.driver.noticed, paths, self._around.clock(), marks):
                    log.warning("too_many_changes_pending", region=self._around.region)
                    await self._begin_again()
                self._around.readable.wake()
            case Beat():
                await self._around.thread.quick(self._around.driver.beat, self._around.clock())
            case Gap(reason):
                log.warning("watch_gap", region=self._around.region, reason=reason)
                self._scan = None
                await self._around.thread.quick(self._around.driver.gap)

    async def _begin_again(self, *, drops: bool = True) -> None:
        """Read all again. ``drops``: our own set of pending paths ran over, and what was noticed is found by that."""
        await self._around.thread.quick(self._around.driver.gap)
        if drops:
            await self._around.thread.quick(self._around.driver.drop_pending)
        self._scan = await self._around.thread.call(self._around.driver.armed)
        self._rescan.wake()

    async def scanner(self) -> None:
        """Run the scans that armings have begun, and learn which clusters the store knows."""
        while True:
            await self._rescan.wait(IDLE_S)
            if self._clusters_stale:
                await self.learn_clusters()
            if self._around.driver.rescan_due:
                await self._begin_again(drops=False)
            scan = self._scan
            if scan is None:
                continue
            if not scan.finished:
                await self._run_scan(scan)
            else:
                await self._complete(scan)

    async def _complete(self, scan: Scan) -> None:
        """Take note when all that a scan has found was decided."""
        rebuilding = self._around.driver.rebuilding
        if not await self._around.thread.call(self._around.driver.scan_complete, scan, self._around.clock()):
            return
        self._scan = None
        log.info("scan_complete", region=self._around.region, resources=scan.met)
        if rebuilding is not None:
            took = round(time.monotonic() - self._began, 3)
            log.info("database_rebuilt", region=self._around.region, cause=rebuilding, duration_s=took)

    async def _run_scan(self, scan: Scan) -> None:
        began = time.monotonic()
        fence = self._around.driver.fence_path
        for prefix in self._around.driver.prefixes:
            pages = self._around.store.scan(prefix).__aiter__()
            while True:
                ticket = await self._around.thread.quick(self._around.driver.issue_page)
                try:
                    page = await anext(pages)
                    fence_entry = (await self._around.store.read([fence]))[fence]
                except StopAsyncIteration:
                    await self._around.thread.quick(self._around.driver.give_up_page, ticket)
                    break
                except BaseException:
                    with anyio.CancelScope(shield=True):
                        await self._around.thread.quick(self._around.driver.give_up_page, ticket)
                    raise
                if self._scan is not scan:  # a gap began another scan
                    await self._around.thread.quick(self._around.driver.give_up_page, ticket)
                    return
                await self._around.thread.call(
                    self._around.driver.take_page, scan, ticket, page, fence_entry, self._around.clock()
                )
                self._around.wake_all()
        await self._around.thread.call(self._around.driver.end_scan, scan)
        log.info(
            "scan_read", region=self._around.region, resources=scan.met, duration_s=round(time.monotonic() - began, 3)
        )
        self._around.readable.wake()
        self._rescan.wake()

    async def learn_clusters(self) -> None:
        """Ask the store which clusters it knows; a guard wants that before the first write."""
        self._clusters_stale = False
        names: set[str] = set()
        try:
            async for page in self._around.store.scan(MetaPath(CLUSTERS)):
                names.update(entry.path.split("/")[3] for entry in page if entry.path.count("/") == 3 and entry.value)
        except SyncerError:
            self._clusters_stale = True
            raise
        await self._around.thread.quick(self._around.driver.know_clusters, names)

    async def reader(self) -> None:
        """Read dirty paths and let the driver decide by the answers."""
        while True:
            plan = await self._around.thread.quick(self._around.driver.plan_reads)
            if plan is None:
                await self._around.readable.wait(IDLE_S)
                continue
            try:
                with self._around.timing_of("read"):
                    answers, _, undecided = await read_answerable(self._around.store, plan.paths)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self._around.thread.quick(self._around.driver.give_up, plan)
                raise
            with self._around.timing_of("decide"):
                await self._around.thread.call(
                    self._around.driver.take_answers, plan, answers, self._around.clock(), undecided
                )
            self._around.wake_all()

    async def prober(self) -> None:
        """Ask for topics where a guard wants to know."""
        while True:
            asked = await self._around.thread.quick(self._around.driver.questions)
            for path in asked:
                answer = await self._around.probe.ask(path)
                await self._around.thread.quick(self._around.driver.answer_topics, path, answer, self._around.clock())
                self._around.readable.wake()
            if not asked:
                await self._around.questions.wait(IDLE_S)

    async def versioner(self) -> None:
        """Ask the brokers for versions and settings, each minute, and before an absence is taken for a removal."""
        while True:
            await self.ask_versions()
            await self.ask_collection()
            if not self._around.versions.asks:
                return
            await self._around.absences.wait(IDLE_S)

    async def ask_versions(self) -> None:
        """Ask if it is time."""
        doubted = await self._around.thread.quick(self._around.driver.doubted_absences, self._around.clock())
        if doubted is None:
            return
        told = await self._around.versions.versions()
        await self._around.thread.quick(self._around.driver.answer_versions, doubted, told, self._around.clock())
        self._around.readable.wake()

    async def ask_collection(self) -> None:
        """Ask the brokers whether they delete declarations, if it is time, and the store for what namespaces say."""
        driver, thread = self._around.driver, self._around.thread
        asked = await thread.quick(driver.collection_question, self._around.clock())
        if asked is None:
            return
        told = await self._around.versions.collection()
        namespaces: Mapping[MetaPath, Entry | None] = {}
        if above := namespaces_of(asked):
            namespaces, _, _ = await read_answerable(self._around.store, above)
        await thread.quick(driver.answer_collection, asked, told, namespaces, self._around.clock())
        self._around.readable.wake()

    async def policies_keeper(self) -> None:
        """Keep what a store with system topics has to tell beside its entries; nothing where it has none."""
        store, driver = self._around.store, self._around.driver
        while isinstance(store, TellsTopicPolicies) and (standing := store.topic_policies()) is not None:
            await self._around.thread.quick(driver.note_topic_policies, standing)
            if overtaken := store.take_overtaken():
                try:
                    await self._around.thread.call(driver.keep_overtaken, overtaken, self._around.clock())
                except BaseException:
                    store.put_back(overtaken)
                    raise
            await anyio.sleep(POLICIES_EVERY_S)

    @property
    def _flags(self) -> tuple[MetaPath, ...]:
        """Where Pulsar says that it migrates the store; nowhere on etcd, which it never migrates."""
        return () if self._around.driver.store_kind == ETCD else (FLAG,)

    async def migration_looker(self) -> None:
        """Look whether Pulsar migrates the store: at once when the watch tells of it, else every ten seconds."""
        while self._flags:
            await self.look_at_migration()
            await self._look.wait(LOOK_EVERY_S)

    async def look_at_migration(self) -> bool:
        """Look now; whether the store may be written to.

        Raises:
            StoreUnavailable: It does not answer, so nothing is written either.
        """
        driver = self._around.driver
        if not self._flags:
            return True
        before = driver.store_phase
        try:
            answers = await self._around.store.read(LOOKED_AT)
        except AccessDenied as exc:
            driver.deny_store_phase(exc.message)
        else:
            await self._around.thread.quick(driver.note_store_migration, answers)
        self._looked_at = time.monotonic()
        now = driver.store_phase
        if before is not None and now != before:
            log.warning("store_migration", region=self._around.region, phase=now, former=before)
        return not driver.store_unwritable

    async def scalable_looker(self) -> None:
        """Look each minute which scalable topics the cluster has; where its own store is another one, ask brokers."""
        while self._around.driver.store_kind not in WITHOUT_SCALABLE:
            await anyio.sleep(SCALABLE_EVERY_S)
            await self.look_for_scalable()
            await self.ask_for_scalable()

    async def look_for_scalable(self) -> None:
        """Look now; a guard wants to know it before the first write."""
        if self._around.driver.store_kind in WITHOUT_SCALABLE:
            return
        seen = not self._around.driver.store_foreign
        found = await find_scalable(self._around.store) if seen else None
        await self._around.thread.quick(self._around.driver.note_scalable, found)

    async def ask_for_scalable(self) -> None:
        """Ask brokers if it is time, where the store does not tell; what they told before counts until they answer."""
        if not self._around.driver.store_foreign or not self._around.versions.asks:
            return
        if time.monotonic() - self._scalable_asked_at < SCALABLE_ASKED_EVERY_S:
            return
        told = await self._around.versions.scalable()
        self._scalable_asked_at = time.monotonic()
        if told.count is None:
            log.info("scalable_topics_untold", region=self._around.region, cause=told.trouble)
            return
        await self._around.thread.quick(self._around.driver.note_scalable_told, told.count)

    async def _until_writable(self) -> None:
        """Wait until the store may be written to."""
        while not await self.look_at_migration():
            await self._look.wait(IDLE_S)

    async def _writable(self) -> bool:
        """Whether the store may be written to; looked at anew where that is not known of this very moment."""
        if time.monotonic() - self._looked_at < LOOK_FRESH_S:
            return not self._around.driver.store_unwritable
        return await self.look_at_migration()

    async def writer(self) -> None:
        """Send the batches that the driver has decided, one at a time; their answers are stored beside."""
        while True:
            if self._around.driver.writes_waiting and not await self._writable():
                await self._around.thread.call(self._around.driver.withdraw, self._around.clock())
                await self._around.writable.wait(IDLE_S)
                continue
            transaction = await self._around.thread.quick(self._around.driver.next_transaction)
            if transaction is None:
                if await self._around.thread.quick(self._around.driver.rollback_counter_due, self._around.clock()):
                    await self.mark()
                else:
                    await self._around.writable.wait(IDLE_S)
                continue
            batch, writes = transaction
            await self._rate.take(len(batch.writes))
            try:
                with self._around.timing_of("apply"):
                    answers = await self._around.store.apply(writes)
            except BatchRefused as refusal:
                log.info("batch_refused", region=self._around.region, cause=str(refusal.cause))
                await self._around.until_stored(self._around.driver.refused, batch, refusal)
                self._around.readable.wake()
            except StoreUnavailable as exc:
                log.warning("answer_lost", region=self._around.region, batch=batch.number, cause=exc.message)
                await self._find_out(batch)
                self._around.readable.wake()
            else:
                self._landings.append(await self._around.thread.quick(self._around.driver.answered, batch, answers))
                self._landed.wake()

    async def mark(self) -> None:
        """Tell the fence that the database has gone on.

        Raises:
            Fenced: The fence is not ours any more.
        """
        driver = self._around.driver
        write = await self._around.thread.call(driver.mark, self._around.clock())
        backoff = Backoff()
        while write is not None:
            answer: Written | None = None
            try:
                await self._until_writable()
                answer = (await self._around.store.apply([write]))[0]
            except BatchRefused as refusal:
                if isinstance(refusal.cause, AccessDenied):
                    raise refusal.cause from refusal
                log.info("mark_refused", region=self._around.region, cause=str(refusal.cause))
            except StoreUnavailable as exc:
                log.warning("answer_lost", region=self._around.region, cause=exc.message)
            if answer is not None:
                await self._around.until_stored(driver.marked, write, answer)
                return
            await backoff.pause()
            write = await self._probe_rollback_counter(write)

    async def _probe_rollback_counter(self, write: Put) -> Put | None:
        """What became of a mark whose answer was lost, or that was refused: written again until it stands there."""
        path = self._around.driver.fence_path
        try:
            entry = (await self._around.store.read([path]))[path]
        except StoreUnavailable as exc:
            log.warning("store_unavailable", region=self._around.region, cause=exc.message)
            return write
        again = await self._around.thread.quick(self._around.driver.probe_rollback_counter, entry)
        if again is None:
            await self._around.until_stored(self._around.driver.marked, None, None)
        return again

    async def lander(self) -> None:
        """Store what was written; what is answered meanwhile is stored together."""
        while True:
            await self._landed.wait(IDLE_S)
            while self._landings:
                await self._gather()
                landings = tuple(self._landings)
                with self._around.timing_of("landed"):
                    await self._around.until_stored(self._around.driver.landed, landings)
                del self._landings[: len(landings)]
                self._around.readable.wake()
                self._around.roomy.wake()

    async def _gather(self) -> None:
        """While more is to be written, wait a little for further answers: they are stored by one transaction."""
        with anyio.move_on_after(GATHER_S):
            while len(self._landings) < GATHERED and self._around.driver.writes_waiting:
                await self._landed.wait(GATHER_S)

    async def _find_out(self, batch: Batch) -> None:
        """The answer of a transaction was lost: its receipt tells; a rewritten fence keeps it from landing later."""
        backoff = Backoff()
        path = self._around.driver.fence_path
        while True:
            await backoff.pause()
            try:
                entry = (await self._around.store.read([path]))[path]
                write = await self._around.thread.quick(self._around.driver.probe_lost, entry)
                if write is not None:
                    await self._until_writable()
                rewritten = (await self._around.store.apply([write]))[0] if write is not None else None
            except BatchRefused:
                continue
            except StoreUnavailable as exc:
                log.warning("store_unavailable", region=self._around.region, cause=exc.message)
                continue
            await self._around.until_stored(self._around.driver.lost, batch, rewritten)
            return
