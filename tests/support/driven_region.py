"""A driver without its pumps, on a store of plain entries: a test reads, writes and publishes for it, step by step."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Revision
from syncer.replication.driver import Driver
from syncer.replication.local.full_scan import Scan
from syncer.replication.local.part import OwnStore
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Capabilities, Entry, Put, Written
from tests.support.parts import parts_of

T0: Final = Millis(1_700_000_000_000)
CAPABILITIES: Final = Capabilities(
    modified_times=False,
    real_parents=False,
    transactions=True,
    max_batch_writes=50,
    max_batch_bytes=32_768,
    max_value_bytes=1_000_000,
)


@dataclass
class DrivenRegion:
    """A driver, a store of plain entries, and what was published."""

    settings: Settings
    scope: Scope = field(default_factory=Scope)
    now: int = T0
    entries: dict[MetaPath, Entry] = field(default_factory=dict)
    published: list[MetadataChangeEvent] = field(default_factory=list)
    writes: int = 0
    driver: Driver = field(init=False)

    def __post_init__(self) -> None:
        state = MemoryState(MemoryDatabase(self.settings.region, "db"))
        state.activate()
        with state.transaction() as tx:
            tx.set_identity(first_scan_done=True, projections=self.settings.projections.kept_as)
        self.state = state
        self.driver = Driver(Replica(self.settings), self.scope, state, CAPABILITIES)
        raised = self.driver.raise_fence(None, "store", Millis(self.now))
        written = self.put(raised.path, json.loads(raised.value))
        self.entries[raised.path] = Entry(path=raised.path, value=raised.value, revision=written, modified_at_ms=None)
        self.driver.activated(raised, Written(path=raised.path, revision=written), Millis(self.now))

    @property
    def local(self) -> OwnStore:
        return parts_of(self.driver).local

    @property
    def conditions(self) -> dict[str, str]:
        return self.local.telemetry.conditions

    def put(self, path: MetaPath, document: dict[str, Any]) -> Revision:
        self.writes += 1
        revision = Revision(str(self.writes))
        value = json.dumps(document).encode()
        self.entries[path] = Entry(path=path, value=value, revision=revision, modified_at_ms=None)
        return revision

    def scan(self, scan: Scan | None = None) -> None:
        """Read all that the store holds, by a scan that was begun or by another one."""
        driver, now = self.driver, Millis(self.now)
        scan = scan or driver.armed()
        ticket = driver.issue_page()
        fence = self.entries[self.local.core.fence_path]
        driver.take_page(scan, ticket, list(self.entries.values()), fence, now)
        driver.end_scan(scan)
        self.work()
        assert driver.scan_complete(scan, now)

    def edit_at(self, path: MetaPath, document: dict[str, Any]) -> None:
        """A broker writes, and the watch tells it."""
        self.put(path, document)
        self.driver.noticed([path], Millis(self.now))
        self.work()

    def work(self) -> None:
        """Read what is to be read, write what is to be written, publish what is to be published."""
        driver, now = self.driver, Millis(self.now)
        for _ in range(20):
            plan, found = driver.plan_reads(), driver.next_transaction()
            if plan is not None:
                driver.take_answers(plan, {path: self.entries.get(path) for path in plan.paths}, now)
            if found is not None:
                batch, writes = found
                puts = [write for write in writes if isinstance(write, Put)]
                for write in puts:
                    self.writes += 1
                    revision = Revision(str(self.writes))
                    self.entries[write.path] = Entry(
                        path=write.path, value=write.value, revision=revision, modified_at_ms=None
                    )
                answers = [Written(path=write.path, revision=self.entries[write.path].revision) for write in puts]
                driver.landed([driver.answered(batch, answers)], now)
            rows = driver.outbox(100)
            if rows:
                self.published += [row.event for row in rows]
                driver.published(rows, now)
            if plan is None and found is None:
                return
        raise AssertionError("it does not come to rest")
