"""Namespaces: the fewer bundles of a namespace a broker has, the better for what would be lost with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from syncer.balancer.ranges import namespace_of_bundle

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet


class NamespacesGoal:
    """Weighs the share of a namespace's bundles that a broker would have."""

    def __init__(self, fleet: Fleet) -> None:
        """Count the bundles of each namespace.

        Args:
            fleet: As it stands at the beginning.
        """
        self._fleet = fleet
        self._counts = Counter(namespace_of_bundle(bundle) for bundle in fleet.bundles)

    def loss(self, bundle: str, target: str) -> float:
        """Reckon the target's share of the bundles of the bundle's namespace, with it."""
        namespace = namespace_of_bundle(bundle)
        return (self._fleet.namespace_count(target, namespace) + 1) / self._counts[namespace]
