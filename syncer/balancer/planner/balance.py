"""Balance: the question which few moves are worth their price, if any are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.estimate import Basis, total
from syncer.balancer.goals.stability import SHEDDERS, cluster_load, next_round, next_transfers
from syncer.balancer.planner.advice import Advice, AdviceAnswer, AdviceReason, Assumption, FrontPoint
from syncer.balancer.planner.explaining import balancing_reasons, explained, ordered, vetoes
from syncer.balancer.planner.leveling import EXACT
from syncer.balancer.planner.picking import Aim, PickRule, pick
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search, Sketch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds
    from syncer.balancer.goals.soft import GoalWeights
    from syncer.balancer.planner.advice import AdvisedPlan

_FEWEST_BROKERS: Final = 2


def balance(
    fleet: Fleet, bounds: MoveBounds, tariff: Tariff, aim: Aim | None = None, weights: GoalWeights | None = None
) -> Advice:
    """Advise the moves that balance a cluster and are worth their price.

    Args:
        fleet: As it was read; it is not moved.
        bounds: What hard goals go by.
        tariff: What moves cost.
        aim: When to act, how far to go, and by which rule.
        weights: How much each soft goal counts.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    wanted = aim or Aim()
    rest = _rest(fleet, bounds, wanted)
    if rest is not None:
        return Advice(answer=AdviceAnswer.NOTHING_TO_DO, reason=rest)
    why, overload = AdviceReason.TOO_UNEQUAL, bounds.settings.usage.overloaded_percent / 100
    if fleet.greatest > overload:
        why = AdviceReason.OVERLOADED
        wanted = replace(wanted, reach=max(0.0, min(wanted.reach, overload - fleet.mean)))
    scene = Scene(fleet, bounds, tariff, weights)
    found = Search(scene).front(wanted.reach if wanted.rule is PickRule.CHEAPEST_WITHIN else None)
    return answered(scene, found, wanted, why)


def answered(scene: Scene, found: Sequence[Sketch], aim: Aim, why: AdviceReason) -> Advice:
    """Pick a plan of a front and explain it; where the front is empty, say why nothing moves.

    Args:
        scene: The fleet, before any move.
        found: The front.
        aim: The rule of the pick.
        why: Why a plan was sought.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    chosen = pick(found, aim)
    if not chosen.targets:
        return _unmoved(scene)
    moves = ordered(scene, chosen.targets)
    plan = explained(scene, moves, balancing_reasons(scene, moves))
    return Advice(
        answer=AdviceAnswer.MOVES,
        reason=why,
        plan=plan,
        rule=aim.rule,
        front=tuple(_point(scene, each, chosen) for each in found),
        assumptions=assumptions(plan),
    )


def assumptions(plan: AdvisedPlan) -> frozenset[Assumption]:
    """Name what a plan takes for granted.

    Args:
        plan: The plan.
    """
    found = {Assumption.CPU_BY_TRAFFIC}
    if any(move.price.unknown_clients for move in plan.moves):
        found.add(Assumption.CLIENTS_UNMEASURED)
    if any(move.price.client_seconds.basis is Basis.ASSUMED for move in plan.moves):
        found.add(Assumption.PRICES_ASSUMED)
    return frozenset(found)


def _rest(fleet: Fleet, bounds: MoveBounds, aim: Aim) -> AdviceReason | None:
    """Say why a cluster is left alone without any search; None where it is not."""
    if len(fleet.brokers) < _FEWEST_BROKERS:
        return AdviceReason.FEW_BROKERS
    overload = bounds.settings.usage.overloaded_percent / 100
    if fleet.spread <= aim.act_above + EXACT and fleet.greatest <= overload:
        return AdviceReason.BALANCED
    if aim.where_pulsar_rests:
        return None
    if bounds.extensible:
        chosen = next_transfers(fleet, bounds)
        return AdviceReason.PULSAR_RESTS if chosen is not None and not chosen else None
    load = cluster_load(fleet, bounds.recently_unloaded)
    acts = any(next_round(load, bounds.settings, [name])[name] for name in SHEDDERS)
    return None if acts else AdviceReason.PULSAR_RESTS


def _unmoved(scene: Scene) -> Advice:
    fleet = scene.fleet
    fullest = min(fleet.usages, key=lambda name: (-fleet.usages[name], name))
    movable, against = scene.movable(fullest), vetoes(scene, fullest)
    if not movable and fleet.bundles_of(fullest):
        return Advice(
            answer=AdviceAnswer.NO_MOVE_ALLOWED, reason=AdviceReason.HARD_GOALS, subject=fullest, vetoes=against
        )
    pulls = {bundle: fleet.pull(fullest, bundle) for bundle in fleet.bundles_of(fullest)}
    largest = min(pulls, key=lambda bundle: (-pulls[bundle], bundle), default=None)
    if largest is not None and 2 * pulls[largest] > fleet.usages[fullest]:
        return Advice(
            answer=AdviceAnswer.NO_MOVE_HELPS, reason=AdviceReason.ONE_LARGE_BUNDLE, subject=largest, vetoes=against
        )
    if 2 * sum(pulls.values()) < fleet.usages[fullest]:
        return Advice(
            answer=AdviceAnswer.NO_MOVE_HELPS, reason=AdviceReason.BASE_USAGE, subject=fullest, vetoes=against
        )
    return Advice(answer=AdviceAnswer.NO_MOVE_ALLOWED, reason=AdviceReason.HARD_GOALS, subject=fullest, vetoes=against)


def _point(scene: Scene, sketch: Sketch, chosen: Sketch) -> FrontPoint:
    prices = (scene.tariff.price(scene.fleet.bundles[bundle]).client_seconds for bundle, _ in sketch.targets)
    return FrontPoint(
        moves=len(sketch.targets), spread=sketch.spread, client_seconds=total(prices), chosen=sketch == chosen
    )
