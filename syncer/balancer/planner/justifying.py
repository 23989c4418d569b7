"""Justifying: the cuts of a plan, each with reason, gain and price, and with the whole bundle that stays instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.cost.estimate import total
from syncer.balancer.planner.advice import AdvisedCut, CutReason, RejectedMove, RejectReason
from syncer.balancer.planner.cutting import CutAdvice, CutAnswer, CutPart
from syncer.balancer.planner.leveling import EXACT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.cost.estimate import Estimate
    from syncer.balancer.planner.advice import AdvisedMove
    from syncer.balancer.planner.cutting import BundleCut
    from syncer.balancer.planner.scene import Scene


def justified(scene: Scene, cuts: Sequence[BundleCut], moves: Sequence[AdvisedMove], level: float) -> list[AdvisedCut]:
    """Say of each cut why its bundle does not move whole.

    Args:
        scene: The fleet with whole bundles, before any move.
        cuts: Those of the plan.
        moves: Those of the plan, of parts too.
        level: The usage that no broker is above after it.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    return [_justified(scene, cut, {move.bundle: move for move in moves}, level) for cut in cuts]


def _justified(scene: Scene, cut: BundleCut, moves: dict[str, AdvisedMove], level: float) -> AdvisedCut:
    fleet, bundle = scene.fleet, cut.bundle
    broker, traffic = fleet.owners[bundle], fleet.bundles[bundle].stats.traffic
    whole = traffic.throughput or traffic.rate
    shares = {
        part.name: (part.stats.traffic.throughput if traffic.throughput else part.stats.traffic.rate) / whole
        for part in cut.parts
    }
    going = [part.name for part in cut.parts if part.name in moves]
    paid = total(moves[name].price.client_seconds for name in going)
    busiest = max(going, key=lambda name: shares[name])
    reason, rejected = _instead(scene, bundle, moves[busiest].target, level, paid)
    return AdvisedCut(
        cut=CutAdvice(
            bundle=bundle,
            answer=CutAnswer.CUT,
            cuts=cut.positions,
            parts=tuple(
                CutPart(bundle=part.name, share=shares[part.name], topics=part.stats.topics) for part in cut.parts
            ),
            goes=busiest,
        ),
        broker=broker,
        reason=reason,
        gain=fleet.pull(broker, bundle) * sum(shares[name] for name in going),
        price=paid,
        whole=scene.tariff.price(fleet.bundles[bundle]),
        rejected=(rejected,),
    )


def _instead(scene: Scene, bundle: str, target: str, level: float, paid: Estimate) -> tuple[CutReason, RejectedMove]:
    veto = scene.forbids(bundle, target)
    if veto is not None:
        return CutReason.WHOLE_IS_FORBIDDEN, RejectedMove(
            bundle=bundle, target=target, reason=RejectReason.VETO, detail=veto.detail, veto=veto
        )
    usage = scene.fleet.with_bundle(target, bundle)
    if usage > level + EXACT:
        return CutReason.WHOLE_DOES_NOT_FIT, RejectedMove(
            bundle=bundle,
            target=target,
            reason=RejectReason.TARGET_TOO_FULL,
            detail=f"brings its target to {usage:.1%}, above the {level:.1%} of the plan",
        )
    parts = "unknown" if paid.value is None else f"{paid.value:.1f}"
    return CutReason.PART_COSTS_LESS, RejectedMove(
        bundle=bundle,
        target=target,
        reason=RejectReason.DEARER,
        detail=f"{scene.weight(bundle):.1f} client-seconds instead of {parts}",
    )
