"""No schedule of regions audits ledgers: whoever asks for an audit is told that there is none."""

from __future__ import annotations

from typing import NoReturn

from syncer.model import Millis
from syncer.state.contract.work.ledger_audits import KeptLedgerAudit, LedgerAuditRow, PackedAudit


class WithoutLedgerAudits:
    """Implements :class:`~syncer.state.contract.work.ledger_audits.LedgerAuditTransaction` where there is none."""

    def keep_ledger_audit(self, cluster: str, taken_ms: Millis, document: PackedAudit, *, whole: bool) -> NoReturn:
        """Nobody takes one."""
        raise NotImplementedError

    def ledger_audits(self, cluster: str, limit: int, before: int | None = None) -> list[LedgerAuditRow]:
        """There is none."""
        del cluster, limit, before
        return []

    def ledger_audit(self, cluster: str, number: int | None = None) -> KeptLedgerAudit | None:
        """There is none."""
        del cluster, number
        return None

    def prune_ledger_audits(self, cluster: str, keep: int) -> int:
        """There is none."""
        del cluster, keep
        return 0
