"""Grace: a bundle that was unloaded just now stays, so that its clients are cut off once."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from syncer.balancer.goals.veto import Veto, VetoReason


@dataclass(frozen=True, slots=True)
class GraceGoal:
    """Keeps the bundles that are in their grace period."""

    recently_unloaded: AbstractSet[str] = frozenset()

    def stays(self, bundle: str) -> Veto | None:
        """Forbid every move of a bundle in its grace period."""
        return Veto(reason=VetoReason.MOVED_JUST_NOW, bundle=bundle) if bundle in self.recently_unloaded else None
