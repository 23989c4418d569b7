"""Rendering of a migration's report for the console: what matters first, then everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, out
from syncer.documents.migration_report.document import (
    MigrationReportDocument,
    ReportedFigureDocument,
    ReportedSummaryDocument,
)
from syncer.documents.words import moment, span

MAX_ROWS: Final = 200
"""Rows of one table that are shown on a console; JSON has all."""

Part = tuple[str, Sequence[str], list[output.Row]]
"""A heading, the headings of columns, and rows."""


def show_report(found: MigrationReportDocument, form: Format) -> None:
    """Print a report."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    out(summary_line(found.summary))
    out("")
    output.facts(facts_of(found))
    for heading, columns, rows in parts_of(found):
        if rows:
            out("")
            out(f"{heading}:")
            output.table(columns, cut(rows, MAX_ROWS))


def summary_line(found: ReportedSummaryDocument) -> str:
    """What there is to say in one line; what is not known is said to be so."""
    return (
        f"lost {_count(found.lost)}, doubled {_count(found.doubled)}, out of order {_count(found.out_of_order)}, "
        f"clients missing {found.clients_missing} of {found.clients_seen}"
    )


def facts_of(found: MigrationReportDocument) -> list[tuple[str, object]]:
    """Names and values that stand at the beginning."""
    summary, back = found.summary, found.rollback
    there = f"{summary.clients_at_green} of {summary.clients_seen} stand at green"
    return [
        ("migration", f"{found.id}, {found.phase}"),
        *([("takes back", found.reverses)] if found.reverses is not None else []),
        ("from", found.plan.blue),
        ("to", found.plan.green),
        ("asked by", f"{found.asked_by}: {found.reason}" if found.reason else found.asked_by),
        ("begun", moment(found.made_at_ms)),
        ("over", moment(found.finished_at_ms)),
        *(
            [("stopped", f"{found.stop.code}: {found.stop.words}"), ("what next", found.stop.hint)]
            if found.stop is not None
            else []
        ),
        ("lost", summary.lost.basis),
        ("doubled", summary.doubled.basis),
        ("out of order", summary.out_of_order.basis),
        ("longest gap, foreseen", span(summary.longest_foreseen_gap_s)),
        ("longest hold, measured", span(summary.longest_hold_s)),
        ("longest closing, measured", span(summary.longest_closing_s)),
        ("clients", f"{there}, {summary.clients_started_anew} of them started anew"),
        ("rollback", f"{back.rollback}: {back.words}"),
        ("whole cluster", found.plan.whole_cluster),
        ("sha256 of the plan", found.plan.sha256),
    ]


def parts_of(found: MigrationReportDocument) -> Iterator[Part]:
    """The tables of a report, in the order in which they are read; one without rows has nothing to say."""
    yield (
        "Clients that have not come to green",
        ("role", "name", "topic", "address", "version", "where"),
        [
            (
                f"consumer of {each.subscription}" if each.subscription else "producer",
                each.name,
                each.topic,
                each.address,
                each.version or "none told",
                "still at blue" if each.at_blue else "nowhere",
            )
            for each in found.missing
        ],
    )
    yield (
        "Waves",
        ("wave", "namespaces", "begun", "outcome", "gap foreseen", "hold", "closing", "why not"),
        [
            (
                _wave(each.wave),
                " ".join(each.namespaces),
                moment(each.begun_at_ms),
                each.outcome,
                span(each.foreseen_gap_s),
                span(each.held_s),
                span(each.closing_s),
                _pairs(each.reasons),
            )
            for each in found.flips
        ],
    )
    yield (
        "Closed elsewhere than they had stood still",
        ("topic", "closed at"),
        [(topic, where) for flip in found.flips for topic, where in flip.moved.items()],
    )
    yield "Could not be read after the mark, and were healed", ("topic", "how it was"), list(found.ill.items())
    yield (
        "Subscriptions, in entries",
        ("topic", "subscription", "backlog at mark", "read at blue", "drained", "stored at green", "read at green",
         "consumers at green"),
        [
            (
                each.topic,
                each.subscription,
                each.backlog_at_mark,
                each.read_at_blue,
                moment(each.drained_at_ms),
                each.stored_at_green,
                each.read_at_green,
                each.consumers_at_green,
            )
            for each in found.subscriptions
        ],
    )  # fmt: skip
    yield (
        "Cures",
        ("wave", "topic", "cure", "bytes/s", "why"),
        [
            (_wave(flip.wave), each.topic, each.cure, each.rate, each.why)
            for flip in found.flips
            for each in flip.topics
        ],
    )
    yield (
        "Connections that were stopped with others on them",
        ("wave", "connection", "who was on it"),
        [
            (_wave(flip.wave), address, who)
            for flip in found.flips
            for address, all_ in flip.shared.items()
            for who in all_
        ],
    )
    yield (
        "Set, and put back",
        ("setting", "of", "at", "value", "set", "put back"),
        [
            (each.setting, each.subject, each.cluster, each.value, moment(each.set_at_ms), moment(each.back_at_ms))
            for each in found.changes
        ],
    )
    yield "Set still", ("what",), [(each,) for each in found.rollback.set_still]
    yield "What could not be taken back", ("namespace", "why"), list(found.rollback.stays.items())
    yield "Checks that were passed over", ("check", "reason"), list(found.plan.overrides.items())
    yield (
        "Who asked for what",
        ("when", "command", "who", "why", "not followed"),
        [(moment(each.at_ms), each.command, each.who, each.why, each.refused) for each in found.asks],
    )
    yield "What has happened", ("when", "what"), [(moment(each.at_ms), each.words) for each in found.timeline]


def cut(rows: list[output.Row], most: int) -> list[output.Row]:
    """The first rows of many, and how many more there are."""
    if len(rows) <= most:
        return rows
    return [*rows[:most], (f"and {len(rows) - most} more: '-o json' has all", *[""] * (len(rows[0]) - 1))]


def _count(figure: ReportedFigureDocument) -> str:
    """A figure, or the words with which it is said that there is none."""
    return figure.basis.partition(":")[0] if figure.count is None else str(figure.count)


def _wave(number: int) -> str:
    return str(number) if number else "canary"


def _pairs(found: dict[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in found.items())
