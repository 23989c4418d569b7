"""``syncer balancer apply``, ``stop`` and ``runs``: plans of moves, carried out by the active daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render.move_runs import show_move_run, show_move_runs
from syncer.cli.render.output import say
from syncer.cli.session import session_of

Patience = Annotated[
    float, typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait: the cluster is asked first.")
]


@app.command("apply")
def apply(
    context: typer.Context,
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A plan that 'syncer balancer advise --save' wrote.")],
    go: Annotated[bool, typer.Option("--go", help="Carry it out; without it nothing is moved.")] = False,
    yes: Yes = False,
    reason: Why = "",
    timeout: Patience = 60.0,
) -> None:
    """Have the active daemon look what would keep each move of a plan back; with --go, have it carry the plan out.

    Each move is checked again before it is made. Refused where the plan was edited or is for another cluster, or where
    another run or a migration is open.
    """
    from syncer.balancer.running import plan_file
    from syncer.cli.reaching.local_decisions import LocalDecision
    from syncer.inspection.move_runs import applying

    session, plan = session_of(context), plan_file.read(file)
    with session.views() as views:
        decision = LocalDecision(views, applying(views, plan, go=go))
        carry_out(decision, yes=yes, reason=reason, timeout_s=timeout, form=session.form)
    if go:
        say("see how far it is with: syncer balancer runs")
    else:
        say(f"nothing was moved; carry it out with: syncer balancer apply {file} --go")


@app.command("stop")
def stop(context: typer.Context, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Have the run of moves that is open begin nothing more, put Pulsar's settings back, and end."""
    from syncer.cli.reaching.local_decisions import LocalDecision
    from syncer.inspection.move_runs import stopping

    session = session_of(context)
    with session.views() as views:
        decision = LocalDecision(views, stopping(views))
        carry_out(decision, yes=True, reason=reason, timeout_s=timeout, form=session.form)


@app.command("runs")
def runs(
    context: typer.Context,
    number: Annotated[
        int | None, typer.Argument(metavar="[ID]", min=1, help="Show this run, each move beside its prediction.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 20,
) -> None:
    """List the runs of moves of this region, the latest first, or show one."""
    from syncer.inspection.move_runs import move_run_list, move_run_status

    session = session_of(context)
    with session.views() as views:
        if number is None:
            show_move_runs(move_run_list(views, limit), session.form)
        else:
            show_move_run(move_run_status(views, number), session.form)
