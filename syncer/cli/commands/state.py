"""``syncer state``: the sidecar database itself: whether it is sound, making it small, and rebuilding a lost one."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import looked_for, session_of
from syncer.dispositions import ExitCode
from syncer.documents.state import CompactDocument, StateCheckDocument, StateFindingDocument

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
    with looked_for(config):
        done = shrink(
            config.database_url(),
            Region(config.region),
            journal_retention_s=config.limits.journal_kept.total_seconds(),
            audit_retention_s=config.limits.audit_retention.total_seconds(),
        )
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
    with session.region() as region:
        decision = region.rebuild(without or [], alone=alone)
        carry_out(decision, yes=yes, reason=reason, timeout_s=timeout, form=session.form)
