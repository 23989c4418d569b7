"""``syncer state``: the sidecar database itself: whether it is sound, making it small, and rebuilding a lost one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import looked_for, session_of
from syncer.documents.state import CompactDocument, StateCheckDocument, StateFindingDocument
from syncer.errors import ExitCode, PreconditionFailed
from syncer.operations.contract import OperationKind, OperationRequest

if TYPE_CHECKING:
    from syncer.cli.session import CommandSession

app = typer.Typer(no_args_is_help=True, help="The daemon's own database.")


@app.command("check")
def check(context: typer.Context) -> None:
    """Look whether the database is sound: file, schema, and that its rows agree. Exit code 1 when they do not.

    It is only read; the daemon may run.
    """
    from syncer.model import Region
    from syncer.state.maintenance.check import check as look

    session = session_of(context)
    config = session.config(whole=False)
    with looked_for(config):
        findings = look(config.database_url(), Region(config.region))
    items = [StateFindingDocument(check=each.check, ok=each.ok, detail=each.detail) for each in findings]
    if session.form is Format.TABLE:
        output.table(("check", "ok", "detail"), [(each.check, each.ok, each.detail) for each in items])
    else:
        output.document(StateCheckDocument(sound=all(each.ok for each in items), items=items), session.form)
    if not all(each.ok for each in items):
        say("hint: stop the daemon, move the database away and start it again: it is rebuilt from the peers.")
        raise typer.Exit(ExitCode.FAILED)


@app.command("compact")
def compact(context: typer.Context) -> None:
    """Drop what is past its retention and give unused space back to the file system. The daemon must be stopped."""
    from syncer.model import Region
    from syncer.state.maintenance.compact import compact as shrink

    session = session_of(context)
    config = session.config(whole=False)
    kept_s = config.limits.journal_kept.total_seconds()
    with looked_for(config):
        done = shrink(config.database_url(), Region(config.region), journal_retention_s=kept_s)
    found = CompactDocument(rows_dropped=done.rows, bytes_before=done.before, bytes_after=done.after)
    if session.form is Format.TABLE:
        output.facts([("rows dropped", done.rows), ("bytes before", done.before), ("bytes after", done.after)])
    else:
        output.document(found, session.form)


@app.command("rebuild")
def rebuild(
    context: typer.Context,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="REGION", help="This peer is absent: do not wait for it. Once for each."),
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="No peer has anything to tell: wait for nobody.")] = False,
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Say whom the rebuild of a lost database need not wait for. It begins, and goes on, by itself."""
    if not without and not alone:
        raise typer.BadParameter("give --without REGION or --alone; 'syncer status' shows who is waited for")
    session = session_of(context)
    _ask_for_rebuild(session, without or [], alone=alone, yes=yes, reason=reason, timeout_s=timeout)


def _ask_for_rebuild(
    session: CommandSession, without: list[str], *, alone: bool, yes: bool, reason: str, timeout_s: float
) -> None:
    with session.views() as views:
        names = ", ".join(without) if not alone else "any peer"
        lost = (
            f"only {names} {'know' if len(without) > 1 and not alone else 'knows'}" if not alone else "peers alone know"
        )
        if any("," in name or not name for name in without):
            raise PreconditionFailed("a region id has no comma and is not empty", hint="Give --without once for each.")
        agree(
            names,
            f"What {lost} would not be waited for: a value here that differs from it would not be "
            "recognised as older, and a delete that only they know might be undone. No value would be lost.",
            yes=yes,
        )
        request = OperationRequest(OperationKind.REBUILD, {"without": ",".join(without), "alone": str(alone).lower()})
        ask(views, [request], reason=reason, timeout_s=timeout_s, form=session.form)
