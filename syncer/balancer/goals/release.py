"""Release: a bundle goes to brokers of the cluster's manager and, where they are preferred, of the latest version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from syncer.balancer.goals.veto import Veto, VetoReason
from syncer.balancer.placement.candidates import of_manager
from syncer.balancer.placement.releases import of_latest_release

if TYPE_CHECKING:
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.settings import PlacementSettings


class ReleaseGoal:
    """Asks the filters of placement once, for all brokers."""

    def __init__(self, brokers: Iterable[str], constraints: Constraints, settings: PlacementSettings) -> None:
        """Find the brokers that are left.

        Args:
            brokers: All that are available.
            constraints: With the traits of each.
            settings: What the brokers were told.
        """
        managed = of_manager(tuple(brokers), constraints.traits, settings.manager)
        self._others = dict.fromkeys(managed.dropped, VetoReason.OTHER_MANAGER)
        if settings.prefer_later_versions:
            latest = of_latest_release(managed.left, constraints.traits)
            self._others |= dict.fromkeys(latest.dropped, VetoReason.OLDER_VERSION)

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Forbid brokers of another manager, or of an older version."""
        reason = self._others.get(target)
        return Veto(reason=reason, bundle=bundle, target=target) if reason is not None else None
