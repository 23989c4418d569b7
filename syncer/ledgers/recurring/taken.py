"""An audit that was taken: its document, and what of it is counted and told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from syncer.ledgers.auditing.findings import LedgerFindingCode, LedgerFindingSeverity


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """A finding, as it is counted: how many of what."""

    code: LedgerFindingCode
    severity: LedgerFindingSeverity
    count: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenAudit:
    """An audit.

    Args:
        taken_ms: When its reading began.
        whole: All was read and understood.
        ledgers: How many there are.
        findings: The worst first.
        document: The whole answer, as JSON.
    """

    taken_ms: int
    whole: bool
    ledgers: int
    findings: tuple[AuditFinding, ...]
    document: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSchedule:
    """Which cluster is audited, and how.

    Args:
        table: Name of its table in the configuration.
        every_ms: From the beginning of one audit to that of the next.
        keep: So many stay.
        within_s: One takes no longer.
        max_reads_per_s: Paths that the store is asked for in a second; ``None``: no limit.
        root: Where BookKeeper's own paths begin.
    """

    table: str
    every_ms: int
    keep: int
    within_s: float
    max_reads_per_s: int | None
    root: str


class Auditor(Protocol):
    """Audits clusters, apart from the daemon."""

    async def take(self, wanted: AuditSchedule) -> TakenAudit:
        """Audit a cluster.

        Args:
            wanted: Which one, and how.

        Raises:
            SyncerError: It could not be read, or not in its time.
        """

    def understood(self, document: bytes) -> TakenAudit:
        """An audit of the document that was kept of it.

        Args:
            document: As JSON.

        Raises:
            SyncerError: It is none that this version understands.
        """


class AuditRecord(Protocol):
    """Keeps audits."""

    async def latest(self, table: str) -> bytes | None:
        """The document of the latest audit of a cluster; ``None``: none is kept.

        Raises:
            StateUnavailable: The database cannot be used now.
        """

    async def keep(self, table: str, taken: TakenAudit, most: int) -> None:
        """Keep an audit, and of the earlier ones the latest.

        Args:
            table: Name of the cluster's table.
            taken: The audit.
            most: How many stay of this cluster.

        Raises:
            StateUnavailable: The database cannot be used now.
            Fenced: Another daemon is active on it.
        """
