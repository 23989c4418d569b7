"""Planning of a run: the moves that were advised, bound to the picture by which the advice was given.

Cuts that were advised become splits before the moves of their parts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from syncer.balancer.moving.move_plan import MovePlan, MovePrediction, PlannedMove
from syncer.balancer.moving.split import PlannedSplit
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle, range_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.fleet import Fleet
    from syncer.balancer.moving.bounds import RunBounds
    from syncer.balancer.planner.advice import AdvisedMove, AdvisedPlan
    from syncer.balancer.planner.cutting import CutAdvice
    from syncer.model import Millis


def planned(
    advised: AdvisedPlan,
    fleet: Fleet,
    *,
    table: str,
    cluster: str,
    taken_ms: Millis,
    bounds: RunBounds,
    cuts: Sequence[CutAdvice] = (),
    sheds: bool | None = None,
) -> MovePlan:
    """Make the plan of the moves that were advised, in their order, each with its load now and its prediction.

    Args:
        advised: The moves.
        fleet: By which they were advised.
        table: Name of the cluster's table in the configuration.
        cluster: As it calls itself.
        taken_ms: When its picture was taken.
        bounds: Of the run.
        cuts: Of bundles of the fleet, of which parts are moved.
        sheds: Whether Pulsar moves bundles itself; ``None``: not known.

    Raises:
        PlanInvalid: There is no move, or there are too many, or too many splits.
    """
    loads = {name: each.stats.traffic.throughput for name, each in fleet.bundles.items()}
    for each in cuts:
        loads |= {part.bundle: part.share * loads[each.bundle] for part in each.parts}
    return MovePlan(
        table=table,
        cluster=cluster,
        taken_ms=taken_ms,
        moves=tuple(_planned(each, loads[each.bundle]) for each in advised.moves),
        bounds=bounds,
        splits=tuple(split for each in cuts for split in _splits(each, fleet)),
        sheds=sheds,
    )


def _splits(cut: CutAdvice, fleet: Fleet) -> list[PlannedSplit]:
    """Cut by cut from below: each split is of what the one before it has left."""
    low, high = range_of_bundle(cut.bundle)
    source, shares = fleet.bundles[cut.bundle].owner, [1.0]
    for part in cut.parts:
        shares.append(shares[-1] - part.share)
    whole = fleet.bundles[cut.bundle].stats.traffic.throughput
    return [
        PlannedSplit(
            bundle=f"{namespace_of_bundle(cut.bundle)}/{range_text(lower, high)}",
            source=source,
            position=position,
            throughput=max(0.0, share * whole),
        )
        for (lower, position), share in zip(pairwise((low, *cut.cuts)), shares, strict=False)
    ]


def _planned(move: AdvisedMove, throughput: float) -> PlannedMove:
    prediction = MovePrediction(
        ready_s=move.price.ready.value,
        client_seconds=move.price.client_seconds.value,
        spread=max(0.0, move.spread.after),  # of equal usages the mean may come out a little above the greatest
    )
    return PlannedMove(
        bundle=move.bundle,
        source=move.source,
        target=move.target,
        throughput=throughput,
        prediction=prediction,
        reason=move.reason.value,
    )
