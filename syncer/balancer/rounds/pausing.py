"""Pausing: bundles that were unloaded just now and stay in grace, and those that policies keep where they are.

Source: ModularLoadManagerImpl.doLoadShedding, LoadManagerShared.shouldAntiAffinityNamespaceUnload, UnloadScheduler,
Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from syncer.balancer.placement.isolation import allowed
from syncer.balancer.rounds.reporting import MINUTE_MS

if TYPE_CHECKING:
    from syncer.balancer.placement.constraints import Constraints


@dataclass(slots=True)
class Grace:
    """The leader's memory of unloads: ``since_ms`` is when each bundle was unloaded."""

    minutes: int
    since_ms: dict[str, int] = field(default_factory=dict)

    def begin(self, bundle: str, now_ms: int) -> None:
        """Remember that a bundle is unloaded now."""
        self.since_ms[bundle] = now_ms

    def current(self, now_ms: int) -> frozenset[str]:
        """Forget what is over, and name the bundles that are not unloaded again yet."""
        first = now_ms - self.minutes * MINUTE_MS
        self.since_ms = {bundle: since for bundle, since in self.since_ms.items() if since >= first}
        return frozenset(self.since_ms)


def may_leave(
    namespace: str, source: str, brokers: Iterable[str], served: Iterable[tuple[str, str]], constraints: Constraints
) -> bool:
    """Say whether a bundle that was chosen may leave its broker at all.

    Args:
        namespace: The bundle's.
        source: The broker that has it.
        brokers: All that are available.
        served: Broker and namespace, each pair once.
        constraints: Policies, groups and traits.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    candidates = allowed(namespace, tuple(brokers), constraints.policies, constraints.traits).left
    if not any(broker != source for broker in candidates):
        return False
    group = constraints.group_counts(namespace, served)
    return not group or _better_elsewhere(source, candidates, group)


def _better_elsewhere(source: str, candidates: Iterable[str], group: Mapping[str, int]) -> bool:
    counts = {broker: group.get(broker, 0) for broker in candidates}
    least = min(counts.values())
    return least == 0 or counts.get(source, 0) > least or any(count != least for count in counts.values())
