"""Writes to a topic of policies, as one transaction with the fence as far as a crash can tell.

    a  what stands in the topic is what was decided on, and the topic exists              else refused, nothing was done
    b  store: the fence as it is, at its revision + a record of the batch                 we are the writer
    c  the message, and the topic read on past it: valid, or void and put back            what lost is refused
    d  store: the fence with its receipt, the record away

Where the outcome is unknown, after a crash or a lost answer, the record stays, and who reads the fence finds the batch
named in it as untold. The topic is read by nobody before it is settled: the batch is looked for there; if it is not
found, what stands is written once more first, so that it can never come later. Until that can be done the topic is
withheld, and all else goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

import structlog

from syncer.errors import (
    AccessDenied,
    ParentMissing,
    RevisionMismatch,
    StoreUnavailable,
    TopicPoliciesWithheld,
    ValueRefused,
)
from syncer.model import MetaPath, Region, Revision
from syncer.paths import OWN_PREFIX, scaffold
from syncer.replacing import replace
from syncer.replication.fence import Fence
from syncer.stores.contract import BatchRefused, Delete, Entry, MetadataStore, Put, Write, Written
from syncer.system_topics.log import GONE, Held, UnreadablePolicy, WriterClaim
from syncer.system_topics.namespace import PolicyTopic
from syncer.system_topics.open_writes import (
    MAX_OPEN,
    OpenWrite,
    PendingWrite,
    decode_pending,
    encode_pending,
    reconciled,
    told,
)
from syncer.system_topics.policies import key_of, namespace_of, path_of, topic_of
from syncer.system_topics.source import SystemTopics

log = structlog.get_logger()

TRIES: Final = 40
"""How often a value is put back at once while brokers overwrite that too; then it is tried again later."""


def record_path(region: Region) -> MetaPath:
    """Where a write that is under way stands in the region's store."""
    return MetaPath(f"{OWN_PREFIX}/{region}/topic-write")


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
        self._open: list[OpenWrite] = []
        """What that says, and what was found out since."""
        self._loading = asyncio.Lock()
        self.doubts = True
        """Whether the record in the store may be another one."""

    # -- the fence

    async def with_open_writes(self, fence: Entry | None) -> Entry | None:
        """The fence with what is known of writes whose outcome was unknown; only for who writes, or is about to.

        No topic is asked for that.

        Args:
            fence: As read; it is read once more where the record of such writes has to be.
        """
        if fence is None:
            return None
        async with self._loading:
            if self.doubts or not self._raised(Fence.decode(fence.value)):
                fence = await self._load(fence)
        if fence is None:
            return None
        await self._settle_gone()
        present = Fence.decode(fence.value)
        known = told(present, self._open, ours=self._raised(present))
        return fence if known == present else replace(fence, value=known.encode())

    def _raised(self, fence: Fence) -> bool:
        """Whether it was this process that raised the fence; else others may have left something under way."""
        claimed = self._claimed
        return claimed is not None and (claimed.number, claimed.database_id) == (fence.number, fence.database_id)

    async def _load(self, fence: Entry | None) -> Entry | None:
        """Read the record, and the fence of the same moment: neither changes without a write of the fence."""
        while True:
            before = fence
            found = await self._store.read([self._record_path, self._fence_path])
            fence, record = found[self._fence_path], found[self._record_path]
            if fence is None:
                return None
            if before is not None and before.revision == fence.revision:
                break
        recorded = decode_pending(record.value) if record is not None else []
        self._record, self._open = record, reconciled(self._open, recorded, Fence.decode(fence.value))
        self.doubts = False
        return fence

    async def _settle_gone(self) -> None:
        """Nothing lands any more where there is no topic: its namespace is gone, or is not selected any more."""
        for each in [each for each in self._open if each.landed is None]:
            namespace = namespace_of(each.pending.path) or ""
            selected = self._source.selects(namespace)
            if not selected or not await self._source.declared(self._source.topic(namespace)):
                each.landed = False

    async def write_fence(self, writes: tuple[Write, ...]) -> tuple[Written, ...]:
        """A transaction of the store alone that begins with the fence; what need not stay recorded goes with it."""
        fence = writes[0]
        if not isinstance(fence, Put):
            return await self._store.apply(writes)
        holding = Fence.decode(fence.value)
        kept = list(self._open) if self.doubts else self._kept_with(holding)
        answers = await self._apply(writes, [] if self.doubts else self._rewritten(kept), kept)
        self._claimed = holding
        return answers

    async def _apply(
        self, writes: Sequence[Write], record: Sequence[Write], kept: list[OpenWrite]
    ) -> tuple[Written, ...]:
        """Apply writes that begin with the fence, and the record's with them; the answers to the former.

        Raises:
            BatchRefused: Nothing was written; the record may be another one by now.
            StoreUnavailable: The outcome is unknown.
        """
        try:
            answers = await self._store.apply([*writes, *record])
        except StoreUnavailable:
            self.doubts = True
            raise
        except BatchRefused as refusal:
            self.doubts = True
            if refusal.index >= len(writes):  # the record is another's: so is the fence by now
                raise BatchRefused(0, refusal.cause) from refusal
            raise
        self._recorded(record, answers[len(writes) :], kept)
        return answers[: len(writes)]

    def _kept_with(self, fence: Fence) -> list[OpenWrite]:
        """The open writes that have to stay recorded beside a fence that is about to stand."""
        return [each for each in self._open if each.kept_with(fence)]

    def _rewritten(self, kept: Sequence[OpenWrite], *more: PendingWrite) -> list[Write]:
        """The write of the record that has to go with the fence, if any has to.

        Args:
            kept: Of the open writes, those that stay recorded.
            more: A write that is about to be under way.
        """
        pending = [*(each.pending for each in kept), *more]
        record = self._record
        if not pending:
            return [Delete(path=self._record_path, expected=record.revision)] if record is not None else []
        value = encode_pending(pending)
        if record is not None and record.value == value:
            return []
        return [
            Put(
                path=self._record_path,
                value=value,
                expected=record.revision if record is not None else None,
                scaffold=scaffold(self._record_path),
            )
        ]

    def _recorded(self, writes: Sequence[Write], answers: Sequence[Written], kept: list[OpenWrite]) -> None:
        """The record was written, with these open writes."""
        for write, answer in zip(writes, answers, strict=True):
            self._record = None
            if isinstance(write, Put) and answer.revision is not None:
                self._record = Entry(
                    path=write.path,
                    value=write.value,
                    revision=answer.revision,
                    modified_at_ms=None,
                    distinct=answer.distinct,
                )
        self._open = kept

    # -- a write

    async def write(self, fence: Put, write: Write) -> tuple[Written, Written]:
        """Write a path's policies, and the fence with the receipt.

        Raises:
            BatchRefused: Nothing was written, or what was is void and put back.
            StoreUnavailable: The outcome is unknown.
        """
        landing = Fence.decode(fence.value)
        pending = PendingWrite(
            batch=landing.landed[-1] if landing.landed else "",
            database=landing.database_id,
            store_id=landing.store_id,
            fence=landing.number,
            path=write.path,
        )
        await self._know_others(pending)
        topic = self._source.topic(namespace_of(write.path) or "")
        payload, expected = await self._decided_soon(topic, write)
        try:
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
            except BaseException:  # also where nobody waits any more
                self.doubts = True
                raise
            self._source.tally["written"] += 1
            if sent is None:
                self._source.tally["void"] += 1
                raise BatchRefused(1, _outrun(write.path), guard)
            written = await self._receipt(fence, guard)
        finally:
            topic.lock.release()
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

    async def mend(self, topic: PolicyTopic) -> None:
        """Put back whatever a void message has overwritten in a namespace; the caller has the lock.

        Raises:
            TopicPoliciesWithheld: Its topic does not answer.
        """
        claimed = self._claimed
        if claimed is None or topic.fold is None:
            return
        for _ in range(TRIES):
            restored = 0
            for key in list(topic.fold.owed()):
                path, standing = path_of(key), topic.fold.standing(key)
                held = standing.held if standing is not None else GONE
                if path is None or isinstance(held, UnreadablePolicy):
                    continue
                claim = self._claim_of(claimed, held, topic.fold.top(key))
                try:
                    await topic.log.append(key, await topic.log.prepare(path, _value_of(held)), claim)
                except (ValueRefused, AccessDenied) as exc:
                    raise TopicPoliciesWithheld(f"{path} cannot be put back: {exc.message}") from exc
                except StoreUnavailable as exc:
                    raise TopicPoliciesWithheld(f"{path} is not put back yet: {exc.message}") from exc
                restored += 1
            if not restored:
                break
            self._source.tally["restored"] += restored
            self._source.notify(await topic.refresh())

    # -- inside

    def _claim_of(self, fence: Fence, held: Held, expected: str) -> WriterClaim:
        """The claim of a message that puts back what stands."""
        return WriterClaim(
            region=self._region,
            store_id=fence.store_id,
            fence=fence.number,
            database=fence.database_id,
            batch="",
            expected=expected,
            restores=True,
            gone=held == GONE,
        )

    async def _decided_soon(self, topic: PolicyTopic, write: Write) -> tuple[bytes, str]:
        """The same as below, within the patience for a topic; the caller has its lock then.

        Raises:
            BatchRefused: Nothing was done.
        """
        try:
            return await self._source.late.do(
                topic, lambda: self._decided(topic, write), self._source.patience_s, holding=True
            )
        except TopicPoliciesWithheld as exc:
            topic.ask_in_vain(write.path)
            raise BatchRefused(1, ParentMissing(exc.message)) from exc

    async def _decided(self, topic: PolicyTopic, write: Write, at: int = 1) -> tuple[bytes, str]:
        """The payload of a write, and the message that it is decided on, if that stands there.

        Raises:
            BatchRefused: It does not, or cannot be written; nothing was done.
        """
        path, key = write.path, key_of(write.path)
        try:
            if not await self._source.declared(topic):
                raise BatchRefused(at, ParentMissing(f"{topic.namespace} does not exist here"))
            await self._source.reach(topic)
            self._check(topic, write, at)
            if isinstance(write, Put) and not await self._source.exists(topic, topic_of(path)):
                raise BatchRefused(at, ParentMissing(f"the topic {topic_of(path)} does not exist here yet"))
            if not topic.is_open:
                await self._source.make(topic, topic_of(path))
                self._check(topic, write, at)  # a broker may have made it, for an edit
            if topic.fold is None or topic.fold.owes(key):
                raise BatchRefused(at, RevisionMismatch(f"{path}: what was overwritten is not put back yet"))
            value = write.value if isinstance(write, Put) else None
            return await topic.log.prepare(path, value), topic.fold.top(key)
        except TopicPoliciesWithheld as exc:
            if topic.trouble is not None:  # else it can be read, and who asked would be told so at once
                topic.ask_in_vain(path)
            raise BatchRefused(at, ParentMissing(exc.message)) from exc
        except (ValueRefused, AccessDenied) as exc:
            raise BatchRefused(at, exc) from exc

    @staticmethod
    def _check(topic: PolicyTopic, write: Write, at: int) -> None:
        """What a write is decided on stands there, as was last read."""
        present = topic.entry(write.path)
        revision = present.revision if present is not None else None
        if revision != write.expected:
            raise BatchRefused(at, RevisionMismatch(f"{write.path} is at {revision}, not at {write.expected}"))

    async def _know_others(self, pending: PendingWrite) -> None:
        """Nothing else is begun before what is under way is known, and while too much of that is open.

        Raises:
            BatchRefused: Too much is.
            StoreUnavailable: The write itself is under way already.
        """
        async with self._loading:
            if self.doubts:
                await self._load(None)
        if any(each.pending == pending for each in self._open):
            raise StoreUnavailable(f"{pending.path}: what became of a former attempt is not known yet")
        if len(self._open) >= MAX_OPEN:
            raise BatchRefused(1, ParentMissing(f"what became of {len(self._open)} other writes is not known yet"))

    async def _announce(self, fence: Put, pending: PendingWrite) -> Written:
        """The fence is still ours, and the record says what is under way."""
        present = (await self._store.read([self._fence_path]))[self._fence_path]
        if present is None or present.revision != fence.expected:
            raise BatchRefused(0, RevisionMismatch("the fence was rewritten by another"))
        same = Put(path=self._fence_path, value=present.value, expected=present.revision)
        kept = self._kept_with(Fence.decode(present.value))
        (guard,) = await self._apply([same], self._rewritten(kept, pending), kept)
        if guard.revision is None:
            raise StoreUnavailable("the store told no revision of what it has written")
        return guard

    async def _append(self, topic: PolicyTopic, path: MetaPath, payload: bytes, claim: WriterClaim) -> str | None:
        """Write, and read on past it: the message's id, or ``None`` where it is void and what stood is put back.

        Raises:
            StoreUnavailable: It cannot be told.
        """
        key = key_of(path)
        sent = await topic.log.append(key, payload, claim)
        moved = await topic.refresh(past=sent)
        verdict = topic.fold.verdict(key, sent) if topic.fold is not None else None
        standing = topic.fold.standing(key) if topic.fold is not None else None
        if verdict is not None and verdict.valid and standing is not None and standing.id == sent:
            moved.paths.pop(path, None)  # who wrote it knows
        self._source.notify(moved)
        if verdict is None:
            raise StoreUnavailable(f"{path}: what was written was not read again")
        if verdict.valid:
            return sent
        log.info("topic_policy_race_lost", path=path, message=sent)
        await self.mend(topic)
        return None

    async def _receipt(self, fence: Put, guard: Written) -> Written:
        put = replace(fence, expected=guard.revision)
        kept = self._kept_with(Fence.decode(fence.value))
        (written,) = await self._apply([put], self._rewritten(kept), kept)
        return written

    # -- writes whose outcome is unknown

    def unsettled(self, namespace: str) -> bool:
        """Whether a write to a namespace is open, and nothing was found out about it."""
        return next(self._unsettled(namespace), None) is not None

    def _unsettled(self, namespace: str) -> Iterator[OpenWrite]:
        return (each for each in self._open if each.landed is None and namespace_of(each.pending.path) == namespace)

    async def settle(self, topic: PolicyTopic) -> None:
        """Find out what became of the open writes to a namespace, whose topic was just read; the caller has the lock.

        Raises:
            TopicPoliciesWithheld: That cannot be done yet.
        """
        for each in list(self._unsettled(topic.namespace)):
            try:
                each.landed = await self._has_landed(topic, each.pending)
            except StoreUnavailable as exc:
                path = each.pending.path
                raise TopicPoliciesWithheld(f"{path}: whether a write has landed is not known: {exc.message}") from exc

    async def _has_landed(self, topic: PolicyTopic, pending: PendingWrite) -> bool:
        """Whether the message of a write that was under way stands in its topic; if not, it cannot come any more.

        Raises:
            StoreUnavailable: It cannot be told yet.
        """
        path, key = pending.path, key_of(pending.path)
        try:
            for _ in range(TRIES):
                if topic.fold is None or not topic.is_open:
                    return False
                if topic.fold.landed(key, pending.batch, pending.database):
                    return True
                if await self._asserted(topic, path):
                    return topic.fold.landed(key, pending.batch, pending.database)
        except (ValueRefused, AccessDenied) as exc:
            log.warning("topic_write_left_open", path=path, batch=pending.batch, cause=exc.message)
            return False
        raise StoreUnavailable("brokers write there all the time")

    async def _asserted(self, topic: PolicyTopic, path: MetaPath) -> bool:
        """Write what stands at a path once more, so that no message decided before can count after this; if it did.

        Raises:
            StoreUnavailable: Whether it did is not known.
            ValueRefused: What stands there cannot be read: it came later than anything that was decided here.
        """
        key = key_of(path)
        if topic.fold is None or self._claimed is None:
            raise StoreUnavailable("this process does not hold the fence yet")
        standing = topic.fold.standing(key)
        held = standing.held if standing is not None else GONE
        if isinstance(held, UnreadablePolicy):
            raise ValueRefused(f"{path}: what stands there cannot be read: {held.why}")
        claim = self._claim_of(self._claimed, held, topic.fold.top(key))
        sent = await topic.log.append(key, await topic.log.prepare(path, _value_of(held)), claim)
        self._source.notify(await topic.refresh())
        verdict = topic.fold.verdict(key, sent) if topic.fold is not None else None
        return verdict is not None and verdict.valid


def _value_of(held: Held) -> bytes | None:
    """What is written where this stands: brokers know no topic whose policies are gone from one that has none."""
    return held if isinstance(held, bytes) else None


def _outrun(path: MetaPath) -> RevisionMismatch:
    """Why a write was refused whose message is void; the record of it goes with the next transaction."""
    return RevisionMismatch(f"{path}: a broker was faster; its value stands")
