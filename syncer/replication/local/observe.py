"""Observation of the store: reads are planned, and their answers become local changes and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from types import MappingProxyType
from typing import Final, TypeAlias

import structlog

from syncer.conflict import losing
from syncer.conflict.acts import Moment, Need, Outcome
from syncer.conflict.causality.order import later
from syncer.conflict.changeover import NEWEST, ProjectionsInUse
from syncer.conflict.completing import completes
from syncer.conflict.guards import Facts, Related
from syncer.conflict.projection import OWN_ALONE
from syncer.conflict.reads import Ticket
from syncer.conflict.register import HoldReason, Register
from syncer.conflict.withholding import carried_entry
from syncer.errors import Fenced
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis
from syncer.paths import child_prefixes, classify, shown
from syncer.replication import publishing, still_excluded
from syncer.replication.bisection import Settle, narrowed, place_of, why
from syncer.replication.fence import Fence, HeldFence
from syncer.replication.local import topic_checks
from syncer.replication.local.deletes.holding import hold_deletes
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.part import OwnStore
from syncer.replication.local.write_queue import Packer
from syncer.replication.recovery import missing_values, rebuild, rescoping, rollback_detection
from syncer.replication.recovery.progress import Phase
from syncer.replication.related_values import Asked, related_read
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Entry

log = structlog.get_logger()

Answers: TypeAlias = "Mapping[MetaPath, Entry | None]"
"""What a store has told of paths."""
ALL_DECIDED: Final[Answers] = MappingProxyType({})
"""Whatever is absent was removed by somebody."""
NOTHING_READ: Final[Mapping[MetaPath, Related]] = MappingProxyType({})
_IN_DOUBT: Final = frozenset({HoldReason.UNREADABLE, HoldReason.UNTOLD})


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Paths to read now, and the fence after them. Every plan must be answered or given up.

    ``held`` is the fence as it was known when the plan was made: what is read after that cannot be older. ``related``
    are paths that a guard needs with others; they are read, and not decided.
    """

    ticket: Ticket
    origins: Mapping[MetaPath, ReadCause]
    fence: MetaPath
    held: HeldFence | None = None
    related: Asked = field(default_factory=dict)

    @property
    def paths(self) -> tuple[MetaPath, ...]:
        """What to ask the store for, in this order."""
        if not self.related:
            return (*self.origins, self.fence)
        return (*dict.fromkeys((*self.origins, *chain.from_iterable(self.related.values()))), self.fence)


def notice(local: OwnStore, paths: Sequence[MetaPath], marks: Sequence[str]) -> bool:
    """What a watch has told is to be read, but for what this daemon itself has written.

    Args:
        local: The region's own store.
        paths: Paths that may have changed.
        marks: For each the transaction that changed it, or nothing at all; empty where the store does not name it.

    Returns:
        ``False`` when too many wait already.
    """
    if local.dirty.full:
        local.entry_cache.forget(paths)
        return False
    own, contains = local.own_writes, local.core.scope.contains
    news = [(path, mark) for path, mark in zip(paths, marks or repeat(""), strict=False) if mark not in own]
    local.entry_cache.forget(path for path, _ in news)
    for path, mark in news:
        if path in local.misfits.blocked:
            continue
        if contains(path):
            local.dirty.notice(path, mark)
        else:
            local.misfits.look_at(path)
    return True


def plan_reads(local: OwnStore, limit: int) -> ReadPlan | None:
    """Take the oldest dirty paths; ``None`` when there are none, or while the watch is not whole.

    After a gap the fence is read in any case: whatever waits to be written waits for that.
    """
    if not local.watch.ledger.armed or rebuild.phase_of(local.recovery) is Phase.HEARING:
        return None
    origins = local.dirty.take(limit, local.writes.in_flight, local.writes.vacancy)
    if not origins and not local.core.fence_unverified:
        return None
    related = local.waiting.related.take(origins)
    return ReadPlan(local.watch.ledger.issue(), origins, local.core.fence_path, local.core.fence, related)


def give_up(local: OwnStore, plan: ReadPlan) -> None:
    """The store did not answer: the paths stay dirty."""
    local.watch.ledger.close(plan.ticket)
    for path, related in plan.related.items():
        local.waiting.related.want(path, related)
    for path, origin in plan.origins.items():
        local.dirty.add((path,), origin)


def take_answers(
    local: OwnStore,
    plan: ReadPlan,
    answers: Answers,
    now: Millis,
    undecided: Answers = ALL_DECIDED,
) -> None:
    """Decide by the answers; what they may not decide any more is read again.

    A path that the store cannot tell of now has no answer: it is left as it is, until the watch tells of it.

    Args:
        local: The region's own store.
        plan: What was asked for.
        answers: What the store told.
        now: The time.
        undecided: Of its absences, those that nobody has decided; see :class:`syncer.stores.contract.PartlyRead`.

    Raises:
        Fenced: The fence, read after the values, is not ours: nothing was stamped.
        PreconditionFailed: The store was put back from a backup: likewise.
        StateUnavailable: Nothing was stored; the paths stay dirty.
    """
    try:
        settle_told(local, check_fence(local, answers.get(plan.fence), plan.held), plan.held, now)
        local.trust(plan.ticket)
        local.dirty.decided(path for path in plan.origins if path not in answers)
        told = [path for path in plan.origins if path in answers]
        for path in told:
            local.look_at(path, answers[path])
        valid = {path: answers[path] for path in told if local.watch.ledger.valid(plan.ticket, path)}
        related = related_read(plan.related, answers, local.watch.ledger, plan.ticket)
        decide(local, plan.ticket, valid, plan.origins, now, undecided, related)
    except BaseException:
        give_up(local, plan)
        raise
    for path in told:
        if path not in valid:
            local.dirty.add((path,), plan.origins[path])
    local.watch.ledger.close(plan.ticket)


def check_fence(local: OwnStore, entry: Entry | None, asked: HeldFence | None) -> Fence | None:
    """A local change is stamped only if a fence read made after the value's read is still ours, and not an older one.

    Args:
        local: The region's own store.
        entry: The fence as read.
        asked: The fence as it was known when the values were asked for.

    Returns:
        The fence; ``None`` for an observer, which has none.

    Raises:
        Fenced: It is not ours.
        PreconditionFailed: It is what we wrote before: the store was put back from a backup.
    """
    if local.core.observing:
        return None
    seen = local.core.fence.seen(entry) if local.core.fence is not None else None
    if seen is None:
        raise Fenced("another daemon has raised the fence of this region")
    if asked is not None:
        rollback_detection.check_store(seen, asked)
    return seen


def settle_told(local: OwnStore, seen: Fence | None, asked: HeldFence | None, now: Millis) -> None:
    """Settle batches that were put aside because nobody could tell what became of them, and that a fence tells of now.

    It names each until that is stored here; so after a crash it is told once more.

    Args:
        local: The region's own store.
        seen: The fence as read; ``None``: an observer has none.
        asked: The fence as it was held when that was asked for: of a batch that it does not name as untold, a reading
            of before may know nothing.
        now: The time.

    Raises:
        StateUnavailable: Nothing was stored; it is told again.
    """
    held = local.core.fence
    if seen is None or asked is None or held is None:
        return
    told = {batch for batch in held.fence.untold if batch in asked.fence.untold and batch not in seen.untold}
    if not told:
        return
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        settled = {each.path: each.intent for each in tx.intents() if each.intent and each.intent.batch in told}
        unit.load(tuple(settled))
        for path, intent in settled.items():
            if intent.batch in seen.found:
                unit.take(local.core.replica.written(unit[path], None, now))
            else:
                unit.take(local.core.replica.refused(unit[path], None, now))
        unit.store()
    left = tuple(batch for batch in held.fence.untold if batch not in told)
    local.core.fence = HeldFence(replace(held.fence, untold=left), held.revision)
    local.entry_cache.forget(tuple(settled))
    unit.settle()


def decide(
    local: OwnStore,
    ticket: Ticket,
    answers: Answers,
    origins: Mapping[MetaPath, ReadCause],
    now: Millis,
    undecided: Answers = ALL_DECIDED,
    related: Mapping[MetaPath, Related] = NOTHING_READ,
) -> None:
    """Store what valid answers mean, in one transaction, and queue the writes that follow.

    A path that makes it fail is left alone, and shown; what was read with it is decided without it. After many of those
    the rest is read again.
    """

    def attempt(paths: Sequence[MetaPath]) -> Settle:
        return _decide(local, ticket, {path: answers[path] for path in paths}, origins, now, undecided, related)

    if answers:
        for path in narrowed(local.group, list(answers), attempt, partial(leave_alone, local)):
            local.dirty.add((path,), origins[path])


def leave_alone(local: OwnStore, path: MetaPath, cause: Exception) -> Settle:
    """Nothing of this path can be taken here: it is shown, and looked at again by the next scan."""

    def settle() -> None:
        log.error("path_untaken", path=shown(path), cause=why(cause), where=place_of(cause))
        local.misfits.block(path, why(cause))
        local.recovery.values.requested.pop(path, None)
        local.dirty.decided((path,))

    return settle


def _decide(
    local: OwnStore,
    ticket: Ticket,
    answers: Answers,
    origins: Mapping[MetaPath, ReadCause],
    now: Millis,
    undecided: Answers,
    related: Mapping[MetaPath, Related],
) -> Settle:
    packer, projections = local.packer(), local.core.replica.settings.projections
    with local.core.state.transaction() as tx:
        unit = local.units.begin(tx, now)
        unit.load(tuple(answers))
        landing = {path for path in answers if unit[path].intent is not None}
        for path in undecided.keys() & answers.keys() - landing:
            if not rescoping.comes_in(local.core, path):
                unit.take(losing.lost(unit[path], undecided[path], projections))
        observed, seen = _observe(local, unit, {p: e for p, e in answers.items() if p not in landing}, origins, now)
        unit.reread(landing)
        hold_deletes(local, unit, tx, observed, origins, seen)
        for outcome in observed.values():
            unit.take(outcome)
        judged = {path: answers[path] for path, outcome in observed.items() if outcome.need is not Need.BROKERS}
        apply_due(local, unit, tx, judged, packer, related)
        doubted = observed.keys() - judged.keys()
        _answer_requests(local, unit, tx, {path: entry for path, entry in answers.items() if path not in doubted})
        unit.store()

    def settle() -> None:
        for path, entry in answers.items():
            local.watch.ledger.handled(ticket, path)
            stored = unit[path].stored
            if entry is not None and stored is not None and stored.revision == entry.revision:
                local.entry_cache.keep(entry)
        local.dirty.decided(answers)
        still_excluded.note(local.core, local.telemetry, (unit[path] for path in answers))
        for path in judged:
            local.versions.judged(path)
        local.versions.deletes.decided(judged)
        unit.settle()
        local.writes.commit(packer.packed())

    return settle


def _observe(
    local: OwnStore,
    unit: UnitOfWork,
    answers: Answers,
    origins: Mapping[MetaPath, ReadCause],
    now: Millis,
) -> tuple[dict[MetaPath, Outcome], dict[MetaPath, Millis]]:
    """Take what was read of each path; when what has changed was seen, as far as is known."""
    before_gap = Millis(local.watch.gap_floor + 1) if local.watch.gap_floor else now
    rebuilding = rebuild.phase_of(local.recovery) is not Phase.DONE
    fresh = Moment(now=now, seen_at=now, first_scan_done=local.core.first_scan_done, rebuilding=rebuilding)
    found = replace(fresh, seen_at=min(before_gap, now))
    outcomes: dict[MetaPath, Outcome] = {}
    seen: dict[MetaPath, Millis] = {}
    versions = local.versions
    for path, entry in answers.items():
        scan = origins.get(path) is ReadCause.SCAN
        moment = found if scan else fresh
        hidden = scan or not (local.watch.scanned or origins.get(path) is ReadCause.NOTICE)  # perhaps by a gap
        if versions.unsettled or (hidden and not (entry and versions.noticed(path, entry.revision))):
            moment = replace(moment, by_scan=True)
        elif versions.vouched and entry is not None and versions.vouches(path, entry.revision):
            moment = replace(moment, vouched=True)
        if entry is None and (first := local.versions.deletes.seen_at(path)) is not None:
            moment = replace(moment, seen_at=min(first, moment.seen_at))
        seen[path] = moment.seen_at
        publishes = local.core.scope.direction(path).publishes
        register = unit[path]
        if rescoping.is_met_anew(local.core, register) and path not in unit.opened:
            register = rescoping.met(local.core, register, entry, moment)
            moment = replace(moment, first_scan_done=False)
        outcome = local.core.replica.observe(register, entry, moment, publishes=publishes)
        if outcome.need is Need.BROKERS and entry is not None:
            versions.doubt(path, entry.revision)
        outcomes[path] = outcome
    return outcomes, seen


def apply_due(
    local: OwnStore,
    unit: UnitOfWork,
    tx: Transaction,
    answers: Answers,
    packer: Packer,
    related: Mapping[MetaPath, Related] = NOTHING_READ,
) -> None:
    """Decide the writes of paths that are due and showed no local change in this very read, or none since the last."""
    owes = local.core.replica.owes
    due = [
        path
        for path in answers
        if path not in unit.opened and (unit[path].due or unit[path].wish or (unit[path].kept and owes(unit[path])))
    ]
    if local.core.observing:
        # nothing to write: the read settles it
        due = [path for path in due if unit[path].settles and (unit[path].due or unit[path].wish)]
    if not due or local.group.paused is not None or local.migration.holds or rebuild.holds_still(local.recovery):
        return
    facts = facts_of(local, unit, tx, due)
    facts.update({path: replace(facts[path], related=related[path]) for path in due if path in related})
    for path in due:
        if not packer.batches and not packer.room:
            unit.reread((path,))
            continue
        outcome = topic_checks.write_of(local, unit, tx, path, answers[path], facts[path], packer.number)
        if outcome.write is not None and not packer.fits(outcome.write):
            if not packer.begin():
                unit.reread((path,))
                continue
            outcome = topic_checks.write_of(local, unit, tx, path, answers[path], facts[path], packer.number)
        if outcome.write is not None:
            packer.add(outcome.write)
        unit.take(outcome)


def facts_of(local: OwnStore, unit: UnitOfWork, tx: Transaction, paths: Sequence[MetaPath]) -> dict[MetaPath, Facts]:
    """What the target is like, for each of these loaded paths.

    A parent is not deleted before all of the store was read: a child that nobody has read yet may live, and the store
    refuses the delete only where that stands below the parent's own path, which a partitioned topic does not.
    """
    parents: dict[MetaPath, MetaPath] = {}
    dying: list[MetaPath] = []
    for path in paths:
        known = unit[path].known
        if known is None or known.digest == unit[path].stored_digest:
            continue
        resource = classify(path)
        if known.alive and resource is not None and resource.parent and local.core.scope.contains(resource.parent):
            parents[path] = resource.parent
        elif not known.alive:
            dying.append(path)
    unit.load(tuple(dict.fromkeys(parents.values())))
    with_children = unit.parents_of_living(dying) if dying else set()
    parting = {path for path in dying if child_prefixes(path)}
    open_paths = tx.open_paths(paths) | unit.opened
    local.clusters.doubt(local.group.names.doubted)  # a dispute may end before the next tick, and holds end with it
    return {
        path: Facts(
            now=unit.now,
            parent_alive=path not in parents or unit[parents[path]].stored_alive,
            child_alive=path in with_children,
            outbox_open=path in open_paths,
            clusters=local.clusters.names,
            doubted=local.clusters.doubted,
            topics=local.topics.fresh(path, unit.now),
            scalable=local.topics.scalable_at(path),
            applies=_applies(local, unit[path]) and (local.watch.scanned or path not in parting),
            publishes=local.core.scope.direction(path).publishes,
        )
        for path in paths
    }


def _applies(local: OwnStore, register: Register) -> bool:
    if not local.core.scope.direction(register.path).applies:
        return False
    resource = classify(register.path)
    return resource is not None and not local.group.peers.blocked(resource.kind, local.group.expected)


def _answer_requests(local: OwnStore, unit: UnitOfWork, tx: Transaction, answers: Answers) -> None:
    """Send the register of a path that a peer has asked for, if the store was just read to hold it."""
    if not local.recovery.values.requested or local.core.observing:
        return
    told: list[MetadataChangeEvent] = []
    projections = local.core.replica.settings.projections
    for path in answers:
        if path not in local.recovery.values.requested:
            continue
        register, entry = unit[path], carried_entry(path, answers[path], projections)
        known = register.known
        if register.hold is not None and (register.hold.local or register.hold.reason in _IN_DOUBT):
            continue  # what is known here is a change that nobody else may hear of yet; or what it is cannot be told
        if path in unit.opened and not register.due:
            del local.recovery.values.requested[
                path
            ]  # this read has found a local change: what is known is on its way already
            continue
        if path in unit.opened:
            continue  # it is read again once it is settled, and answered then
        lacked = local.recovery.values.requested.take(path)
        held = completes(register, entry.value) if entry is not None and entry.value != OWN_ALONE else None
        value = known.value if register.due and known is not None else held
        event = state_event(register, value, projections)
        if event is not None:
            told.append(event)
        if event is None or (lacked is not None and later(lacked, event.stamp, local.core.replica.settings.ties)):
            unit.afterwards(partial(missing_values.note, local.recovery, {path: lacked if event is not None else None}))
    if told:
        publishing.retell(local.core.scope, tx, told)


def state_event(
    register: Register, value: bytes | None, projections: ProjectionsInUse = NEWEST
) -> MetadataChangeEvent | None:
    """What is known of a path, under the stamp of its author; ``None`` without the value of a living one."""
    known, resource = register.known, classify(register.path)
    if known is None or resource is None or (known.alive and not value):
        return None
    return MetadataChangeEvent(
        type=EventType.MODIFIED if known.alive else EventType.DELETED,
        resource=resource.kind,
        resource_name=resource.name,
        path=register.path,
        value=projections.carried(resource.kind, value) if known.alive and value is not None else None,
        stamp=known.stamp,
        by=known.by,
        seen=known.seen,
    )
