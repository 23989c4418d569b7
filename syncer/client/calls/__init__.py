"""All calls of a daemon's REST API, by noun.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.calls.clusters import ClustersCalls
from syncer.client.calls.configuration import ConfigurationCalls
from syncer.client.calls.conflicts import ConflictsCalls
from syncer.client.calls.holds import HoldsCalls
from syncer.client.calls.jobs import JobsCalls
from syncer.client.calls.ledger_history import LedgerHistoryCalls
from syncer.client.calls.ledgers import LedgersCalls
from syncer.client.calls.membership import MembershipCalls
from syncer.client.calls.migrations import MigrationsCalls
from syncer.client.calls.move_runs import MoveRunsCalls
from syncer.client.calls.operations import OperationsCalls
from syncer.client.calls.paths import PathsCalls
from syncer.client.calls.quarantine import QuarantineCalls
from syncer.client.calls.regions import RegionsCalls
from syncer.client.calls.replication import ReplicationCalls
from syncer.client.calls.snapshot_syncs import SnapshotSyncsCalls
from syncer.client.calls.status import StatusCalls
from syncer.client.contract import Transport


class RegionCalls:
    """The REST API of one region's daemon.

    Args:
        transport: Carries its requests.
    """

    def __init__(self, transport: Transport) -> None:
        self.clusters = ClustersCalls(transport)
        self.configuration = ConfigurationCalls(transport)
        self.conflicts = ConflictsCalls(transport)
        self.holds = HoldsCalls(transport)
        self.jobs = JobsCalls(transport)
        self.ledger_history = LedgerHistoryCalls(transport)
        self.ledgers = LedgersCalls(transport)
        self.membership = MembershipCalls(transport)
        self.migrations = MigrationsCalls(transport)
        self.move_runs = MoveRunsCalls(transport)
        self.operations = OperationsCalls(transport)
        self.paths = PathsCalls(transport)
        self.quarantine = QuarantineCalls(transport)
        self.regions = RegionsCalls(transport)
        self.replication = ReplicationCalls(transport)
        self.snapshot_syncs = SnapshotSyncsCalls(transport)
        self.status = StatusCalls(transport)
