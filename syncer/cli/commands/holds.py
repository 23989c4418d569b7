"""``syncer holds``: changes that wait for an operator, who may let them pass, refuse them, or leave them waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from syncer.cli.confirmation import Yes
from syncer.cli.naming import path_of
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.reaching.contract import ChosenHolds
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.documents.words import moment, stamped, with_times

if TYPE_CHECKING:
    from syncer.cli.reaching.contract import ShownRegion

app = typer.Typer(no_args_is_help=True, help="Changes that wait for a person: confirm, reject, or leave them.")

Path = Annotated[
    str | None, typer.Argument(metavar="[PATH]", help="Path of the held change, or the name of what stands there.")
]
All = Annotated[bool, typer.Option("--all", help="Every held change (that --only selects).")]
Only = Annotated[str, typer.Option("--only", metavar="REASON", help="With --all: only holds of this reason.")]

Same = Annotated[
    str,
    typer.Option("--stamp", metavar="STAMP", help="With PATH: only if this change is held, as 'list' has shown it."),
]


@app.command("list")
def list_holds(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    after: Annotated[str, typer.Option("--after", metavar="PATH", help="Go on behind this path.")] = "",
) -> None:
    """List what waits, in path order."""
    session = session_of(context)
    with session.region() as region:
        found = region.holds(limit, after)
    if session.form is not Format.TABLE:
        output.document(found, session.form)
        return
    output.table(
        ("path", "waits", "reason", "stamp", "since", "detail"),
        [
            (each.path, each.waits, each.reason, stamped(each.stamp), moment(each.since_ms), with_times(each.detail))
            for each in found.items
        ],
        empty="nothing is held",
    )
    if found.next is not None:
        say(f"more: --after {found.next}")


@app.command("confirm")
def confirm(
    context: typer.Context,
    path: Path = None,
    everything: All = False,
    only: Only = "",
    stamp: Same = "",
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Let a held change pass: a remote one is written here, a local one is published, one from the future counts."""
    session = session_of(context)
    with session.region() as region:
        decision = region.confirm(_chosen(region, path, stamp, everything=everything, only=only))
        carry_out(decision, yes=yes, reason=reason, timeout_s=timeout, form=session.form)


@app.command("reject")
def reject(
    context: typer.Context,
    path: Path = None,
    everything: All = False,
    only: Only = "",
    stamp: Same = "",
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Refuse a held change: our value wins over a remote one, a local delete is taken back, an early one is dropped."""
    session = session_of(context)
    with session.region() as region:
        decision = region.reject(_chosen(region, path, stamp, everything=everything, only=only))
        carry_out(decision, yes=yes, reason=reason, timeout_s=timeout, form=session.form)


def _chosen(region: ShownRegion, path: str | None, stamp: str, *, everything: bool, only: str) -> ChosenHolds:
    if (path is None) != everything:
        raise typer.BadParameter("give either a PATH or --all")
    if only and not everything:
        raise typer.BadParameter("--only goes with --all")
    if stamp and everything:
        raise typer.BadParameter("--stamp goes with a PATH")
    return ChosenHolds(path=path_of(path, region.is_held) if path is not None else None, stamp=stamp, only=only)
