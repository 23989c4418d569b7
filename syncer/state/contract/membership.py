"""This region's place in the group: what it may forget, and whether it has left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from syncer.conflict.classes.periods import ScopePeriod
from syncer.model import Millis

JOINING: Final = "nothing is written or published before 'syncer regions join --confirm'"
"""Why a new region is paused that shall show first what joining would do."""


COME_BACK: Final = "It comes back as a new member: with a new sidecar database, under a region id that was never used."
"""What to do with a region that has left, or was forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """This region's place in the group.

    Args:
        floor: Greatest time of any tombstone that was ever dropped here: a path unknown here starts above it.
        left_at: When the region has left the group; ``None`` while it belongs to it.
    """

    floor: Millis = Millis(0)
    left_at: Millis | None = None


class MembershipTransaction(Protocol):
    """The part of a transaction that is about this region's place in the group."""

    def membership(self) -> Membership:
        """This region's place in the group."""
        ...

    def set_left(self, left_at: Millis | None) -> None:
        """Note that this region has left the group, or has not."""
        ...

    def scope_periods(self) -> tuple[ScopePeriod, ...]:
        """The latest scopes of this region, the oldest first."""
        ...

    def keep_scope_periods(self, periods: Sequence[ScopePeriod]) -> None:
        """Keep these, and no others."""
        ...
