"""Traffic: of two brokers of one usage, less throughput and fewer messages are better."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.load import Rates


class ThroughputGoal:
    """Weighs the bytes that a broker would have, against the busiest one's at the beginning."""

    def __init__(self, fleet: Fleet) -> None:
        """Find the busiest broker.

        Args:
            fleet: As it stands at the beginning.
        """
        self._fleet = fleet
        self._most = max((fleet.traffic(broker).throughput for broker in fleet.brokers), default=0.0)

    def loss(self, bundle: str, target: str) -> float:
        """Reckon the target's share of the greatest throughput with the bundle."""
        own, more = _both(self._fleet, bundle, target)
        return (own.throughput + more.throughput) / self._most if self._most > 0 else 0.0


class RateGoal:
    """Weighs the messages that a broker would have, against the busiest one's at the beginning."""

    def __init__(self, fleet: Fleet) -> None:
        """Find the busiest broker.

        Args:
            fleet: As it stands at the beginning.
        """
        self._fleet = fleet
        self._most = max((fleet.traffic(broker).rate for broker in fleet.brokers), default=0.0)

    def loss(self, bundle: str, target: str) -> float:
        """Reckon the target's share of the greatest rate with the bundle."""
        own, more = _both(self._fleet, bundle, target)
        return (own.rate + more.rate) / self._most if self._most > 0 else 0.0


def _both(fleet: Fleet, bundle: str, target: str) -> tuple[Rates, Rates]:
    return fleet.traffic(target), fleet.bundles[bundle].stats.traffic
