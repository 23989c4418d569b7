"""``syncer conflicts``: what lost against a concurrent change, and getting it back."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.render import output
from syncer.cli.render.output import Format, counted, moment, out, say, stamped, with_times
from syncer.cli.session import session_of
from syncer.cli.values import (
    KEPT_BYTES,
    Present,
    StoreTimeout,
    changes_to,
    present_at,
    present_document,
    present_words,
    value_document,
    value_words,
)
from syncer.documents.conflicts import ConflictDetail, ConflictDocument, ConflictList
from syncer.documents.values import ChangeDocument
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import Region
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.operations.decisions import lost_in

if TYPE_CHECKING:
    from syncer.operations.decisions import Lost
    from syncer.state.views.summaries import ConflictSummary

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
    items = [summary(row) for row in rows[:limit]]
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
    found = detail(lost, present)
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


def summary(row: ConflictSummary) -> ConflictDocument:
    """A conflict as the contract has it."""
    return ConflictDocument(
        id=row.id,
        path=row.path,
        loser=str(row.loser),
        winner=str(row.winner),
        reason=row.reason,
        recorded_at_ms=row.recorded_at_ms,
        restored_at_ms=row.restored_at_ms,
        value_bytes=row.value_bytes,
    )


def detail(lost: Lost, present: Present) -> ConflictDetail:
    """A conflict with its value, what stands in its place, and how they differ."""
    action, changes, change = None, list[ChangeDocument](), ""
    if lost.row.loser_digest is None or lost.row.value is not None:
        action, changes, change = changes_to(lost.row.path, present, lost.row.value)
    row, known, stored = lost.row, lost.shown.known, lost.shown.stored
    value: dict[str, Any] = {"value": None, "value_base64": None}
    if row.value is not None:
        try:
            value["value"] = row.value.decode()
        except UnicodeDecodeError:
            value["value_base64"] = base64.b64encode(row.value).decode()
    return ConflictDetail(
        id=row.id,
        path=row.path,
        loser=str(row.loser),
        winner=str(row.winner),
        reason=row.reason,
        recorded_at_ms=row.recorded_at_ms,
        restored_at_ms=row.restored_at_ms,
        value_bytes=len(row.value) if row.value is not None else None,
        loser_seen={str(counter): int(at) for counter, at in row.loser_seen.items()},
        deleted=row.loser_digest is None,
        known=str(known) if known is not None else None,
        stored=str(stored) if stored is not None else None,
        present=present_document(present, row.path, lost.shown.digest),
        action=action,
        changes=changes,
        change=change,
        **value,
    )
