"""Writes to a topic of policies, as one transaction with the fence as far as a crash can tell.

    a  what stands in the topic is what was decided on, and the topic exists              else refused, nothing was done
    b  store: the fence as it is, at its revision + a record of the batch                 we are the writer
    c  the message, and the topic read on past it: valid, or void and put back            what lost is refused
    d  store: the fence with its receipt, the record away

A crash after c leaves the record. Whoever reads the fence then looks into the topic for the batch: found, its receipt
counts as written; not found, what stands is written once more first, so that it can never come later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson
import structlog

from syncer.errors import (
    AccessDenied,
    ParentMissing,
    RevisionMismatch,
    StoreUnavailable,
    TopicPoliciesWithheld,
    ValueInvalid,
    ValueRefused,
)
from syncer.model import MetaPath, Region, Revision
from syncer.paths import OWN_PREFIX, scaffold
from syncer.replacing import replace
from syncer.replication.fence import Fence
from syncer.stores.contract import BatchRefused, Delete, Entry, MetadataStore, Put, Write, Written
from syncer.system_topics.log import UnreadablePolicy, WriterClaim
from syncer.system_topics.namespace import MovedPolicies, PolicyTopic
from syncer.system_topics.policies import key_of, namespace_of, path_of, topic_of
from syncer.system_topics.source import SystemTopics

log = structlog.get_logger()

TRIES: Final = 40
"""How often a value is put back at once while brokers overwrite that too; then it is tried again later."""


def record_path(region: Region) -> MetaPath:
    """Where a write that is under way stands in the region's store."""
    return MetaPath(f"{OWN_PREFIX}/{region}/topic-write")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """The record of a write that is under way.

    Args:
        batch: Id of the batch.
        database: Sidecar database of the writer.
        store_id: Store of its fence.
        fence: Number of its fence.
        path: What it writes.
    """

    batch: str
    database: str
    store_id: str
    fence: int
    path: MetaPath

    def encode(self) -> bytes:
        """Serialise for the store."""
        return orjson.dumps(
            {
                "batch": self.batch,
                "database": self.database,
                "store": self.store_id,
                "fence": self.fence,
                "path": self.path,
            }
        )

    @staticmethod
    def decode(value: bytes) -> PendingWrite:
        """Parse a record.

        Raises:
            ValueInvalid: Somebody else wrote there.
        """
        try:
            found = orjson.loads(value)
            return PendingWrite(
                batch=str(found["batch"]),
                database=str(found["database"]),
                store_id=str(found["store"]),
                fence=int(found["fence"]),
                path=MetaPath(str(found["path"])),
            )
        except (ValueError, KeyError, TypeError) as exc:
            raise ValueInvalid(
                f"the record of a write to a system topic is something else: {value[:80]!r}",
                hint="Nothing but this daemon may write there; delete the node only when no daemon of the region runs.",
            ) from exc


class TopicWriter:
    """Writes policies of topics for the region's daemon.

    Args:
        store: The region's store.
        source: The topics.
        region: The region.
        fence_path: Path of its fence.
    """

    def __init__(self, store: MetadataStore, source: SystemTopics, region: Region, fence_path: MetaPath) -> None:
        self._store = store
        self._source = source
        self._region = region
        self._fence_path = fence_path
        self._record_path = record_path(region)
        self._claimed: Fence | None = None
        self._record: Entry | None = None
        """The record as it was last read or written; it goes with the next transaction."""
        self._landed = ""
        """A batch that has landed, and whose receipt may lack in the fence."""
        self.doubts = True
        """Whether a record may stand in the store that nobody has looked at."""

    @property
    def record_path(self) -> MetaPath:
        """Where a write that is under way stands."""
        return self._record_path

    # -- the fence

    async def with_receipt(self, fence: Entry | None, record: Entry | None) -> Entry | None:
        """The fence as it would stand if what was under way had ended; only for who writes, or is about to.

        Args:
            fence: As read.
            record: As read, before the fence.

        Raises:
            StoreUnavailable: It cannot be told yet whether a write has landed.
        """
        if fence is None:
            return None
        if self.doubts:
            self._record = record
            self._landed = ""
            if record is not None and record.value:
                pending = PendingWrite.decode(record.value)
                if pending.batch not in Fence.decode(fence.value).landed and await self._has_landed(pending):
                    self._landed = pending.batch
            self.doubts = False
        present = Fence.decode(fence.value)
        if not self._landed or self._landed in present.landed:
            return fence
        return replace(fence, value=present.landing(self._landed).encode())

    async def write_fence(self, writes: tuple[Write, ...]) -> tuple[Written, ...]:
        """A transaction of the store alone that begins with the fence; a record that is settled goes with it."""
        fence = writes[0]
        record, settled = self._record, not self.doubts
        away = [Delete(path=self._record_path, expected=record.revision)] if record is not None and settled else []
        try:
            answers = await self._store.apply([*writes, *away])
        except StoreUnavailable:
            self.doubts = True
            raise
        except BatchRefused as refusal:
            self.doubts = True
            if refusal.index >= len(writes):  # the record is another's: so is the fence by now
                raise BatchRefused(0, refusal.cause) from refusal
            raise
        if isinstance(fence, Put):
            self._claimed = Fence.decode(fence.value)
        if away:
            self._record = None
            self._landed = ""
        return answers[: len(writes)]

    # -- a write

    async def write(self, fence: Put, write: Write) -> tuple[Written, Written]:
        """Write a path's policies, and the fence with the receipt.

        Raises:
            BatchRefused: Nothing was written, or what was is void and put back.
            StoreUnavailable: The outcome is unknown.
        """
        landing = Fence.decode(fence.value)
        topic = self._source.topic(namespace_of(write.path) or "")
        async with topic.lock:
            payload, expected = await self._decided(topic, write)
            pending = PendingWrite(
                batch=landing.landed[-1] if landing.landed else "",
                database=landing.database_id,
                store_id=landing.store_id,
                fence=landing.number,
                path=write.path,
            )
            guard = await self._announce(fence, pending)
            self._claimed = landing
            claim = WriterClaim(
                region=self._region,
                store_id=landing.store_id,
                fence=landing.number,
                database=landing.database_id,
                batch=pending.batch,
                expected=expected,
            )
            try:
                sent = await self._append(topic, write.path, payload, claim)
            except StoreUnavailable:
                self.doubts = True
                raise
            self._source.tally["written"] += 1
            if sent is None:
                self._source.tally["void"] += 1
                raise BatchRefused(1, _outrun(write.path), guard)
            written = await self._receipt(fence, guard)
        return written, Written(path=write.path, revision=Revision(sent) if isinstance(write, Put) else None)

    async def write_unfenced(self, write: Write) -> Written:
        """Write a path's policies for a command, which holds no fence; who may is decided by the store's fence."""
        entry = (await self._store.read([self._fence_path]))[self._fence_path]
        fence = Fence.decode(entry.value) if entry is not None else None
        topic = self._source.topic(namespace_of(write.path) or "")
        async with topic.lock:
            payload, expected = await self._decided(topic, write, at=0)
            claim = WriterClaim(
                region=self._region,
                store_id=fence.store_id if fence is not None else "",
                fence=fence.number if fence is not None else 0,
                database="",
                batch="",
                expected=expected,
            )
            sent = await self._append(topic, write.path, payload, claim)
        if sent is None:
            raise BatchRefused(0, _outrun(write.path))
        return Written(path=write.path, revision=Revision(sent) if isinstance(write, Put) else None)

    async def mend(self, topic: PolicyTopic) -> MovedPolicies:
        """Put back whatever a void message has overwritten in a namespace; the caller has the lock.

        Raises:
            TopicPoliciesWithheld: Its topic does not answer.
        """
        moved, claimed = MovedPolicies(), self._claimed
        if claimed is None or topic.fold is None:
            return moved
        for _ in range(TRIES):
            owed = list(topic.fold.owed())
            if not owed:
                break
            for key in owed:
                path, standing = path_of(key), topic.fold.standing(key)
                held = standing.held if standing is not None else None
                if path is None or isinstance(held, UnreadablePolicy):
                    continue
                claim = self._claim_of(claimed, "", topic.fold.top(key))
                try:
                    await topic.log.append(key, await topic.log.prepare(path, held), claim)
                except (ValueRefused, AccessDenied) as exc:
                    raise TopicPoliciesWithheld(f"{path} cannot be put back: {exc.message}") from exc
                except StoreUnavailable as exc:
                    raise TopicPoliciesWithheld(f"{path} is not put back yet: {exc.message}") from exc
                self._source.tally["restored"] += 1
            moved.join(await topic.refresh())
        return moved

    # -- inside

    def _claim_of(self, fence: Fence, batch: str, expected: str) -> WriterClaim:
        return WriterClaim(
            region=self._region,
            store_id=fence.store_id,
            fence=fence.number,
            database=fence.database_id,
            batch=batch,
            expected=expected,
            restores=True,
        )

    async def _decided(self, topic: PolicyTopic, write: Write, at: int = 1) -> tuple[bytes, str]:
        """The payload of a write, and the message that it is decided on, if that stands there.

        Raises:
            BatchRefused: It does not, or cannot be written; nothing was done.
        """
        path, key = write.path, key_of(write.path)
        try:
            if not await self._source.declared(topic):
                raise BatchRefused(at, ParentMissing(f"{topic.namespace} does not exist here"))
            await self._source.bring_up(topic)
            present = topic.entry(path)
            revision = present.revision if present is not None else None
            if revision != write.expected:
                raise BatchRefused(at, RevisionMismatch(f"{path} is at {revision}, not at {write.expected}"))
            if isinstance(write, Put) and not await self._source.exists(topic, topic_of(path)):
                raise BatchRefused(at, ParentMissing(f"the topic {topic_of(path)} does not exist here yet"))
            if not topic.is_open:
                await self._source.make(topic, topic_of(path))
            if topic.fold is None or topic.fold.owes(key):
                raise BatchRefused(at, RevisionMismatch(f"{path}: what was overwritten is not put back yet"))
            value = write.value if isinstance(write, Put) else None
            return await topic.log.prepare(path, value), topic.fold.top(key)
        except TopicPoliciesWithheld as exc:
            topic.ask_in_vain(path)
            raise BatchRefused(at, ParentMissing(exc.message)) from exc
        except (ValueRefused, AccessDenied) as exc:
            raise BatchRefused(at, exc) from exc

    async def _announce(self, fence: Put, pending: PendingWrite) -> Written:
        """The fence is still ours, and the record says what is under way."""
        present = (await self._store.read([self._fence_path]))[self._fence_path]
        if present is None or present.revision != fence.expected:
            raise BatchRefused(0, RevisionMismatch("the fence was rewritten by another"))
        record = self._record
        put = Put(
            path=self._record_path,
            value=pending.encode(),
            expected=record.revision if record is not None else None,
            scaffold=scaffold(self._record_path),
        )
        same = Put(path=self._fence_path, value=present.value, expected=present.revision)
        try:
            guard, written = await self._store.apply([same, put])
        except StoreUnavailable:
            self.doubts = True
            raise
        except BatchRefused as refusal:
            self.doubts = True
            raise BatchRefused(0, refusal.cause) from refusal
        if written.revision is None or guard.revision is None:
            raise StoreUnavailable("the store told no revision of what it has written")
        self._record = Entry(
            path=put.path, value=put.value, revision=written.revision, modified_at_ms=None, distinct=written.distinct
        )
        return guard

    async def _append(self, topic: PolicyTopic, path: MetaPath, payload: bytes, claim: WriterClaim) -> str | None:
        """Write, and read on past it: the message's id, or ``None`` where it is void and what stood is put back.

        Raises:
            StoreUnavailable: It cannot be told.
        """
        key = key_of(path)
        sent = await topic.log.append(key, payload, claim)
        moved = await topic.refresh()
        verdict = topic.fold.verdict(key, sent) if topic.fold is not None else None
        if verdict is None:
            raise StoreUnavailable(f"{path}: what was written was not read again")
        if verdict.valid:
            standing = topic.fold.standing(key) if topic.fold is not None else None
            if standing is not None and standing.id == sent:
                moved.paths.pop(path, None)  # who wrote it knows
        else:
            log.info("topic_policy_race_lost", path=path, message=sent)
            moved.join(await self.mend(topic))
        self._source.notify(moved)
        return sent if verdict.valid else None

    async def _receipt(self, fence: Put, guard: Written) -> Written:
        record = self._record
        put = replace(fence, expected=guard.revision)
        away = [Delete(path=self._record_path, expected=record.revision)] if record is not None else []
        try:
            written = (await self._store.apply([put, *away]))[0]
        except StoreUnavailable:
            self.doubts = True
            raise
        except BatchRefused as refusal:
            self.doubts = True
            raise BatchRefused(0, refusal.cause) from refusal
        self._record = None
        return written

    async def _has_landed(self, pending: PendingWrite) -> bool:
        """Whether the message of a write that was under way stands in its topic; if not, it cannot come any more.

        Raises:
            StoreUnavailable: It cannot be told yet.
        """
        path, key = pending.path, key_of(pending.path)
        namespace = namespace_of(path)
        if namespace is None or not self._source.selects(namespace):
            return False
        topic = self._source.topic(namespace)
        async with topic.lock:
            try:
                if not await self._source.declared(topic):
                    return False
                await self._source.bring_up(topic)
                for _ in range(TRIES):
                    if topic.fold is None or not topic.is_open:
                        return False
                    if topic.fold.landed(key, pending.batch, pending.database):
                        return True
                    if await self._asserted(topic, pending):
                        return topic.fold.landed(key, pending.batch, pending.database)
            except TopicPoliciesWithheld as exc:
                if exc.lasting:
                    log.warning("topic_write_left_open", path=path, batch=pending.batch, cause=exc.message)
                    return False
                raise StoreUnavailable(f"{path}: whether a write has landed cannot be told: {exc.message}") from exc
            except (ValueRefused, AccessDenied) as exc:
                log.warning("topic_write_left_open", path=path, batch=pending.batch, cause=exc.message)
                return False
        raise StoreUnavailable(f"{path}: brokers write so often that it cannot be told whether a write has landed")

    async def _asserted(self, topic: PolicyTopic, pending: PendingWrite) -> bool:
        """Write what stands at a path once more, so that no message decided before can count after this; if it did."""
        key = key_of(pending.path)
        if topic.fold is None:
            return False
        standing = topic.fold.standing(key)
        held = standing.held if standing is not None else None
        if isinstance(held, UnreadablePolicy):
            raise TopicPoliciesWithheld(f"{pending.path}: what stands there cannot be read: {held.why}", lasting=True)
        claim = WriterClaim(
            region=self._region,
            store_id=pending.store_id,
            fence=pending.fence,
            database=pending.database,
            batch="",
            expected=topic.fold.top(key),
            restores=True,
        )
        sent = await topic.log.append(key, await topic.log.prepare(pending.path, held), claim)
        self._source.notify(await topic.refresh())
        verdict = topic.fold.verdict(key, sent) if topic.fold is not None else None
        return verdict is not None and verdict.valid


def _outrun(path: MetaPath) -> RevisionMismatch:
    """Why a write was refused whose message is void; the record of it goes with the next transaction."""
    return RevisionMismatch(f"{path}: a broker was faster; its value stands")
