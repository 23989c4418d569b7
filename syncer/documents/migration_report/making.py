"""Making the document of a migration's report of the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from syncer.documents.migration_report.document import (
    MigrationReportDocument,
    ReportedAskDocument,
    ReportedChangeDocument,
    ReportedFigureDocument,
    ReportedFlipDocument,
    ReportedMissingDocument,
    ReportedMomentDocument,
    ReportedPlanDocument,
    ReportedReturnDocument,
    ReportedStopDocument,
    ReportedSubscriptionDocument,
    ReportedSummaryDocument,
    ReportedWaveDocument,
)
from syncer.migration.reporting.report import MigrationReport
from syncer.migration.scope import MigrationScope
from syncer.migration.steering import steps_of


def report_document(report: MigrationReport) -> MigrationReportDocument:
    """A report as the contract has it."""
    migration, plan = report.migration, report.plan
    return MigrationReportDocument(
        id=migration.id,
        phase=migration.phase,
        asked_by=migration.asked_by,
        reason=migration.reason,
        reverses=migration.reverses,
        made_at_ms=migration.made_at_ms,
        finished_at_ms=migration.finished_at_ms,
        plan=ReportedPlanDocument(
            sha256=migration.fingerprint,
            blue=f"{plan.blue.name} (cluster.{plan.blue.table})",
            green=f"{plan.green.name} (cluster.{plan.green.table})",
            waves=_waves(plan.scope),
            whole_cluster=plan.scope.whole_cluster,
            overrides=dict(plan.overrides.reasons),
        ),
        summary=_summary(report),
        stop=None if report.stop is None else ReportedStopDocument(**_plain(report.stop)),
        rollback=ReportedReturnDocument(**_plain(report.back)),
        flips=[ReportedFlipDocument(**_plain(each)) for each in report.flips],
        ill=dict(report.ill),
        subscriptions=[ReportedSubscriptionDocument(**_plain(each)) for each in report.subscriptions],
        missing=[ReportedMissingDocument(**_plain(each)) for each in report.clients.missing],
        changes=[ReportedChangeDocument(**_plain(each)) for each in report.changes],
        asks=[ReportedAskDocument(**_plain(each)) for each in report.asks],
        timeline=[ReportedMomentDocument(**_plain(each)) for each in report.timeline],
    )


def _summary(report: MigrationReport) -> ReportedSummaryDocument:
    marked = [each for each in report.flips if each.marked_at_ms is not None]
    return ReportedSummaryDocument(
        lost=ReportedFigureDocument(**_plain(report.lost)),
        doubled=ReportedFigureDocument(**_plain(report.doubled)),
        out_of_order=ReportedFigureDocument(**_plain(report.disordered)),
        clients_seen=report.clients.seen,
        clients_at_green=report.clients.at_green,
        clients_started_anew=report.clients.started_anew,
        clients_missing=len(report.clients.missing),
        longest_foreseen_gap_s=_most(each.foreseen_gap_s for each in marked),
        longest_hold_s=_most(each.held_s for each in report.flips),
        longest_closing_s=_most(each.closing_s for each in marked),
    )


def _waves(scope: MigrationScope) -> list[ReportedWaveDocument]:
    return [ReportedWaveDocument(wave=number, namespaces=list(names)) for number, names in enumerate(steps_of(scope))]


def _most(seconds: Iterable[float | None]) -> float | None:
    return max((each for each in seconds if each is not None), default=None)


def _plain(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any of the report's values
    return asdict(value)
