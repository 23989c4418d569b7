"""The inbound path of the bus: changes are folded, heartbeats and requests of peers are taken."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from syncer.bus.wire.messages import (
    LEFT,
    Control,
    ControlAction,
    Heartbeat,
    Ignored,
    StatePage,
    StateRequest,
    TreeMessage,
)
from syncer.conflict.acts import HoldEvent
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.causality.order import later
from syncer.conflict.register import Register
from syncer.errors import PayloadInvalid, SyncerError, ValueInvalid
from syncer.model import MetadataChangeEvent, MetaPath, Millis, Region
from syncer.replacing import replace
from syncer.replication import quotas
from syncer.replication.antientropy import protocol
from syncer.replication.bisection import Settle
from syncer.replication.context import Context
from syncer.replication.gc import gap_fill
from syncer.replication.group.peers import HEARTBEATS_FULL
from syncer.replication.inbound import admission, attribution
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.prefetch import Prefetched
from syncer.replication.inbound.quarantine import TOO_EARLY, Quota, may_wait, refuse, set_aside
from syncer.replication.inbound.write_through import writable_at_once
from syncer.replication.local.observe import apply_due
from syncer.replication.membership import forget
from syncer.replication.recovery import missing_values, rebuild, state_transfer
from syncer.replication.recovery.progress import Phase
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction

STRANGE_SENDERS: Final = 1_000
"""Databases that never told their region of which is kept what was consumed."""
STRANGE_RANGES: Final = 16
"""Ranges of numbers that are kept of each of them."""
TOO_MANY_SENDERS: Final = "too-many-senders"
_REASON_CHARACTERS: Final = 1000
ROOM_AGAIN_MS: Final = 60_000
"""When an event whose time has come, and for which there is no room, is looked at again."""
LOOKED_AT: Final = 200
"""Events that are looked at again at a time when what is known of their paths has grown."""


def consume(context: Context, arrived: Sequence[Arrived], now: Millis, seen: Prefetched | None = None) -> Settle:
    """Fold messages in one transaction.

    Args:
        context: The daemon's context.
        arrived: The messages, in the order of the topic.
        now: The daemon's clock.
        seen: What was read ahead of them; its read is over with this call, whatever becomes of it.

    Returns:
        What memory takes over, now that it is stored.

    Raises:
        StateUnavailable: Nothing was stored: do not acknowledge.
    """
    try:
        return _consume(context, arrived, now, seen)
    finally:
        if seen is not None:
            context.ledger.close(seen.ahead.ticket)


def _consume(context: Context, arrived: Sequence[Arrived], now: Millis, seen: Prefetched | None) -> Settle:
    packer = context.packer()
    with context.state.transaction() as tx:
        unit = UnitOfWork(context, tx, now)
        take(context, unit, tx, arrived)
        answers = writable_at_once(context, unit, unit.changed, seen)
        if answers:
            unit.decided(answers)
            apply_due(context, unit, tx, answers, packer)
        unit.store()

    def settle() -> None:
        unit.settle()
        context.writes.commit(packer.packed())

    return settle


def take(context: Context, unit: UnitOfWork, tx: Transaction, arrived: Sequence[Arrived]) -> None:
    """Take messages within a unit of work."""
    arrived = attribution.believed(context, tx, arrived)
    changes = [item for item in arrived if isinstance(item.message, MetadataChangeEvent)]
    unit.load(tuple({item.message.path for item in changes if isinstance(item.message, MetadataChangeEvent)}))
    shelves, asked = Quota(tx), dict[Region, Control]()
    _fold_new(context, unit, tx, changes, shelves)
    look_again(context, unit, tx, unit.changed)
    for item in arrived:
        match item.message:
            case PayloadInvalid() as error:
                refuse(context, unit, shelves, item, error)
            case Heartbeat() as beat:
                _hear(context, tx, beat, unit.now)
            case Control() as control:
                if (problem := _take_control(context, unit, tx, control, asked)) is not None:
                    set_aside(context, unit, shelves, item, *problem)
            case TreeMessage() | StateRequest() | StatePage() as said:
                if admission.not_taken(context, said.region, said.sender) is None:
                    _take_said(context, unit, said)
            case Ignored() as ignored:
                context.tally["ignored", ignored.reason] += 1
            case MetadataChangeEvent():
                pass
    for control in asked.values():  # after all that was heard: a heartbeat replaces the row
        _note_asked(context, unit, tx, control)


def _take_said(context: Context, unit: UnitOfWork, said: TreeMessage | StateRequest | StatePage) -> None:
    match said:
        case TreeMessage():
            protocol.take(context, unit, said)
        case StateRequest():
            state_transfer.take_asked(context, said)
        case StatePage() if rebuild.phase_of(context) is Phase.HEARING:
            state_transfer.take_told(context, unit, said)


def _fold_new(context: Context, unit: UnitOfWork, tx: Transaction, changes: Sequence[Arrived], shelves: Quota) -> None:
    own = context.identity.database_id
    senders = {item.message.sender for item in changes if isinstance(item.message, MetadataChangeEvent)}
    consumed = tx.consumed(senders - {"", own})
    fresh: dict[str, list[int]] = {}
    for item in changes:
        event = item.message
        if not isinstance(event, MetadataChangeEvent):
            continue
        if event.sender == own:
            rebuild.note_own(context, tx, event.sequence, "the bus")
            continue  # what this database has published was folded when it was stamped
        done = consumed.get(event.sender)
        numbered = event.sender and event.sequence > 0
        again = numbered and ((done and event.sequence in done) or event.sequence in fresh.get(event.sender, ()))
        if again and not _is_news(context, unit[event.path], event):
            context.tally["ignored", "duplicate"] += 1
            continue
        if _fold(context, unit, tx, shelves, item, event) and numbered:
            fresh.setdefault(event.sender, []).append(event.sequence)
    for sender, numbers in fresh.items():
        consumed[sender] = consumed.get(sender, Consumed()).adding(numbers)
    if fresh:
        tx.save_consumed(_within_room(context, tx, {sender: consumed[sender] for sender in fresh}))


def _within_room(context: Context, tx: Transaction, consumed: dict[str, Consumed]) -> dict[str, Consumed]:
    """What is kept of the numbers of senders; less of those that never told their region, and of so many of them only.

    What is not kept counts as not consumed: it is folded again if it comes again, and a gap shows it if its sender
    turns out to be a region.
    """
    strange = {sender for sender in consumed if not context.peers.knows(sender)}
    if not strange:
        return consumed
    kept = {sender for sender in tx.senders() if not context.peers.knows(sender)}
    refused = sorted(strange - kept)[max(0, STRANGE_SENDERS - len(kept)) :]
    if refused:
        context.tally["refused", TOO_MANY_SENDERS] += len(refused)
        context.conditions[TOO_MANY_SENDERS] = (
            f"{STRANGE_SENDERS} databases have sent changes and never told their region; of {refused[0]} and others "
            "nothing is counted"
        )
    return {
        sender: replace(numbers, ahead=numbers.ahead[-STRANGE_RANGES:]) if sender in strange else numbers
        for sender, numbers in consumed.items()
        if sender not in refused
    }


def count(context: Context, tx: Transaction, event: MetadataChangeEvent) -> None:
    """Count the number of a change as consumed."""
    if event.sequence > 0 and event.sender not in {"", context.identity.database_id}:
        before = tx.consumed([event.sender]).get(event.sender, Consumed())
        tx.save_consumed({event.sender: before.adding([event.sequence])})


def release_future(context: Context, now: Millis, events: Sequence[MetadataChangeEvent]) -> Settle:
    """Fold events that were ahead of this clock, and are not any more; what memory takes over then."""
    with context.state.transaction() as tx:
        unit = UnitOfWork(context, tx, now)
        unit.load(tuple({event.path for event in events}))
        for event in events:
            outcome = context.replica.fold(unit[event.path], event, now, released=True)
            tx.drop_future(event.path, event.stamp)
            if quotas.lacking(context, tx, unit[event.path], outcome) is None:
                unit.take(outcome)
            else:  # its number counts as consumed already: it is not let go
                tx.hold_event(event, Millis(now + ROOM_AGAIN_MS), now)
        look_again(context, unit, tx, unit.changed)
        unit.store()
    return unit.settle


def look_again(context: Context, unit: UnitOfWork, tx: Transaction, paths: Collection[MetaPath]) -> None:
    """What is known of these paths has grown: of the events that are held for them, some may be folded by now.

    It is a matter of haste, and only some are looked at: each has a moment of its own, and waits for no other.
    """
    for event in tx.future_events_at(paths, LOOKED_AT) if paths else ():
        try:
            until = context.replica.admitted_at(unit[event.path], event, unit.now)
            outcome = (
                context.replica.fold(unit[event.path], event, unit.now, released=True) if until <= unit.now else None
            )
        except SyncerError:
            continue  # its own time shows what is wrong with it; nobody else is to blame
        if outcome is None:
            tx.hold_event(event, until, unit.now)
        elif quotas.lacking(context, tx, unit[event.path], outcome) is None:
            unit.take(outcome)
            tx.drop_future(event.path, event.stamp)


def _is_news(context: Context, register: Register, event: MetadataChangeEvent) -> bool:
    """Whether an event cannot be the one that was consumed under its number, so that the number was used twice.

    Known only grows, until a delete is forgotten. A database that was put back uses numbers again before anybody can
    tell it so; what it publishes until then must not be taken for what it had published under these numbers before.
    """
    if register.known is not None:
        return later(event.stamp, register.known.stamp, context.replica.settings.ties)
    return event.stamp.updated_at_ms > context.tombstones.floor


def _fold(
    context: Context, unit: UnitOfWork, tx: Transaction, shelves: Quota, item: Arrived, event: MetadataChangeEvent
) -> bool:
    """Fold an event, or set it aside; whether its number counts as consumed.

    That of an event which is refused for its region does not: the region may be welcome later, and what it said by then
    would be missing without a gap that shows it. Nor does that of an event for which there is no room. That of a
    database which is refused for ever does.
    """
    told_by = attribution.teller(context, item, event)
    late = forget.still_under_way(context, event, unit[event.path])
    if not late and (problem := forget.refused(context, event.sender)) is not None:
        set_aside(context, unit, shelves, item, *problem)
        return True
    if not late and (problem := admission.unwelcome(context, unit[event.path], event, told_by)) is not None:
        set_aside(context, unit, shelves, item, *problem)
        return False
    if not context.scope.contains(event.path):
        context.tally["ignored", "out-of-scope"] += 1
        return True
    try:
        outcome = context.replica.fold(unit[event.path], event, unit.now)
    except ValueInvalid as exc:
        return set_aside(context, unit, shelves, item, exc.code, exc.message)
    if any(isinstance(act, HoldEvent) for act in outcome.acts) and not may_wait(shelves, event):
        set_aside(context, unit, shelves, item, TOO_EARLY, f"{event.stamp} is in the future, and too many are already")
        return False
    if quotas.lacking(context, tx, unit[event.path], outcome) is not None:
        return False
    unit.take(attribution.attributed(outcome, event, told_by, item.speaker))
    if event.path in context.recovery.lacks and not any(isinstance(act, HoldEvent) for act in outcome.acts):
        missing_values.meet(context, unit, event)
    return True


def _hear(context: Context, tx: Transaction, beat: Heartbeat, now: Millis) -> None:
    """Keep what a peer told of itself."""
    own = context.identity
    if (problem := admission.misused(context, beat.region, beat.sender)) is not None:
        context.conditions[problem[0]] = problem[1]
        return
    if beat.sender == own.database_id:
        rebuild.hear_own(context, beat)
        context.comparisons.echo.heard(beat.sent_at_ms)
        context.evidence.came_back(beat.sent_at_ms, now)
        return
    if beat.region == own.region:
        if not context.observing and not rebuild.is_former(context, beat.sender):
            admission.note_double(context, beat.sender)
        return
    if admission.unexpected(context, beat.region) is not None:
        context.conditions["unknown-region"] = (
            f"{beat.region} sends on this topic and is not among the expected peers: its events go to the quarantine"
        )
        return
    if (problem := forget.refused(context, beat.sender)) is not None:
        if beat.mode != LEFT and not context.peers.has_left(beat.region):
            context.conditions[problem[0]] = problem[1]
        return
    if (problem := forget.gone(context, beat.region)) is not None:
        context.conditions[problem[0]] = problem[1]
        return
    if forget.doubted(context, beat.sender) is not None:
        return  # it is shown as held
    if not context.peers.remembers(beat.region) and not _taken_in(context, tx, beat, now):
        return
    tx.save_peer(attribution.remembered(context, context.peers.hear(beat, now)))
    if context.peers.crowded == beat.region:
        context.tally["refused", HEARTBEATS_FULL] += 1
    forget.review(context, tx, now)
    protocol.hear(context, tx, beat, now)
    gap_fill.hear(context, tx, beat, now)
    rebuild.hear(context, tx, beat)


def _taken_in(context: Context, tx: Transaction, beat: Heartbeat, now: Millis) -> bool:
    """Whether a region that is heard for the first time counts from now on."""
    if not context.expected and context.newcomers.judge(beat, context.peers.ours):
        return False
    if not context.peers.full:
        return True
    let_go = context.peers.make_room(now)
    context.conditions["too-many-regions"] = (
        f"{beat.region} sends on this topic, and so many regions do already that "
        f"{'it is not heard' if let_go is None else f'{let_go} is remembered no longer'}; name the regions that count "
        "in peers.expected"
    )
    if let_go is None:
        return False
    tx.drop_peer(let_go)
    context.comparisons.part(let_go)
    context.retelling.gaps.pop(let_go, None)
    return True


def _take_control(
    context: Context, unit: UnitOfWork, tx: Transaction, control: Control, asked: dict[Region, Control]
) -> tuple[str, str] | None:
    """Do what another region asks of all, or of this one; why a stranger is not obeyed: code and detail.

    What begins or ends something is obeyed once: else whoever says it again, at any time, would have it done again.
    """
    region = context.identity.region
    if control.region == region or (control.target and control.target != region):
        return None
    problem = admission.not_taken(context, control.region, control.sender)
    if problem is not None:
        return problem
    if control.action in {ControlAction.PAUSE, ControlAction.RESUME}:
        before = asked.get(control.region)
        again = before is not None and before.sender == control.sender and 0 < control.number <= before.number
        if again or not context.peers.asked_anew(control.region, control.sender, control.number):
            context.tally["ignored", "asked-before"] += 1
            return None
        asked[control.region] = control
    match control.action:
        case ControlAction.FORGET:
            forget.forget_as_told(context, tx, control, unit.now)
        case ControlAction.PAUSE | ControlAction.RESUME if context.left_at is not None or context.joining:
            pass  # it stands still already, and nobody else makes it move
        case ControlAction.PAUSE:
            context.paused = f"asked by {control.region}: {control.reason[:_REASON_CHARACTERS]}"
            tx.set_identity(paused=context.paused)
        case ControlAction.RESUME:
            context.paused = None
            tx.set_identity(paused=None)
        case ControlAction.RETELL:
            context.retelling.wanted = max(context.retelling.wanted, control.number, 1)
        case ControlAction.REQUEST:
            paths = [MetaPath(path) for path in control.paths]
            inside = [path for path in paths if context.scope.contains(path)]
            protocol.tell(context, inside, missing_values.stamps_of(control))
            missing_values.note(context, dict.fromkeys(path for path in paths if not context.scope.contains(path)))
        case ControlAction.LACKING:
            missing_values.take(context, control)
    return None


def _note_asked(context: Context, unit: UnitOfWork, tx: Transaction, control: Control) -> None:
    """Remember the last request of a database that was obeyed: in the same transaction, and in memory after it."""
    row = next(iter(tx.peers((control.region,))), None)
    if row is None or row.sender != control.sender:
        return
    tx.save_peer(replace(row, document={**row.document, "asked": control.number}))
    unit.afterwards(lambda: context.peers.note_asked(control.region, control.sender, control.number))
