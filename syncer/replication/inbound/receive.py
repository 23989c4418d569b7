"""The inbound path of the bus: changes are folded, heartbeats and requests of peers are taken."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.trust.region_keys import Speaker
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
from syncer.replication.gc import gap_fill
from syncer.replication.group.peers import HEARTBEATS_FULL
from syncer.replication.inbound import admission, attribution
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.part import Inbound
from syncer.replication.inbound.prefetch import Prefetched
from syncer.replication.inbound.quarantine import TOO_EARLY, Quota, may_wait, refuse, set_aside
from syncer.replication.inbound.write_through import writable_at_once
from syncer.replication.local.observe import apply_due
from syncer.replication.membership import forget
from syncer.replication.recovery import missing_values, originals, rebuild, state_transfer
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


def consume(inbound: Inbound, arrived: Sequence[Arrived], now: Millis, seen: Prefetched | None = None) -> Settle:
    """Fold messages in one transaction.

    Args:
        inbound: What receiving messages is made of.
        arrived: The messages, in the order of the topic.
        now: The daemon's clock.
        seen: What was read ahead of them; its read is over with this call, whatever becomes of it.

    Returns:
        What memory takes over, now that it is stored.

    Raises:
        StateUnavailable: Nothing was stored: do not acknowledge.
    """
    try:
        return _consume(inbound, arrived, now, seen)
    finally:
        if seen is not None:
            inbound.local.watch.ledger.close(seen.ahead.ticket)


def _consume(inbound: Inbound, arrived: Sequence[Arrived], now: Millis, seen: Prefetched | None) -> Settle:
    packer = inbound.local.packer()
    with inbound.core.state.transaction() as tx:
        unit = inbound.units.begin(tx, now)
        take(inbound, unit, tx, arrived)
        answers = writable_at_once(inbound, unit, unit.changed, seen)
        if answers:
            unit.decided(answers)
            apply_due(inbound.local, unit, tx, answers, packer)
        unit.store()

    def settle() -> None:
        unit.settle()
        inbound.local.writes.commit(packer.packed())

    return settle


def take(inbound: Inbound, unit: UnitOfWork, tx: Transaction, arrived: Sequence[Arrived]) -> None:
    """Take messages within a unit of work."""
    arrived = attribution.believed(inbound, tx, arrived)
    changes = [item for item in arrived if isinstance(item.message, MetadataChangeEvent)]
    unit.load(tuple({item.message.path for item in changes if isinstance(item.message, MetadataChangeEvent)}))
    shelves, asked = Quota(tx), dict[Region, Control]()
    _fold_new(inbound, unit, tx, changes, shelves)
    look_again(inbound, unit, tx, unit.changed)
    for item in arrived:
        match item.message:
            case PayloadInvalid() as error:
                refuse(inbound, unit, shelves, item, error)
            case Heartbeat() as beat:
                _on_heartbeat(inbound, tx, beat, unit.now, item.speaker)
            case Control() as control:
                if (problem := _take_control(inbound, unit, tx, control, asked)) is not None:
                    set_aside(inbound, unit, shelves, item, *problem)
            case TreeMessage() | StateRequest() | StatePage() as said:
                if admission.not_taken(inbound, said.region, said.sender) is None:
                    _take_said(inbound, unit, said)
            case Ignored() as ignored:
                inbound.telemetry.tally["ignored", ignored.reason] += 1
            case MetadataChangeEvent():
                pass
    for control in asked.values():  # after all that was heard: a heartbeat replaces the row
        _note_asked(inbound, unit, tx, control)


def _take_said(inbound: Inbound, unit: UnitOfWork, said: TreeMessage | StateRequest | StatePage) -> None:
    match said:
        case TreeMessage():
            protocol.take(inbound.antientropy, unit, said)
        case StateRequest():
            state_transfer.take_asked(inbound.recovery, said)
        case StatePage() if rebuild.phase_of(inbound.recovery) is Phase.HEARING:
            state_transfer.take_told(inbound.recovery, unit, said)


def _fold_new(inbound: Inbound, unit: UnitOfWork, tx: Transaction, changes: Sequence[Arrived], shelves: Quota) -> None:
    own = inbound.core.identity.database_id
    senders = {item.message.sender for item in changes if isinstance(item.message, MetadataChangeEvent)}
    consumed = tx.consumed(senders - {"", own})
    fresh: dict[str, list[int]] = {}
    for item in changes:
        event = item.message
        if not isinstance(event, MetadataChangeEvent):
            continue
        if event.sender == own:
            rebuild.note_own(inbound.recovery, tx, event.sequence, item.speaker)
            continue  # what this database has published was folded when it was stamped
        if rebuild.note_other(inbound.recovery, event, item.speaker):
            continue  # a change of another database of this region, by which this one begins anew
        done = consumed.get(event.sender)
        numbered = event.sender and event.sequence > 0
        again = numbered and ((done and event.sequence in done) or event.sequence in fresh.get(event.sender, ()))
        if again and not _is_news(inbound, unit[event.path], event):
            inbound.telemetry.tally["ignored", "duplicate"] += 1
            continue
        if _fold(inbound, unit, tx, shelves, item, event) and numbered:
            fresh.setdefault(event.sender, []).append(event.sequence)
            sent = Outgoing(item.payload, item.properties)
            originals.note(inbound.recovery, tx, event, sent, item.speaker, unit.now)
    for sender, numbers in fresh.items():
        consumed[sender] = consumed.get(sender, Consumed()).adding(numbers)
    if fresh:
        tx.save_consumed(_within_room(inbound, tx, {sender: consumed[sender] for sender in fresh}))


def _within_room(inbound: Inbound, tx: Transaction, consumed: dict[str, Consumed]) -> dict[str, Consumed]:
    """What is kept of the numbers of senders; less of those that never told their region, and of so many of them only.

    What is not kept counts as not consumed: it is folded again if it comes again, and a gap shows it if its sender
    turns out to be a region.
    """
    strange = {sender for sender in consumed if not inbound.group.peers.knows(sender)}
    if not strange:
        return consumed
    kept = {sender for sender in tx.senders() if not inbound.group.peers.knows(sender)}
    refused = sorted(strange - kept)[max(0, STRANGE_SENDERS - len(kept)) :]
    if refused:
        inbound.telemetry.tally["refused", TOO_MANY_SENDERS] += len(refused)
        inbound.telemetry.conditions[TOO_MANY_SENDERS] = (
            f"{STRANGE_SENDERS} databases have sent changes and never told their region; of {refused[0]} and others "
            "nothing is counted"
        )
    return {
        sender: replace(numbers, ahead=numbers.ahead[-STRANGE_RANGES:]) if sender in strange else numbers
        for sender, numbers in consumed.items()
        if sender not in refused
    }


def count(inbound: Inbound, tx: Transaction, event: MetadataChangeEvent) -> None:
    """Count the number of a change as consumed."""
    if event.sequence > 0 and event.sender not in {"", inbound.core.identity.database_id}:
        before = tx.consumed([event.sender]).get(event.sender, Consumed())
        tx.save_consumed({event.sender: before.adding([event.sequence])})


def release_future(inbound: Inbound, now: Millis, events: Sequence[MetadataChangeEvent]) -> Settle:
    """Fold events that were ahead of this clock, and are not any more; what memory takes over then."""
    with inbound.core.state.transaction() as tx:
        unit = inbound.units.begin(tx, now)
        unit.load(tuple({event.path for event in events}))
        for event in events:
            tx.drop_future(event.path, event.stamp)
            if not inbound.core.scope.contains(event.path):
                continue  # it has left the scope while it waited
            outcome = inbound.core.replica.fold(unit[event.path], event, now, released=True)
            if quotas.exceeded(inbound.rooms, tx, unit[event.path], outcome) is None:
                unit.take(outcome)
            else:  # its number counts as consumed already: it is not let go
                tx.hold_event(event, Millis(now + ROOM_AGAIN_MS), now)
        look_again(inbound, unit, tx, unit.changed)
        unit.store()
    return unit.settle


def look_again(inbound: Inbound, unit: UnitOfWork, tx: Transaction, paths: Collection[MetaPath]) -> None:
    """What is known of these paths has grown: of the events that are held for them, some may be folded by now.

    It is a matter of haste, and only some are looked at: each has a moment of its own, and waits for no other.
    """
    for event in tx.future_events_at(paths, LOOKED_AT) if paths else ():
        if not inbound.core.scope.contains(event.path):
            continue  # its time shows it
        try:
            until = inbound.core.replica.admitted_at(unit[event.path], event, unit.now)
            outcome = (
                inbound.core.replica.fold(unit[event.path], event, unit.now, released=True)
                if until <= unit.now
                else None
            )
        except SyncerError:
            continue  # its own time shows what is wrong with it; nobody else is to blame
        if outcome is None:
            tx.hold_event(event, until, unit.now)
        elif quotas.exceeded(inbound.rooms, tx, unit[event.path], outcome) is None:
            unit.take(outcome)
            tx.drop_future(event.path, event.stamp)


def _is_news(inbound: Inbound, register: Register, event: MetadataChangeEvent) -> bool:
    """Whether an event cannot be the one that was consumed under its number, so that the number was used twice.

    Known only grows, until a delete is forgotten. A database that was put back uses numbers again before anybody can
    tell it so; what it publishes until then must not be taken for what it had published under these numbers before.
    """
    if register.known is not None:
        return later(event.stamp, register.known.stamp, inbound.core.replica.settings.ties)
    return event.stamp.updated_at_ms > inbound.core.floor


def _fold(
    inbound: Inbound, unit: UnitOfWork, tx: Transaction, shelves: Quota, item: Arrived, event: MetadataChangeEvent
) -> bool:
    """Fold an event, or set it aside; whether its number counts as consumed.

    That of an event which is refused for its region does not: the region may be welcome later, and what it said by then
    would be missing without a gap that shows it. Nor does that of an event for which there is no room. That of a
    database which is refused for ever does.
    """
    told_by = attribution.teller(inbound, item, event)
    late = forget.still_under_way(inbound.membership, event, unit[event.path])
    if not late and (problem := forget.refused(inbound.membership, event.sender)) is not None:
        set_aside(inbound, unit, shelves, item, *problem)
        return True
    if not late and (problem := admission.unwelcome(inbound, unit[event.path], event, told_by)) is not None:
        set_aside(inbound, unit, shelves, item, *problem)
        return False
    if not inbound.core.scope.contains(event.path):
        inbound.telemetry.tally["ignored", "out-of-scope"] += 1
        return True
    try:
        outcome = inbound.core.replica.fold(unit[event.path], event, unit.now)
    except ValueInvalid as exc:
        return set_aside(inbound, unit, shelves, item, exc.code, exc.message)
    if any(isinstance(act, HoldEvent) for act in outcome.acts) and not may_wait(shelves, event):
        set_aside(inbound, unit, shelves, item, TOO_EARLY, f"{event.stamp} is in the future, and too many are already")
        return False
    if quotas.exceeded(inbound.rooms, tx, unit[event.path], outcome) is not None:
        return False
    unit.take(attribution.attributed(outcome, event, told_by, item.speaker))
    if event.path in inbound.recovery.values.lacks and not any(isinstance(act, HoldEvent) for act in outcome.acts):
        missing_values.meet(inbound.recovery, unit, event)
    return True


def _on_heartbeat(inbound: Inbound, tx: Transaction, beat: Heartbeat, now: Millis, speaker: Speaker | None) -> None:
    """Keep what a peer told of itself."""
    own = inbound.core.identity
    inbound.protocols.understood(beat.region)
    if (problem := admission.misused(inbound, beat.region, beat.sender)) is not None:
        inbound.telemetry.conditions[problem[0]] = problem[1]
        return
    if beat.sender == own.database_id:
        rebuild.hear_own(inbound.recovery, beat)
        inbound.antientropy.exchanges.echo.heard(beat.sent_at_ms)
        inbound.group.evidence.came_back(beat.sent_at_ms, now)
        return
    if beat.region == own.region:
        if not inbound.core.observing and not rebuild.is_former(inbound.recovery, beat.sender):
            admission.note_double(inbound, beat.sender)
        return
    if admission.unexpected(inbound, beat.region) is not None:
        inbound.telemetry.conditions["unknown-region"] = (
            f"{beat.region} sends on this topic and is not among the expected peers: its events go to the quarantine"
        )
        return
    if (problem := forget.refused(inbound.membership, beat.sender)) is not None:
        if beat.mode != LEFT and not inbound.group.peers.has_left(beat.region):
            inbound.telemetry.conditions[problem[0]] = problem[1]
        return
    if (problem := forget.gone(inbound.membership, beat.region)) is not None:
        inbound.telemetry.conditions[problem[0]] = problem[1]
        return
    if forget.disputed(inbound.membership, beat.sender) is not None:
        return  # it is shown as held
    if not inbound.group.peers.remembers(beat.region) and not _taken_in(inbound, tx, beat, now):
        return
    row = attribution.remembered(inbound, inbound.group.peers.on_heartbeat(beat, now))
    tx.save_peer(originals.remembered(inbound.recovery, tx, row))
    if inbound.group.peers.crowded == beat.region:
        inbound.telemetry.tally["refused", HEARTBEATS_FULL] += 1
    forget.review(inbound.membership, tx, now)
    protocol.on_heartbeat(inbound.antientropy, tx, beat, now)
    gap_fill.on_heartbeat(inbound.gc, tx, beat, now)
    rebuild.on_heartbeat(inbound.recovery, tx, beat, now, speaker)


def _taken_in(inbound: Inbound, tx: Transaction, beat: Heartbeat, now: Millis) -> bool:
    """Whether a region that is heard for the first time counts from now on."""
    if not inbound.group.expected and inbound.group.newcomers.judge(
        beat, inbound.group.peers.ours, alone=not inbound.group.peers.members(())
    ):
        return False
    if not inbound.group.peers.full:
        return True
    let_go = inbound.group.peers.make_room(now)
    inbound.telemetry.conditions["too-many-regions"] = (
        f"{beat.region} sends on this topic, and so many regions do already that "
        f"{'it is not heard' if let_go is None else f'{let_go} is remembered no longer'}; name the regions that count "
        "in peers.expected"
    )
    if let_go is None:
        return False
    tx.drop_peer(let_go)
    inbound.antientropy.exchanges.part(let_go)
    inbound.gc.gaps.gaps.pop(let_go, None)
    return True


def _take_control(
    inbound: Inbound, unit: UnitOfWork, tx: Transaction, control: Control, asked: dict[Region, Control]
) -> tuple[str, str] | None:
    """Do what another region asks of all, or of this one; why a stranger is not obeyed: code and detail.

    What begins or ends something is obeyed once: else whoever says it again, at any time, would have it done again.
    """
    region = inbound.core.identity.region
    if control.region == region or (control.target and control.target != region):
        return None
    problem = admission.not_taken(inbound, control.region, control.sender)
    if problem is not None:
        return problem
    if control.action in {ControlAction.PAUSE, ControlAction.RESUME}:
        before = asked.get(control.region)
        again = before is not None and before.sender == control.sender and 0 < control.number <= before.number
        if again or not inbound.group.peers.asked_anew(control.region, control.sender, control.number):
            inbound.telemetry.tally["ignored", "asked-before"] += 1
            return None
        asked[control.region] = control
    match control.action:
        case ControlAction.FORGET:
            forget.forget_as_told(inbound.membership, tx, control, unit.now)
        case ControlAction.PAUSE | ControlAction.RESUME if inbound.group.left_at is not None or inbound.group.joining:
            pass  # it stands still already, and nobody else makes it move
        case ControlAction.PAUSE:
            inbound.group.paused = f"asked by {control.region}: {control.reason[:_REASON_CHARACTERS]}"
            tx.set_identity(paused=inbound.group.paused)
        case ControlAction.RESUME:
            inbound.group.paused = None
            tx.set_identity(paused=None)
        case ControlAction.RETELL:
            inbound.gc.gaps.wanted = max(inbound.gc.gaps.wanted, control.number, 1)
        case ControlAction.REQUEST:
            _take_request(inbound, control)
        case ControlAction.PROVE | ControlAction.LACKING:
            _take_recovering(inbound, unit, tx, control)
    return None


def _take_request(inbound: Inbound, control: Control) -> None:
    """A region wants registers."""
    paths = [MetaPath(path) for path in control.paths]
    inside = [path for path in paths if inbound.core.scope.contains(path)]
    protocol.send_known(inbound.antientropy, inside, missing_values.stamps_of(control))
    missing_values.note(
        inbound.recovery, dict.fromkeys(path for path in paths if not inbound.core.scope.contains(path))
    )


def _take_recovering(inbound: Inbound, unit: UnitOfWork, tx: Transaction, control: Control) -> None:
    """A region wants to know whether its database is an old copy, or has no value that it was asked for."""
    if control.action is ControlAction.PROVE:
        originals.take_asked(inbound.recovery, tx, control, unit.now)
    else:
        missing_values.take(inbound.recovery, control)


def _note_asked(inbound: Inbound, unit: UnitOfWork, tx: Transaction, control: Control) -> None:
    """Remember the last request of a database that was obeyed: in the same transaction, and in memory after it."""
    row = next(iter(tx.peers((control.region,))), None)
    if row is None or row.sender != control.sender:
        return
    tx.save_peer(replace(row, document={**row.document, "asked": control.number}))
    unit.afterwards(lambda: inbound.group.peers.note_asked(control.region, control.sender, control.number))
