"""``syncer migration start``, ``go`` and what ends it: asked of the daemon, which keeps by whom and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syncer.cli.commands.migrations.migration import app
from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.render.output import say
from syncer.cli.session import session_of
from syncer.dispositions import ExitCode
from syncer.migration.course import MigrationCommand
from syncer.operations import client
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.operations import Asked

if TYPE_CHECKING:
    from syncer.cli.session import CommandSession
    from syncer.state.contract.migrations import Migration
    from syncer.state.views.region import Views

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

    session = session_of(context)
    plan = plan_file.read(file)
    arguments = {"plan": plan_file.to_text(plan), "sha256": plan.fingerprint, "auto": str(auto).lower()}
    with session.views() as views:
        request = OperationRequest(OperationKind.MIGRATION_START, arguments)
        ask(views, [request], reason=reason, timeout_s=timeout, form=session.form)
    say("see how far it is with: syncer migration status --watch")


@app.command("go")
def go(context: typer.Context, auto: Auto = False, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Let the step go that waits: the canary, a wave, or the cluster's own mark. It says first what it cannot undo."""
    from syncer.inspection.migrations import opened, plan_of, run_of
    from syncer.migration.steering import next_step

    session = session_of(context)
    with session.views() as views:
        migration = opened(views)
        due = next_step(run_of(migration), plan_of(views, migration).scope)
        if MigrationCommand.GO in due.waits_for:
            agree(f"migration {migration.id}", due.words, yes=yes)
        command = MigrationCommand.AUTO if auto else MigrationCommand.GO
        _ask(session, views, migration, command, reason, timeout)


@app.command("pause")
def pause(context: typer.Context, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Begin nothing new; what was begun of a wave is finished first."""
    _plain(context, MigrationCommand.PAUSE, reason, timeout)


@app.command("resume")
def resume(context: typer.Context, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Go on where it has stopped, and accept in this step what it has stopped for."""
    _plain(context, MigrationCommand.RESUME, reason, timeout)


@app.command("abort")
def abort(context: typer.Context, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """End it before anything was marked: blue is as it was; what green was given stays there."""
    words = "Blue would be put back as it was, and the migration be over. What green was given stays there."
    _plain(context, MigrationCommand.ABORT, reason, timeout, words=words, yes=yes)


@app.command("rollback")
def rollback(context: typer.Context, yes: Yes = False, reason: Why = "", timeout: Patience = 60.0) -> None:
    """Take back what can be taken back, and end. The clusters are asked first what cannot be."""
    from syncer.inspection.migrations import opened

    session = session_of(context)
    with session.views() as views:
        migration = opened(views)
        request = OperationRequest(OperationKind.MIGRATION_UNDOABLE, {"migration": str(migration.id)})
        found = client.ask(views, [request], Asked(by=client.this_user(), reason=reason), timeout_s=timeout)
        if found.pending or found.failure is not None:
            say(found.operations[0].answer or f"no answer from the daemon within {timeout:g} s; nothing was asked for")
            raise typer.Exit(ExitCode.UNREACHABLE if found.failure is None else found.failure.exit_code)
        agree(
            f"migration {migration.id}",
            "Of each namespace would be taken back:",
            *_each(found.operations[0].answer),
            yes=yes,
        )
        _ask(session, views, migration, MigrationCommand.ROLLBACK, reason, timeout)


@app.command("close")
def close(context: typer.Context, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """End it once the soak is over: what was set is set back, at blue and green. There is no rollback afterwards."""
    words = "What was set for the migration would be set back, and it be over: there is no rollback afterwards."
    _plain(context, MigrationCommand.CLOSE, reason, timeout, words=words, yes=yes)


def _plain(
    context: typer.Context,
    command: MigrationCommand,
    reason: str,
    timeout_s: float,
    *,
    words: str = "",
    yes: bool = False,
) -> None:
    """Ask for something as it is; where there are words the operator is shown them, and has to agree."""
    from syncer.inspection.migrations import opened

    session = session_of(context)
    with session.views() as views:
        migration = opened(views)
        if words:
            agree(f"migration {migration.id}", words, yes=yes)
        _ask(session, views, migration, command, reason, timeout_s)


def _ask(
    session: CommandSession,
    views: Views,
    migration: Migration,
    command: MigrationCommand,
    reason: str,
    timeout_s: float,
) -> None:
    """Ask the daemon; a go counts for what was shown alone."""
    from syncer.inspection.migrations import run_of

    arguments = {"migration": str(migration.id), "command": command.value}
    if command in {MigrationCommand.GO, MigrationCommand.AUTO}:
        arguments["shown"] = run_of(migration).shown
    request = OperationRequest(OperationKind.MIGRATION_COMMAND, arguments)
    ask(views, [request], reason=reason, timeout_s=timeout_s, form=session.form)


def _each(answer: str) -> list[str]:
    return answer.split("; ")
