"""UniformLoadShedder: the busiest broker unloads a share of what it has more than the idlest one.

What is still to unload is a 32-bit integer, which bundles below 1 never lessen: of such it unloads all.

Source: UniformLoadShedder, Pulsar 4.0.8; without the surplus 4.2.4 and 5.0.0-M1 (PR 21906).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.balancer.java import INT_MAX, int32, truncated
from syncer.balancer.strategies.taking import Unloads, messages, sheddable, throughput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from syncer.balancer.cluster import ClusterLoad
    from syncer.balancer.load import BrokerReport, Rates
    from syncer.balancer.settings import BalancerSettings, UniformSettings

_NEARLY_NOTHING: Final = 1e-6
SURPLUS: Final = 1000
"""By which a bundle may exceed what is still to unload, in messages or bytes alike; versions before PR 21906."""


@dataclass(frozen=True, slots=True)
class Extremes:
    """The busiest broker, and how busy it and the idlest one are."""

    busiest: str | None
    greatest: float
    least: float


@dataclass(slots=True)
class UniformLoadShedder:
    """Sheds by the difference of two brokers; it remembers nothing.

    ``surplus``: by how much a bundle may exceed what is still to unload, which depends on the brokers' version.
    """

    settings: BalancerSettings
    surplus: int = SURPLUS

    def round(self, load: ClusterLoad) -> Unloads:
        """Choose what is unloaded in this round.

        Args:
            load: The cluster as the leader sees it.
        """
        own = self.settings.uniform
        by_rate, by_bytes = extremes(load.brokers, messages), extremes(load.brokers, throughput)
        difference = (by_rate.greatest - by_rate.least) * 100 / by_rate.least
        if 0 < own.rate_difference_percent < difference:
            return self._unloaded(load, by_rate, messages, own.min_unload_rate)
        if 0 < own.throughput_multiplier < by_bytes.greatest / by_bytes.least:
            return self._unloaded(load, by_bytes, throughput, own.min_unload_throughput)
        return {}

    def _unloaded(self, load: ClusterLoad, found: Extremes, value: Callable[[Rates], float], fewest: int) -> Unloads:
        own = self.settings.uniform
        need = truncated((found.greatest - found.least) * own.max_unload_fraction)
        if found.busiest is None or len(load.brokers[found.busiest].bundles) <= 1 or need < fewest:
            return {}
        bundles = sheddable(load)
        taken = _fitting(bundles.falling(load.brokers[found.busiest].bundles, value), need, own, self.surplus)
        return {found.busiest: taken} if taken else {}


def extremes(brokers: Mapping[str, BrokerReport], value: Callable[[Rates], float]) -> Extremes:
    """Find the busiest broker, and the idlest one's load.

    Args:
        brokers: Their reports, in the leader's order.
        value: By which of its rates a broker is judged.
    """
    busiest, greatest, least = None, -1.0, float(INT_MAX)
    for broker, report in brokers.items():
        own = value(report.traffic)
        if own > greatest:
            busiest, greatest = broker, own
        least = min(least, own)
    return Extremes(busiest, greatest, 1.0 if -_NEARLY_NOTHING <= least <= _NEARLY_NOTHING else least)


def _fitting(bundles: Iterable[tuple[str, float]], need: int, settings: UniformSettings, surplus: int) -> list[str]:
    taken: list[str] = []
    for bundle, value in bundles:
        if settings.max_bundles != -1 and len(taken) >= settings.max_bundles:
            break
        if value <= int32(need + surplus):
            taken.append(bundle)
            need = int32(need + truncated(-value))
    return taken
