"""Operations that an operator asked for: each is performed in a transaction of its own, and answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from syncer.bus.wire.messages import ControlAction
from syncer.conflict.register import HoldReason, Register
from syncer.errors import InvariantBroken, MessageUnreadable, NotFound, PreconditionFailed, SyncerError
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.operations.contract import OperationKind
from syncer.operations.registry import Registry
from syncer.repair.rules import Why, may_be_deleted
from syncer.replication import bisection, publishing
from syncer.replication.control import decisions, jobs, repair
from syncer.replication.control.decisions import number_of
from syncer.replication.control.effects import Effect, Wanted
from syncer.replication.control.part import OperatorControl
from syncer.replication.core import Core
from syncer.replication.inbound import isolation
from syncer.replication.inbound.arrived import arrived_of
from syncer.replication.inbound.receive import take
from syncer.replication.local.observe import state_event
from syncer.replication.membership import forget, join, leave
from syncer.replication.recovery import rebuild, rescoping, state_transfer
from syncer.replication.recovery.progress import Phase
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.jobs import JobKind
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.quarantine import DeadLetter, DeadLetterRow
from syncer.state.contract.transaction import Transaction

log = structlog.get_logger()

Handler = Callable[[OperatorControl, UnitOfWork, Transaction, Operation], tuple[str, Effect]]


def perform(control: OperatorControl, operation: Operation, now: Millis) -> Effect:
    """Perform one operation. Its failure is its answer, and changes nothing else.

    What is decided again was said by others, so whatever goes wrong with it ends nothing either.
    """
    try:
        with control.core.state.transaction() as tx:
            unit = control.units.begin(tx, now)
            handler = HANDLERS.handler(operation.kind)
            if HANDLERS.waits_for_rebuild(operation.kind) and rebuild.phase_of(control.recovery) is Phase.HEARING:
                join.check_belongs(control.membership)  # else its rebuild will never end
                raise PreconditionFailed(
                    "this region's database was lost and is being rebuilt: nothing can be decided until the peers have "
                    "told what they know",
                    hint="See 'syncer status'; 'syncer state rebuild --without REGION' says that a peer is absent.",
                )
            answer, effect = handler(control, unit, tx, operation)
            unit.store()
            tx.finish_operation(operation.id, OperationState.DONE, answer, "", now)
    except Exception as exc:
        if not bisection.may_lie_in_one(exc):
            raise
        failure = exc if isinstance(exc, SyncerError) else InvariantBroken(f"{type(exc).__name__}: {exc}")
        if isinstance(failure, InvariantBroken):
            where = bisection.place_of(exc)
            log.error("operation_failed", kind=operation.kind, cause=failure.message, where=where)  # noqa: TRY400
        with control.core.state.transaction() as tx:
            control.group.recall(tx)
            answer = f"{failure.message}. {failure.hint}"
            tx.finish_operation(operation.id, OperationState.FAILED, answer, failure.code, now)
        return None
    unit.settle()
    return effect


def _pause(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    del unit
    join.check_takes_part(control.membership)
    reason = operation.reason or f"asked by {operation.asked_by}"
    control.group.paused = reason
    tx.set_identity(paused=reason)
    everywhere = operation.arguments.get("everywhere") == "true"
    return "paused: changes are read and folded, nothing is written or published", (
        Wanted(action=ControlAction.PAUSE, reason=reason, number=operation.id) if everywhere else None
    )


def _resume(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    del unit
    join.check_takes_part(control.membership)
    control.group.paused = None
    tx.set_identity(paused=None)
    everywhere = operation.arguments.get("everywhere") == "true"
    effect = Wanted(action=ControlAction.RESUME, reason=operation.reason, number=operation.id) if everywhere else None
    return "resumed", effect


def _forget(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    told = forget.forget(control.membership, unit, tx, operation)
    effect = Wanted(action=ControlAction.FORGET, paths=told, reason=operation.reason)
    return f"{told[0]} is waited for no longer, and the other regions are told so", effect


def _admit(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    return forget.admit(control.membership, unit, tx, operation), None


def _leave(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    leave.leave(control.membership, tx, unit.now, force=operation.arguments.get("force") == "true")
    return "this region has left: it writes and publishes nothing any more", None


def _join(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    begins = control.group.joining
    passed = join.join(control.membership, unit, tx, operation.arguments)
    if begins:
        return "this region takes part now; values that differ from the group's are held for a second look", None
    return f"{passed} changes that first contact held, and that were shown, will be written", None


def _retry(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    number = number_of(operation, "id")
    row = tx.dead_letter(number)
    if row is None:
        raise NotFound(f"nothing is quarantined as {number}", hint="See 'syncer quarantine list'.")
    tx.drop_dead_letter(number)
    poison, path = row.poison, row.poison.path
    if poison.origin == "bus":
        return _decode_again(control, unit, tx, row), None
    if path is None:
        return "dropped: it names no path", None
    unit.load((path,))
    if poison.origin in {state_transfer.LISTING, isolation.FUTURE}:
        unit.afterwards(partial(control.recovery.values.want, path))
        return "a peer is asked for what it knows of the path", None
    if poison.origin == "outbox":
        return _publish_again(control.core, unit[path], tx, poison), None
    register = unit[path]
    hold = register.hold
    if hold is not None and hold.reason is HoldReason.STORE_REFUSED:
        if poison.position != f"{path} {hold.stamp}":
            return f"another change ({hold.stamp}) is refused by the store now; it goes on waiting", None
        unit.replace(replace(register, hold=None))  # what guards have let pass has passed; of the rest they are asked
    elif hold is not None and hold.reason is HoldReason.UNREADABLE:
        unit.replace(replace(register, hold=None))  # what still cannot be read is held, and set aside, once more
    unit.reread((path,))
    return "read and tried again", None


def _decode_again(control: OperatorControl, unit: UnitOfWork, tx: Transaction, row: DeadLetterRow) -> str:
    """Take a message as if it came now; it is no duplicate of its first coming."""
    poison = row.poison
    if poison.code == MessageUnreadable.code:
        raise PreconditionFailed(
            "the bus could not read this message whole, so nothing can be made of what is left of it",
            hint=MessageUnreadable.default_hint,
        )
    arrived = arrived_of(poison.payload, poison.properties, poison.position, control.group.keyring)
    if isinstance(arrived.message, MetadataChangeEvent):
        event = arrived.message
        unit.load((event.path,))
        _check_not_deleted(control, unit[event.path], event, row.recorded_at_ms)
        arrived = replace(arrived, message=replace(event, sequence=0))
    take(control.inbound, unit, tx, [arrived])
    return f"it cannot be handled still: {unit.poisons[-1].detail}" if unit.poisons else "decoded and handled"


def _check_not_deleted(control: OperatorControl, register: Register, event: MetadataChangeEvent, came: Millis) -> None:
    """Refuse a change that may be what the group has deleted and forgotten.

    Args:
        control: What operators ask of the region.
        register: The path's.
        event: The change.
        came: When it was set aside.

    Raises:
        PreconditionFailed: It may be.
    """
    core = control.core
    if not core.scope.contains(event.path) or rescoping.knows(core, register):
        return  # it is ignored, or is compared with what is known
    bounds = repair.bounds_of(core, register, knows_all=came >= repair.born_ms(core))
    match may_be_deleted(core.replica.settings, event, bounds):
        case Why.FORGOTTEN:
            raise PreconditionFailed(
                f"{event.path}: the change of {event.stamp} is older than deletes that were forgotten since; it could "
                "raise what was deleted",
                hint="If its value is wanted, write it anew; then 'syncer quarantine discard'.",
            )
        case Why() if event.value is not None:
            raise PreconditionFailed(
                f"{event.path}: the change of {event.stamp} is unknown here and older than what this region remembers "
                "of the path; it could raise what was deleted",
                hint="A value that another region has comes from there. If no region has it and it is wanted, write it "
                "anew; then 'syncer quarantine discard'.",
            )
        case _:
            return


def _publish_again(core: Core, register: Register, tx: Transaction, poison: DeadLetter) -> str:
    """Put a local change into the outbox again, unless another one has taken its place."""
    known = register.known
    if known is None or poison.position != f"{register.path} {known.stamp}":
        return "a newer change has taken its place: there is nothing left to publish"
    event = state_event(register, poison.payload, core.replica.settings.projections)
    if event is None:
        raise PreconditionFailed(f"{register.path}: the value of {known.stamp} is not known any more")
    publishing.require(core.scope, register.path, "It stays in the quarantine; see 'syncer quarantine discard'.")
    if not rescoping.knows(core, register):
        raise PreconditionFailed(
            f"{register.path}: the path came into the scope, and the store was not read since; meanwhile "
            f"{known.stamp} may have been deleted",
            hint="Try again in a few minutes; what is found there then is published by itself.",
        )
    publishing.enqueue(core.scope, tx, [event])
    return "it is published again"


def _discard(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    del control, unit
    number = number_of(operation, "id")
    if tx.dead_letter(number) is None:
        raise NotFound(f"nothing is quarantined as {number}", hint="See 'syncer quarantine list'.")
    tx.drop_dead_letter(number)
    return "discarded", None


def _rebuild(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    without = [Region(name) for name in operation.arguments.get("without", "").split(",") if name]
    return rebuild.excuse(control.recovery, unit, tx, without, alone=operation.arguments.get("alone") == "true"), None


def _sync(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    return repair.begin(control, tx, operation, unit.now), None


def _cancel(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    del control
    return repair.cancel(tx, operation, unit.now), None


def _take(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    return jobs.ask_for(JobKind.TAKE, control, tx, operation, unit.now), None


def _diff(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    return jobs.ask_for(JobKind.DIFF, control, tx, operation, unit.now), None


def _end_job(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, Effect]:
    del control
    return jobs.cancel(tx, operation, unit.now), None


HANDLERS: Final[Registry[Handler]] = Registry(
    {
        OperationKind.CONFIRM: decisions.confirm,
        OperationKind.REJECT: decisions.reject,
        OperationKind.UNDO: decisions.undo,
        OperationKind.RESTORE: decisions.restore,
        OperationKind.CONFLICTS_DISCARD: decisions.discard_conflicts,
        OperationKind.RELEASE: decisions.release,
        OperationKind.DECLINE: decisions.decline,
        OperationKind.PAUSE: _pause,
        OperationKind.RESUME: _resume,
        OperationKind.REGIONS_FORGET: _forget,
        OperationKind.REGIONS_ADMIT: _admit,
        OperationKind.REGIONS_LEAVE: _leave,
        OperationKind.REGIONS_JOIN: _join,
        OperationKind.QUARANTINE_RETRY: _retry,
        OperationKind.QUARANTINE_DISCARD: _discard,
        OperationKind.REBUILD: _rebuild,
        OperationKind.SNAPSHOT_SYNC: _sync,
        OperationKind.SNAPSHOT_CANCEL: _cancel,
        OperationKind.JOB_TAKE: _take,
        OperationKind.JOB_DIFF: _diff,
        OperationKind.JOB_CANCEL: _end_job,
    },
    while_rebuilding={
        OperationKind.PAUSE,
        OperationKind.RESUME,
        OperationKind.QUARANTINE_DISCARD,
        OperationKind.REBUILD,
        OperationKind.REGIONS_ADMIT,
        OperationKind.SNAPSHOT_CANCEL,
        OperationKind.JOB_TAKE,
        OperationKind.JOB_DIFF,
        OperationKind.JOB_CANCEL,
    },
)
"""Every operation by its kind."""
