"""``syncer ledgers history``: the audits that the active daemon kept, and what changed between two of them."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.commands.ledgers.ledgers import app
from syncer.cli.commands.ledgers.options import ClusterOption
from syncer.cli.session import session_of
from syncer.dispositions import ExitCode

history = typer.Typer(no_args_is_help=True, help="Audits that the daemon kept, and what changed between two of them.")
app.add_typer(history, name="history")

Earlier = Annotated[
    int | None, typer.Argument(metavar="EARLIER", min=1, help="Number of an audit; the one before the later one.")
]
Later = Annotated[int | None, typer.Argument(metavar="LATER", min=1, help="Number of an audit; the latest.")]


@history.callback()
def kept() -> None:
    """Audits that the daemon kept, and what changed between two of them."""


@history.command("list")
def list_(
    context: typer.Context,
    cluster: ClusterOption,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many at most.")] = 20,
    before: Annotated[int | None, typer.Option("--before", min=1, metavar="NUMBER", help="Only older ones.")] = None,
) -> None:
    """List the audits that are kept of a cluster, the latest first.

    The active daemon audits a cluster on schedule where its table has a table 'audits'.
    """
    from syncer.cli.render.ledgers.answer import show as shown
    from syncer.cli.render.ledgers.history import draw_kept_audits

    session = session_of(context)
    with session.region() as region:
        found = region.ledger_audits(cluster, limit, before)
    shown(found, session.form, draw_kept_audits)


@history.command("show")
def show(
    context: typer.Context,
    cluster: ClusterOption,
    number: Annotated[
        int | None, typer.Argument(metavar="NUMBER", min=1, help="Number of an audit; the latest if not given.")
    ] = None,
) -> None:
    """Show an audit as it was kept. Exits with 3 where there are findings."""
    from syncer.cli.render.ledgers.answer import show as shown
    from syncer.cli.render.ledgers.audit import draw_audit

    session = session_of(context)
    with session.region() as region:
        found = region.ledger_audit(cluster, number)
    shown(found, session.form, draw_audit)
    raise typer.Exit(ExitCode.DIFFERENT if found.findings else ExitCode.DONE)


@history.command("changes")
def changes(context: typer.Context, cluster: ClusterOption, earlier: Earlier = None, later: Later = None) -> None:
    """Tell what changed between two audits: groups, why bytes are kept, bookies, findings; the worst first.

    Nothing is called gone, or new, that one of the two may merely not have read. Exits with 3 where a finding is new,
    or of more or of others.
    """
    from syncer.cli.render.ledgers.answer import show as shown
    from syncer.cli.render.ledgers.history import draw_ledger_changes

    session = session_of(context)
    with session.region() as region:
        found = region.ledger_changes(cluster, earlier, later)
    shown(found, session.form, draw_ledger_changes)
    raise typer.Exit(ExitCode.DIFFERENT if found.worse else ExitCode.DONE)
