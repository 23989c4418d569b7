"""``syncer conflicts``: what lost against a concurrent change, and getting it back."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.render import output
from syncer.cli.render.output import Format, out, say
from syncer.cli.render.values import present_words, value_words
from syncer.cli.session import session_of
from syncer.cli.values import StoreTimeout, present_at
from syncer.documents.conflicts import ConflictList, conflict_detail, conflict_document
from syncer.documents.values import KEPT_BYTES, value_document
from syncer.documents.words import counted, moment, stamped, with_times
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import Region
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.operations.decisions import lost_in

app = typer.Typer(no_args_is_help=True, help="Losers of concurrent changes; each is kept whole.")

Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="Number of the conflict.")]


@app.command("list")
def list_conflicts(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Those that were restored, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    after: Annotated[int, typer.Option("--after", min=0, metavar="ID", help="Go on behind this one.")] = 0,
) -> None:
    """List conflicts, oldest first."""
    session = session_of(context)
    with session.views() as views:
        rows = views.conflicts(limit + 1, after, restored=everything)
    items = [conflict_document(row) for row in rows[:limit]]
    following = items[-1].id if len(rows) > limit else None
    if session.form is not Format.TABLE:
        output.document(ConflictList(items=items, next=following), session.form)
        return
    output.table(
        ("id", "path", "loser", "winner", "reason", "recorded", "restored"),
        [
            (
                each.id,
                each.path,
                stamped(each.loser),
                stamped(each.winner),
                each.reason,
                moment(each.recorded_at_ms),
                moment(each.restored_at_ms),
            )
            for each in items
        ],
        empty="no conflicts",
    )
    if following is not None:
        say(f"more: --after {following}")


@app.command("show")
def show(context: typer.Context, number: Number, store_timeout: StoreTimeout = 5.0) -> None:
    """Show a conflict: the value that lost, what the store holds now, and what restoring the loser would change."""
    session = session_of(context)
    with session.views() as views:
        lost = lost_in(views, number)
    stored = lost.shown.digest
    present = present_at(session.config(whole=False), lost.row.path, store_timeout, alive=stored is not None)
    found = conflict_detail(lost, present)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
        return
    output.facts(
        [
            ("conflict", found.id),
            ("path", found.path),
            ("lost", stamped(found.loser)),
            ("won", stamped(found.winner)),
            ("newest now", stamped(found.known)),
            ("last known in the store", stamped(found.stored)),
            ("reason", found.reason),
            ("recorded", moment(found.recorded_at_ms)),
            ("restored", moment(found.restored_at_ms)),
        ]
    )
    lacking = "not known here yet" if lost.row.value is None else ""
    kept = "deleted" if found.deleted else lacking or value_words(value_document(lost.row.value), limit=KEPT_BYTES)
    now = found.present
    holds = "-" if now is None else value_words(now.value, limit=KEPT_BYTES) if now.read else present_words(now)
    out("")
    output.facts([("lost value", kept), ("in the store now", holds), ("a restore would change", found.change)])


@app.command("restore")
def restore(
    context: typer.Context,
    number: Number,
    over: Annotated[
        str,
        typer.Option("--over", metavar="STAMP", help="Only if this is the newest change, as 'show' has shown it."),
    ] = "",
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Make the loser of a conflict the newest value, everywhere."""
    session = session_of(context)
    with session.views() as views:
        lost = lost_in(views, number)
        row, known = lost.row, lost.shown.known
        if over not in {"", str(known), stamped(known)}:
            raise PreconditionFailed(
                f"{row.path}: the newest change is {stamped(known)} now, and not {with_times(over)}",
                hint=f"Look at it again with 'syncer conflicts show {number}'.",
            )
        what = "the delete" if row.loser_digest is None else "the value"
        agree(
            row.path,
            f"{what} of {stamped(row.loser)} would become the newest, and replace {row.path} in every region:"
            f" {stamped(known)} is the newest now.",
            yes=yes,
        )
        ask(views, [lost.restoring], reason=reason, timeout_s=timeout, form=session.form)


@app.command("discard")
def discard(
    context: typer.Context,
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", help="Number of the conflict.")] = None,
    by: Annotated[
        str,
        typer.Option("--by", metavar="REGION", help="All, up to 10,000 at a time, whose lost value is of this region."),
    ] = "",
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Forget a conflict, or all that a region has lost; the lost value is gone here, and can be restored no more."""
    if (number is None) == (not by):
        raise typer.BadParameter("give either a NUMBER or --by")
    session = session_of(context)
    with session.views() as views:
        if number is not None:
            row = lost_in(views, number).row
            agree(row.path, f"The value of {stamped(row.loser)}, which lost, would be forgotten here.", yes=yes)
            request = OperationRequest(OperationKind.CONFLICTS_DISCARD, {"conflict": str(number)})
        else:
            count, last = views.lost_by(Region(by))
            if not count:
                raise NotFound(f"no value of {by} has lost", hint="See 'syncer conflicts list --all'.")
            agree(
                by,
                f"{counted(count, 'value')} of {by} that lost, up to conflict {last}, would be forgotten here.",
                yes=yes,
            )
            request = OperationRequest(OperationKind.CONFLICTS_DISCARD, {"by": by, "until": str(last)})
        ask(views, [request], reason=reason, timeout_s=timeout, form=session.form)
