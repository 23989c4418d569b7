"""Planning of a run: the moves that were advised, bound to the picture by which the advice was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.moving.move_plan import MovePlan, MovePrediction, PlannedMove

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.moving.bounds import RunBounds
    from syncer.balancer.planner.advice import AdvisedMove, AdvisedPlan
    from syncer.model import Millis


def planned(
    advised: AdvisedPlan, fleet: Fleet, *, table: str, cluster: str, taken_ms: Millis, bounds: RunBounds
) -> MovePlan:
    """Make the plan of the moves that were advised, in their order, each with its load now and its prediction.

    Args:
        advised: The moves.
        fleet: By which they were advised.
        table: Name of the cluster's table in the configuration.
        cluster: As it calls itself.
        taken_ms: When its picture was taken.
        bounds: Of the run.

    Raises:
        PlanInvalid: There is no move, or there are too many.
    """
    return MovePlan(
        table=table,
        cluster=cluster,
        taken_ms=taken_ms,
        moves=tuple(_planned(each, fleet) for each in advised.moves),
        bounds=bounds,
    )


def _planned(move: AdvisedMove, fleet: Fleet) -> PlannedMove:
    prediction = MovePrediction(
        ready_s=move.price.ready.value,
        client_seconds=move.price.client_seconds.value,
        spread=max(0.0, move.spread.after),  # of equal usages the mean may come out a little above the greatest
    )
    return PlannedMove(
        bundle=move.bundle,
        source=move.source,
        target=move.target,
        throughput=fleet.bundles[move.bundle].stats.traffic.throughput,
        prediction=prediction,
        reason=move.reason.value,
    )
