"""A daemon's store with system topics beside it, and what a driver asks of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from syncer.errors import StoreUnavailable
from syncer.model import MetaPath, Region, Revision
from syncer.paths import fence_path, namespace_path
from syncer.replication.fence import Fence
from syncer.stores.contract import (
    BatchRefused,
    Delete,
    Put,
    Write,
    Written,
)
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from syncer.system_topics.log import WriterClaim
from syncer.system_topics.source import SystemTopics
from syncer.system_topics.source_bounds import SourceBounds
from syncer.system_topics.store import SystemTopicStore, with_system_topics
from syncer.system_topics.writing import record_path
from tests.support.topic_logs import MemoryTopicLogs, TopicCluster

Start: TypeAlias = "Callable[..., Awaitable[Process]]"
REGION = Region("east")
FENCE, RECORD = fence_path(REGION), record_path(REGION)
BASE = MetaPath("/admin/topic-policies/global")
PATH = MetaPath(f"{BASE}/acme/orders/persistent/a")
OTHER = MetaPath(f"{BASE}/acme/orders/persistent/b")
SPACE = namespace_path("acme", "orders")
BOUNDS = SourceBounds(look_every=timedelta(hours=1), openings_per_s=1e6)


def policies(**given: object) -> bytes:
    return json.dumps({"isGlobal": True, **given}, separators=(",", ":")).encode()


ONE, TWO, THREE, FOUR = (policies(maxConsumerPerTopic=number) for number in (1, 2, 3, 4))


class BreakingStore(SqliteStore):
    """A store whose answer to a transaction is lost, with it or before it."""

    breaks: int = -1
    applies_first: bool = False

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Count down to the one that is lost."""
        self.breaks -= 1
        if self.breaks == 0 and not self.applies_first:
            raise StoreUnavailable("a test")
        answers = await super().apply(writes)
        if self.breaks == 0:
            raise StoreUnavailable("a test")
        return answers


class Process:
    """One daemon's store, and the fence that it holds."""

    def __init__(
        self,
        file: Path,
        cluster: TopicCluster,
        *,
        writes: bool = True,
        bounds: SourceBounds = BOUNDS,
        database: str = "d",
    ) -> None:
        self.plain = BreakingStore(SqliteConfig(path=file, timeout=timedelta(seconds=60)))
        self.source = SystemTopics(["acme/*"], self.plain, MemoryTopicLogs(cluster), bounds)
        self.store: SystemTopicStore = with_system_topics(self.plain, self.source, REGION, writes=writes)
        self.fence = Fence(number=0, database_id=database, generation=1, store_id="s")
        self.revision: Revision | None = None
        self.batch = 0

    async def become_writer(self) -> Fence:
        """Read the fence and raise it, as a daemon does; how it was read."""
        entry = (await self.store.read([FENCE]))[FENCE]
        present = Fence.decode(entry.value) if entry is not None else self.fence
        mine = present.database_id == self.fence.database_id
        self.fence = replace(
            present,
            number=present.number + 1,
            database_id=self.fence.database_id,
            untold=present.untold if mine else (),
            landed=present.landed if mine else (),
            found=(),
        )
        put = Put(
            path=FENCE,
            value=self.fence.encode(),
            expected=entry.revision if entry is not None else None,
            scaffold=(MetaPath("/pulsar-syncer"), MetaPath("/pulsar-syncer/east")),
        )
        self.revision = (await self.store.apply([put]))[0].revision
        return present

    def next_batch(self, write: Write) -> tuple[str, list[Write]]:
        self.batch += 1
        number = f"{self.fence.number}.{self.batch}"
        return number, [Put(path=FENCE, value=self.fence.landing(number).encode(), expected=self.revision), write]

    async def find_out(self, number: str, path: MetaPath = PATH) -> bool | None:
        """Ask what became of a batch, as a daemon does whose answer was lost; ``None``: that cannot be told yet."""
        entry = (await self.store.read([FENCE]))[FENCE]
        assert entry is not None
        seen, self.revision = Fence.decode(entry.value), entry.revision
        if number in seen.landed:
            self.fence = self.fence.landing(number)
            return True
        if number not in seen.untold and number not in self.fence.untold:
            await self.rewrite_fence()
            return False
        if number not in self.fence.untold:
            self.fence = self.fence.doubting(number)
            await self.rewrite_fence()
        entries, withheld, _ = await self.store.read_partly([path, FENCE])
        assert (path in withheld) is (path not in entries)
        fence = entries[FENCE]
        assert fence is not None
        seen = Fence.decode(fence.value)
        assert (number in seen.untold) is (path in withheld)
        if number in seen.untold:
            return None
        self.fence = replace(self.fence, untold=tuple(each for each in self.fence.untold if each != number))
        await self.rewrite_fence()
        return number in seen.found

    async def rewrite_fence(self) -> None:
        """Write the fence as it is held."""
        put = Put(path=FENCE, value=self.fence.encode(), expected=self.revision)
        self.revision = (await self.store.apply([put]))[0].revision

    async def write(self, write: Write) -> Written:
        number, writes = self.next_batch(write)
        try:
            fence, written = await self.store.apply(writes)
        except BatchRefused as refusal:
            if refusal.guard is not None:
                self.revision = refusal.guard.revision
            raise
        self.fence, self.revision = self.fence.landing(number), fence.revision
        return written

    async def put(self, value: bytes | None, path: MetaPath = PATH) -> Written:
        """Decide on what stands there now, and write."""
        entry = (await self.store.read([path]))[path]
        revision = entry.revision if entry is not None else None
        if value is None:
            assert revision is not None
            return await self.write(Delete(path=path, expected=revision))
        return await self.write(Put(path=path, value=value, expected=revision))

    async def value(self, path: MetaPath = PATH) -> bytes | None:
        entry = (await self.store.read([path]))[path]
        return entry.value if entry is not None else None


def claim_of(process: Process) -> WriterClaim:
    return WriterClaim(
        region=REGION, store_id="s", fence=process.fence.number, database="d", batch="", expected="", restores=False
    )
