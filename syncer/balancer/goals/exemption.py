"""Exemption: bundles of the brokers themselves, and of excluded namespaces, stay where they are."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from syncer.balancer.exempt import never_shed
from syncer.balancer.goals.veto import Veto, VetoReason
from syncer.balancer.placement.modular import SYSTEM_NAMESPACE
from syncer.balancer.ranges import namespace_of_bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class ExemptionGoal:
    """Keeps what is never shed; the extensible manager keeps the system's namespace, too, which holds its own state."""

    excluded: AbstractSet[str] = frozenset()
    extensible: bool = False

    def stays(self, bundle: str) -> Veto | None:
        """Forbid every move of a bundle of the brokers' own or of an excluded namespace."""
        namespace = namespace_of_bundle(bundle)
        if never_shed(bundle):
            reason = VetoReason.HEARTBEAT
        elif self.extensible and namespace == SYSTEM_NAMESPACE:
            reason = VetoReason.SYSTEM_NAMESPACE
        elif namespace in self.excluded:
            reason = VetoReason.EXCLUDED_NAMESPACE
        else:
            return None
        return Veto(reason=reason, bundle=bundle, detail=namespace)
