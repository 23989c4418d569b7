"""Rendering of runs of moves: which there were, and each move's outcome beside its prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.cli.render import output
from syncer.cli.render.balancing import points
from syncer.cli.render.output import Format, out
from syncer.documents.words import moment, span

if TYPE_CHECKING:
    from syncer.documents.balancing.moves import (
        MoveOutcomeDocument,
        MoveRunDocument,
        MoveRunList,
        RunTroubleDocument,
        SplitOutcomeDocument,
    )


def show_move_runs(found: MoveRunList, form: Format) -> None:
    """Print which runs there were."""
    if form is not Format.TABLE:
        output.document(found, form)
        return
    output.table(
        ("id", "phase", "begun", "over", "stopped", "trouble", "asked by", "reason"),
        [
            (
                each.id,
                each.phase.value,
                moment(each.made_at_ms),
                moment(each.finished_at_ms),
                None if each.stop is None else each.stop.code,
                None if each.trouble is None else each.trouble.code,
                each.asked_by,
                each.reason,
            )
            for each in found.items
        ],
        empty="there is no run of moves",
    )


def show_move_run(found: MoveRunDocument, form: Format, *, streaming: bool = False) -> None:
    """Print how a run is: where it stands, then move by move."""
    if form is not Format.TABLE:
        (output.stream if streaming else output.document)(found, form)
        return
    stop, trouble = found.stop, found.trouble
    output.facts(
        [
            ("run", f"{found.id}, begun {moment(found.made_at_ms)} by {found.asked_by}: {found.reason or '-'}"),
            ("cluster", f"{found.cluster} (cluster.{found.table})"),
            ("phase", found.phase.value),
            *([("over", moment(found.finished_at_ms))] if found.finished_at_ms is not None else []),
            *([("waits until", moment(found.waits_until_ms))] if found.waits_until_ms is not None else []),
            ("moves", ", ".join(f"{number} {each.value}" for each, number in found.standings.items())),
            ("pulsar's own", "switched off" if found.holds_settings else "as set"),
            *([("stopped", f"{stop.code}: {stop.words or '-'}")] if stop is not None else []),
            *(_trouble(trouble) if trouble is not None else []),
        ]
    )
    out("")
    if found.splits:
        output.table(("bundle", "of", "cut at", "standing"), map(_split, found.splits))
        out("")
    output.table(
        ("bundle", "from", "to", "standing", "owner", "unloads", "ready", "said", "client-seconds said", "spread said"),
        map(_move, found.moves),
    )
    told = [*((each.bundle, each.words) for each in found.splits), *((each.bundle, each.words) for each in found.moves)]
    for bundle, words in told:
        if words:
            out(f"{bundle}: {words}")


def _trouble(trouble: RunTroubleDocument) -> list[tuple[str, str]]:
    return [
        ("not carried on", f"since {moment(trouble.since_ms)}, {trouble.code}: {trouble.message}"),
        ("tried again", f"{moment(trouble.next_ms)}; {trouble.hint}"),
    ]


def _split(each: SplitOutcomeDocument) -> tuple[object, ...]:
    return each.bundle, each.source, each.position, each.standing.value


def _move(each: MoveOutcomeDocument) -> tuple[object, ...]:
    price, spread = each.predicted_client_seconds, each.predicted_spread
    return (
        each.bundle,
        each.source,
        each.target,
        each.standing.value,
        each.owner,
        len(each.asked_ms),
        span(each.observed_ready_s),
        span(each.predicted_ready_s),
        None if price is None else f"{price:.1f}",
        None if spread is None else points(spread),
    )
