"""``syncer migration report``: what has happened in a migration, from the database alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncer.cli.commands.migrations.migration import app
from syncer.cli.render.migration_report import show_report
from syncer.cli.render.output import say
from syncer.cli.session import session_of


@app.command("report")
def report(
    context: typer.Context,
    number: Annotated[
        int | None,
        typer.Argument(metavar="[ID]", min=1, help="Number of the migration; without one, the latest."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page to read or print, too; never overwritten."),
    ] = None,
) -> None:
    """Tell what has happened in a migration, and what is known of its messages and clients.

    Neither the clusters nor the daemon are asked; what brokers cannot tell is said to be not measured.
    """
    from syncer.cli.render.migration_page import page_of
    from syncer.planning.whole_file import whole

    session = session_of(context)
    with session.region() as region:
        found = region.migration_report(number)
    if html is not None:
        with whole(html) as file:
            file.write(page_of(found).encode())
    show_report(found, session.form)
    if html is not None:
        say(f"wrote {html}")
