"""``syncer migration report``: what has happened in a migration, from the database alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.commands.migrations.migration import app
from syncer.cli.render.migration_report import show_report
from syncer.cli.render.output import say
from syncer.cli.session import session_of

if TYPE_CHECKING:
    from syncer.state.contract.migrations import MigrationEvent
    from syncer.state.views.region import Views

_AT_ONCE: Final = 1_000
"""Events that are read at a time."""


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
    from syncer.documents.migration_report.making import report_document
    from syncer.inspection.migrations import chosen
    from syncer.migration.reading.plan_file import from_text
    from syncer.migration.reporting.report import report_of
    from syncer.planning.whole_file import whole

    session = session_of(context)
    with session.views() as views:
        migration = chosen(views, number)
        plan = from_text(views.migration_plan(migration.id).encode(), f"the plan of migration {migration.id}")
        made = report_of(migration, plan, _events(views, migration.id), views.migration_values(migration.id))
    found = report_document(made)
    if html is not None:
        with whole(html) as file:
            file.write(page_of(found).encode())
    show_report(found, session.form)
    if html is not None:
        say(f"wrote {html}")


def _events(views: Views, number: int) -> list[MigrationEvent]:
    found: list[MigrationEvent] = []
    while page := views.migration_events(number, _AT_ONCE, found[-1].number if found else 0):
        found += page
    return found
