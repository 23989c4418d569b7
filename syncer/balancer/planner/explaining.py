"""Explaining: moves in an order that can be made, each with its figures and with the moves that were not chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.goals.stability import cluster_load, next_round, next_transfers
from syncer.balancer.planner.advice import (
    AdvisedMove,
    AdvisedPlan,
    MoveReason,
    RejectedMove,
    RejectReason,
    UsageChange,
)
from syncer.balancer.planner.leveling import EXACT

if TYPE_CHECKING:
    from syncer.balancer.goals.veto import VetoReason
    from syncer.balancer.planner.scene import Scene

Moves = Sequence[tuple[str, str]]
"""Bundles, each with its target."""

_TARGETS_SHOWN: Final = 3
_BUNDLES_SHOWN: Final = 3


def ordered(scene: Scene, moves: Moves) -> list[tuple[str, str]]:
    """Put moves in order: who gets a bundle first gives away what it gives, then the fullest brokers come first.

    Args:
        scene: The fleet, before any of them.
        moves: Bundles and targets.
    """
    fleet, receiving = scene.fleet, {target for _, target in moves}
    return sorted(
        moves,
        key=lambda move: (
            fleet.owners[move[0]] not in receiving,
            -fleet.usages[fleet.owners[move[0]]],
            -fleet.pull(fleet.owners[move[0]], move[0]),
            move[0],
        ),
    )


def balancing_reasons(scene: Scene, moves: Moves) -> Callable[[str, str], MoveReason]:
    """Tell the moves of an exchange, and those that make room, from those of brokers that are too full.

    Args:
        scene: The fleet, before any of them.
        moves: All moves of the plan.
    """
    owners = scene.fleet.owners
    ways = {(owners[bundle], target) for bundle, target in moves}
    receiving = {target for _, target in moves}

    def reason(bundle: str, target: str) -> MoveReason:
        if (target, owners[bundle]) in ways:
            return MoveReason.EXCHANGED
        return MoveReason.MAKES_ROOM if owners[bundle] in receiving else MoveReason.SOURCE_TOO_FULL

    before = {bundle: reason(bundle, target) for bundle, target in moves}
    return lambda bundle, _: before[bundle]


def explained(scene: Scene, moves: Moves, reason: Callable[[str, str], MoveReason]) -> AdvisedPlan:
    """Make the moves one after another, and say of each what it does; the fleet is then as it was.

    Args:
        scene: The fleet, before any of them.
        moves: In their order.
        reason: Why a bundle goes to its target.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    fleet, strategy = scene.fleet, scene.bounds.settings.shedding.strategy
    first, moving = fleet.spread, {bundle for bundle, _ in moves}
    told = []
    for bundle, target in moves:
        source, spread = fleet.owners[bundle], fleet.spread
        usages = fleet.usages[source], fleet.usages[target]
        rejected = (*_other_targets(scene, bundle, target), *_other_bundles(scene, bundle, target, moving))
        fleet.move(bundle, target)
        told.append(
            AdvisedMove(
                bundle=bundle,
                source=source,
                target=target,
                reason=reason(bundle, target),
                source_usage=UsageChange(before=usages[0], after=fleet.usages[source]),
                target_usage=UsageChange(before=usages[1], after=fleet.usages[target]),
                spread=UsageChange(before=spread, after=fleet.spread),
                price=scene.tariff.price(replace(fleet.bundles[bundle], owner=source)),
                rejected=rejected,
            )
        )
    shed: frozenset[str] = frozenset()
    if told and scene.bounds.extensible:
        shed = next_transfers(fleet, scene.bounds) or frozenset()
    elif told:
        unloads = next_round(cluster_load(fleet), scene.bounds.settings, [strategy]).get(strategy, {})
        shed = frozenset(bundle for bundles in unloads.values() for bundle in bundles)
    plan = AdvisedPlan(
        moves=tuple(told), spread=UsageChange(before=first, after=fleet.spread), undone=shed & frozenset(moving)
    )
    fleet.rewind()
    return plan


def vetoes(scene: Scene, broker: str) -> dict[VetoReason, int]:
    """Count why the bundles of a broker may not move: each by the reason that it meets first at the emptiest brokers.

    Args:
        scene: The fleet.
        broker: Whose bundles.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    found: Counter[VetoReason] = Counter()
    emptiest = sorted(scene.fleet.usages, key=lambda name: (scene.fleet.usages[name], name))
    for bundle in scene.fleet.bundles_of(broker):
        veto = scene.stays(bundle)
        for target in emptiest if veto is None else ():
            if target != broker:
                veto = scene.forbids(bundle, target)
                if veto is None:
                    break
        if veto is not None:
            found[veto.reason] += 1
    return dict(sorted(found.items()))


def _other_targets(scene: Scene, bundle: str, chosen: str) -> Iterator[RejectedMove]:
    fleet = scene.fleet
    usage, loss, shown = fleet.with_bundle(chosen, bundle), scene.loss(bundle, chosen), 0
    for target in sorted(fleet.usages, key=lambda name: (fleet.usages[name], name)):
        if target in (chosen, fleet.owners[bundle]):
            continue
        veto, own = scene.forbids(bundle, target), fleet.with_bundle(target, bundle)
        if veto is not None:
            yield RejectedMove(bundle=bundle, target=target, reason=RejectReason.VETO, detail=veto.detail, veto=veto)
        elif own > usage + EXACT:
            detail = f"{own:.1%} instead of {usage:.1%}"
            yield RejectedMove(bundle=bundle, target=target, reason=RejectReason.TARGET_TOO_FULL, detail=detail)
        else:
            detail = f"worse by {scene.loss(bundle, target) - loss:.3f}, all soft goals together"
            yield RejectedMove(bundle=bundle, target=target, reason=RejectReason.WORSE_TARGET, detail=detail)
        shown += 1
        if shown == _TARGETS_SHOWN:
            return


def _other_bundles(scene: Scene, bundle: str, target: str, moving: set[str]) -> Iterator[RejectedMove]:
    """Show the source's busiest bundles that stay: those that Pulsar would unload first."""
    fleet, source = scene.fleet, scene.fleet.owners[bundle]
    pull, weight = fleet.pull(source, bundle), scene.weight(bundle)
    staying = [each for each in fleet.bundles_of(source) if each not in moving]
    busiest = sorted(staying, key=lambda each: (-fleet.bundles[each].stats.traffic.throughput, each))
    for other in busiest[:_BUNDLES_SHOWN]:
        veto = scene.stays(other) or scene.forbids(other, target)
        own_pull, own_weight = fleet.pull(source, other), scene.weight(other)
        if veto is not None:
            yield RejectedMove(bundle=other, target=target, reason=RejectReason.VETO, detail=veto.detail, veto=veto)
        elif own_weight > weight + EXACT:
            detail = f"{own_weight:.1f} client-seconds instead of {weight:.1f}"
            yield RejectedMove(bundle=other, target=target, reason=RejectReason.DEARER, detail=detail)
        elif own_pull < pull - EXACT:
            detail = f"lowers its broker by {own_pull:.1%} instead of {pull:.1%}"
            yield RejectedMove(bundle=other, target=target, reason=RejectReason.TOO_LITTLE, detail=detail)
        else:
            detail = f"brings its target to {fleet.with_bundle(target, other):.1%}"
            yield RejectedMove(bundle=other, target=target, reason=RejectReason.TARGET_TOO_FULL, detail=detail)
