"""The region of another host, looked at by the REST API of its daemon; what is asked of it stands in ``deciding``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from syncer.client.calls import RegionCalls
from syncer.client.contract import ApiAnswer
from syncer.client.http import HttpTransport
from syncer.documents.conflicts import ConflictList
from syncer.documents.holds import HoldList, ParkedList
from syncer.documents.operations import OperationList
from syncer.documents.quarantine import QuarantineList
from syncer.errors import NotFound
from syncer.inspection.migrations import none_there

if TYPE_CHECKING:
    from syncer.cli.reaching.choosing import ChosenServer
    from syncer.documents.balancing.moves import MoveRunDocument, MoveRunList
    from syncer.documents.conflicts import ConflictDetail
    from syncer.documents.explain import EventList, ExplainDocument
    from syncer.documents.jobs import JobDocument, JobList
    from syncer.documents.ledgers.audit import LedgerAuditDocument
    from syncer.documents.ledgers.history import KeptAuditList, LedgerChangesDocument
    from syncer.documents.migration import MigrationEventList, MigrationList, MigrationStatusDocument
    from syncer.documents.migration_report.document import MigrationReportDocument
    from syncer.documents.operations import OperationDocument
    from syncer.documents.regions import RegionList
    from syncer.documents.snapshots import RepairDocument, RepairList
    from syncer.documents.status import StatusDocument
    from syncer.model import MetaPath

MAX_PAGE: Final = 1_000
"""Items that a daemon gives at once."""
STORE_WAIT_S: Final = 30.0
"""As long as a daemon waits for its store at most."""

Listed = TypeVar("Listed", HoldList, ConflictList, QuarantineList, ParkedList, OperationList)
_State = Literal["pending", "done", "failed", "refused"]


class RemoteLooks:
    """A region as it is looked at; see :class:`syncer.cli.reaching.contract.ShownRegion`.

    Args:
        chosen: How its daemon is reached.
        timeout_s: For each request; ``None``: as the client has it.
    """

    def __init__(self, chosen: ChosenServer, timeout_s: float | None = None) -> None:
        bounds: dict[str, float] = {} if timeout_s is None else {"timeout_s": timeout_s}
        self._calls = RegionCalls(HttpTransport(chosen.reached(), **bounds))
        self._label = chosen.label

    @property
    def label(self) -> str:
        """How it was named."""
        return self._label

    @property
    def _region(self) -> str:
        """Its id."""
        return self._calls.configuration.program().found.region

    def configuration(self) -> Mapping[str, Any]:
        """Every setting in force."""
        return self._calls.configuration.configuration().found

    def status(self) -> StatusDocument:
        """How replication is going."""
        return self._calls.status.status().found

    def regions(self) -> RegionList:
        """All regions."""
        return self._calls.regions.regions().found

    def is_heard_of(self, path: MetaPath) -> bool:
        """Whether anything is kept of a path."""
        return _is_there(lambda: self.explain(path, 1, 0))

    def is_held(self, path: MetaPath) -> bool:
        """Whether something is held there."""
        return _is_there(lambda: self._calls.holds.hold(_in_url(path)))

    def explain(self, path: MetaPath, limit: int, store_timeout_s: float) -> ExplainDocument:
        """Why a path is as it is."""
        waiting_s = min(store_timeout_s, STORE_WAIT_S)
        return self._calls.paths.path(_in_url(path), decisions=limit, store_timeout=waiting_s).found

    def events(self, limit: int, after: int, prefix: str) -> EventList:
        """Decisions numbered above that."""
        return self._calls.paths.events(limit=limit, after=after, path=prefix).found

    def latest_events(self, count: int, limit: int, prefix: str) -> EventList:
        """The first of the latest so many."""
        return self._calls.paths.events(limit=limit, latest=count, path=prefix).found

    def holds(self, limit: int, after: str) -> HoldList:
        """What waits for an operator."""
        return _paged(self._calls.holds.holds, limit, after)

    def conflicts(self, limit: int, after: int, *, restored: bool) -> ConflictList:
        """What lost."""
        return _paged(partial(self._calls.conflicts.conflicts, restored=restored), limit, after)

    def conflict(self, number: int, store_timeout_s: float) -> ConflictDetail:
        """One of these."""
        return self._calls.conflicts.conflict(number, store_timeout=min(store_timeout_s, STORE_WAIT_S)).found

    def quarantine(self, limit: int, after: int) -> QuarantineList:
        """What could not be handled."""
        return _paged(self._calls.quarantine.quarantine, limit, after)

    def parked(self, limit: int, after: str) -> ParkedList:
        """What waits for something else."""
        return _paged(self._calls.quarantine.parked, limit, after)

    def operations(self, limit: int, after: int, state: str | None) -> OperationList:
        """What was asked."""
        only = cast("_State | None", state)
        return _paged(partial(self._calls.operations.operations, state=only), limit, after)

    def operation(self, number: int) -> OperationDocument:
        """One of these."""
        return self._calls.operations.operation(number).found

    def repairs(self, limit: int) -> RepairList:
        """What was told again."""
        return self._calls.snapshot_syncs.repairs(limit=limit).found

    def repair(self, number: int) -> RepairDocument:
        """One of these."""
        return self._calls.snapshot_syncs.repair(number).found

    def jobs(self, limit: int, before: int | None) -> JobList:
        """Jobs."""
        return self._calls.jobs.job_list(limit=limit, before=before).found

    def job(self, number: int) -> JobDocument:
        """One of these."""
        return self._calls.jobs.job(number).found

    def ledger_audits(self, cluster: str, limit: int, before: int | None) -> KeptAuditList:
        """Audits that are kept."""
        return self._calls.ledger_history.kept_audits(cluster, limit=limit, before=before).found

    def ledger_audit(self, cluster: str, number: int | None) -> LedgerAuditDocument:
        """One of these."""
        if number is None:
            return self._calls.ledger_history.latest_audit(cluster).found
        return self._calls.ledger_history.kept_audit(cluster, number).found

    def ledger_changes(self, cluster: str, earlier: int | None, later: int | None) -> LedgerChangesDocument:
        """What changed between two of these."""
        return self._calls.ledger_history.changes(cluster, earlier=earlier, later=later).found

    def migrations(self, limit: int) -> MigrationList:
        """The migrations."""
        return self._calls.migrations.migrations(limit=limit).found

    def migration(self, number: int | None) -> MigrationStatusDocument:
        """How one is."""
        return self._calls.migrations.migration(self._latest(number)).found

    def migration_events(self, number: int, limit: int, after: int) -> MigrationEventList:
        """What has happened in one."""
        return self._calls.migrations.migration_events(number, limit=limit, after=after).found

    def migration_report(self, number: int | None) -> MigrationReportDocument:
        """What has happened in one, and what is known."""
        return self._calls.migrations.report(self._latest(number)).found

    def move_runs(self, limit: int) -> MoveRunList:
        """Runs of moves."""
        return self._calls.move_runs.runs(limit=limit).found

    def move_run(self, number: int) -> MoveRunDocument:
        """One of these."""
        return self._calls.move_runs.run(number).found

    def _latest(self, number: int | None) -> int:
        """The latest migration where none is named: at most one is open, and none was begun after it."""
        if number is not None:
            return number
        latest = self.migrations(1).items
        if not latest:
            raise none_there()
        return latest[0].id


def _in_url(path: str) -> str:
    return path.removeprefix("/")


def _is_there(look: Callable[[], object]) -> bool:
    try:
        look()
    except NotFound:
        return False
    return True


def _paged(page: Callable[..., ApiAnswer[Listed]], limit: int, after: int | str) -> Listed:
    """So many items, by as many pages as that takes."""
    found: Listed = page(limit=min(limit, MAX_PAGE), after=after).found
    while found.next is not None and len(found.items) < limit:
        more: Listed = page(limit=min(limit - len(found.items), MAX_PAGE), after=found.next).found
        found = more.model_copy(update={"items": [*found.items, *more.items]})
    return found
