"""One transaction over all that a sidecar database keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from syncer.conflict.register import Register
from syncer.model import Millis
from syncer.state.contract.conflicts import ConflictTransaction
from syncer.state.contract.consumption import ConsumptionTransaction
from syncer.state.contract.future_events import FutureEventTransaction
from syncer.state.contract.identity import IdentityTransaction
from syncer.state.contract.jobs import JobTransaction
from syncer.state.contract.journal import JournalTransaction
from syncer.state.contract.membership import MembershipTransaction
from syncer.state.contract.migrations import MigrationTransaction
from syncer.state.contract.operations import OperationTransaction
from syncer.state.contract.outbox import OutboxTransaction
from syncer.state.contract.peers import PeerTransaction
from syncer.state.contract.quarantine import QuarantineTransaction
from syncer.state.contract.registers import RegisterTransaction
from syncer.state.contract.repairs import RepairTransaction
from syncer.state.contract.scans import ScanTransaction
from syncer.state.contract.tombstones import TombstoneTransaction
from syncer.state.contract.tree import TreeTransaction
from syncer.state.contract.work.ledger_audits import LedgerAuditTransaction
from syncer.state.contract.work.move_runs import MoveRunTransaction


class Transaction(
    IdentityTransaction,
    RegisterTransaction,
    ScanTransaction,
    TreeTransaction,
    TombstoneTransaction,
    OutboxTransaction,
    ConsumptionTransaction,
    JournalTransaction,
    ConflictTransaction,
    QuarantineTransaction,
    FutureEventTransaction,
    MembershipTransaction,
    PeerTransaction,
    OperationTransaction,
    RepairTransaction,
    MigrationTransaction,
    MoveRunTransaction,
    JobTransaction,
    LedgerAuditTransaction,
    Protocol,
):
    """One transaction. Reads see its own writes.

    Every call is synchronous and happens inside a transaction; leaving the block without an exception commits all of
    it, an exception undoes all of it.
    """

    def withhold(self, without: Callable[[Register], Register]) -> int:
        """Take what projections withhold by now out of all that is kept; how many rows had some of it.

        Args:
            without: A register without it; the very register where it has none.
        """
        ...

    def save_status(self, document: dict[str, object], now: Millis) -> None:
        """Keep the daemon's own report for ``syncer status``."""
        ...

    def prune(self, journal_before: Millis, limit: int, audit_before: Millis | None = None) -> int:
        """Drop journal rows, and repairs, migrations and runs that were over, before that; ``limit`` of each.

        Operations go that were over before ``audit_before``; ``None``: before the same moment.

        Returns:
            How many went.
        """
        ...
