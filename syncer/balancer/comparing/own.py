"""Own: a leader that makes the moves of our cheapest plan for a spread in its first round, and then rests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search

if TYPE_CHECKING:
    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.settings import BalancerSettings


class OwnLeader:
    """Moves bundles by a plan; to a round it is a leader like Pulsar's."""

    def __init__(self, constraints: Constraints, settings: BalancerSettings, tariff: Tariff, spread: float) -> None:
        """Begin without a plan.

        Args:
            constraints: Policies, groups, domains and traits.
            settings: What the brokers were told.
            tariff: What moves cost.
            spread: The bound that the plan is made for.
        """
        self.settings = settings
        self._constraints = constraints
        self._tariff = tariff
        self._spread = spread
        self._done = False

    def round(self, fleet: Fleet, now_ms: int) -> tuple[list[tuple[str, str]], int]:
        """Plan in the first round; choose nothing in the others.

        Args:
            fleet: As it is now.
            now_ms: The time.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        del now_ms
        if self._done:
            return [], 0
        self._done = True
        bounds = MoveBounds(constraints=self._constraints, settings=self.settings)
        return list(Search(Scene(fleet, bounds, self._tariff)).to_spread(self._spread).targets), 0
