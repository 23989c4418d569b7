"""Taking: bundles of a broker by their traffic, and how many of them make up a need.

Source: LoadData.getBundleDataForLoadShedding and the streams of the shedders, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.exempt import never_shed
from syncer.balancer.java import ascending
from syncer.balancer.load import Rates

if TYPE_CHECKING:
    from syncer.balancer.cluster import ClusterLoad

Unloads = dict[str, list[str]]
"""Broker to the bundles that it unloads, in that order."""


@dataclass(frozen=True, slots=True)
class Sheddable:
    """The bundles that may be shed in a round, with their places in the leader's order, which decides ties."""

    places: Mapping[str, int]
    rates: Mapping[str, Rates]

    def falling(self, bundles: Iterable[str], value: Callable[[Rates], float]) -> list[tuple[str, float]]:
        """List bundles of a broker, the busiest first.

        Args:
            bundles: What the broker reports as its own; of others than the sheddable ones nothing is said.
            value: By which of its rates a bundle is judged.
        """
        found = sorted((bundle for bundle in bundles if bundle in self.places), key=self.places.__getitem__)
        pairs = [(bundle, value(self.rates[bundle])) for bundle in found]
        return ascending(pairs, lambda pair: pair[1], falling=True)


def sheddable(load: ClusterLoad) -> Sheddable:
    """Gather what may be shed: neither a broker's own bundle, nor one that was unloaded just now.

    Namespaces that are excluded from shedding are among them: strategies do not know of these, the load manager passes
    over what was chosen of them.

    Args:
        load: The cluster.
    """
    rates = {
        bundle: averages.short.traffic
        for bundle, averages in load.bundles.items()
        if bundle not in load.recently_unloaded and not never_shed(bundle)
    }
    return Sheddable({bundle: place for place, bundle in enumerate(rates)}, rates)


def throughput(rates: Rates) -> float:
    """Judge a bundle by its bytes."""
    return rates.throughput


def messages(rates: Rates) -> float:
    """Judge a bundle by its messages."""
    return rates.rate


def enough(bundles: Iterable[tuple[str, float]], need: float) -> list[str]:
    """Take bundles until their values make up a need, and at least one.

    Args:
        bundles: Bundles with their values, the greatest first.
        need: What they should make up.
    """
    taken: list[str] = []
    marked = 0.0
    for bundle, value in bundles:
        if taken and not marked < need:
            break
        taken.append(bundle)
        marked += value
    return taken
