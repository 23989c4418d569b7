"""Steering a migration: what is asked of the daemon, with what it would lead to, by command line and REST alike."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import orjson

from syncer.documents.migration_report.making import report_document
from syncer.errors import NotFound, PreconditionFailed
from syncer.inspection.migrations import chosen, opened, plan_of, run_of, words_of
from syncer.inspection.proposals import DecisionProposal
from syncer.migration.course import MigrationCommand
from syncer.migration.reading.plan_file import to_text
from syncer.migration.reporting.report import report_of
from syncer.migration.steering import next_step
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.migrations import require_none_open

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.documents.migration import MigrationStatusDocument
    from syncer.documents.migration_report.document import MigrationReportDocument
    from syncer.migration.migration_plan import MigrationPlan
    from syncer.state.contract.migrations import Migration, MigrationEvent
    from syncer.state.views.region import Views

_AT_ONCE = 1_000
"""Events that are read at a time."""


def starting(views: Views, plan: MigrationPlan, *, auto: bool = False) -> DecisionProposal:
    """Begin a migration by its plan.

    Raises:
        PreconditionFailed: A migration is open.
    """
    require_none_open(views.open_migration())
    arguments = {"plan": to_text(plan), "sha256": plan.fingerprint, "auto": str(auto).lower()}
    return DecisionProposal(target="the plan", requests=(OperationRequest(OperationKind.MIGRATION_START, arguments),))


def starting_as_reviewed(views: Views, plan: MigrationPlan, sha256: str) -> DecisionProposal:
    """Begin a migration by a plan, if it is the one that was reviewed.

    Raises:
        PreconditionFailed: It is another one, or a migration is open.
    """
    if plan.fingerprint != sha256:
        raise PreconditionFailed(
            f"the plan's fingerprint is {plan.fingerprint}, and not {sha256[:64]}",
            hint="Review this plan, or send the one that was reviewed.",
        )
    return starting(views, plan)


def commanding(
    views: Views, command: MigrationCommand, number: int | None = None, *, back: Sequence[str] = ()
) -> DecisionProposal:
    """Give a command to the migration that is open; a go counts for how it is now alone.

    Args:
        views: Of the region.
        command: What is to be done.
        number: Of the migration that is meant; the open one if not given.
        back: What a rollback would take back, as far as the clusters were asked.

    Raises:
        NotFound: None is open, or another one.
    """
    migration = _opened(views, number)
    words = words_of(command, back=back)
    arguments = {"migration": str(migration.id), "command": command.value}
    if command in {MigrationCommand.GO, MigrationCommand.AUTO}:
        run = run_of(migration)
        due = next_step(run, plan_of(views, migration).scope)
        arguments["shown"] = run.shown
        words = words_of(command, due.words, due.waits_for)
    return DecisionProposal(
        target=f"migration {migration.id}",
        words=words,
        requests=(OperationRequest(OperationKind.MIGRATION_COMMAND, arguments),),
    )


def foreseeing(views: Views, number: int | None = None) -> DecisionProposal:
    """Have the clusters asked what a rollback could take back.

    Raises:
        NotFound: None is open, or another one.
    """
    migration = _opened(views, number)
    request = OperationRequest(OperationKind.MIGRATION_UNDOABLE, {"migration": str(migration.id)})
    return DecisionProposal(target=f"migration {migration.id}", requests=(request,))


def _opened(views: Views, number: int | None) -> Migration:
    migration = opened(views)
    if number not in {None, migration.id}:
        raise NotFound(f"migration {number} is not open", hint="See 'syncer migration list'.")
    return migration


def stamp_of(found: MigrationStatusDocument) -> str:
    """Of what a decision about a migration goes by: how far it is, and why it has stopped."""
    shown = [found.id, found.phase, found.wave, found.moved, None if found.stop is None else found.stop.code]
    return hashlib.sha256(orjson.dumps(shown)).hexdigest()[:32]


def migration_report(views: Views, number: int | None = None) -> MigrationReportDocument:
    """What has happened in a migration, from the database alone.

    Raises:
        NotFound: There is none.
        PlanInvalid: Its plan was damaged.
    """
    migration = chosen(views, number)
    events: list[MigrationEvent] = []
    while page := views.migration_events(migration.id, _AT_ONCE, events[-1].number if events else 0):
        events += page
    return report_document(
        report_of(migration, plan_of(views, migration), events, views.migration_values(migration.id))
    )
