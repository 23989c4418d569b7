"""``syncer quarantine`` and ``syncer parked``: what could not be handled, and what waits without an operator."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.documents.holds import ParkedList, parked_document
from syncer.documents.quarantine import QuarantineDocument, QuarantineList, quarantine_document
from syncer.documents.words import moment, stamped, with_times
from syncer.errors import NotFound
from syncer.model import MetaPath
from syncer.operations.contract import OperationKind, OperationRequest

app = typer.Typer(no_args_is_help=True, help="Messages and values that could not be handled.")
parked = typer.Typer(no_args_is_help=True, help="Writes that wait for a parent, for children or for the store.")

Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="Number of the entry.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000)]


@app.command("list")
def list_quarantine(
    context: typer.Context,
    limit: Limit = 100,
    after: Annotated[int, typer.Option("--after", min=0, metavar="ID", help="Go on behind this one.")] = 0,
) -> None:
    """List what is in the quarantine, oldest first."""
    session = session_of(context)
    with session.views() as views:
        rows = views.quarantine(limit + 1, after)
    items = [quarantine_document(row) for row in rows[:limit]]
    following = items[-1].id if len(rows) > limit else None
    if session.form is not Format.TABLE:
        output.document(QuarantineList(items=items, next=following), session.form)
        return
    output.table(
        ("id", "origin", "position", "code", "path", "bytes", "recorded", "detail"),
        [
            (
                each.id,
                each.origin,
                _position(each),
                each.code,
                each.path,
                each.payload_bytes,
                moment(each.recorded_at_ms),
                with_times(each.detail),
            )
            for each in items
        ],
        empty="the quarantine is empty",
    )
    if following is not None:
        say(f"more: --after {following}")


def _position(entry: QuarantineDocument) -> str | None:
    """Where it was found, but for what other columns say: the path, and when it was found there."""
    if entry.path is not None and entry.position == f"{entry.path} {entry.recorded_at_ms}":
        return None
    return with_times(entry.position)


@app.command("retry")
def retry(context: typer.Context, number: Number, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Handle an entry again, after its cause was removed. It comes back if it fails again."""
    _ask(context, OperationKind.QUARANTINE_RETRY, number, reason, timeout)


@app.command("discard")
def discard(
    context: typer.Context, number: Number, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0
) -> None:
    """Throw an entry away, for good."""
    _exists(context, number)
    agree(str(number), f"Entry {number} would be thrown away, and what it said be lost here.", yes=yes)
    _ask(context, OperationKind.QUARANTINE_DISCARD, number, reason, timeout)


def _exists(context: typer.Context, number: int) -> None:
    with session_of(context).views() as views:
        if views.dead_letter(number) is None:
            raise NotFound(f"nothing is quarantined as {number}", hint="See 'syncer quarantine list'.")


def _ask(context: typer.Context, kind: OperationKind, number: int, reason: str, timeout: float) -> None:
    _exists(context, number)
    session = session_of(context)
    with session.views() as views:
        ask(views, [OperationRequest(kind, {"id": str(number)})], reason=reason, timeout_s=timeout, form=session.form)


@parked.command("list")
def list_parked(
    context: typer.Context,
    limit: Limit = 100,
    after: Annotated[str, typer.Option("--after", metavar="PATH", help="Go on behind this path.")] = "",
) -> None:
    """List parked writes, in path order. They go on by themselves; nobody need do anything."""
    session = session_of(context)
    with session.views() as views:
        rows = views.parked(limit + 1, MetaPath(after) if after else None)
    items = [parked_document(row.path, row.parked, row.stamp) for row in rows[:limit]]
    following = items[-1].path if len(rows) > limit else None
    if session.form is not Format.TABLE:
        output.document(ParkedList(items=items, next=following), session.form)
        return
    output.table(
        ("path", "reason", "since", "stamp", "detail"),
        [
            (each.path, each.reason, moment(each.since_ms), stamped(each.stamp), with_times(each.detail))
            for each in items
        ],
        empty="nothing is parked",
    )
    if following is not None:
        say(f"more: --after {following}")
