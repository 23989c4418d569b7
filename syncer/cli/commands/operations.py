"""``syncer operations``: the audit trail: who asked the daemon for what, from where, why, and what came of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.operations import about
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.documents.words import moment, with_times

if TYPE_CHECKING:
    from syncer.documents.operations import OperationDocument

PAGE: Final = 500

app = typer.Typer(no_args_is_help=True, help="What the daemon was asked to do, by whom, and what came of it.")

After = Annotated[int, typer.Option("--after", min=0, metavar="ID", help="Go on behind this one.")]


class StateChoice(StrEnum):
    """States that may be asked for."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"


@app.command("list")
def list_operations(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    after: After = 0,
    state: Annotated[StateChoice | None, typer.Option("--state", help="Only those.")] = None,
) -> None:
    """List operations, oldest first."""
    session = session_of(context)
    with session.region() as region:
        found = region.operations(limit, after, state.value if state is not None else None)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
        return
    output.table(
        ("id", "asked", "by", "from", "operation", "about", "reason", "state", "answer"),
        [_row(each) for each in found.items],
        empty="nothing was asked of the daemon",
    )
    if found.next is not None:
        say(f"more: --after {found.next}")


@app.command("show")
def show(
    context: typer.Context, number: Annotated[int, typer.Argument(metavar="ID", min=1, help="Its number.")]
) -> None:
    """Show one operation whole."""
    session = session_of(context)
    with session.region() as region:
        found = region.operation(number)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
        return
    output.facts(
        [
            ("operation", found.id),
            ("kind", found.kind),
            ("about", about(found)),
            ("asked by", found.asked_by),
            ("from", _origin(found)),
            ("with", found.credential or None),
            ("reason", found.reason or None),
            ("asked", moment(found.asked_at_ms)),
            ("state", found.state),
            ("answered", moment(found.finished_at_ms)),
            ("answer", with_times(found.answer) or None),
            ("code", found.code or None),
        ]
    )


@app.command("export")
def export(context: typer.Context, after: After = 0) -> None:
    """Write all of the audit trail that is kept, one JSON object per line, oldest first, for an archive.

    The last line's id is what a later export goes on behind. How long it is kept: 'limits.audit_retention'.
    """
    session = session_of(context)
    form = Format.JSON if session.form is Format.TABLE else session.form
    with session.region() as region:
        while rows := region.operations(PAGE, after, None).items:
            for each in rows:
                output.stream(each, form)
            after = rows[-1].id


def _row(each: OperationDocument) -> output.Row:
    return (
        each.id,
        moment(each.asked_at_ms),
        each.asked_by,
        _origin(each),
        each.kind,
        about(each),
        each.reason or None,
        each.state,
        with_times(each.answer),
    )


def _origin(each: OperationDocument) -> str:
    return each.origin or "this host"
