"""The service of audits on schedule: it takes them one at a time, keeps them, and tells how the latest ended.

    what is kept ─▶ is one due? ─▶ audit, in a process apart ─▶ keep ─▶ standing ─▶ conditions, metrics

It runs as long as the daemon is active. What happens here ends no other part of the daemon, but that another daemon is
active.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import structlog

from syncer.errors import InvariantBroken, SyncerError
from syncer.ledgers.auditing.findings import LedgerFindingSeverity
from syncer.ledgers.recurring.schedule import due_ms
from syncer.state.contract.work.state_thread import is_fenced

if TYPE_CHECKING:
    from syncer.ledgers.recurring.taken import Auditor, AuditRecord, AuditSchedule, TakenAudit

log = structlog.get_logger()

TROUBLED: Final = "ledger-audit-troubled"
IN_DANGER: Final = "ledgers-in-danger"
LOOK_S: Final = 5.0
"""So long is waited at a time: the clock may be set meanwhile."""
_SHOW_S: Final = 1.0


class AuditConditionBoard(Protocol):
    """Where conditions stand."""

    def show(self, code: str, message: str) -> None:
        """Let a condition stand."""

    def unshow(self, code: str) -> None:
        """Take a condition away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStanding:
    """How the audits of one cluster fare; ``latest`` is the one that is kept, ``trouble`` why the next is not."""

    latest: TakenAudit | None = None
    failed_ms: int | None = None
    trouble: SyncerError | None = None


class LedgerAudits:
    """Audits clusters on schedule, for one turn of an active daemon; ``standings`` is how those of each table fare."""

    def __init__(
        self,
        schedules: Sequence[AuditSchedule],
        auditor: Auditor,
        record: AuditRecord,
        now_ms: Callable[[], int],
        shown: AuditConditionBoard,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        """Make it; nothing is read yet.

        Args:
            schedules: Which clusters are audited, and how.
            auditor: Audits them.
            record: Keeps audits.
            now_ms: The time.
            shown: Where conditions are shown.
            sleep: Waits for so many seconds.
        """
        self._schedules = schedules
        self._auditor = auditor
        self._record = record
        self._now_ms = now_ms
        self._shown = shown
        self._sleep = sleep
        self._one = anyio.CapacityLimiter(1)
        self.standings = {each.table: AuditStanding() for each in schedules}

    async def audits(self) -> None:
        """Audit until cancelled; at once over where no cluster is audited on schedule.

        Raises:
            Fenced: Another daemon is active on this database.
        """
        if not self._schedules:
            return
        async with anyio.create_task_group() as tasks:
            for schedule in self._schedules:
                tasks.start_soon(self._recur, schedule)
            while True:
                for code, words in conditions(self.standings).items():
                    if words:
                        self._shown.show(code, words)
                    else:
                        self._shown.unshow(code)
                await self._sleep(_SHOW_S)

    async def _recur(self, schedule: AuditSchedule) -> None:
        known = False
        while True:
            try:
                known = known or await self._recall(schedule)
                if self._is_due(schedule):
                    async with self._one:
                        await self._take(schedule)
            except Exception as exc:
                if is_fenced(exc):
                    raise
                self._fail(schedule, exc)
            await self._sleep(LOOK_S)

    async def _recall(self, schedule: AuditSchedule) -> bool:
        """Take up what is kept: an earlier daemon may have audited just before."""
        kept = await self._record.latest(schedule.table)
        if kept is not None:
            try:
                latest = self._auditor.understood(kept)
            except SyncerError as exc:
                log.warning("ledger_audit_unreadable", cluster=schedule.table, code=exc.code, cause=exc.message)
            else:
                self._stand(schedule, latest)
        return True

    def _stand(self, schedule: AuditSchedule, latest: TakenAudit) -> None:
        """Take an audit for the latest; its document is kept in the database alone, since it may be large."""
        self.standings[schedule.table] = AuditStanding(latest=replace(latest, document=b""))

    def _is_due(self, schedule: AuditSchedule) -> bool:
        standing, now_ms = self.standings[schedule.table], self._now_ms()
        last_ms = None if standing.latest is None else standing.latest.taken_ms
        return due_ms(schedule.every_ms, now_ms, last_ms, standing.failed_ms) <= now_ms

    async def _take(self, schedule: AuditSchedule) -> None:
        before = self.standings[schedule.table].latest
        taken = await self._auditor.take(schedule)
        await self._record.keep(schedule.table, taken, schedule.keep)
        self._stand(schedule, taken)
        log.info(
            "ledgers_audited",
            cluster=schedule.table,
            ledgers=taken.ledgers,
            whole=taken.whole,
            findings={each.code.value: each.count for each in taken.findings},
        )
        known = {each.code for each in before.findings} if before is not None else set()
        for each in taken.findings:
            if each.code not in known and each.severity is not LedgerFindingSeverity.NOTICE:
                log.warning(
                    "ledger_finding", cluster=schedule.table, finding=each.code.value, count=each.count, what=each.what
                )

    def _fail(self, schedule: AuditSchedule, exc: Exception) -> None:
        failure = exc if isinstance(exc, SyncerError) else InvariantBroken(f"{type(exc).__name__}: {exc}")
        if failure is not exc:
            log.error("ledger_audit_failed", cluster=schedule.table, exc_info=exc)
        standing = self.standings[schedule.table]
        if standing.trouble is None or standing.trouble.code != failure.code:
            log.warning("ledgers_not_audited", cluster=schedule.table, code=failure.code, cause=failure.message)
        self.standings[schedule.table] = replace(standing, failed_ms=self._now_ms(), trouble=failure)


def conditions(standings: Mapping[str, AuditStanding]) -> dict[str, str]:
    """Tell each condition of audits by its code; empty where it does not hold.

    Args:
        standings: By table.
    """
    troubles = [
        f"the ledgers of {table} are not audited: {each.trouble.message}. {each.trouble.hint}".rstrip()
        for table, each in standings.items()
        if each.trouble is not None
    ]
    dangers = [
        f"{table}: {found.count} {found.what}"
        for table, each in standings.items()
        if each.latest is not None
        for found in each.latest.findings
        if found.severity is LedgerFindingSeverity.CRITICAL
    ]
    return {TROUBLED: "; ".join(troubles), IN_DANGER: "; ".join(dangers)}
