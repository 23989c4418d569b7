"""``syncer events``: what was decided."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.render import output
from syncer.cli.render.output import Format, out
from syncer.cli.session import CommandSession, session_of
from syncer.documents.words import moment, stamped, with_times

if TYPE_CHECKING:
    from syncer.documents.explain import DecisionDocument

POLL_S: Final = 0.25
PAGE: Final = 500

app = typer.Typer(no_args_is_help=True, help="Decisions about changes, local and remote.")


@app.command("tail")
def tail(
    context: typer.Context,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the latest decisions.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new ones as they come.")] = False,
    path: Annotated[str, typer.Option("--path", metavar="PREFIX", help="Only paths that start so.")] = "",
) -> None:
    """Show the latest decisions, oldest first. JSON is one object per line."""
    session = session_of(context)
    with session.region() as region:
        page = region.latest_events(lines, PAGE, path)
        while True:
            for each in page.items:
                _show_decision(each, session)
            if len(page.items) < PAGE:
                if not follow:
                    return
                time.sleep(POLL_S)
            page = region.events(PAGE, page.next, path)


def _show_decision(found: DecisionDocument, session: CommandSession) -> None:
    if session.form is not Format.TABLE:
        output.stream(found, session.form)
        return
    against = f" against {stamped(found.against)}" if found.against is not None else ""
    detail = f" ({with_times(found.detail)})" if found.detail else ""
    out(f"{moment(found.at_ms)}  {found.decision:<13}  {found.path}  {stamped(found.stamp)}{against}{detail}")
