"""Parts of operators' requests and of the daemon's report: all that they may be about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from syncer.replication.antientropy.part import AntiEntropy
from syncer.replication.core import Core
from syncer.replication.gc.part import DeleteCollection
from syncer.replication.group.participation import Participation
from syncer.replication.inbound.part import Inbound
from syncer.replication.local.part import OwnStore
from syncer.replication.membership.part import MembershipChanges
from syncer.replication.recovery.part import Recovery
from syncer.replication.telemetry import Telemetry
from syncer.replication.unit_of_work import UnitsOfWork


@dataclass(slots=True, kw_only=True)
class OperatorControl:
    """Operations, repairs, heartbeats and the report.

    Args:
        core: The region's own replica.
        group: The group.
        telemetry: Counts and alarms.
        units: Begins units of work.
        recovery: Recovering a lost database.
        local: The region's own store.
        antientropy: How this region and its peers compare.
        gc: Forgetting deletes.
        membership: Joining, leaving and forgetting.
        inbound: Messages from the bus.
        check_jobs: Raises when a job that is asked for now could not be run; ``None``: this daemon runs none.
        snapshots: Tells how the taking of snapshots on schedule stands; ``None``: there is no schedule.
        migration: Tells how the migration that is open stands, and what conditions it makes; ``None``: none is.
    """

    core: Core
    group: Participation
    telemetry: Telemetry
    units: UnitsOfWork
    recovery: Recovery
    local: OwnStore
    antientropy: AntiEntropy
    gc: DeleteCollection
    membership: MembershipChanges
    inbound: Inbound
    snapshots: Callable[[], Mapping[str, object]] | None = None
    migration: Callable[[], dict[str, Any] | None] | None = None
    check_jobs: Callable[[], None] | None = None
