"""Runs of moves: shown from the database alone, and what the daemon is asked about them, by what was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.moving.run import move_run_from, progress_from
from syncer.balancer.running.plan_file import from_text, to_text
from syncer.documents.balancing.moves import MoveRunList, move_run_document, move_run_row
from syncer.documents.words import counted
from syncer.errors import NotFound
from syncer.inspection.proposals import DecisionProposal
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.work.move_runs import require_balancing_free, require_known_run, require_some_run

if TYPE_CHECKING:
    from syncer.balancer.moving.move_plan import MovePlan
    from syncer.documents.balancing.moves import MoveRunDocument
    from syncer.state.views.region import Views


def move_run_list(views: Views, limit: int) -> MoveRunList:
    """The latest runs, the last one first."""
    return MoveRunList(items=[move_run_row(each) for each in views.move_runs(limit)])


def move_run_status(views: Views, number: int) -> MoveRunDocument:
    """How a run is, each move beside its prediction.

    Raises:
        NotFound: There is none, or it goes with the journal just now.
        PlanInvalid: Its plan was damaged.
    """
    kept = require_known_run(views.move_run(number), number)
    plan = from_text(views.move_run_plan(number).encode(), f"the plan of the run of moves {number}")
    moves = tuple(map(progress_from, views.move_run_moves(number)))
    if len(moves) < len(plan.moves):
        kept = require_known_run(None, number)
    return move_run_document(kept, move_run_from(kept.run, moves), plan)


def applying(views: Views, plan: MovePlan, *, go: bool) -> DecisionProposal:
    """Have a plan begun, or have it said of each move what would keep it back.

    Args:
        views: Of the region.
        plan: The plan.
        go: Begin it.

    Raises:
        BalancingOwned: Another run is open, or a migration.
    """
    require_balancing_free(views.move_run(), views.open_migration())
    arguments = {"plan": to_text(plan), "cluster": plan.cluster, "dry": str(not go).lower()}
    return DecisionProposal(
        target=plan.cluster,
        words=words_of_moves(plan) if go else (),
        requests=(OperationRequest(OperationKind.MOVES_APPLY if go else OperationKind.MOVES_DRY_RUN, arguments),),
    )


def stopping(views: Views, number: int | None = None) -> DecisionProposal:
    """Have the run that is open begin nothing more, put the settings back, and end.

    Args:
        views: Of the region.
        number: Of the run that is meant; the open one if not given.

    Raises:
        NotFound: Another one is open.
        PreconditionFailed: None is open.
    """
    run = require_some_run(views.move_run())
    if number not in {None, run.id}:
        raise NotFound(f"the run of moves {number} is not open", hint="See 'syncer balancer runs'.")
    request = OperationRequest(OperationKind.MOVES_STOP, {})
    return DecisionProposal(target=f"run of moves {run.id}", requests=(request,))


def words_of_moves(plan: MovePlan) -> tuple[str, ...]:
    """The words of carrying out a plan."""
    prices = [each.prediction.client_seconds for each in plan.moves]
    told = sum(each for each in prices if each is not None)
    price = f"{'at least ' if None in prices else ''}{told:.1f} client-seconds"
    splits = (
        (f"Before that {counted(len(plan.splits), 'bundle')} would be cut in two, which no later run takes back.",)
        if plan.splits
        else ()
    )
    return (
        f"{counted(len(plan.moves), 'bundle')} of {plan.cluster} would change the broker: {price} without service.",
        *splits,
        "Until the run is over Pulsar itself moves and splits no bundle; then its settings are put back as they were.",
    )
