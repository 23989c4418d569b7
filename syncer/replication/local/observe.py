"""Observation of the store: reads are planned, and their answers become local changes and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Final

import structlog

from syncer.conflict.acts import Moment, Outcome, Publish
from syncer.conflict.causality.order import later
from syncer.conflict.guards import Facts, Topics
from syncer.conflict.projection import carried
from syncer.conflict.reads import Ticket
from syncer.conflict.register import HoldReason, Register
from syncer.errors import Fenced
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis
from syncer.paths import child_prefixes, classify, shown
from syncer.replication.bisection import Settle, narrowed, place_of, why
from syncer.replication.context import Context
from syncer.replication.fence import HeldFence
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.write_queue import Packer
from syncer.replication.recovery import missing_values, rebuild, rollback_detection
from syncer.replication.recovery.progress import Phase
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Entry

log = structlog.get_logger()

_IN_DOUBT: Final = frozenset({HoldReason.UNREADABLE, HoldReason.UNTOLD})


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Paths to read now, and the fence after them. Every plan must be answered or given up.

    ``held`` is the fence as it was known when the plan was made: what is read after that cannot be older.
    """

    ticket: Ticket
    origins: Mapping[MetaPath, ReadCause]
    fence: MetaPath
    held: HeldFence | None = None

    @property
    def paths(self) -> tuple[MetaPath, ...]:
        """What to ask the store for, in this order."""
        return (*self.origins, self.fence)


def notice(context: Context, paths: Sequence[MetaPath], marks: Sequence[str]) -> bool:
    """What a watch has told is to be read, but for what this daemon itself has written.

    Args:
        context: The daemon's context.
        paths: Paths that may have changed.
        marks: For each the transaction that changed it, or nothing at all; empty where the store does not name it.

    Returns:
        ``False`` when too many wait already.
    """
    if context.dirty.full:
        context.remembered.forget(paths)
        return False
    own, contains = context.own_writes, context.scope.contains
    news = [(path, mark) for path, mark in zip(paths, marks or repeat(""), strict=False) if mark not in own]
    context.remembered.forget(path for path, _ in news)
    for path, mark in news:
        if path in context.misfits.blocked:
            continue
        if contains(path):
            context.dirty.notice(path, mark)
        else:
            context.misfits.look_at(path)
    return True


def plan_reads(context: Context, limit: int) -> ReadPlan | None:
    """Take the oldest dirty paths; ``None`` when there are none, or while the watch is not whole.

    After a gap the fence is read in any case: whatever waits to be written waits for that.
    """
    if not context.ledger.armed or rebuild.phase_of(context) is Phase.HEARING:
        return None
    origins = context.dirty.take(limit, context.writes.in_flight, context.writes.vacancy)
    if not origins and not context.doubted:
        return None
    return ReadPlan(context.ledger.issue(), origins, context.fence_path, context.fence)


def give_up(context: Context, plan: ReadPlan) -> None:
    """The store did not answer: the paths stay dirty."""
    context.ledger.close(plan.ticket)
    for path, origin in plan.origins.items():
        context.dirty.add((path,), origin)


def take_answers(context: Context, plan: ReadPlan, answers: Mapping[MetaPath, Entry | None], now: Millis) -> None:
    """Decide by the answers; what they may not decide any more is read again.

    Raises:
        Fenced: The fence, read after the values, is not ours: nothing was stamped.
        PreconditionFailed: The store was put back from a backup: likewise.
        StateUnavailable: Nothing was stored; the paths stay dirty.
    """
    try:
        check_fence(context, answers.get(plan.fence), plan.held)
        context.trust(plan.ticket)
        valid = {path: answers[path] for path in plan.origins if context.ledger.valid(plan.ticket, path)}
        decide(context, plan.ticket, valid, plan.origins, now)
    except BaseException:
        give_up(context, plan)
        raise
    for path, origin in plan.origins.items():
        if path not in valid:
            context.dirty.add((path,), origin)
    context.ledger.close(plan.ticket)


def check_fence(context: Context, entry: Entry | None, asked: HeldFence | None) -> None:
    """A local change is stamped only if a fence read made after the value's read is still ours, and not an older one.

    Args:
        context: The daemon's context.
        entry: The fence as read.
        asked: The fence as it was known when the values were asked for.

    Raises:
        Fenced: It is not ours.
        PreconditionFailed: It is what we wrote before: the store was put back from a backup.
    """
    if context.observing:
        return
    seen = context.fence.seen(entry) if context.fence is not None else None
    if seen is None:
        raise Fenced("another daemon has raised the fence of this region")
    if asked is not None:
        rollback_detection.check_store(seen, asked)


def decide(
    context: Context,
    ticket: Ticket,
    answers: Mapping[MetaPath, Entry | None],
    origins: Mapping[MetaPath, ReadCause],
    now: Millis,
) -> None:
    """Store what valid answers mean, in one transaction, and queue the writes that follow.

    A path that makes it fail is left alone, and shown; what was read with it is decided without it. After many of those
    the rest is read again.
    """

    def attempt(paths: Sequence[MetaPath]) -> Settle:
        return _decide(context, ticket, {path: answers[path] for path in paths}, origins, now)

    if answers:
        for path in narrowed(context, list(answers), attempt, partial(leave_alone, context)):
            context.dirty.add((path,), origins[path])


def leave_alone(context: Context, path: MetaPath, cause: Exception) -> Settle:
    """Nothing of this path can be taken here: it is shown, and looked at again by the next scan."""

    def settle() -> None:
        log.error("path_untaken", path=shown(path), cause=why(cause), where=place_of(cause))
        context.misfits.block(path, why(cause))
        context.requested.pop(path, None)
        context.dirty.decided((path,))

    return settle


def _decide(
    context: Context,
    ticket: Ticket,
    answers: Mapping[MetaPath, Entry | None],
    origins: Mapping[MetaPath, ReadCause],
    now: Millis,
) -> Settle:
    packer = context.packer()
    with context.state.transaction() as tx:
        unit = UnitOfWork(context, tx, now)
        unit.load(tuple(answers))
        landing = {path for path in answers if unit[path].intent is not None}
        observed = _observe(context, unit, {p: e for p, e in answers.items() if p not in landing}, origins, now)
        unit.reread(landing)
        _hold_mass_delete(context, unit, tx, observed)
        for outcome in observed.values():
            unit.take(outcome)
        apply_due(context, unit, tx, {path: answers[path] for path in observed}, packer)
        _answer_requests(context, unit, tx, answers)
        unit.store()

    def settle() -> None:
        for path, entry in answers.items():
            context.ledger.handled(ticket, path)
            stored = unit[path].stored
            if entry is not None and stored is not None and stored.revision == entry.revision:
                context.remembered.keep(entry)
        context.dirty.decided(answers)
        unit.settle()
        context.writes.commit(packer.packed())

    return settle


def _observe(
    context: Context,
    unit: UnitOfWork,
    answers: Mapping[MetaPath, Entry | None],
    origins: Mapping[MetaPath, ReadCause],
    now: Millis,
) -> dict[MetaPath, Outcome]:
    before_gap = Millis(context.gap_floor + 1) if context.gap_floor else now
    rebuilding = rebuild.phase_of(context) is not Phase.DONE
    fresh = Moment(now=now, seen_at=now, first_scan_done=context.first_scan_done, rebuilding=rebuilding)
    found = replace(fresh, seen_at=min(before_gap, now))
    outcomes = {}
    for path, entry in answers.items():
        moment = found if origins.get(path) is ReadCause.SCAN else fresh
        publishes = context.scope.direction(path).publishes
        outcomes[path] = context.replica.observe(unit[path], entry, moment, publishes=publishes)
    return outcomes


def _hold_mass_delete(context: Context, unit: UnitOfWork, tx: Transaction, outcomes: dict[MetaPath, Outcome]) -> None:
    """Too many local deletes at once are kept from being published until a person decides.

    What has passed before this daemon was active is in the journal of its database.
    """
    deleted = [path for path, outcome in outcomes.items() if _deletes(outcome)]
    if not deleted:
        return
    window, now, alive = context.deletes, unit.now, tx.count_alive()
    if not window.begun:
        window.begin(tx.deletes_passed(window.since(now), window.kept))
    if window.permits(len(deleted), alive, now):
        unit.afterwards(partial(window.passed, len(deleted), now))
        return
    limits = context.replica.settings.limits
    detail = (
        f"too many deletes within {limits.delete_window_ms // 1000} s: more than {limits.max_deletes}, "
        f"or more than {limits.max_delete_fraction:.0%} of {alive} paths"
    )
    for path in deleted:
        outcomes[path] = context.replica.hold_back(outcomes[path], now, detail)


def _deletes(outcome: Outcome) -> bool:
    return any(isinstance(act, Publish) and act.event.type is EventType.DELETED for act in outcome.acts)


def apply_due(
    context: Context, unit: UnitOfWork, tx: Transaction, answers: Mapping[MetaPath, Entry | None], packer: Packer
) -> None:
    """Decide the writes of paths that are due and showed no local change in this very read, or none since the last."""
    due = [path for path in answers if path not in unit.opened and (unit[path].due or unit[path].wish)]
    if not due or context.observing or context.paused is not None or rebuild.holds_still(context):
        return
    facts = facts_of(context, unit, tx, due)
    for path in due:
        if not packer.batches and not packer.room:
            unit.reread((path,))
            continue
        outcome = context.replica.apply_due(unit[path], answers[path], facts[path], packer.number)
        if outcome.write is not None and not packer.fits(outcome.write):
            if not packer.begin():
                unit.reread((path,))
                continue
            outcome = context.replica.apply_due(unit[path], answers[path], facts[path], packer.number)
        if outcome.write is not None:
            packer.add(outcome.write)
        unit.take(outcome)


def facts_of(context: Context, unit: UnitOfWork, tx: Transaction, paths: Sequence[MetaPath]) -> dict[MetaPath, Facts]:
    """What the target is like, for each of these loaded paths.

    A parent is not deleted before all of the store was read: a child that nobody has read yet may live below it, and a
    store without parents would let it stand there alone.
    """
    parents: dict[MetaPath, MetaPath] = {}
    dying: list[MetaPath] = []
    for path in paths:
        known = unit[path].known
        if known is None or known.digest == unit[path].stored_digest:
            continue
        resource = classify(path)
        if known.alive and resource is not None and resource.parent and context.scope.contains(resource.parent):
            parents[path] = resource.parent
        elif not known.alive:
            dying.append(path)
    unit.load(tuple(dict.fromkeys(parents.values())))
    with_children = tx.parents_of_living(dying) | unit.parents_of_living(dying) if dying else set()
    parting = {path for path in dying if child_prefixes(path)}
    open_paths = tx.open_paths(paths) | unit.opened
    return {
        path: Facts(
            now=unit.now,
            parent_alive=path not in parents or unit[parents[path]].stored_alive,
            child_alive=path in with_children,
            outbox_open=path in open_paths,
            clusters=context.clusters,
            topics=context.topics_of(path, unit.now) if context.topics else Topics.NOT_ASKED,
            applies=_applies(context, unit[path]) and (context.scanned or path not in parting),
        )
        for path in paths
    }


def _applies(context: Context, register: Register) -> bool:
    if not context.scope.direction(register.path).applies:
        return False
    resource = classify(register.path)
    return resource is not None and not context.peers.blocked(resource.kind, context.expected)


def _answer_requests(
    context: Context, unit: UnitOfWork, tx: Transaction, answers: Mapping[MetaPath, Entry | None]
) -> None:
    """Send the register of a path that a peer has asked for, if the store was just read to hold it."""
    if not context.requested or context.observing:
        return
    told: list[MetadataChangeEvent] = []
    for path in answers:
        if path not in context.requested:
            continue
        register, entry = unit[path], answers[path]
        known = register.known
        if register.hold is not None and (register.hold.local or register.hold.reason in _IN_DOUBT):
            continue  # what is known here is a change that nobody else may hear of yet; or what it is cannot be told
        if path in unit.opened and not register.due:
            del context.requested[path]  # this read has found a local change: what is known is on its way already
            continue
        if path in unit.opened:
            continue  # it is read again once it is settled, and answered then
        lacked = context.requested.take(path)
        value = known.value if register.due and known is not None else entry.value if entry is not None else None
        event = state_event(register, value)
        if event is not None:
            told.append(event)
        if event is None or (lacked is not None and later(lacked, event.stamp, context.replica.settings.ties)):
            unit.afterwards(partial(missing_values.note, context, {path: lacked if event is not None else None}))
    if told:
        tx.enqueue(told)


def state_event(register: Register, value: bytes | None) -> MetadataChangeEvent | None:
    """What is known of a path, under the stamp of its author; ``None`` without the value of a living one."""
    known, resource = register.known, classify(register.path)
    if known is None or resource is None or (known.alive and not value):
        return None
    return MetadataChangeEvent(
        type=EventType.MODIFIED if known.alive else EventType.DELETED,
        resource=resource.kind,
        resource_name=resource.name,
        path=register.path,
        value=carried(resource.kind, value) if known.alive and value is not None else None,
        stamp=known.stamp,
        by=known.by,
        seen=known.seen,
    )
