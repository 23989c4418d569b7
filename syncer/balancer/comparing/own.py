"""Own: a leader that makes the cuts and moves of our cheapest plan for a spread in its first round, and then rests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from syncer.balancer.planner.paring import pared
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search

if TYPE_CHECKING:
    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.hard import MoveBounds
    from syncer.balancer.planner.slicing import TopicLoads


class OwnLeader:
    """Moves bundles by a plan; to a round it is a leader like Pulsar's."""

    def __init__(
        self,
        bounds: MoveBounds,
        tariff: Tariff,
        spread: float,
        known: Sequence[tuple[str, str]] = (),
        topics: TopicLoads | None = None,
    ) -> None:
        """Begin without a plan.

        Args:
            bounds: What hard goals go by.
            tariff: What moves cost.
            spread: The bound that the plan is made for.
            known: Moves that come near it, Pulsar's own: the plan is not dearer than they are.
            topics: Loads of topics, by which bundles may be cut.
        """
        self.settings = bounds.settings
        self._bounds = bounds
        self._tariff = tariff
        self._spread = spread
        self._known = known
        self._topics = topics
        self._done = False

    def round(self, fleet: Fleet, now_ms: int) -> tuple[list[tuple[str, str]], int]:
        """Plan, and cut bundles of the fleet, in the first round; choose nothing in the others.

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
        scene = Scene(fleet, self._bounds, self._tariff)
        found = Search(scene).to_spread(self._spread, self._known)
        if self._topics is not None:
            found = pared(scene, self._topics, self._spread, found, self._known)
        for cut in found.cuts:
            fleet.split(cut.bundle, cut.parts)
        return list(found.targets), 0
