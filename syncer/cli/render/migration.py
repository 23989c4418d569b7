"""Rendering of a migration's plan and of its preflight: rows for operators, documents for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, out, say
from syncer.documents.migration import (
    MigrationClusterDocument,
    MigrationPlanDocument,
    MigrationStepDocument,
    PreflightCheckDocument,
    PreflightDocument,
    PreflightFindingDocument,
)
from syncer.documents.words import counted
from syncer.inspection.migrations import cluster_document
from syncer.migration.checks import Result
from syncer.migration.checks.finding import CheckStage, FindingSeverity
from syncer.migration.evidence import ClusterSeen
from syncer.migration.migration_plan import MigrationPlan

if TYPE_CHECKING:
    from syncer.migration.reading.preflight import Preflight

MAX_FINDINGS: Final = 20
"""Findings of one check that are shown to people; JSON has all."""

BLOCKING: Final = "Blocks the migration:"
BY_STAGE: Final = {
    CheckStage.PREPARED: "What preparing green will do:",
    CheckStage.GUARDED: "What guarding blue will do:",
}
"""What a check has found that need not hold yet, by when it has to."""


def plan_document(file: str, plan: MigrationPlan, blue: ClusterSeen) -> MigrationPlanDocument:
    """A plan as the contract has it.

    Args:
        file: Where it is kept.
        plan: The plan.
        blue: As it was read for it.
    """
    waves = (plan.scope.canary, *plan.scope.waves)
    return MigrationPlanDocument(
        file=file,
        sha256=plan.fingerprint,
        made_at_ms=plan.made_at_ms,
        blue=cluster_document(plan.blue),
        green=cluster_document(plan.green),
        namespaces=[
            MigrationStepDocument(
                namespace=name,
                wave=number,
                topics=len(blue.namespaces[name].topics),
                subscriptions=sum(len(each.subscription_names) for each in blue.namespaces[name].topics.values()),
            )
            for number, wave in enumerate(waves)
            for name in wave
        ],
        whole_cluster=plan.scope.whole_cluster,
        overrides=dict(plan.overrides.reasons),
        replication_backlog=plan.bounds.replication_backlog,
    )


def show_plan(found: MigrationPlanDocument, form: Format) -> None:
    """Print a plan."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    output.table(
        ("wave", "namespace", "topics", "subscriptions"),
        [(each.wave or "canary", each.namespace, each.topics, each.subscriptions) for each in found.namespaces],
    )
    out("")
    output.facts(
        [
            ("from", _words(found.blue)),
            ("to", _words(found.green)),
            ("whole cluster", found.whole_cluster),
            *((f"override {check}", reason) for check, reason in found.overrides.items()),
            ("sha256", found.sha256),
        ]
    )


def preflight_document(made: Preflight, *, kept: bool) -> PreflightDocument:
    """A preflight as the contract has it.

    Args:
        made: The preflight.
        kept: Whether its plan is one that was kept in a file.
    """
    return PreflightDocument(
        plan=made.plan.fingerprint if kept else None,
        stage=made.stage.value,
        may_begin=made.may_begin,
        blue=cluster_document(made.plan.blue),
        green=cluster_document(made.plan.green),
        read_at_ms=made.pair.blue.read_at_ms,
        namespaces=sum(1 for _ in made.pair.namespaces()),
        topics=sum(1 for _ in made.pair.topics()),
        checks=[check_document(each) for each in made.results],
    )


def show_preflight(made: Preflight, form: Format, *, kept: bool) -> None:
    """Print a preflight: every check, then what was found, what blocks first.

    Args:
        made: The preflight.
        form: Of the data.
        kept: Whether its plan is one that was kept in a file.
    """
    if form is not Format.TABLE:
        output.document(preflight_document(made, kept=kept), form)
    else:
        output.table(
            ("check", "question", "answer"),
            [(each.check.name, each.check.asks, _answer(each)) for each in made.results],
        )
        for heading, findings in _sections(made.results):
            out("")
            out(heading)
            output.table(("check", "subject", "evidence", "what next"), findings)
    _say_verdict(made)


def _say_verdict(made: Preflight) -> None:
    blocking = [each.check.name for each in made.results if each.blocks]
    if blocking:
        say(f"the migration may not begin: blocked by {counted(len(blocking), 'check')}: {', '.join(blocking)}")
    else:
        say("the migration may begin")


def _sections(results: Sequence[Result]) -> Iterator[tuple[str, list[output.Row]]]:
    """What was found, in the order in which an operator needs it: a heading, and rows."""
    open_yet = [each for each in results if not each.blocks and not each.overridden]
    parts = [
        (BLOCKING, [each for each in results if each.blocks]),
        *((heading, [each for each in open_yet if each.check.stage is stage]) for stage, heading in BY_STAGE.items()),
        ("Passed over:", [each for each in results if each.overridden and not each.blocks]),
    ]
    for heading, chosen in parts:
        if rows := [row for result in chosen for row in _rows(result)]:
            yield heading, rows
    if warnings := [row for result in results for row in _rows(result, warnings=True)]:
        yield "To know:", warnings


def blocking_rows(results: Sequence[Result]) -> list[output.Row]:
    """What blocks: check, subject, evidence, what next."""
    return [row for result in results if result.blocks for row in _rows(result)]


def _rows(result: Result, *, warnings: bool = False) -> list[output.Row]:
    found = [each for each in result.findings if (each.severity is FindingSeverity.WARN) == warnings]
    override = "" if result.blocks or warnings else result.overridden
    rows: list[output.Row] = [
        (result.check.name, each.subject, each.evidence, override or each.remedy) for each in found[:MAX_FINDINGS]
    ]
    if len(found) > MAX_FINDINGS:
        rows.append((result.check.name, f"and {len(found) - MAX_FINDINGS} more", None, "'-o json' has all"))
    return rows


def _answer(result: Result) -> str:
    """One check in a few words."""
    wrong = sum(1 for each in result.findings if each.severity is not FindingSeverity.WARN)
    if not wrong:
        return "yes, with warnings" if result.findings else "yes"
    if result.blocks:
        return f"no: {wrong}, blocks"
    if result.overridden:
        return f"no: {wrong}, passed over"
    return f"not yet: {wrong}"


def check_document(result: Result) -> PreflightCheckDocument:
    """A check and its findings as the contract has them."""
    return PreflightCheckDocument(
        name=result.check.name,
        asks=result.check.asks,
        stage=result.check.stage.value,
        due=result.due,
        holds=all(each.severity is FindingSeverity.WARN for each in result.findings),
        blocks=result.blocks,
        override=result.overridden or None,
        findings=[
            PreflightFindingDocument(
                severity=each.severity.value, subject=each.subject, evidence=each.evidence, remedy=each.remedy
            )
            for each in result.findings
        ],
    )


def _words(cluster: MigrationClusterDocument) -> str:
    return f"{cluster.name} (cluster.{cluster.table}), {cluster.broker_service_url or cluster.broker_service_url_tls}"
