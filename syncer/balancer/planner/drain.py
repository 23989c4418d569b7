"""Drain: the question where the bundles of brokers go that shall stop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncer.balancer.planner.advice import Advice, AdviceAnswer, AdviceReason, MoveReason
from syncer.balancer.planner.balance import assumptions
from syncer.balancer.planner.dealing import deal, leaving
from syncer.balancer.planner.explaining import explained
from syncer.balancer.planner.scene import Scene
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from collections.abc import Collection

    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds


def drain(fleet: Fleet, bounds: MoveBounds, tariff: Tariff, brokers: Collection[str]) -> Advice:
    """Advise the moves that empty brokers, each bundle moving once.

    What else keeps a bundle where it is, as a grace period, does not count: it leaves in any case when its broker
    stops. Nobody is filled beyond the threshold of overload.

    Args:
        fleet: As it was read; it is not moved.
        bounds: What hard goals go by.
        tariff: What moves cost.
        brokers: Those that shall be empty.

    Raises:
        LoadDataInvalid: One of them is not there, or an isolation policy cannot be read.
    """
    for broker in brokers:
        if broker not in fleet.brokers:
            raise LoadDataInvalid(f"{broker} cannot be drained: it is no broker of the cluster")
    scene = Scene(fleet, leaving_bounds(bounds, brokers), tariff)
    bundles = [bundle for broker in brokers for bundle in leaving(scene, broker)]
    if not bundles:
        return Advice(
            answer=AdviceAnswer.NOTHING_TO_DO, reason=AdviceReason.EMPTY_ALREADY, subject=", ".join(sorted(brokers))
        )
    dealt = deal(scene, bundles, fleet.brokers.keys() - set(brokers))
    scene.fleet.rewind()
    plan = explained(scene, dealt.targets, lambda *_: MoveReason.DRAINED)
    return Advice(
        answer=AdviceAnswer.NO_ROOM if dealt.left else AdviceAnswer.MOVES,
        reason=AdviceReason.ASKED_FOR,
        subject=", ".join(sorted(brokers)),
        plan=plan,
        left=tuple(dealt.left),
        assumptions=assumptions(plan),
    )


def leaving_bounds(bounds: MoveBounds, closed: Collection[str]) -> MoveBounds:
    """Take the bounds for bundles that leave in any case.

    Args:
        bounds: Those of the cluster.
        closed: Brokers that shall get nothing.
    """
    shedding = replace(bounds.settings.shedding, excluded_namespaces=frozenset())
    ceiling = bounds.settings.usage.overloaded_percent / 100 if bounds.ceiling is None else bounds.ceiling
    return replace(
        bounds,
        settings=replace(bounds.settings, shedding=shedding),
        recently_unloaded=frozenset(),
        closed=bounds.closed | set(closed),
        ceiling=ceiling,
    )
