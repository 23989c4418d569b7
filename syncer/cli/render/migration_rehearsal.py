"""Rendering of what a migration would do: its rehearsal, and the steps that prepare green."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from syncer.cli.render import output
from syncer.cli.render.migration import BLOCKING, blocking_rows, check_document
from syncer.cli.render.output import Format, out, say
from syncer.documents.migration import (
    MigrationDrainDocument,
    PreparationDocument,
    PreparationStepDocument,
    RehearsalDocument,
    RehearsedConnectionDocument,
    RehearsedCureDocument,
    RehearsedSendingDocument,
    RehearsedWaveDocument,
    UnpreparedDocument,
)
from syncer.documents.words import counted, span
from syncer.inspection.migrations import cluster_document
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.preparing.step import Preparation, Unprepared
from syncer.migration.withholding import shown_body

if TYPE_CHECKING:
    from syncer.migration.running.control.rehearsing import Rehearsal, RehearsedWave

MAX_ROWS: Final = 20
"""Rows of one table of a wave that are shown to people; JSON has all."""
_UNPREPARED: Final = ("nothing gives green", "why", "what next")


def preparation_document(plan: MigrationPlan, found: Preparation) -> PreparationDocument:
    """What green would be given, as the contract has it."""
    return PreparationDocument(
        plan=plan.fingerprint,
        blue=cluster_document(plan.blue),
        green=cluster_document(plan.green),
        steps=[
            PreparationStepDocument(
                kind=each.kind.value,
                subject=each.subject,
                method=each.method,
                path=each.path,
                body=shown_body(each.path, each.body),
                why=each.why,
            )
            for each in found.steps
        ],
        unprepared=_unprepared(found.unprepared),
    )


def show_preparation(found: PreparationDocument, form: Format) -> None:
    """Print every step that green would be given, and what none gives it."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    output.table(
        ("kind", "subject", "call", "why"),
        [(each.kind, each.subject, f"{each.method} {each.path}", each.why) for each in found.steps],
        empty="green has all that blue's clients will look for",
    )
    if found.unprepared:
        out("")
        output.table(_UNPREPARED, _rows(found.unprepared))


def rehearsal_document(plan: MigrationPlan, found: Rehearsal) -> RehearsalDocument:
    """A rehearsal as the contract has it."""
    return RehearsalDocument(
        plan=plan.fingerprint,
        blue=cluster_document(plan.blue),
        green=cluster_document(plan.green),
        may_begin=found.may_begin,
        checks=[check_document(each) for each in found.results],
        steps=len(found.preparation.steps),
        unprepared=_unprepared(found.preparation.unprepared),
        waves=[_wave(each) for each in found.waves],
    )


def show_rehearsal(plan: MigrationPlan, made: Rehearsal, form: Format) -> None:
    """Print a rehearsal: what blocks, what green lacks, and wave by wave what clients would notice."""
    found = rehearsal_document(plan, made)
    if form is not Format.TABLE:
        output.document(found, form)
    else:
        _show_table(found, blocking_rows(made.results))
    _say_verdict(found)


def _show_table(found: RehearsalDocument, blocking: Sequence[output.Row]) -> None:
    if blocking:
        out(BLOCKING)
        output.table(("check", "subject", "evidence", "what next"), blocking)
        out("")
    out(f"Green would be prepared in {counted(found.steps, 'step')}.")
    if found.unprepared:
        output.table(_UNPREPARED, _cut(_rows(found.unprepared)))
    out("")
    output.table(
        ("wave", "namespaces", "topics", "refused", "longest gap", "entries left", "time to drain"),
        [_summary(each) for each in found.waves],
    )
    for wave in found.waves:
        _show_wave(wave)


def _summary(wave: RehearsedWaveDocument) -> output.Row:
    left = sum(each.left for each in wave.drains) + sum(each.left for each in wave.sending)
    namespaces = ", ".join(wave.namespaces[:3])
    more = f" and {len(wave.namespaces) - 3} more" if wave.namespaces[3:] else ""
    time = "something does not fall" if wave.drained_s is None else span(wave.drained_s)
    return (
        wave.wave or "canary", f"{namespaces}{more}", len(wave.cures), len(wave.refused), span(wave.longest_gap_s),
        left, time,
    )  # fmt: skip


def _show_wave(wave: RehearsedWaveDocument) -> None:
    """The parts of a wave that have something to say."""
    shared = [(each.address, who) for each in wave.shared for who in each.clients]
    drains = [
        *((each.topic, f"subscription {each.subscription}", each.left, span(each.eta_s), each.held_up)
          for each in wave.drains),
        *((each.topic, f"to cluster {each.remote}", each.left, span(each.eta_s), None) for each in wave.sending),
    ]  # fmt: skip
    refused_first = sorted(wave.cures, key=lambda each: each.cure != "refused")
    parts: list[tuple[str, tuple[str, ...], list[output.Row]]] = [
        ("how topics are kept still", ("topic", "cure", "why"), [(e.topic, e.cure, e.why) for e in refused_first]),
        ("connections that are stopped, and who shares them", ("connection", "client"), [*shared]),
        ("what is left", ("topic", "for", "entries", "time", "held up"), [*drains]),
        ("what would stop it", ("code", "why"), [*wave.stops.items()]),
    ]
    for heading, columns, rows in parts:
        if rows:
            out("")
            out(f"{_named(wave)}, {heading}:")
            output.table(columns, _cut(rows))


def _named(wave: RehearsedWaveDocument) -> str:
    return f"Wave {wave.wave}" if wave.wave else "Canary"


def _say_verdict(found: RehearsalDocument) -> None:
    """One line: whether it would go through, and that nothing was set."""
    blocking = [each.name for each in found.checks if each.blocks]
    refused = sum(len(each.refused) for each in found.waves)
    said = [f"blocked by {counted(len(blocking), 'check')}: {', '.join(blocking)}"] if blocking else []
    said += [f"{counted(refused, 'topic')} refused"] if refused else []
    verdict = f"the migration would not go through: {'; '.join(said)}" if said else "the migration may begin"
    stops = [f"{_named(wave).lower()} ({', '.join(wave.stops)})" for wave in found.waves if wave.stops]
    pauses = f"; it would pause before {', '.join(stops)}" if stops else ""
    say(f"{verdict}{pauses}; nothing was set")


def _wave(found: RehearsedWave) -> RehearsedWaveDocument:
    foreseen = found.foreseen
    return RehearsedWaveDocument(
        wave=found.wave,
        namespaces=list(found.namespaces),
        longest_gap_s=foreseen.longest_gap_s,
        cures=[
            RehearsedCureDocument(
                topic=each.topic, cure=each.cure.value, why=None if each.why is None else each.why.value
            )
            for each in foreseen.cures
        ],
        shared=[
            RehearsedConnectionDocument(
                address=address, clients=[f"{who.role} {who.name}, {who.topic}" for who in sharing]
            )
            for address, sharing in foreseen.shared.items()
        ],
        drains=[
            MigrationDrainDocument(
                topic=each.topic,
                subscription=each.subscription,
                left=each.left,
                eta_s=each.eta_s,
                held_up=None if each.held_up is None else each.held_up.value,
            )
            for each in found.drains
        ],
        sending=[
            RehearsedSendingDocument(topic=each.topic, remote=each.remote, left=each.left, eta_s=each.eta_s)
            for each in found.sending
        ],
        drained_s=found.drained_s,
        refused=found.refused,
        stops=dict(found.stops),
    )


def _unprepared(found: Iterable[Unprepared]) -> list[UnpreparedDocument]:
    return [UnpreparedDocument(subject=each.subject, why=each.why, remedy=each.remedy) for each in found]


def _rows(found: Iterable[UnpreparedDocument]) -> list[output.Row]:
    return [(each.subject, each.why, each.remedy) for each in found]


def _cut(rows: Sequence[output.Row]) -> Sequence[output.Row]:
    """The first rows, and how many more there are."""
    if len(rows) <= MAX_ROWS:
        return rows
    more: output.Row = (f"and {len(rows) - MAX_ROWS} more: '-o json' has all", *[""] * (len(rows[0]) - 1))
    return [*rows[:MAX_ROWS], more]
