"""Answers to what operators ask of a migration: to start one, to say what can be taken back, to go on, stop or end.

Each request is an operation in the daemon's database; its failure is its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import uuid4

from syncer.errors import NotFound, PreconditionFailed
from syncer.migration.checks.finding import CheckStage
from syncer.migration.course import MigrationCommand, MigrationRun, shown
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import MigrationPhase
from syncer.migration.reading import plan_file
from syncer.migration.reading.preflight import make_preflight, read_for
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.controller import Controller
from syncer.migration.running.control.undoing import Undoable
from syncer.migration.running.service.clusters import MigrationClusters
from syncer.state.contract.migrations import Migration, require_none_open
from syncer.state.contract.operations import Operation
from syncer.state.contract.transaction import Transaction

Finish = Callable[[Transaction], str]
"""Does in the transaction that answers the operation what belongs to it; returns the answer."""


async def started(
    operation: Operation, open_one: Migration | None, clusters: MigrationClusters, clock: Clock
) -> Finish:
    """Have a plan begun that holds, and whose preflight lets it begin.

    Raises:
        PlanInvalid: It is no plan, or was changed after it was made.
        PlanStale: Clusters have changed since.
        PreconditionFailed: A migration is open, or a check does not hold.
        NotFound: The configuration has no such table.
        AdminError: A cluster does not answer, or not as it should.
    """
    plan = plan_file.from_text(operation.arguments.get("plan", "").encode())
    require_none_open(open_one)
    await _check(plan, clusters, clock)
    now, auto = clock.now_ms(), operation.arguments.get("auto") == "true"
    asked_by, reason = operation.asked_by, operation.reason
    migration = Migration(
        claim=uuid4().hex,
        fingerprint=plan.fingerprint,
        phase=MigrationPhase.PLANNED.value,
        run=MigrationRun(since_ms=now, auto=auto).document,
        asked_by=asked_by,
        reason=reason,
        made_at_ms=now,
        changed_at_ms=now,
    )

    def begin(tx: Transaction) -> str:
        number = tx.begin_migration(migration, plan_file.to_text(plan))
        tx.add_migration_event(number, "started", {"who": asked_by, "why": reason, "auto": auto}, now)
        return f"migration {number} has begun; it waits for a go before the first clients are moved"

    return begin


async def _check(plan: MigrationPlan, clusters: MigrationClusters, clock: Clock) -> None:
    async with clusters.sides(*plan.tables) as (blue, green):
        planned = await read_for(plan, blue, green, clock.now_ms())
        made = await make_preflight(planned, CheckStage.BEFORE, own_topics=clusters.own_topics())
    if blocking := [each for each in made.results if each.blocks]:
        first = blocking[0].findings[0]
        names = shown(tuple(each.check.name for each in blocking))
        raise PreconditionFailed(
            f"the migration may not begin, blocked by {names}: {first.subject}: {first.evidence}",
            hint=f"First: {first.remedy}. See all with 'syncer migration preflight FILE'.",
        )


async def undoable(operation: Operation, open_one: Migration | None, controller: Controller | None) -> str:
    """Say what a rollback could take back.

    Raises:
        NotFound: No migration is open, or another one.
        PreconditionFailed: It is not carried on now.
        AdminError: A cluster does not answer.
    """
    return _told(await _carried(operation, open_one, controller).foresee_undo())


async def commanded(operation: Operation, open_one: Migration | None, controller: Controller | None) -> str:
    """Give a command to the migration that is open.

    Raises:
        NotFound: No migration is open, or another one; or there is no such command.
        PreconditionFailed: It is not carried on now, waits for something else than was shown, or may not follow it.
        IllegalTransition: It has nothing to follow it with.
        AdminError: What can be taken back could not be read.
    """
    carried = _carried(operation, open_one, controller)
    try:
        command = MigrationCommand(operation.arguments.get("command", ""))
    except ValueError:
        raise NotFound(f"a migration knows no command {operation.arguments.get('command')!r}") from None
    run = carried.status().run
    expected = operation.arguments.get("shown")
    if expected is not None and expected != run.shown:
        raise PreconditionFailed(
            f"the migration has gone on since it was looked at: it is {run.shown} by now, and was {expected}",
            hint="Look at it with 'syncer migration status', and ask again.",
        )
    found = await carried.ask(command, operation.asked_by, operation.reason)
    return f"{command} is followed as soon as the step that is being taken has ended" + (
        f"; {_told(found)}" if found else ""
    )


def _told(found: Sequence[Undoable]) -> str:
    """What can be taken back of each namespace, in words."""
    return "; ".join(f"{each.namespace}: {each.rollback}" + (f", {each.words}" if each.words else "") for each in found)


def _carried(operation: Operation, open_one: Migration | None, controller: Controller | None) -> Controller:
    wanted = operation.arguments.get("migration", "")
    if open_one is None or wanted != str(open_one.id):
        raise NotFound(f"migration {wanted} is not open", hint="See 'syncer migration list'.")
    if controller is None:
        raise PreconditionFailed(
            f"migration {wanted} is not carried on now", hint="See 'syncer status' for the cause; it is tried again."
        )
    return controller
