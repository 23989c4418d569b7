"""Parts of receiving messages: all that a message from the bus may be meant for."""

from __future__ import annotations

from dataclasses import dataclass, field

from syncer.replication.antientropy.part import AntiEntropy
from syncer.replication.core import Core
from syncer.replication.gc.part import DeleteCollection
from syncer.replication.group.participation import Participation
from syncer.replication.inbound.unknown_protocols import UnknownProtocols
from syncer.replication.local.part import OwnStore
from syncer.replication.membership.part import MembershipChanges
from syncer.replication.quotas import Rooms
from syncer.replication.recovery.part import Recovery
from syncer.replication.telemetry import Telemetry
from syncer.replication.unit_of_work import UnitsOfWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """Messages from the bus: attributed, admitted, folded, or put into the quarantine.

    Args:
        core: The region's own replica.
        group: The group.
        telemetry: Counts and alarms.
        units: Begins units of work.
        rooms: Room for what members may make this region keep.
        recovery: Recovering a lost database.
        local: The region's own store.
        antientropy: How this region and its peers compare.
        gc: Forgetting deletes.
        membership: Joining, leaving and forgetting.
        protocols: Peers that speak a protocol of a newer version.
    """

    core: Core
    group: Participation
    telemetry: Telemetry
    units: UnitsOfWork
    rooms: Rooms
    recovery: Recovery
    local: OwnStore
    antientropy: AntiEntropy
    gc: DeleteCollection
    membership: MembershipChanges
    protocols: UnknownProtocols = field(default_factory=UnknownProtocols)
