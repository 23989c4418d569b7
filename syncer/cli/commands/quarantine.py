"""``syncer quarantine`` and ``syncer parked``: what could not be handled, and what waits without an operator."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.documents.quarantine import QuarantineDocument
from syncer.documents.words import moment, stamped, with_times

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
    with session.region() as region:
        found = region.quarantine(limit, after)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
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
            for each in found.items
        ],
        empty="the quarantine is empty",
    )
    if found.next is not None:
        say(f"more: --after {found.next}")


def _position(entry: QuarantineDocument) -> str | None:
    """Where it was found, but for what other columns say: the path, and when it was found there."""
    if entry.path is not None and entry.position == f"{entry.path} {entry.recorded_at_ms}":
        return None
    return with_times(entry.position)


@app.command("retry")
def retry(context: typer.Context, number: Number, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Handle an entry again, after its cause was removed. It comes back if it fails again."""
    session = session_of(context)
    with session.region() as region:
        carry_out(region.retry(number), yes=True, reason=reason, timeout_s=timeout, form=session.form)


@app.command("discard")
def discard(
    context: typer.Context, number: Number, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0
) -> None:
    """Throw an entry away, for good."""
    session = session_of(context)
    with session.region() as region:
        carry_out(region.throw_away(number), yes=yes, reason=reason, timeout_s=timeout, form=session.form)


@parked.command("list")
def list_parked(
    context: typer.Context,
    limit: Limit = 100,
    after: Annotated[str, typer.Option("--after", metavar="PATH", help="Go on behind this path.")] = "",
) -> None:
    """List parked writes, in path order. They go on by themselves; nobody need do anything."""
    session = session_of(context)
    with session.region() as region:
        found = region.parked(limit, after)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
        return
    output.table(
        ("path", "reason", "since", "stamp", "detail"),
        [
            (each.path, each.reason, moment(each.since_ms), stamped(each.stamp), with_times(each.detail))
            for each in found.items
        ],
        empty="nothing is parked",
    )
    if found.next is not None:
        say(f"more: --after {found.next}")
