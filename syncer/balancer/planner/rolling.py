"""Rolling restart: an order of brokers in which each bundle moves once.

Bundles of the next broker go to brokers that were restarted before, so they never move again. The first broker has
nobody before it. Where it is an empty one, every bundle moves once; otherwise the broker is the first whose bundles
are the cheapest to move twice. They go to the brokers that are restarted last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.planner.advice import AdviceAnswer, MoveReason
from syncer.balancer.planner.dealing import deal, leaving
from syncer.balancer.planner.drain import leaving_bounds
from syncer.balancer.planner.explaining import explained
from syncer.balancer.planner.scene import Scene

if TYPE_CHECKING:
    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds
    from syncer.balancer.goals.veto import Veto
    from syncer.balancer.planner.advice import AdvisedPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartStep:
    """A broker that is emptied and then restarted; ``left`` are bundles for which nobody has room, or may have."""

    broker: str
    plan: AdvisedPlan
    left: tuple[Veto, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingAdvice:
    """The steps in their order; ``twice`` are bundles that move more than once, for want of an empty broker."""

    answer: AdviceAnswer
    steps: tuple[RestartStep, ...]
    twice: frozenset[str] = frozenset()


def rolling_restart(fleet: Fleet, bounds: MoveBounds, tariff: Tariff) -> RollingAdvice:
    """Advise the order of a rolling restart, and the moves before each broker's.

    Args:
        fleet: As it was read; it is not moved.
        bounds: What hard goals go by.
        tariff: What moves cost.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    now = fleet.copy()
    whole = Scene(now, leaving_bounds(bounds, ()), tariff)
    prices = {broker: sum(map(whole.weight, leaving(whole, broker))) for broker in now.brokers}
    order = sorted(prices, key=lambda broker: (prices[broker], broker))
    order[1:] = sorted(order[1:], key=lambda broker: (-now.usages[broker], broker))
    steps: list[RestartStep] = []
    moved: set[str] = set()
    twice: set[str] = set()
    for place, broker in enumerate(order):
        scene = Scene(now, leaving_bounds(bounds, {broker}), tariff)
        dealt = deal(scene, leaving(scene, broker), frozenset(order[:place]))
        for target in reversed(order[place + 1 :]):
            if not dealt.left:
                break
            more = deal(scene, [veto.bundle for veto in dealt.left], frozenset([target]))
            dealt.targets += more.targets
            dealt.left = more.left
        scene.fleet.rewind()
        steps.append(
            RestartStep(
                broker=broker,
                plan=explained(scene, dealt.targets, lambda *_: MoveReason.RESTARTED),
                left=tuple(dealt.left),
            )
        )
        for bundle, target in dealt.targets:
            now.move(bundle, target)
            (twice if bundle in moved else moved).add(bundle)
    room = not any(step.left for step in steps)
    moves = any(step.plan.moves for step in steps)
    answer = AdviceAnswer.MOVES if room and moves else AdviceAnswer.NOTHING_TO_DO if room else AdviceAnswer.NO_ROOM
    return RollingAdvice(answer=answer, steps=tuple(steps), twice=frozenset(twice))
