"""``syncer conflicts``: what lost against a concurrent change, and getting it back."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render import output
from syncer.cli.render.output import Format, out, say
from syncer.cli.render.values import present_words, value_words
from syncer.cli.session import session_of
from syncer.cli.values import StoreTimeout
from syncer.documents.conflicts import ConflictDetail, kept_value
from syncer.documents.values import KEPT_BYTES, value_document
from syncer.documents.words import moment, stamped

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
    with session.region() as region:
        found = region.conflicts(limit, after, restored=everything)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
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
            for each in found.items
        ],
        empty="no conflicts",
    )
    if found.next is not None:
        say(f"more: --after {found.next}")


@app.command("show")
def show(context: typer.Context, number: Number, store_timeout: StoreTimeout = 5.0) -> None:
    """Show a conflict: the value that lost, what the store holds now, and what restoring the loser would change."""
    session = session_of(context)
    with session.region() as region:
        found = region.conflict(number, store_timeout)
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
    now = found.present
    holds = "-" if now is None else value_words(now.value, limit=KEPT_BYTES) if now.read else present_words(now)
    out("")
    rows = [("lost value", _kept(found)), ("in the store now", holds)]
    if now is not None and now.kept is not None:
        rows.append(("kept by the daemon", f"{now.kept} (the store lacks it)"))
    output.facts([*rows, ("a restore would change", found.change)])


def _kept(found: ConflictDetail) -> str:
    """The value that lost, for people."""
    if found.deleted:
        return "deleted"
    if found.withheld:
        return "not shown: the token has no right to see values"
    value = kept_value(found)
    return "not known here yet" if value is None else value_words(value_document(value), limit=KEPT_BYTES)


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
    with session.region() as region:
        carry_out(region.restore(number, over), yes=yes, reason=reason, timeout_s=timeout, form=session.form)


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
    with session.region() as region:
        decision = region.discard(number) if number is not None else region.discard_of(by)
        carry_out(decision, yes=yes, reason=reason, timeout_s=timeout, form=session.form)
