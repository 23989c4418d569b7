"""Decisions of operators about a path: performed where it is as it was shown, and refused with a hint elsewhere.

Every operation here names what was shown (:mod:`syncer.conflict.shown`). It is compared in the transaction that
performs it, so nothing comes between.
"""

from __future__ import annotations

from typing import Final

from syncer.bus.wire.messages import ControlAction
from syncer.conflict.register import HoldReason
from syncer.conflict.shown import check_shown, look_in, shown_in, stamp_in
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import MetaPath, Region
from syncer.replication import publishing
from syncer.replication.control.effects import Effect, Wanted
from syncer.replication.control.part import OperatorControl
from syncer.replication.inbound.receive import look_again
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.operations import Operation
from syncer.state.contract.transaction import Transaction

CONFLICTS_AT_ONCE: Final = 10_000
"""Conflicts that one operation forgets."""

STAYS_HELD: Final = (
    "The delete stays held. Take it back with 'syncer holds undo', or let the scope publish the path, start the daemon "
    "again and confirm it then."
)
Answer = tuple[str, Effect]


def confirm(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> Answer:
    """Let a held change pass."""
    path = path_of(operation)
    unit.load((path,))
    register = unit[path]
    outcome = control.core.replica.confirm(register, look_in(operation.arguments))
    local = register.hold is not None and register.hold.local
    if local:
        publishing.require(control.core.scope, path, STAYS_HELD)
    unit.take(outcome)
    if local:
        event = tx.held_publication(path)
        if event is None:
            raise NotFound(f"{path}: no publication is held")
        tx.drop_held(path)
        publishing.enqueue(control.core.scope, tx, [event])
        return "the delete is published with its old stamp", None
    return "the change is written as soon as the store allows it", None


def reject(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> Answer:
    """Let the value of this region win over a held remote change."""
    del tx
    path = path_of(operation)
    unit.load((path,))
    hold = unit[path].hold
    if hold is not None and hold.reason is HoldReason.UNREADABLE:
        raise PreconditionFailed(f"{path}: the value here cannot be read, so it cannot win")
    if not control.core.scope.direction(path).publishes:
        raise PreconditionFailed(f"{path} may not leave this region, so its value here cannot win elsewhere")
    unit.take(control.core.replica.reject(unit[path], look_in(operation.arguments)))
    return "this region's value will win everywhere, unless it is changed before that", None


def undo(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> Answer:
    """Take a held local delete back."""
    del tx
    path = path_of(operation)
    unit.load((path,))
    unit.take(control.core.replica.undo(unit[path], look_in(operation.arguments)))
    return "the delete is forgotten; the value comes back from a peer", Wanted(
        action=ControlAction.REQUEST, paths=(path,), reason="a held delete was taken back"
    )


def restore(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> Answer:
    """Make the loser of a conflict the newest version of its path."""
    number = number_of(operation, "conflict")
    row = tx.conflict_row(number)
    if row is None:
        raise NotFound(f"no conflict {number}", hint="See 'syncer conflicts list'.")
    shown = shown_in(operation.arguments)
    if operation.arguments.get("loser") != str(row.loser):
        raise PreconditionFailed(
            f"conflict {number} is about {row.loser}, which is not what was shown",
            hint="Look at it again with 'syncer conflicts list'.",
        )
    if row.loser_digest is not None and row.value is None:
        raise PreconditionFailed(
            f"the value of conflict {number} is not known here: it still stands in the store, or was replaced there",
            hint="Look at the same conflict in the region of its author.",
        )
    if not control.core.scope.direction(row.path).publishes:
        raise PreconditionFailed(f"{row.path} may not leave this region, so nothing can be restored from here")
    if not control.core.first_scan_done:
        raise PreconditionFailed(
            "the daemon has not read the whole store yet: what was restored would be written over it without a hold",
            hint="Try again when 'syncer status' shows the first scan as finished.",
        )
    unit.load((row.path,))
    check_shown(unit[row.path], shown, f"Look at it again with 'syncer conflicts show {number}'.")
    value = row.value if row.loser_digest is not None else None
    unit.take(control.core.replica.restore(unit[row.path], value, row.loser_seen, unit.now))
    tx.mark_restored(number, unit.now)
    return f"the value of {row.loser} is the newest now", None


def discard_conflicts(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> Answer:
    """Forget a conflict; or those that a region has lost, so many at most: whoever floods others with them.

    Of the latter only those that stood there when the operator looked: the greatest number of these comes with it.
    """
    del control, unit
    if "by" in operation.arguments:
        until = number_of(operation, "until")
        gone = tx.drop_conflicts(CONFLICTS_AT_ONCE, by=Region(operation.arguments["by"]), until=until)
        more = "; there may be more" if gone == CONFLICTS_AT_ONCE else ""
        return f"{gone} conflicts are forgotten{more}", None
    number = number_of(operation, "conflict")
    if tx.conflict_row(number) is None:
        raise NotFound(f"no conflict {number}", hint="See 'syncer conflicts list'.")
    tx.drop_conflict(number)
    return f"conflict {number} is forgotten", None


def release(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> Answer:
    """Take an event from the future as it is."""
    path = path_of(operation)
    shown = shown_in(operation.arguments)
    event = tx.future_event(path, stamp_in(operation.arguments.get("stamp", "")))
    if event is None:
        raise NotFound(f"no event from the future is held for {path}", hint="See 'syncer holds list'.")
    unit.load((path,))
    check_shown(unit[path], shown, "Look at it again with 'syncer holds list'.")
    unit.take(control.core.replica.fold(unit[path], event, unit.now, released=True))
    tx.drop_future(path, event.stamp)
    look_again(control.inbound, unit, tx, (path,))  # what is no longer ahead of what is known
    return f"{event.stamp} is folded as it is", None


def decline(control: OperatorControl, unit: UnitOfWork, tx: Transaction, operation: Operation) -> Answer:
    """Drop an event from the future: nothing is asserted against it, and who knows what it says tells it again."""
    del control, unit
    path = path_of(operation)
    event = tx.future_event(path, stamp_in(operation.arguments.get("stamp", "")))
    if event is None:
        raise NotFound(f"no event from the future is held for {path}", hint="See 'syncer holds list'.")
    tx.drop_future(path, event.stamp)
    return f"{event.stamp} is dropped; a region that knows it tells it again, and it is held again", None


def path_of(operation: Operation) -> MetaPath:
    """The path that an operation names.

    Raises:
        PreconditionFailed: It names none.
    """
    if "path" not in operation.arguments:
        raise PreconditionFailed(f"operation {operation.kind} names no path")
    return MetaPath(operation.arguments["path"])


def number_of(operation: Operation, name: str) -> int:
    """A number that an operation names.

    Raises:
        PreconditionFailed: It names none.
    """
    text = operation.arguments.get(name, "")
    if not (text.isascii() and text.isdecimal()):
        raise PreconditionFailed(f"operation {operation.kind} needs a number as {name}, not {text!r}")
    return int(text)
