"""The region of this host: its sidecar database, its configuration and its store, looked into beside the daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncer.cli.reaching.local_decisions import LocalDecision, LocalTelling, now_ms
from syncer.documents.conflicts import conflict_detail
from syncer.documents.explain import heard_of
from syncer.documents.operations import operation_document
from syncer.errors import NotFound
from syncer.inspection import jobs, migration_control, migrations, move_runs, pages, proposals, repairs
from syncer.inspection.explaining import explained, stands
from syncer.inspection.first_contact import first_contact
from syncer.inspection.ledgers import history
from syncer.inspection.status import collect
from syncer.operations.decisions import HeldChange, held_at, lost_in
from syncer.state.contract.operations import OperationState

if TYPE_CHECKING:
    from syncer.balancer.moving.move_plan import MovePlan
    from syncer.cli.reaching.contract import ChosenHolds, RegionDecision
    from syncer.config import Config
    from syncer.documents.balancing.moves import MoveRunDocument, MoveRunList
    from syncer.documents.conflicts import ConflictDetail, ConflictList
    from syncer.documents.explain import EventList, ExplainDocument
    from syncer.documents.holds import HoldList, ParkedList
    from syncer.documents.jobs import JobDocument, JobList
    from syncer.documents.ledgers.audit import LedgerAuditDocument
    from syncer.documents.ledgers.history import KeptAuditList, LedgerChangesDocument
    from syncer.documents.migration import MigrationEventList, MigrationList, MigrationStatusDocument
    from syncer.documents.migration_report.document import MigrationReportDocument
    from syncer.documents.operations import OperationDocument, OperationList
    from syncer.documents.quarantine import QuarantineList
    from syncer.documents.regions import FirstContactPlan, RegionList
    from syncer.documents.snapshots import RepairDocument, RepairList, RepairPreview
    from syncer.documents.status import StatusDocument
    from syncer.inspection.proposals import DecisionProposal
    from syncer.migration.course import MigrationCommand
    from syncer.migration.migration_plan import MigrationPlan
    from syncer.model import MetaPath
    from syncer.repair.preview import Consent
    from syncer.state.views.region import Views


class LocalRegion:
    """The region; see :class:`syncer.cli.reaching.contract.RegionReach`. The database is opened by the first look.

    Args:
        configured: Reads the configuration; ``whole``: with the tables of store and bus.
        opened: Opens the database.
    """

    def __init__(
        self, configured: Callable[[bool], Config], opened: Callable[[], AbstractContextManager[Views]]
    ) -> None:
        self._configured, self._opened = configured, opened
        self._stack = ExitStack()

    def close(self) -> None:
        """Let go of the database."""
        self._stack.close()

    @cached_property
    def _config(self) -> Config:
        return self._configured(False)

    @cached_property
    def _views(self) -> Views:
        return self._stack.enter_context(self._opened())

    @property
    def label(self) -> str:
        """Id of the region."""
        return self._config.region

    # -- what is shown

    def configuration(self) -> Mapping[str, Any]:
        """Every setting in force."""
        from syncer.config.showing import shown

        return shown(self._configured(True))

    def status(self) -> StatusDocument:
        """How replication is going."""
        return collect(self._views, self._config)

    def regions(self) -> RegionList:
        """All regions."""
        return pages.region_list(self.status())

    def is_heard_of(self, path: MetaPath) -> bool:
        """Whether anything is kept of a path."""
        return heard_of(self._views, path)

    def is_held(self, path: MetaPath) -> bool:
        """Whether something is held there."""
        return held_at(self._views, path) is not None

    def explain(self, path: MetaPath, limit: int, store_timeout_s: float) -> ExplainDocument:
        """Why a path is as it is."""
        from syncer.cli.values import present_at

        present = present_at(self._config, path, store_timeout_s, alive=stands(self._views, path))
        return explained(self._views, self._config, path, present, limit)

    def events(self, limit: int, after: int, prefix: str) -> EventList:
        """Decisions numbered above that."""
        return pages.event_list(self._views, limit, after, prefix=prefix)

    def latest_events(self, count: int, limit: int, prefix: str) -> EventList:
        """The first of the latest so many."""
        return pages.latest_event_list(self._views, count, limit, prefix=prefix)

    def holds(self, limit: int, after: str) -> HoldList:
        """What waits for an operator."""
        return pages.hold_list(self._views, limit, after)

    def conflicts(self, limit: int, after: int, *, restored: bool) -> ConflictList:
        """What lost."""
        return pages.conflict_list(self._views, limit, after, restored=restored)

    def conflict(self, number: int, store_timeout_s: float) -> ConflictDetail:
        """One of these."""
        from syncer.cli.values import present_at

        lost = lost_in(self._views, number)
        alive = lost.shown.digest is not None
        return conflict_detail(lost, present_at(self._config, lost.row.path, store_timeout_s, alive=alive))

    def quarantine(self, limit: int, after: int) -> QuarantineList:
        """What could not be handled."""
        return pages.quarantine_list(self._views, limit, after)

    def parked(self, limit: int, after: str) -> ParkedList:
        """What waits for something else."""
        return pages.parked_list(self._views, limit, after)

    def operations(self, limit: int, after: int, state: str | None) -> OperationList:
        """What was asked."""
        only = OperationState(state) if state is not None else None
        return pages.operation_list(self._views, limit, after, state=only)

    def operation(self, number: int) -> OperationDocument:
        """One of these."""
        found = self._views.operation(number)
        if found is None:
            raise NotFound(f"no operation {number}", hint="See 'syncer operations list'.")
        return operation_document(found)

    def repairs(self, limit: int) -> RepairList:
        """What was told again."""
        return repairs.repair_list(self._views, limit)

    def repair(self, number: int) -> RepairDocument:
        """One of these."""
        return repairs.repair_status(self._views, number)

    def jobs(self, limit: int, before: int | None) -> JobList:
        """Jobs."""
        return jobs.job_page(self._views, limit, before)

    def job(self, number: int) -> JobDocument:
        """One of these."""
        return jobs.job_status(self._views, number)

    def ledger_audits(self, cluster: str, limit: int, before: int | None) -> KeptAuditList:
        """Audits that are kept."""
        return history.kept_audits(self._views, self._config, cluster, limit, before)

    def ledger_audit(self, cluster: str, number: int | None) -> LedgerAuditDocument:
        """One of these."""
        return history.kept_audit(self._views, self._config, cluster, number)

    def ledger_changes(self, cluster: str, earlier: int | None, later: int | None) -> LedgerChangesDocument:
        """What changed between two of these."""
        return history.changes_between(self._views, self._config, cluster, earlier, later)

    def migrations(self, limit: int) -> MigrationList:
        """The migrations."""
        return migrations.migration_list(self._views, limit)

    def migration(self, number: int | None) -> MigrationStatusDocument:
        """How one is."""
        return migrations.migration_status(self._views, number)

    def migration_events(self, number: int, limit: int, after: int) -> MigrationEventList:
        """What has happened in one."""
        return migrations.migration_event_list(self._views, number, limit, after)

    def migration_report(self, number: int | None) -> MigrationReportDocument:
        """What has happened in one, and what is known."""
        return migration_control.migration_report(self._views, number)

    def move_runs(self, limit: int) -> MoveRunList:
        """Runs of moves."""
        return move_runs.move_run_list(self._views, limit)

    def move_run(self, number: int) -> MoveRunDocument:
        """One of these."""
        return move_runs.move_run_status(self._views, number)

    # -- what is asked for

    def _decision(self, proposal: DecisionProposal) -> RegionDecision:
        return LocalDecision(self._views, proposal)

    def first_contact(self, limit: int) -> tuple[FirstContactPlan, RegionDecision]:
        """What first contact would change, and letting it."""
        plan = first_contact(self._views, limit)
        return plan, self._decision(proposals.taking_part(self._views.identity().region, plan))

    def confirm(self, holds: ChosenHolds) -> RegionDecision:
        """Let held changes pass."""
        held, target = self._held(holds)
        return self._decision(proposals.confirming(held, target))

    def reject(self, holds: ChosenHolds) -> RegionDecision:
        """Refuse them."""
        held, target = self._held(holds)
        return self._decision(proposals.rejecting(held, target))

    def _held(self, holds: ChosenHolds) -> tuple[list[HeldChange], str]:
        if holds.path is not None:
            return [proposals.held_change(self._views, holds.path, holds.stamp)], holds.path
        return proposals.held_changes(self._views, holds.only), self._views.identity().region

    def restore(self, conflict: int, over: str) -> RegionDecision:
        """Make a loser the newest."""
        return self._decision(proposals.restoring(self._views, conflict, over))

    def discard(self, conflict: int) -> RegionDecision:
        """Forget one."""
        return self._decision(proposals.forgetting_conflict(self._views, conflict))

    def discard_of(self, region: str) -> RegionDecision:
        """Forget all of a region."""
        return self._decision(proposals.forgetting_conflicts_of(self._views, region))

    def retry(self, entry: int) -> RegionDecision:
        """Handle an entry again."""
        return self._decision(proposals.retrying(self._views, entry))

    def throw_away(self, entry: int) -> RegionDecision:
        """Throw one away."""
        return self._decision(proposals.throwing_away(self._views, entry))

    def take(self, tenants: Sequence[str], *, allow_empty: bool, accept_shrunken: bool) -> RegionDecision:
        """Take a snapshot."""
        return self._decision(jobs.taking(tenants, allow_empty=allow_empty, accept_shrunken=accept_shrunken))

    def compare(self, snapshots: Sequence[str], tenants: Sequence[str], *, fields: bool, plan: bool) -> RegionDecision:
        """Compare snapshots."""
        return self._decision(jobs.comparing(snapshots, tenants, fields=fields, plan=plan))

    def end(self, job: int) -> RegionDecision:
        """End a job."""
        return self._decision(jobs.ending(self._views, job))

    def start_migration(self, plan: MigrationPlan, *, auto: bool) -> RegionDecision:
        """Begin a migration."""
        return self._decision(migration_control.starting(self._views, plan, auto=auto))

    def steer_migration(self, command: MigrationCommand, back: Sequence[str] = ()) -> RegionDecision:
        """Give a command to the one that is open."""
        return self._decision(migration_control.commanding(self._views, command, back=back))

    def foresee_rollback(self) -> RegionDecision:
        """Ask what a rollback could take back."""
        return self._decision(migration_control.foreseeing(self._views))

    def apply_moves(self, plan: MovePlan, *, go: bool) -> RegionDecision:
        """Have a plan of moves tried, or carried out."""
        return self._decision(move_runs.applying(self._views, plan, go=go))

    def stop_moves(self) -> RegionDecision:
        """Stop the run of moves that is open."""
        return self._decision(move_runs.stopping(self._views))

    def sync(self, plan: Path, consent: Consent, report: Callable[[int], None]) -> tuple[RepairPreview, RegionDecision]:
        """What a plan would change, and having it told."""
        from syncer.inspection.repair_plans import plan_preview, read_plan, words_of_telling
        from syncer.repair.preview import refused
        from syncer.repair.repair_file import RepairFile

        file, config = RepairFile(plan), self._config
        found = read_plan(file, config)
        shown = plan_preview(found, list(refused(found, config.repair_terms, now_ms(), consent)))
        return shown, LocalTelling(
            views=lambda: self._views,
            target=config.region,
            words=(words_of_telling(config.region, shown),),
            file=file,
            consent=consent,
            report=report,
        )

    def cancel_sync(self, number: int) -> RegionDecision:
        """End a repair."""
        return self._decision(repairs.cancelling(self._views, number))

    def pause(self, *, everywhere: bool) -> RegionDecision:
        """Stop."""
        return self._decision(proposals.pausing(everywhere=everywhere))

    def resume(self, *, everywhere: bool) -> RegionDecision:
        """Go on."""
        return self._decision(proposals.resuming(everywhere=everywhere))

    def leave(self, *, force: bool) -> RegionDecision:
        """Leave the group."""
        return self._decision(proposals.leaving(self._views.identity().region, force=force))

    def forget(self, region: str, *, force: bool) -> RegionDecision:
        """Forget a region."""
        return self._decision(proposals.forgetting_region(region, force=force))

    def admit(self, region: str) -> RegionDecision:
        """Admit one."""
        return self._decision(proposals.admitting(region))

    def rebuild(self, without: Sequence[str], *, alone: bool) -> RegionDecision:
        """Rebuild without some."""
        return self._decision(proposals.rebuilding(without, alone=alone))
