"""The part of a database in memory about audits of ledgers."""

from __future__ import annotations

from syncer.model import Millis
from syncer.state.contract.work.ledger_audits import KeptLedgerAudit, LedgerAuditRow, PackedAudit, require_packed_size
from syncer.state.memory.database import UndoLog


class LedgerAuditTables(UndoLog):
    """The part of a transaction that is about audits of ledgers."""

    def keep_ledger_audit(self, cluster: str, taken_ms: Millis, document: PackedAudit, *, whole: bool) -> int:
        """Keep an audit; its number."""
        require_packed_size(document)
        number = self._number("ledger_audits")
        row = LedgerAuditRow(id=number, cluster=cluster, taken_ms=taken_ms, whole=whole, packed_bytes=len(document))
        self._put(self._db.ledger_audits, number, KeptLedgerAudit(row=row, document=document))
        return number

    def ledger_audits(self, cluster: str, limit: int, before: int | None = None) -> list[LedgerAuditRow]:
        """The latest audits of a cluster below a number, if one is given; the last one first."""
        every = (each.row for each in self._audits_of(cluster))
        return [each for each in every if before is None or each.id < before][:limit]

    def ledger_audit(self, cluster: str, number: int | None = None) -> KeptLedgerAudit | None:
        """An audit of a cluster by its number; without one, the latest."""
        return next((each for each in self._audits_of(cluster) if number in {None, each.row.id}), None)

    def prune_ledger_audits(self, cluster: str, keep: int) -> int:
        """Drop all audits of a cluster but the latest ``keep``; how many went."""
        old = self._audits_of(cluster)[keep:]
        for each in old:
            self._drop(self._db.ledger_audits, each.row.id)
        return len(old)

    def _audits_of(self, cluster: str) -> list[KeptLedgerAudit]:
        kept = self._db.ledger_audits
        return [kept[number] for number in sorted(kept, reverse=True) if kept[number].row.cluster == cluster]
