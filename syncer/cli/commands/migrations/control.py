"""``syncer migration start``, ``go`` and what ends it: asked of the daemon, which keeps by whom and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncer.cli.commands.migrations.migration import app
from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render.output import say
from syncer.cli.session import session_of
from syncer.dispositions import ExitCode
from syncer.migration.course import MigrationCommand

PlanFile = Annotated[Path, typer.Argument(metavar="FILE", help="A plan that 'syncer migration plan --save' wrote.")]
Auto = Annotated[
    bool,
    typer.Option("--auto", help="All that follows too, as long as the bounds of the plan hold; past one it pauses."),
]
Patience = Annotated[
    float, typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait: both clusters are read first.")
]


@app.command("start")
def start(
    context: typer.Context, file: PlanFile, auto: Auto = False, reason: Why = "", timeout: Patience = 120.0
) -> None:
    """Have the active daemon begin a migration by its plan: it checks, prepares green, guards blue, and waits for a go.

    Refused where the plan is stale or was edited, a check does not hold, or another migration is open.
    """
    from syncer.migration.reading import plan_file

    session, plan = session_of(context), plan_file.read(file)
    with session.region() as region:
        asked = region.start_migration(plan, auto=auto)
        carry_out(asked, yes=True, reason=reason, timeout_s=timeout, form=session.form)
    say("see how far it is with: syncer migration status --watch")


@app.command("go")
def go(context: typer.Context, auto: Auto = False, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Let the step go that waits: the canary, a wave, or the cluster's own mark. It says first what it cannot undo."""
    _command(context, MigrationCommand.AUTO if auto else MigrationCommand.GO, reason, timeout, yes=yes)


@app.command("pause")
def pause(context: typer.Context, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Begin nothing new; what was begun of a wave is finished first."""
    _command(context, MigrationCommand.PAUSE, reason, timeout)


@app.command("resume")
def resume(context: typer.Context, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Go on where it has stopped, and accept in this step what it has stopped for."""
    _command(context, MigrationCommand.RESUME, reason, timeout)


@app.command("abort")
def abort(context: typer.Context, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """End it before anything was marked: blue is as it was; what green was given stays there."""
    _command(context, MigrationCommand.ABORT, reason, timeout, yes=yes)


@app.command("rollback")
def rollback(context: typer.Context, yes: Yes = False, reason: Why = "", timeout: Patience = 60.0) -> None:
    """Take back what can be taken back, and end. The clusters are asked first what cannot be."""
    session = session_of(context)
    with session.region() as region:
        found = region.foresee_rollback().ask(reason, timeout)
        if found.pending or found.failure is not None:
            say(found.operations[0].answer or f"no answer from the daemon within {timeout:g} s; nothing was asked for")
            raise typer.Exit(ExitCode.UNREACHABLE if found.failure is None else found.failure.exit_code)
        asked = region.steer_migration(MigrationCommand.ROLLBACK, found.operations[0].answer.split("; "))
        carry_out(asked, yes=yes, reason=reason, timeout_s=timeout, form=session.form)


@app.command("close")
def close(context: typer.Context, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """End it once the soak is over: what was set is set back, at blue and green. There is no rollback afterwards."""
    _command(context, MigrationCommand.CLOSE, reason, timeout, yes=yes)


def _command(
    context: typer.Context, command: MigrationCommand, reason: str, timeout_s: float, *, yes: bool = False
) -> None:
    """Ask for something; where it leads to something, the operator is shown that, and has to agree."""
    session = session_of(context)
    with session.region() as region:
        asked = region.steer_migration(command)
        carry_out(asked, yes=yes, reason=reason, timeout_s=timeout_s, form=session.form)
