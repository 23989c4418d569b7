"""Constraints of placement that are no load: isolation policies, anti-affinity groups, failure domains, traits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syncer.balancer.placement.decision import BrokerTraits
    from syncer.balancer.placement.isolation import IsolationPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What an operator has told a cluster, and what its brokers register.

    ``groups`` is the anti-affinity group of each namespace that has one, ``domains`` the failure domain of each broker.
    """

    traits: Mapping[str, BrokerTraits]
    policies: Sequence[IsolationPolicy] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)

    def group_counts(self, namespace: str, served: Iterable[tuple[str, str]]) -> dict[str, int] | None:
        """Count what each broker has of a namespace's anti-affinity group; None where it is in none.

        Groups of the same name in capitals are the same.

        Args:
            namespace: Whose group.
            served: Broker and namespace, each pair counting one.
        """
        group = self._group(namespace)
        if not group:
            return None
        counts: dict[str, int] = {}
        for broker, other in served:
            if self._group(other) == group:
                counts[broker] = counts.get(broker, 0) + 1
        return counts

    def _group(self, namespace: str) -> str:
        return self.groups.get(namespace, "").lower() if self.groups.get(namespace, "").strip() else ""
