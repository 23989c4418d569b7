"""Repair by snapshots: versions are published again in bounded portions; the operation ``snapshot-sync``, and its work.

    the command line   ─▶ tellings, in portions ─▶ operation snapshot-sync
    operation          checks the whole ─▶ running
    work, portion by portion, each one transaction:
        tellings ─▶ fold, or refuse with a reason ─▶ outbox ─▶ progress

A portion is folded, put into the outbox and taken off the list in one transaction. So a daemon that dies goes on where
it was, and so does the standby that takes its place: nothing is told twice by a repair, and nothing is left out. Every
region, this one too, takes a telling as the event that it is: the usual order decides, guards hold what they must, and
whatever was changed since the snapshot has a greater stamp and wins.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from syncer.conflict.acts import Outcome
from syncer.conflict.register import Register
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import Millis
from syncer.repair.preconditions import Offer, Terms, objections, require_open
from syncer.repair.rules import DETAILS, Bounds, Why, retell
from syncer.replacing import replace
from syncer.replication import publishing
from syncer.replication.control.part import OperatorControl
from syncer.replication.core import Core
from syncer.replication.local.observe import state_event
from syncer.replication.membership import join
from syncer.replication.recovery import rebuild, rescoping
from syncer.replication.recovery.progress import Phase
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.operations import Operation
from syncer.state.contract.repairs import RefusedTelling, Repair, RepairState, Telling
from syncer.state.contract.transaction import Transaction

PORTION: Final = 64
"""Tellings of one transaction; a value has at most a megabyte."""
OUTBOX_ROOM: Final = 256
"""While so much waits for the bus, nothing is added to it: the changes of the day come first."""
REFUSED_KEPT: Final = 10_000
"""Refused paths of a repair that are kept to be shown; more are only counted."""
_SECOND_MS: Final = 1_000


class Turn(Enum):
    """When to look again."""

    IDLE = auto()
    FULL = auto()
    MORE = auto()


def begin(control: OperatorControl, tx: Transaction, operation: Operation, now: Millis) -> str:
    """Begin to tell what was brought in.

    Raises:
        NotFound: No such repair.
        PreconditionFailed: It cannot be told, or not by this region, or not without a person's word.
    """
    repair = _repair(tx, operation)
    if repair.state is RepairState.RUNNING or repair.state.over:
        return f"repair {repair.id} is {repair.state} already"
    if repair.state is not RepairState.READY:
        raise PreconditionFailed(
            f"repair {repair.id} was not brought in whole", hint="Give the plan to 'syncer snapshot sync' again."
        )
    _check_region(control)
    _check_members(control, repair)
    old, deletes = (operation.arguments.get(name) == "true" for name in ("force_old", "allow_deletes"))
    for objection in objections(_offer(repair), _terms(control), now, old=old, deletes=deletes):
        raise PreconditionFailed(objection.why, hint=objection.hint)
    tx.save_repair(replace(repair, state=RepairState.RUNNING, begun_at_ms=now))
    return f"repair {repair.id} begins: {repair.total} paths"


def cancel(tx: Transaction, operation: Operation, now: Millis) -> str:
    """End a repair; what was told stays told.

    Raises:
        NotFound: No such repair.
        PreconditionFailed: It is over.
    """
    repair = _repair(tx, operation)
    require_open(repair)
    detail = operation.reason or f"cancelled by {operation.asked_by}"
    tx.save_repair(replace(repair, state=RepairState.CANCELLED, finished_at_ms=now, detail=detail))
    return f"repair {repair.id} ends after {repair.done} of {repair.total} paths; what was told stays told"


def work(control: OperatorControl, now: Millis) -> Turn:
    """Decide the next portion of the repair that is running.

    Returns:
        Whether there may be more to do at once, or as soon as the outbox has room.

    Raises:
        Fenced: Another daemon is active; nothing was told.
        StateUnavailable: Nothing was told.
    """
    if not may_tell(control):
        return Turn.IDLE
    with control.core.state.transaction() as tx:
        repair = tx.repair()
        if repair is None:
            return Turn.IDLE
        if len(tx.outbox(OUTBOX_ROOM)) == OUTBOX_ROOM:
            return Turn.FULL
        unit = control.units.begin(tx, now)
        portion = tx.tellings(repair.id, PORTION, repair.through)
        if portion:
            repair = _decide(control, unit, tx, repair, portion)
        else:
            repair = replace(repair, state=RepairState.DONE, finished_at_ms=now)
        unit.store()
        tx.save_repair(repair)
    unit.settle()
    return Turn.MORE if portion else Turn.IDLE


def _decide(
    control: OperatorControl, unit: UnitOfWork, tx: Transaction, repair: Repair, portion: list[Telling]
) -> Repair:
    """Decide each telling of a portion, in this very transaction."""
    unit.load(tuple({each.path for each in portion}))
    skew_ms = control.core.replica.settings.limits.max_clock_skew_ms
    knows_all = repair.taken_at_ms >= born_ms(control.core) + skew_ms
    projections = control.core.replica.settings.projections
    refused: list[RefusedTelling] = []
    told, superseded, reread, elsewhere = [], 0, 0, 0
    for each in portion:
        outcome = _outcome(control, unit, each, knows_all=knows_all)
        match outcome:
            case Why.SUPERSEDED:
                superseded += 1
            case Why.UNSTAMPED if each.found_in == control.core.identity.region:
                unit.reread((each.path,))
                reread += 1
            case Why.UNSTAMPED:
                elsewhere += 1
            case Why():
                refused.append(RefusedTelling(each.number, each.path, f"{outcome}: {DETAILS[outcome]}"))
            case Outcome():
                register = unit.take(outcome)
                event = state_event(register, each.event.value if each.event is not None else None, projections)
                if event is not None:
                    told.append(event)
    publishing.enqueue(control.core.scope, tx, told)
    room = max(0, REFUSED_KEPT - repair.refused)
    through = portion[-1].number
    tx.decided(repair.id, through, refused[:room])
    for name, count in (("told", len(told)), ("superseded", superseded), ("refused", len(refused))):
        if count:
            control.telemetry.tally["repairs", name] += count
    return replace(
        repair,
        through=through,
        done=repair.done + len(portion),
        told=repair.told + len(told),
        superseded=repair.superseded + superseded,
        reread=repair.reread + reread,
        elsewhere=repair.elsewhere + elsewhere,
        refused=repair.refused + len(refused),
    )


def bounds_of(core: Core, register: Register, *, knows_all: bool) -> Bounds:
    """Return what of the past this region can know of a path.

    Args:
        core: The region's replica.
        register: Of the path, as it is known here.
        knows_all: The database was there when it was said what is to be judged.
    """
    return Bounds(
        floor_ms=core.floor,
        knows_all=knows_all,
        carried_since_ms=core.periods.since(register.path),
        met=register.known is None or rescoping.knows(core, register),
    )


def born_ms(core: Core) -> Millis:
    """Return when this database was made: its generation is the second of its birth."""
    return Millis(core.identity.generation * _SECOND_MS)


def _outcome(control: OperatorControl, unit: UnitOfWork, telling: Telling, *, knows_all: bool) -> Outcome | Why:
    if not control.core.scope.contains(telling.path):
        return Why.OUT_OF_SCOPE
    if telling.event is None:
        return Why.UNSTAMPED
    if not control.core.scope.direction(telling.path).publishes:
        return Why.OUT_OF_SCOPE  # who only takes what others publish, speaks for nobody; one of these can be asked
    bounds = bounds_of(control.core, unit[telling.path], knows_all=knows_all)
    return retell(control.core.replica.settings, unit[telling.path], telling.event, unit.now, bounds)


def may_tell(control: OperatorControl) -> bool:
    """Whether anything may be told now; what may not waits."""
    progress = control.recovery.progress
    if (
        control.core.observing
        or control.group.paused is not None
        or control.group.left_at is not None
        or control.core.fence is None
    ):
        return False
    if progress.lost is not None or progress.unheard or control.core.uncompared.lets_in:
        return False
    return control.core.first_scan_done and rebuild.phase_of(control.recovery) is Phase.DONE


def _repair(tx: Transaction, operation: Operation) -> Repair:
    text = operation.arguments.get("repair", "")
    if not text.isdecimal():
        raise PreconditionFailed(f"operation {operation.kind} needs a number as repair, not {text!r}")
    repair = tx.repair(int(text))
    if repair is None:
        raise NotFound(f"no repair {text}", hint="See 'syncer snapshot repairs'.")
    return repair


def _check_region(control: OperatorControl) -> None:
    """Refuse what this region cannot tell now.

    Raises:
        PreconditionFailed: It does not take part, or stands still.
    """
    join.check_takes_part(control.membership)
    if control.core.observing:
        raise PreconditionFailed("this daemon only observes", hint="Ask a region whose daemon is active.")
    if control.group.paused is not None:
        raise PreconditionFailed(
            f"this region is paused: {control.group.paused}", hint="'syncer resume' first, or ask another region."
        )
    if rebuild.phase_of(control.recovery) is not Phase.DONE:
        raise PreconditionFailed(
            "this region's database is being rebuilt: what it tells could be outdated",
            hint="Wait until 'syncer status' shows no rebuild, or ask another region.",
        )
    if not control.core.first_scan_done:
        raise PreconditionFailed(
            "the daemon has not read the whole store yet",
            hint="Try again when 'syncer status' shows the first scan as finished.",
        )
    if control.core.uncompared.lets_in:
        raise PreconditionFailed(
            "the daemon has not read the whole store yet since paths came into its scope",
            hint="Try again in a few minutes: it has read the store since it started.",
        )


def _offer(repair: Repair) -> Offer:
    return Offer(rules=repair.rules, taken_at_ms=repair.taken_at_ms, paths=repair.total, deletes=repair.deletes)


def _terms(control: OperatorControl) -> Terms:
    settings = control.core.replica.settings
    return Terms(
        region=settings.region,
        rules=(control.core.scope.fingerprint, settings.ties.value),
        limits=settings.limits,
        grace_ms=control.gc.tombstones.limits.grace_ms,
    )


def _check_members(control: OperatorControl, repair: Repair) -> None:
    """Refuse what was compared between regions that do not belong to the group.

    A region that has left, or was forgotten, is waited for no longer: what it holds may be what the group has deleted
    and forgotten.

    Raises:
        PreconditionFailed: It was.
    """
    belong = {control.core.replica.settings.region, *control.group.peers.members(control.group.expected)}
    gone = [region for region in repair.regions if region not in belong or control.group.peers.is_gone(region)]
    gone += [region for region in repair.regions if region not in gone and control.group.peers.has_left(region)]
    if gone:
        raise PreconditionFailed(
            f"{', '.join(gone)}: not a region of the group: its snapshot may hold what the group has deleted",
            hint="Compare snapshots of members only; see 'syncer regions list'.",
        )
