"""The contract between commands and the region that they are for: what they look at, and what they ask for.

One implementation looks into the database of this host, another asks a daemon by REST; no command knows which it has.
Both show the documents of :mod:`syncer.documents`, and raise the same errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from syncer.dispositions import Disposition, disposition_of_code

if TYPE_CHECKING:
    from syncer.balancer.moving.move_plan import MovePlan
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
    from syncer.migration.course import MigrationCommand
    from syncer.migration.migration_plan import MigrationPlan
    from syncer.model import MetaPath
    from syncer.repair.preview import Consent


@dataclass(frozen=True, slots=True)
class DecisionAnswers:
    """Operations that a decision has asked for, as they were when all were answered or the time was over."""

    operations: Sequence[OperationDocument]

    @property
    def pending(self) -> list[OperationDocument]:
        """Those that the daemon has not answered yet; it does when it runs."""
        return [each for each in self.operations if each.state == "pending"]

    @property
    def failure(self) -> Disposition | None:
        """How the first failure leaves the program; ``None``: nothing failed."""
        return next((disposition_of_code(each.code) for each in self.operations if each.state == "failed"), None)


class RegionDecision(Protocol):
    """Something that may be asked of the daemon, by what was looked at."""

    @property
    def target(self) -> str:
        """What it is about, in a word."""
        ...

    @property
    def words(self) -> tuple[str, ...]:
        """What it would lead to, a sentence each; none where nobody need be asked."""
        ...

    def ask(self, reason: str, timeout_s: float) -> DecisionAnswers:
        """Ask for it, and wait for the answers.

        Raises:
            SyncerError: It cannot be asked for now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenHolds:
    """Which held changes are meant.

    Args:
        path: The one at a path; ``None``: all.
        stamp: Of a path: only that change; empty: whichever is held.
        only: Of all: those that are held for that reason; empty: whatever the reason.
    """

    path: MetaPath | None
    stamp: str = ""
    only: str = ""


class ShownRegion(Protocol):
    """A region, as far as commands look at it."""

    @property
    def label(self) -> str:
        """Its id, or how it was named where it could not be asked yet."""
        ...

    def configuration(self) -> Mapping[str, Any]:
        """Every setting in force, secrets hidden."""
        ...

    def status(self) -> StatusDocument:
        """How replication is going."""
        ...

    def regions(self) -> RegionList:
        """It and every region that was ever heard."""
        ...

    def is_heard_of(self, path: MetaPath) -> bool:
        """Whether anything is kept of a path."""
        ...

    def is_held(self, path: MetaPath) -> bool:
        """Whether something is held at a path."""
        ...

    def explain(self, path: MetaPath, limit: int, store_timeout_s: float) -> ExplainDocument:
        """Why a path is as it is."""
        ...

    def events(self, limit: int, after: int, prefix: str) -> EventList:
        """Decisions numbered above that, oldest first."""
        ...

    def latest_events(self, count: int, limit: int, prefix: str) -> EventList:
        """The first of the latest so many decisions, oldest first, that are about such paths."""
        ...

    def holds(self, limit: int, after: str) -> HoldList:
        """What waits for an operator."""
        ...

    def conflicts(self, limit: int, after: int, *, restored: bool) -> ConflictList:
        """What lost against a concurrent change."""
        ...

    def conflict(self, number: int, store_timeout_s: float) -> ConflictDetail:
        """One of these, with its values."""
        ...

    def quarantine(self, limit: int, after: int) -> QuarantineList:
        """What could not be handled."""
        ...

    def parked(self, limit: int, after: str) -> ParkedList:
        """Writes that wait for something else."""
        ...

    def operations(self, limit: int, after: int, state: str | None) -> OperationList:
        """What was asked of the daemon."""
        ...

    def operation(self, number: int) -> OperationDocument:
        """One of these."""
        ...

    def repairs(self, limit: int) -> RepairList:
        """What was told again from snapshots."""
        ...

    def repair(self, number: int) -> RepairDocument:
        """How far one of these is."""
        ...

    def jobs(self, limit: int, before: int | None) -> JobList:
        """Jobs on Spark, the latest first."""
        ...

    def job(self, number: int) -> JobDocument:
        """One of these."""
        ...

    def ledger_audits(self, cluster: str, limit: int, before: int | None) -> KeptAuditList:
        """The audits that are kept of a cluster's ledgers, the latest first."""
        ...

    def ledger_audit(self, cluster: str, number: int | None) -> LedgerAuditDocument:
        """One of these; without a number, the latest."""
        ...

    def ledger_changes(self, cluster: str, earlier: int | None, later: int | None) -> LedgerChangesDocument:
        """What changed between two of these; if not said, the latest two."""
        ...

    def migrations(self, limit: int) -> MigrationList:
        """The migrations of the region, the latest first."""
        ...

    def migration(self, number: int | None) -> MigrationStatusDocument:
        """How one is: the one that is open, or the latest, where none is named."""
        ...

    def migration_events(self, number: int, limit: int, after: int) -> MigrationEventList:
        """What has happened in one."""
        ...

    def migration_report(self, number: int | None) -> MigrationReportDocument:
        """What has happened in one, and what is known of its messages and clients."""
        ...

    def move_runs(self, limit: int) -> MoveRunList:
        """Runs of moves, the latest first."""
        ...

    def move_run(self, number: int) -> MoveRunDocument:
        """One of these, each move beside its prediction."""
        ...


class RegionReach(ShownRegion, Protocol):
    """The same, and what commands ask of its daemon; what a decision leads to is looked up when it is made."""

    def close(self) -> None:
        """Let go of what was opened."""
        ...

    def first_contact(self, limit: int) -> tuple[FirstContactPlan, RegionDecision]:
        """What first contact would change here, and letting it."""
        ...

    def confirm(self, holds: ChosenHolds) -> RegionDecision:
        """Let held changes pass."""
        ...

    def reject(self, holds: ChosenHolds) -> RegionDecision:
        """Refuse them."""
        ...

    def restore(self, conflict: int, over: str) -> RegionDecision:
        """Make the loser of a conflict the newest; with a stamp, only over that change."""
        ...

    def discard(self, conflict: int) -> RegionDecision:
        """Forget what lost in one."""
        ...

    def discard_of(self, region: str) -> RegionDecision:
        """Forget all that a region has lost."""
        ...

    def retry(self, entry: int) -> RegionDecision:
        """Handle an entry of the quarantine again."""
        ...

    def throw_away(self, entry: int) -> RegionDecision:
        """Throw it away."""
        ...

    def take(self, tenants: Sequence[str], *, allow_empty: bool, accept_shrunken: bool) -> RegionDecision:
        """Take a snapshot."""
        ...

    def compare(self, snapshots: Sequence[str], tenants: Sequence[str], *, fields: bool, plan: bool) -> RegionDecision:
        """Compare snapshots, and make a plan for a sync of them too."""
        ...

    def end(self, job: int) -> RegionDecision:
        """End a job."""
        ...

    def start_migration(self, plan: MigrationPlan, *, auto: bool) -> RegionDecision:
        """Begin a migration by its plan."""
        ...

    def steer_migration(self, command: MigrationCommand, back: Sequence[str] = ()) -> RegionDecision:
        """Give a command to the one that is open; of a rollback was asked before what it would take back."""
        ...

    def foresee_rollback(self) -> RegionDecision:
        """Ask the clusters what a rollback of the one that is open could take back."""
        ...

    def apply_moves(self, plan: MovePlan, *, go: bool) -> RegionDecision:
        """Have a plan of moves carried out, or have it said what would keep each of them back."""
        ...

    def stop_moves(self) -> RegionDecision:
        """Stop the run of moves that is open."""
        ...

    def sync(self, plan: Path, consent: Consent, report: Callable[[int], None]) -> tuple[RepairPreview, RegionDecision]:
        """What a repair plan would change where, and having it told; reported is how many paths were brought in."""
        ...

    def cancel_sync(self, number: int) -> RegionDecision:
        """End a repair."""
        ...

    def pause(self, *, everywhere: bool) -> RegionDecision:
        """Stop writing and publishing."""
        ...

    def resume(self, *, everywhere: bool) -> RegionDecision:
        """Go on."""
        ...

    def leave(self, *, force: bool) -> RegionDecision:
        """Take the region out of the group."""
        ...

    def forget(self, region: str, *, force: bool) -> RegionDecision:
        """Wait no longer for another one."""
        ...

    def admit(self, region: str) -> RegionDecision:
        """Take one for a member, whoever refuses it."""
        ...

    def rebuild(self, without: Sequence[str], *, alone: bool) -> RegionDecision:
        """Say whom the rebuild of a lost database need not wait for."""
        ...
