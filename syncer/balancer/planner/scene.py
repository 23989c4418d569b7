"""Scene: a fleet with its goals and its tariff, in which plans are tried one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.goals.hard import HardGoals
from syncer.balancer.goals.soft import GoalWeights, SoftGoals
from syncer.balancer.goals.veto import VetoReason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds
    from syncer.balancer.goals.veto import Veto


class Scene:
    """A fleet of its own, and what is asked of its bundles again and again."""

    def __init__(
        self,
        fleet: Fleet,
        bounds: MoveBounds,
        tariff: Tariff,
        weights: GoalWeights | None = None,
        surcharges: Mapping[str, float] | None = None,
    ) -> None:
        """Copy the fleet and make its goals.

        Args:
            fleet: As it stands now; it is not moved.
            bounds: What hard goals go by.
            tariff: What moves cost.
            weights: How much each soft goal counts.
            surcharges: What bundles weigh besides what the tariff says.
        """
        self.fleet = fleet.copy()
        self.bounds, self.tariff, self.weights = bounds, tariff, weights
        self._surcharges = surcharges or {}
        self.closed = bounds.closed
        self._hard = HardGoals(self.fleet, bounds)
        self._soft = SoftGoals(self.fleet, bounds.settings, weights or GoalWeights())
        self._held = {broker: tuple(sorted(self.fleet.bundles_of(broker))) for broker in self.fleet.brokers}
        self._movable: dict[str, tuple[str, ...]] = {}
        self._weights: dict[str, float] = {}
        self._by_weight: dict[str, list[tuple[float, str]]] = {}

    def movable(self, broker: str) -> Sequence[str]:
        """Name the bundles that a broker had at the beginning and that may move at all, by their names.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        found = self._movable.get(broker)
        if found is None:
            found = self._movable[broker] = tuple(
                bundle
                for bundle in self._held[broker]
                if self.stays(bundle) is None and self._elsewhere(bundle, broker)
            )
        return found

    def by_weight(self, broker: str) -> Sequence[tuple[float, str]]:
        """List the bundles that a broker may give away with what they weigh, the lightest first.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        found = self._by_weight.get(broker)
        if found is None:
            found = self._by_weight[broker] = sorted((self.weight(bundle), bundle) for bundle in self.movable(broker))
        return found

    def _elsewhere(self, bundle: str, broker: str) -> bool:
        receivers = self.receivers(bundle)
        return len(receivers) > (broker in receivers)

    def stays(self, bundle: str) -> Veto | None:
        """Say why a bundle may not move at all; None where it may."""
        return self._hard.stays(bundle)

    def own_of_a_broker(self, bundle: str) -> bool:
        """Say whether a bundle is of a broker itself, and ends with it."""
        veto = self._hard.stays(bundle)
        return veto is not None and veto.reason is VetoReason.HEARTBEAT

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Say why a bundle may not go to a broker as the fleet stands now; None where it may.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        return self._hard.forbids(bundle, target)

    def receivers(self, bundle: str) -> frozenset[str]:
        """Name the brokers that policies allow a bundle.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        return self._hard.receivers(bundle)

    def loss(self, bundle: str, target: str) -> float:
        """Reckon how bad a target is for a bundle by the soft goals."""
        return self._soft.loss(bundle, target)

    def weight(self, bundle: str) -> float:
        """Reckon what moving a bundle weighs.

        Raises:
            LoadDataInvalid: A count of clients is below zero.
        """
        found = self._weights.get(bundle)
        if found is None:
            found = self._weights[bundle] = self.tariff.weight(self.fleet.bundles[bundle]) + self._surcharges.get(
                bundle, 0.0
            )
        return found
