"""Parts of membership changes: the group, the own store, and what is remembered of a region that goes."""

from __future__ import annotations

from dataclasses import dataclass

from syncer.replication.antientropy.part import AntiEntropy
from syncer.replication.core import Core
from syncer.replication.gc.part import DeleteCollection
from syncer.replication.group.participation import Participation
from syncer.replication.local.part import OwnStore
from syncer.replication.recovery.part import Recovery
from syncer.replication.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipChanges:
    """Joining, leaving and forgetting.

    Args:
        core: The region's own replica.
        group: The group.
        telemetry: Counts and alarms.
        recovery: Recovering a lost database; which databases were this region's.
        local: The region's own store.
        antientropy: How this region and its peers compare.
        gc: Forgetting deletes.
    """

    core: Core
    group: Participation
    telemetry: Telemetry
    recovery: Recovery
    local: OwnStore
    antientropy: AntiEntropy
    gc: DeleteCollection
