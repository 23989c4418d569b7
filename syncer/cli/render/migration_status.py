"""Rendering of a migration that runs: how it is, which there were, and what has happened."""

from __future__ import annotations

import json
from typing import Final

from syncer.cli.render import output
from syncer.cli.render.output import Format, out
from syncer.documents.migration import (
    MigrationBlueDocument,
    MigrationEventDocument,
    MigrationList,
    MigrationStatusDocument,
    MigrationStopDocument,
)
from syncer.documents.words import counted, moment, span

_LONG: Final = 160
"""Signs of an event that are shown to people; JSON has all."""
_MISSING: Final = 20


def show_status(found: MigrationStatusDocument, form: Format, *, streaming: bool = False) -> None:
    """Print how a migration is: first where it stands and what it waits for, then wave by wave, then what is left."""
    if form is not Format.TABLE:
        (output.stream if streaming else output.document)(found, form)
        return
    output.facts(
        [
            ("migration", f"{found.id}, begun {moment(found.made_at_ms)} by {found.asked_by}: {found.reason or '-'}"),
            ("from", f"{found.blue.name} (cluster.{found.blue.table})"),
            ("to", f"{found.green.name} (cluster.{found.green.table})"),
            ("phase", _phase(found)),
            ("now", found.step),
            *([("waits for", ", ".join(found.waits_for))] if found.waits_for else []),
            *([("cannot be undone", found.undone)] if found.undone else []),
            *_stop("stopped", found.stop),
            *_stop("trouble", found.trouble),
        ]
    )
    out("")
    output.table(
        ("wave", "namespaces", "outcome", "gap said", "held", "closed in", "at green", "missing"),
        [
            (
                each.wave or "canary",
                ", ".join(each.namespaces[:3])
                + (f" and {len(each.namespaces) - 3} more" if each.namespaces[3:] else ""),
                each.outcome or "not yet",
                span(each.longest_gap_s),
                span(each.held_s),
                span(each.closing_s),
                each.arrived,
                len(each.missing),
            )
            for each in found.waves
        ],
    )
    for each in found.waves:
        for who in each.missing[:_MISSING]:
            out(f"missing at green: {who}")
        for what, why in list(each.reasons.items())[:_MISSING]:
            out(f"wave {each.wave}: {what}: {why}")
    if found.blue_seen is not None:
        _show_blue(found.blue_seen)
    for broker in found.ill:
        then = ": restart it" if broker.state == "deadlocked" else ""
        out(f"! broker {broker.broker} of {broker.cluster} is {broker.state}{then} ({broker.said})")
    _show_rest(found)


def show_list(found: MigrationList, form: Format) -> None:
    """Print which migrations there were."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    output.table(
        ("id", "phase", "wave", "begun", "over", "asked by", "reason"),
        [
            (
                each.id,
                each.phase,
                each.wave or "-",
                moment(each.made_at_ms),
                moment(each.finished_at_ms),
                each.asked_by,
                each.reason,
            )
            for each in found.items
        ],
        empty="there is no migration",
    )


def show_event(found: MigrationEventDocument, form: Format) -> None:
    """Print an event; JSON is one object per line."""
    if form is not Format.TABLE:
        output.stream(found, form)
        return
    told = {name: each for name, each in found.document.items() if name != "at_ms" and each not in (None, "", [], {})}
    words = ", ".join(f"{name} {_word(each)}" for name, each in told.items())
    out(f"{moment(found.at_ms)}  {found.kind:<18}  {words if len(words) <= _LONG else words[:_LONG] + '…'}")


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _phase(found: MigrationStatusDocument) -> str:
    inside = f", in {found.stopped_in}" if found.stopped_in is not None else ""
    wave = f", wave {found.wave}" if found.wave else ""
    auto = ", goes on by itself within its bounds" if found.auto else ""
    over = f", over {moment(found.finished_at_ms)}" if found.finished_at_ms is not None else ""
    return f"{found.phase}{inside}{wave}{auto}{over}"


def _stop(name: str, stop: MigrationStopDocument | None) -> list[tuple[str, object]]:
    return [] if stop is None else [(name, f"{stop.code}: {stop.message}"), ("what next", stop.hint)]


def _show_blue(blue: MigrationBlueDocument) -> None:
    out("")
    states = ", ".join(f"{count} {state}" for state, count in blue.topics.items())
    left = "something does not fall" if blue.seconds_left is None else f"{span(blue.seconds_left)} to go"
    output.facts(
        [
            ("topics at blue", states or "-"),
            (
                "left to read",
                f"{blue.entries_left} entries of {counted(blue.subscriptions_left, 'subscription')}, {left}"
                if blue.subscriptions_left
                else "nothing",
            ),
        ]
    )
    if blue.drains:
        output.table(
            ("topic", "subscription", "left", "time left", "held up"),
            [(each.topic, each.subscription, each.left, span(each.eta_s), each.held_up) for each in blue.drains],
        )
    for where, count in blue.to_send.items():
        out(f"yet to be replicated: {count} of {where}")
    for namespace in blue.healing:
        out(f"read without its mark first: {namespace}")


def _show_rest(found: MigrationStatusDocument) -> None:
    if found.undoable:
        out("")
        output.table(
            ("namespace", "rollback", "what stays"),
            [(each.namespace, each.rollback, each.words) for each in found.undoable],
        )
    if found.blocking:
        out("")
        output.table(
            ("check", "subject", "evidence", "what next"),
            [(each.check, each.subject, each.evidence, each.remedy) for each in found.blocking],
        )
