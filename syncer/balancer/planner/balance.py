"""Balance: the question which few moves are worth their price, if any are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.estimate import Basis, total
from syncer.balancer.goals.stability import SHEDDERS, cluster_load, next_round, next_transfers
from syncer.balancer.planner.advice import Advice, AdviceAnswer, AdviceReason, Assumption, FrontPoint
from syncer.balancer.planner.explaining import balancing_reasons, explained, ordered, vetoes
from syncer.balancer.planner.justifying import justified
from syncer.balancer.planner.leveling import EXACT
from syncer.balancer.planner.paring import cut_scene, pared
from syncer.balancer.planner.picking import Aim, PickRule, pick
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search, Sketch, undominated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds
    from syncer.balancer.goals.soft import GoalWeights
    from syncer.balancer.planner.advice import AdvisedPlan
    from syncer.balancer.planner.slicing import TopicLoads

_FEWEST_BROKERS: Final = 2


def balance(
    fleet: Fleet,
    bounds: MoveBounds,
    tariff: Tariff,
    aim: Aim | None = None,
    weights: GoalWeights | None = None,
    topics: TopicLoads | None = None,
) -> Advice:
    """Advise the moves that balance a cluster and are worth their price, and cuts that make them cheaper.

    Args:
        fleet: As it was read; it is not moved.
        bounds: What hard goals go by.
        tariff: What moves cost.
        aim: When to act, how far to go, and by which rule.
        weights: How much each soft goal counts.
        topics: Loads of topics; without them no bundle is cut.

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
    chosen = pick(found, wanted)
    if topics is not None:
        bound = wanted.reach if wanted.rule is PickRule.CHEAPEST_WITHIN else chosen.spread
        cut = pared(scene, topics, bound, chosen)
        if cut.spread <= fleet.spread - wanted.least_gain:
            chosen, found = cut, undominated([*found, cut])
    return answered(scene, found, chosen, wanted.rule, why)


def answered(scene: Scene, found: Sequence[Sketch], chosen: Sketch, rule: PickRule, why: AdviceReason) -> Advice:
    """Explain a plan of a front; where it moves nothing, say why.

    Args:
        scene: The fleet, before any move.
        found: The front.
        chosen: The plan that was picked.
        rule: The rule of the pick.
        why: Why a plan was sought.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    if not chosen.targets:
        return _unmoved(scene)
    cut = cut_scene(scene, chosen.cuts)
    moves = ordered(cut, chosen.targets)
    plan = explained(cut, moves, balancing_reasons(cut, moves))
    level = scene.fleet.mean + plan.spread.after
    plan = replace(plan, cuts=tuple(justified(scene, chosen.cuts, plan.moves, level)))
    return Advice(
        answer=AdviceAnswer.MOVES,
        reason=why,
        plan=plan,
        rule=rule,
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
    if plan.cuts:
        found.add(Assumption.CUTS_UNNOTICED)
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
    parts = {part.name: part for cut in sketch.cuts for part in cut.parts}
    bundles = (parts.get(bundle) or scene.fleet.bundles[bundle] for bundle, _ in sketch.targets)
    return FrontPoint(
        moves=len(sketch.targets),
        spread=sketch.spread,
        client_seconds=total(scene.tariff.price(bundle).client_seconds for bundle in bundles),
        chosen=sketch == chosen,
        cuts=sum(len(cut.positions) for cut in sketch.cuts),
    )
