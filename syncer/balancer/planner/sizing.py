"""Sizing: how many brokers the load needs, tried by draining them in thought, or by adding empty ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.fleet import FleetBroker
from syncer.balancer.load import Usage, Usages
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.planner.dealing import deal, leaving
from syncer.balancer.planner.drain import leaving_bounds
from syncer.balancer.planner.leveling import EXACT
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds

MOST_MORE: Final = 64
"""So many brokers are added in thought, and no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeAdvice:
    """How many brokers would do so that none is above the usage that was asked for.

    ``spare`` are those that could go, the cheapest to drain first. ``would_do`` is None where even many more brokers
    would not do, because of ``stuck``: one broker's usage that no other can take.
    """

    brokers: int
    most_usage: float
    would_do: int | None
    spare: tuple[str, ...] = ()
    stuck: str | None = None


def size(fleet: Fleet, bounds: MoveBounds, tariff: Tariff, most_usage: float) -> SizeAdvice:
    """Find how many brokers would do.

    Args:
        fleet: As it was read; it is not moved.
        bounds: What hard goals go by.
        tariff: What moves cost.
        most_usage: The usage that no broker shall be above, a fraction.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    own = replace(bounds, ceiling=most_usage)
    count = len(fleet.brokers)
    if _levelled(fleet, own, tariff, most_usage):
        spare = _spare(fleet, own, tariff)
        return SizeAdvice(brokers=count, most_usage=most_usage, would_do=count - len(spare), spare=tuple(spare))
    low, high = 0, 1
    while not _levelled(*_with_more(fleet, own, high), tariff, most_usage):
        low, high = high, high * 2
        if high > MOST_MORE:
            stuck = min(fleet.usages, key=lambda broker: (-fleet.usages[broker], broker), default=None)
            return SizeAdvice(brokers=count, most_usage=most_usage, would_do=None, stuck=stuck)
    while high - low > 1:
        middle = (low + high) // 2
        if _levelled(*_with_more(fleet, own, middle), tariff, most_usage):
            high = middle
        else:
            low = middle
    return SizeAdvice(brokers=count, most_usage=most_usage, would_do=count + high)


def _levelled(fleet: Fleet, bounds: MoveBounds, tariff: Tariff, most_usage: float) -> bool:
    """Say whether moves can bring every broker to the usage or below it."""
    if fleet.greatest <= most_usage + EXACT:
        return True
    return Search(Scene(fleet, bounds, tariff)).reaches(most_usage)


def _spare(fleet: Fleet, bounds: MoveBounds, tariff: Tariff) -> Sequence[str]:
    whole = Scene(fleet, leaving_bounds(bounds, ()), tariff)
    prices = {broker: sum(map(whole.weight, leaving(whole, broker))) for broker in fleet.brokers}
    order = sorted(prices, key=lambda broker: (prices[broker], broker))
    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        closed = frozenset(order[:middle])
        scene = Scene(fleet, leaving_bounds(bounds, closed), tariff)
        bundles = [bundle for broker in order[:middle] for bundle in leaving(scene, broker)]
        if deal(scene, bundles, fleet.brokers.keys() - closed).left:
            high = middle
        else:
            low = middle
    return order[:low]


def _with_more(fleet: Fleet, bounds: MoveBounds, count: int) -> tuple[Fleet, MoveBounds]:
    """Add brokers like the first one, empty, of the same version and manager."""
    more, traits = fleet.copy(), dict(bounds.constraints.traits)
    pattern = min(fleet.brokers)
    limits = fleet.brokers[pattern].base
    for number in range(count):
        name = f"more-{number}:8080"
        more.add_broker(FleetBroker(name=name, base=_emptied(limits)))
        traits[name] = traits.get(pattern, BrokerTraits())
    return more, replace(bounds, constraints=replace(bounds.constraints, traits=traits))


def _emptied(base: Usages) -> Usages:
    return Usages(
        cpu=Usage(0.0, base.cpu.limit),
        memory=base.memory,
        direct_memory=Usage(0.0, base.direct_memory.limit),
        bandwidth_in=Usage(0.0, base.bandwidth_in.limit),
        bandwidth_out=Usage(0.0, base.bandwidth_out.limit),
    )
