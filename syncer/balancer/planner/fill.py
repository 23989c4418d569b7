"""Fill: the question which bundles a broker gets that is new, or was restarted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syncer.balancer.planner.advice import AdviceReason
from syncer.balancer.planner.balance import answered
from syncer.balancer.planner.picking import Aim, PickRule, pick
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds
    from syncer.balancer.planner.advice import Advice

FILL_AIM = Aim(rule=PickRule.FLATTEST, least_gain=0.001)


def fill(fleet: Fleet, bounds: MoveBounds, tariff: Tariff, broker: str, aim: Aim = FILL_AIM) -> Advice:
    """Advise the moves that give a broker its share of the load; nothing moves between the others.

    Args:
        fleet: As it was read, the broker among the others; it is not moved.
        bounds: What hard goals go by.
        tariff: What moves cost.
        broker: Who is filled.
        aim: By which rule a plan of the front is picked.

    Raises:
        LoadDataInvalid: The broker is not there, or an isolation policy cannot be read.
    """
    if broker not in fleet.brokers:
        raise LoadDataInvalid(f"{broker} cannot be filled: it is no broker of the cluster")
    others = frozenset(fleet.brokers) - {broker}
    scene = Scene(fleet, replace(bounds, closed=bounds.closed | others), tariff)
    found = Search(scene).front()
    return answered(scene, found, pick(found, aim), aim.rule, AdviceReason.ASKED_FOR)
