"""``syncer events``: what was decided."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.render import output
from syncer.cli.render.output import Format, moment, out, stamped, with_times
from syncer.cli.session import CommandSession, session_of
from syncer.documents.explain import DecisionDocument

if TYPE_CHECKING:
    from syncer.state.views.summaries import JournalRow

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
    with session.views() as views:
        last = max(0, views.journal_end() - lines)
        while True:
            rows = views.journal_after(last, PAGE)
            for row in rows:
                if row.entry.path.startswith(path):
                    _show_decision(row, session)
            last = rows[-1].id if rows else last
            if len(rows) < PAGE:
                if not follow:
                    return
                time.sleep(POLL_S)


def decision(row: JournalRow) -> DecisionDocument:
    """A decision as the contract has it."""
    entry = row.entry
    return DecisionDocument(
        id=row.id,
        at_ms=row.at_ms,
        path=entry.path,
        decision=entry.decision.value,
        stamp=str(entry.stamp) if entry.stamp is not None else None,
        digest=entry.digest.hex() if entry.digest is not None else None,
        seen={str(counter): int(at) for counter, at in entry.seen.items()} if entry.seen is not None else None,
        against=str(entry.against) if entry.against is not None else None,
        detail=entry.detail,
    )


def _show_decision(row: JournalRow, session: CommandSession) -> None:
    found = decision(row)
    if session.form is not Format.TABLE:
        output.stream(found, session.form)
        return
    against = f" against {stamped(found.against)}" if found.against is not None else ""
    detail = f" ({with_times(found.detail)})" if found.detail else ""
    out(f"{moment(found.at_ms)}  {found.decision:<13}  {found.path}  {stamped(found.stamp)}{against}{detail}")
