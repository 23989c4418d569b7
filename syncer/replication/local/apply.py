"""Writes to the store by write-ahead intents: the transaction that goes out, and what its answer means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from syncer.conflict.register import Hold, HoldReason, ParkReason
from syncer.errors import AccessDenied, Fenced, InvariantBroken, NotEmpty, ParentMissing, SyncerError, ValueRefused
from syncer.model import MetaPath, Millis, Revision
from syncer.paths import classify, scaffold
from syncer.replacing import replace
from syncer.replication.fence import Fence, HeldFence, order_of
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.observe import check_fence
from syncer.replication.local.part import OwnStore
from syncer.replication.local.topic_checks import ask_again, look_again
from syncer.replication.local.write_queue import Batch
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.quarantine import DeadLetter
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import BatchRefused, Entry, Put, Write, Written

BUSY_DUE_PAGE: Final = 50
"""While writes go on, what is due mostly has its turn already."""


def next_transaction(local: OwnStore) -> tuple[Batch, tuple[Write, ...]] | None:
    """The oldest batch with the fence in front of it, or ``None`` when nothing is to be written now."""
    batch = local.writes.head
    if batch is None or local.core.fence is None or local.core.fence_unverified or local.group.paused is not None:
        return None
    if local.migration.holds:
        return None
    batch.stretch = local.own_writes.stretch if local.watch.ledger.armed else -1
    return batch, (fence_write(local, local.core.fence, local.core.fence.fence.landing(batch.number)), *batch.writes)


def fence_write(local: OwnStore, held: HeldFence | None, fence: Fence) -> Put:
    """The write of the fence node, conditional on the revision at which it was last ours."""
    path = local.core.fence_path
    return Put(path=path, value=fence.encode(), expected=held.revision if held else None, scaffold=scaffold(path))


@dataclass(frozen=True, slots=True)
class Landing:
    """A batch that was applied, and the store's answer to each of its writes."""

    batch: Batch
    written: tuple[Written, ...]


def answered(local: OwnStore, batch: Batch, answers: Sequence[Written]) -> Landing:
    """The batch was applied, and the fence carries its receipt: the next one may be sent before this is stored."""
    fence, *written = answers
    held = _held(local)
    if fence.revision is None:
        raise InvariantBroken("a batch landed without a fence")
    local.core.fence = HeldFence(held.fence.landing(batch.number), fence.revision)
    local.writes.answered(batch)
    if local.own_writes.applied(fence.mark, batch.stretch):
        _note_own(local, batch, written, fence.mark)
    return Landing(batch, tuple(written))


def _note_own(local: OwnStore, batch: Batch, written: Sequence[Written], mark: str) -> None:
    """What was just written needs no read for the notice of it: what stands there now is remembered."""
    local.dirty.disregard(batch.paths, mark)
    for write, answer in zip(batch.writes, written, strict=True):
        local.versions.filters.look_at(write.path, write.value if isinstance(write, Put) else b"")
        if isinstance(write, Put) and answer.revision is not None and write.path not in local.dirty:
            local.entry_cache.keep(
                Entry(
                    path=write.path,
                    value=write.value,
                    revision=answer.revision,
                    modified_at_ms=None,
                    distinct=answer.distinct,
                )
            )


def _held(local: OwnStore) -> HeldFence:
    if local.core.fence is None:
        raise Fenced("the database has begun anew as another one: what was under way was the former one's")
    return local.core.fence


def landed(local: OwnStore, landings: Sequence[Landing], now: Millis) -> None:
    """What these batches wrote is seated.

    Raises:
        StateUnavailable: Nothing was stored; call again. The receipts in the fence keep what happened.
    """
    _held(local)
    written = [answer for landing in landings for answer in landing.written]
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        _note_landed(tx, landings[-1].batch.number)
        unit.load([answer.path for answer in written])
        intents = [unit[answer.path].intent for answer in written]
        for answer in written:
            unit.take(local.core.replica.written(unit[answer.path], answer, now))
        unit.store()
    _finish(local, [landing.batch for landing in landings], unit)
    for answer in written:
        local.waiting.refused.landed(answer.path)
    for intent in intents:
        if intent is not None and not intent.version.stamp.is_baseline:
            stamp = intent.version.stamp
            local.telemetry.lags.append((stamp.region, (now - stamp.updated_at_ms) / 1000))
    local.telemetry.tally["writes", "landed"] += len(written)


def refused(local: OwnStore, batch: Batch, refusal: BatchRefused, now: Millis) -> None:
    """Nothing of the batch was applied: one write of it was not possible; the others are decided again.

    Raises:
        Fenced: It was the fence.
        AccessDenied: It was the fence, which this daemon may not write any more.
    """
    if refusal.index == 0 and isinstance(refusal.cause, AccessDenied):
        raise refusal.cause
    if refusal.index == 0:
        raise Fenced("another daemon has raised the fence of this region") from refusal.cause
    if refusal.guard is not None and local.core.fence is not None:
        hold_fence(local, local.core.fence.fence, refusal.guard)
    culprit = batch.paths[refusal.index - 1]
    cause = refusal.cause
    parks = _park_reason(cause)
    local.entry_cache.forget((culprit,))
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        unit.load(batch.paths)
        for path in batch.paths:
            reason = parks if path == culprit else None
            publishes = local.core.scope.direction(path).publishes
            unit.take(local.core.replica.refused(unit[path], reason, now, str(cause), publishes=publishes))
        if isinstance(cause, ValueRefused | AccessDenied):
            _hold_refused(unit, culprit, cause, now)
        unit.reread((culprit,) if parks is None else _relatives(culprit, cause))
        unit.store()
    if parks is not None:
        local.waiting.refused.refused(culprit, now)
    _finish(local, (batch,), unit)
    code = cause.code if isinstance(cause, SyncerError) else "unknown"
    local.telemetry.tally["writes", code] += 1


def withdraw(local: OwnStore, now: Millis) -> int:
    """Take back what was decided and not sent, while nothing may be written: its paths are read again; their number.

    Nothing of it may be in flight.
    """
    batches = local.writes.waiting
    if not batches:
        return 0
    paths = [path for batch in batches for path in batch.paths]
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        unit.load(paths)
        for path in paths:
            unit.take(local.core.replica.refused(unit[path], None, now))
        unit.reread(paths)
        unit.store()
    _finish(local, batches, unit)
    return len(paths)


def probe_lost(local: OwnStore, entry: Entry | None) -> Put | None:
    """The answer of the first batch was lost: the fence, rewritten so that it cannot land later; ``None``: it landed.

    Where that cannot be told yet, the fence names the batch.

    Args:
        local: The region's own store.
        entry: The fence as read since.

    Raises:
        Fenced: It is not ours any more.
        PreconditionFailed: The store was put back from a backup.
    """
    seen = check_fence(local, entry, local.core.fence)
    batch = local.writes.head
    if entry is None or seen is None or batch is None:
        raise InvariantBroken("a lost answer without a batch")
    noted, number = seen.as_noted(_held(local).fence), batch.number
    landed, batch.untold = number in seen.landed, number in seen.untold or number in seen.found
    local.core.fence = HeldFence(noted.landing(number) if landed else noted, entry.revision)
    if landed:
        return None
    return fence_write(local, local.core.fence, noted.doubting(number) if batch.untold else noted)


def put_aside(local: OwnStore, batch: Batch) -> None:
    """It cannot be told yet whether the batch has landed: its intents stay open, and what follows it goes on.

    Its paths are read as soon as the store can tell of them; by then the fence tells what became of the batch.
    """
    held = _held(local)
    local.core.fence = HeldFence(held.fence.doubting(batch.number), held.revision)
    local.writes.done(batch)
    local.entry_cache.forget(batch.paths)
    local.dirty.release(batch.paths)
    local.dirty.add(batch.paths, ReadCause.DUE)


def lost(local: OwnStore, batch: Batch, *, applied: bool, now: Millis) -> None:
    """The answer of the batch was lost; its receipt has told whether it landed, and it cannot land any more."""
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        unit.load(batch.paths)
        if applied:
            _note_landed(tx, batch.number)
        for path in batch.paths:
            if applied:
                unit.take(local.core.replica.written(unit[path], None, now))
            else:
                unit.take(local.core.replica.refused(unit[path], None, now))
        unit.store()
    _finish(local, (batch,), unit)


def _note_landed(tx: Transaction, batch: str) -> None:
    """Keep which batch was the latest to land: an old copy of the database is known by it."""
    landed = tx.identity().landed
    if landed is None or order_of(batch) > order_of(landed):
        tx.set_identity(landed=batch)


def settle_former(local: OwnStore, fence: Fence, now: Millis) -> int:
    """After the fence was raised: tell landed from not landed for every intent of dead incarnations; their number.

    Those of which it cannot be told yet stay open.
    """
    untold: list[MetaPath] = []
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        open_intents = tx.intents()
        unit.load([register.path for register in open_intents])
        for register in open_intents:
            if register.intent is not None and register.intent.batch in fence.landed:
                unit.take(local.core.replica.written(register, None, now))
            elif register.intent is not None and register.intent.batch in fence.untold:
                untold.append(register.path)
            else:
                unit.take(local.core.replica.refused(register, None, now))
        unit.reread(untold)
        unit.store()
    unit.settle()
    return len(open_intents) - len(untold)


def hold_fence(local: OwnStore, fence: Fence, entry: Entry | Written) -> None:
    """Keep the fence as this daemon's own, at the revision that it was just written or read at."""
    revision: Revision | None = entry.revision
    if revision is None:
        raise InvariantBroken("the fence has no revision")
    local.core.fence = HeldFence(fence, revision)


def advance_rollback_counter(local: OwnStore, now: Millis) -> Put | None:
    """Give a mark out: the fence with it, to be written; ``None`` when the fence is not ours.

    Raises:
        StateUnavailable: No mark was given out.
    """
    if local.core.fence is None:
        return None
    with local.core.state.transaction() as tx:
        identity = tx.set_identity(mark=tx.identity().mark + 1)
    local.core.identity = identity
    local.rollback_counter.given_out(now)
    return fence_write(local, local.core.fence, local.core.fence.fence.rollback_counter(identity))


def probe_rollback_counter(local: OwnStore, entry: Entry | None) -> Put | None:
    """The answer to a mark was lost: the fence, to be written with it once more; ``None``: it stands there.

    Args:
        local: The region's own store.
        entry: The fence as read since.

    Raises:
        Fenced: It is not ours any more.
        PreconditionFailed: The store was put back from a backup.
    """
    seen = check_fence(local, entry, local.core.fence)
    if entry is None or seen is None:
        raise InvariantBroken("a fence that is ours, and is not there")
    fence = seen.as_noted(_held(local).fence)
    local.core.fence = HeldFence(fence, entry.revision)
    if fence.mark >= local.core.identity.mark:
        return None
    return fence_write(local, local.core.fence, fence.rollback_counter(local.core.identity))


def note_rollback_counter(local: OwnStore, write: Put | None, answer: Written | None) -> None:
    """The mark stands in the fence, as written (``None``: as was read).

    Raises:
        StateUnavailable: It was not noted; call again.
    """
    if local.core.fence is None:
        return  # the database has begun anew as another one meanwhile
    if write is not None and answer is not None:
        hold_fence(local, Fence.decode(write.value).as_noted(local.core.fence.fence), answer)
    with local.core.state.transaction() as tx:
        local.core.identity = tx.set_identity(marked=local.core.fence.fence.mark)


def _finish(local: OwnStore, batches: Sequence[Batch], unit: UnitOfWork) -> None:
    for batch in batches:
        local.writes.done(batch)
    unit.settle()
    for batch in batches:
        local.dirty.release(batch.paths)


def _park_reason(cause: Exception) -> ParkReason | None:
    if isinstance(cause, ParentMissing):
        return ParkReason.PARENT_MISSING
    if isinstance(cause, NotEmpty):
        return ParkReason.CHILDREN_ALIVE
    return None


def _relatives(path: MetaPath, cause: Exception) -> tuple[MetaPath, ...]:
    """What must be read beside the path: a parent that vanished below our feet."""
    resource = classify(path)
    if isinstance(cause, ParentMissing) and resource is not None and resource.parent is not None:
        return (resource.parent,)
    return ()


def _hold_refused(unit: UnitOfWork, path: MetaPath, cause: ValueRefused | AccessDenied, now: Millis) -> None:
    """The store will never take this write as it is: it waits for a person, everything else goes on."""
    register = unit[path]
    known = register.known
    if known is None:
        return
    hold = Hold(reason=HoldReason.STORE_REFUSED, stamp=known.stamp, since_ms=now, detail=cause.message)
    unit.replace(replace(register, hold=hold, parked=None))
    unit.quarantine(
        DeadLetter(
            origin="write",
            code=cause.code,
            detail=cause.message,
            position=f"{path} {known.stamp}",
            path=path,
            payload=known.value or b"",
        )
    )


def mark_due(local: OwnStore, limit: int, after: MetaPath | None, now: Millis) -> MetaPath | None:
    """Mark the next due paths to be looked at again; the last one's path, ``None`` when the end was reached.

    Fewer are marked while others are read or written. An observer looks only at those whose value the store is known to
    hold: it would write none of the others.
    """
    if local.writes.head is not None or local.dirty.readable:
        limit = min(limit, BUSY_DUE_PAGE)
    with local.core.state.transaction() as tx:
        page = tx.due(limit, after)
    due = [register for register in page if not local.core.observing or register.settles]
    ask_again(local, due, now)
    look_again(local, due, now)
    ready = (each.path for each in due if not each.held and each.intent is None)
    local.dirty.add([path for path in ready if not local.waiting.refused.rests(path, now)], ReadCause.DUE)
    return page[-1].path if len(page) == limit else None


def release_answered(local: OwnStore, page: int, now: Millis) -> None:
    """More clusters are known than before, or other brokers are here: what was held for that is tried again."""
    grew, others = local.clusters.grew, local.versions.changed
    causes = ((HoldReason.UNKNOWN_CLUSTER, grew), (HoldReason.UNREADABLE_TO_BROKERS, others))
    reasons = {reason for reason, came in causes if came}
    if not reasons:
        return
    after: MetaPath | None = None
    while True:
        with local.core.state.transaction() as tx:
            due = tx.due(page, after)
            unit = local.units.begin(tx, now)
            held = [each for each in due if each.hold is not None and each.hold.reason in reasons]
            unit.load([register.path for register in held])
            for register in held:
                unit.replace(replace(register, hold=None))
            unit.reread(register.path for register in held)
            unit.store()
        unit.settle()
        if len(due) < page:
            break
        after = due[-1].path
    local.clusters.grew = local.versions.changed = False
