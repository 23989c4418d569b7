"""Parts of the garbage collection of deletes: the tombstones' epoch, and the gaps that keep them."""

from __future__ import annotations

from dataclasses import dataclass, field

from syncer.replication.antientropy.part import AntiEntropy
from syncer.replication.core import Core
from syncer.replication.gc.state import GapFill, Tombstones
from syncer.replication.group.participation import Participation
from syncer.replication.local.part import OwnStore
from syncer.replication.recovery.part import Recovery
from syncer.replication.telemetry import Telemetry


@dataclass(slots=True, kw_only=True)
class DeleteCollection:
    """Forgetting deletes once every member has seen them.

    Args:
        core: The region's own replica.
        group: The group.
        telemetry: Counts and alarms.
        recovery: Recovering a lost database; what peers have asked for.
        local: The region's own store.
        antientropy: How this region and its peers compare.
        tombstones: Where the forgetting of deletes stands.
        gaps: Which deletes are being sent again, and whose messages are missing.
    """

    core: Core
    group: Participation
    telemetry: Telemetry
    recovery: Recovery
    local: OwnStore
    antientropy: AntiEntropy
    tombstones: Tombstones
    gaps: GapFill = field(default_factory=GapFill)

    def begin_anew(self) -> None:
        """The database has begun anew as another one: nothing is gathered, and nothing is sent again."""
        self.tombstones = Tombstones(self.tombstones.limits)
        self.gaps = GapFill()
