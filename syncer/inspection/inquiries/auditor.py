"""The auditor of an active daemon: it has clusters audited by processes apart, and understands what was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from syncer.documents.ledgers.understood import audit_understood
from syncer.errors import NotInTime
from syncer.inspection.inquiries.child import LedgersTask, performed
from syncer.inspection.ledgers.questions import AuditQuestion
from syncer.inspection.ledgers.reading import LedgersWish
from syncer.ledgers.recurring.taken import AuditFinding, TakenAudit
from syncer.paths import checked

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.ledgers.recurring.taken import AuditSchedule


class AuditorApart:
    """Audits clusters of a configuration."""

    def __init__(self, config: Config) -> None:
        """Make it.

        Args:
            config: Of the region.
        """
        self._config = config

    async def take(self, wanted: AuditSchedule) -> TakenAudit:
        """Audit a cluster, by a process that ends by itself when the daemon is gone.

        Args:
            wanted: Which one, and how.

        Raises:
            NotInTime: It took longer than it may.
            SyncerError: It could not be read.
        """
        wish = LedgersWish(table=wanted.table, root=checked(wanted.root), max_reads_per_s=wanted.max_reads_per_s)
        task = LedgersTask(config=self._config, wish=wish, question=AuditQuestion())
        try:
            document = await performed(task, wanted.within_s)
        except TimeoutError:
            raise NotInTime(
                f"the ledgers of {wanted.table} could not be audited within {wanted.within_s:g} s",
                hint=f"Raise 'time_limit' or 'max_reads_per_s' in [cluster.{wanted.table}.audits].",
            ) from None
        return await anyio.to_thread.run_sync(self.understood, document)

    def understood(self, document: bytes) -> TakenAudit:
        """An audit of the document that was kept of it.

        Args:
            document: As JSON.

        Raises:
            ValueInvalid: It is none that this version understands.
        """
        found = audit_understood(document)
        return TakenAudit(
            taken_ms=found.read.taken_ms,
            whole=found.read.whole,
            ledgers=found.total.ledgers,
            findings=tuple(
                AuditFinding(code=each.code, severity=each.severity, count=each.count, what=each.what)
                for each in found.findings
            ),
            document=document,
        )
