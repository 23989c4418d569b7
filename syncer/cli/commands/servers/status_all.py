"""``syncer status --all``: every region of the contexts in one table, asked at once, each within its time."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

import typer

from syncer.cli import leaving
from syncer.cli.again import with_config
from syncer.cli.commands.status_check import found as looked_at
from syncer.cli.reaching.choosing import of_context
from syncer.cli.reaching.contexts import contexts_file, read_contexts
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.documents.reached.contexts import ReachedRegion, ReachedRegionList
from syncer.errors import PreconditionFailed, SyncerError
from syncer.inspection.verdict import EXIT, LookOutcome

if TYPE_CHECKING:
    from syncer.cli.reaching.choosing import ChosenServer
    from syncer.cli.reaching.contexts import RegionContext
    from syncer.cli.session import CommandSession
    from syncer.documents.status import StatusDocument

BEYOND_S: Final = 1.0
"""How much longer than its time a look is waited for: one whose thread hangs keeps nobody waiting."""

JUDGED: Final = ("context", "verdict", "message")
COUNTED: Final = ("daemon", "paths", "outbox", "holds", "conflicts", "quarantine")
SHOWN: Final = ("context", "region", "verdict", *COUNTED, "message")


def status_all(session: CommandSession, timeout_s: float, *, judged: bool) -> NoReturn:
    """Show how all regions of the contexts are, and leave with the greatest of their exit statuses.

    Args:
        session: The call.
        timeout_s: For each region.
        judged: Only the verdicts, and what comes next.

    Raises:
        PreconditionFailed: No context is kept.
        typer.Exit: Always.
    """
    contexts = read_contexts(contexts_file()).contexts
    if not contexts:
        raise PreconditionFailed("no context is kept", hint="Make one: 'syncer context add NAME --server URL'.")
    items = _all(session, contexts, timeout_s)
    worst = max(each.exit_status for each in items)
    if session.form is not Format.TABLE:
        shown = [each.model_copy(update={"status": None}) if judged else each for each in items]
        output.document(ReachedRegionList(exit_status=worst, items=shown), session.form)
        raise typer.Exit(worst)
    headings, rows = (JUDGED, map(_judged, items)) if judged else (SHOWN, map(_shown, items))
    output.table(headings, rows)
    for each in items:
        if each.exit_status:
            say(f"next for {each.context}: " + (f"{each.command}  # {each.next}" if each.command else each.next))
    raise typer.Exit(worst)


def _judged(item: ReachedRegion) -> output.Row:
    return item.context, item.verdict.replace("-", " "), item.message


def _shown(item: ReachedRegion) -> output.Row:
    context, verdict, message = _judged(item)
    return context, item.region or None, verdict, *_counts(item.status), message


def _counts(status: StatusDocument | None) -> output.Row:
    if status is None:
        return (None,) * len(COUNTED)
    waiting = status.waiting
    holds = waiting.holds + waiting.future_events
    return status.daemon, status.paths, status.outbox.depth, holds, waiting.conflicts, waiting.quarantine


def _all(session: CommandSession, contexts: Mapping[str, RegionContext], timeout_s: float) -> list[ReachedRegion]:
    """A row for each context, by name; all are asked at once."""
    names = sorted(contexts)
    told: queue.SimpleQueue[tuple[str, ReachedRegion | Exception]] = queue.SimpleQueue()

    def look(name: str) -> None:
        try:
            told.put((name, _row(session, name, contexts[name], timeout_s)))
        except Exception as exc:  # noqa: BLE001 - handed to the thread that waits
            told.put((name, exc))

    threads = [threading.Thread(target=look, args=(name,), name=name, daemon=True) for name in names]
    leaving.may_be_left(threads)
    deadline = time.monotonic() + timeout_s + BEYOND_S
    for thread in threads:
        thread.start()
    rows: dict[str, ReachedRegion] = {}
    while len(rows) < len(names):
        try:
            name, row = told.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if isinstance(row, Exception):
            raise row
        rows[name] = row
    silent = f"no answer within {timeout_s:g} s"
    return [rows.get(name) or _unreached(name, contexts[name], silent, "Check address and network.") for name in names]


def _row(session: CommandSession, name: str, context: RegionContext, timeout_s: float) -> ReachedRegion:
    from syncer.cli.reaching.remote import RemoteLooks

    chosen: ChosenServer = of_context(name, context)
    try:
        status, verdict = looked_at(RemoteLooks(chosen, timeout_s), session)
    except SyncerError as exc:
        return _unreached(name, context, exc.message, exc.hint)
    return ReachedRegion(
        context=name,
        server=context.server,
        region=status.region if status is not None else "",
        verdict=verdict.outcome.value,
        exit_status=EXIT[verdict.outcome],
        message=verdict.message,
        next=verdict.step.words,
        command=with_config(replace(session, server=chosen), verdict.step.command),
        status=status,
    )


def _unreached(name: str, context: RegionContext, message: str, hint: str) -> ReachedRegion:
    return ReachedRegion(
        context=name,
        server=context.server,
        region="",
        verdict=LookOutcome.UNREACHABLE.value,
        exit_status=EXIT[LookOutcome.UNREACHABLE],
        message=message,
        next=hint,
        command="",
        status=None,
    )
