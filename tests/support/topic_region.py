"""A region's real driver over a store with system topics beside it, moved step by step as the daemon's loops do."""

from __future__ import annotations

from typing import Final

from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.errors import ParentMissing, StoreUnavailable
from syncer.model import (
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    Stamp,
    counter_of,
)
from syncer.paths import resource_at
from syncer.replication.driver import Driver
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.local.write_queue import Batch
from syncer.state.memory import MemoryState
from syncer.stores.contract import BatchRefused, Changed
from tests.support.parts import parts_of
from tests.support.topic_process import BASE, FENCE, REGION, Process

T0: Final = 1_700_000_000_000
_TRIES: Final = 3
THERE: Final = Region("west")
SCOPE: Final = Scope((Rule(f"{BASE}/acme/**", Direction.BOTH), *DEFAULT_RULES))


class TopicRegion:
    """One daemon's driver over its store.

    Args:
        process: Its store; not yet the writer.
        state: Its sidecar database, which outlives it.
    """

    def __init__(self, process: Process, state: MemoryState) -> None:
        self.process = process
        self.state = state
        self.driver = Driver(Replica(Settings(region=REGION)), SCOPE, state, process.store.capabilities)
        self.now = T0
        self.published: list[MetadataChangeEvent] = []
        self._watcher = process.source.notices.join()
        self._told = 0
        self._waited = 0

    async def begin(self) -> None:
        """Become the writer, and read all that is there."""
        driver, store = self.driver, self.process.store
        put = driver.raise_fence((await store.read([FENCE]))[FENCE], "s", Millis(self.now))
        driver.activated(put, (await store.apply([put]))[0], self.later())
        driver.know_clusters(["here"])
        scan = driver.armed()
        for prefix in driver.prefixes:
            async for page in store.scan(prefix):
                ticket = driver.issue_page()
                driver.take_page(scan, ticket, page, (await store.read([FENCE]))[FENCE], self.later())
        driver.end_scan(scan)
        await self.work()
        assert driver.scan_complete(scan, self.later())

    def later(self) -> Millis:
        """A second later."""
        self.now += 1_000
        return Millis(self.now)

    def hear(self, path: MetaPath, value: bytes | None, *, after_s: int = 0) -> Stamp:
        """Another region has changed a path, having seen nothing that was written here; its stamp."""
        resource, time, by = resource_at(path), Millis(self.later() + after_s * 1_000), counter_of(THERE, 1)
        self._told += 1
        event = MetadataChangeEvent(
            type=EventType.MODIFIED if value is not None else EventType.DELETED,
            resource=resource.kind,
            resource_name=resource.name,
            path=path,
            value=value,
            stamp=Stamp(time, THERE),
            by=by,
            seen={by: time},
            sender="there",
            sequence=self._told,
        )
        self.driver.consume([Arrived(message=event, position=str(self._told))], Millis(self.now))
        return event.stamp

    def register(self, path: MetaPath) -> Register:
        """What is known of a path."""
        with self.state.transaction() as tx:
            return tx.registers([path])[path]

    async def work(self) -> None:
        """Do all that can be done now; what waits for its topic to be made is tried a few times.

        Raises:
            AssertionError: It never comes to rest.
        """
        driver, store = self.driver, self.process.store
        patience = self._waited + _TRIES
        for _ in range(50):
            told = self._watcher.take()
            if isinstance(told, Changed):
                driver.noticed(told.paths, self.later())
            plan = driver.plan_reads()
            if plan is not None:
                answers, _, undecided = await store.read_partly(plan.paths)
                driver.take_answers(plan, answers, self.later(), undecided)
            wrote = await self._write()
            rows = driver.outbox(100)
            if rows:
                self.published += [row.event for row in rows]
                driver.published(rows, self.later())
            if self._waited >= patience or (plan is None and not wrote and not rows and told is None):
                return
        raise AssertionError("it does not come to rest")

    async def _write(self) -> bool:
        driver = self.driver
        found = driver.next_transaction()
        if found is None:
            return False
        batch, writes = found
        try:
            answers = await self.process.store.apply(writes)
        except BatchRefused as refusal:
            driver.refused(batch, refusal, self.later())
            self._waited += isinstance(refusal.cause, ParentMissing)
        except StoreUnavailable:
            await self._find_out(batch)
        else:
            driver.landed([driver.answered(batch, answers)], self.later())
        return True

    async def _find_out(self, batch: Batch) -> None:
        store, driver = self.process.store, self.driver
        put = driver.probe_lost((await store.read([FENCE]))[FENCE])
        written = (await store.apply([put]))[0] if put is not None else None
        driver.lost(batch, written, self.later())

    async def look_again(self, path: MetaPath) -> None:
        """The topic of a path answers again, and it is time to try."""
        topic = self.process.source.topic("/".join(path.split("/")[4:6]))
        topic.tried_at = float("-inf")
        await self.process.store.read_partly([path])

    @property
    def open_batches(self) -> tuple[str, ...]:
        """Batches of which it cannot be told whether they landed."""
        fence = parts_of(self.driver).core.fence
        assert fence is not None
        return fence.fence.untold
