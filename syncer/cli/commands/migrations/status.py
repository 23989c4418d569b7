"""``syncer migration status``, ``list`` and ``events``: how a migration is, from the database alone."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from syncer.cli.commands.migrations.migration import app
from syncer.cli.render.migration_status import show_event, show_list, show_status
from syncer.cli.render.output import cleared
from syncer.cli.session import session_of

POLL_S: Final = 0.5
_AT_ONCE: Final = 500

Number = Annotated[
    int | None,
    typer.Argument(
        metavar="[ID]", min=1, help="Number of the migration; without one, the one that is open, or the latest."
    ),
]


@app.command("status")
def status(
    context: typer.Context,
    number: Number = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again and again, until it is over.")] = False,
    every: Annotated[float, typer.Option("--every", min=0.1, metavar="SECONDS", help="How often, with --watch.")] = 2.0,
) -> None:
    """Show how far a migration is, what it waits for, what is left at blue, and why it has stopped."""
    session = session_of(context)
    with session.region() as region:
        while True:
            found = region.migration(number)
            if watch:
                cleared(session.form)
            show_status(found, session.form, streaming=watch)
            if not watch or found.finished_at_ms is not None:
                return
            number = found.id
            time.sleep(every)


@app.command("list")
def list_migrations(
    context: typer.Context, limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 20
) -> None:
    """List the migrations of this region, the latest first."""
    session = session_of(context)
    with session.region() as region:
        show_list(region.migrations(limit), session.form)


@app.command("events")
def events(
    context: typer.Context,
    number: Number = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new ones until it is over.")] = False,
) -> None:
    """Show what has happened in a migration, oldest first. JSON is one object per line."""
    session = session_of(context)
    with session.region() as region:
        chosen, last = region.migration(number).id, 0
        while True:
            over = follow and region.migration(chosen).finished_at_ms is not None
            page = region.migration_events(chosen, _AT_ONCE, last)
            for event in page.items:
                show_event(event, session.form)
            last = page.next
            if len(page.items) < _AT_ONCE:
                if not follow or over:
                    return
                time.sleep(POLL_S)
