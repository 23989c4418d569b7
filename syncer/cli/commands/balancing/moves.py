"""``syncer balancer apply``, ``stop`` and ``runs``: plans of moves, carried out by the active daemon."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from syncer.cli.commands.balancing.balancer import app
from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render.move_runs import show_move_run, show_move_runs
from syncer.cli.render.output import cleared, say
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

    session, plan = session_of(context), plan_file.read(file)
    with session.region() as region:
        asked = region.apply_moves(plan, go=go)
        carry_out(asked, yes=yes, reason=reason, timeout_s=timeout, form=session.form)
    if go:
        say("see how far it is with: syncer balancer runs")
    else:
        say(f"nothing was moved; carry it out with: syncer balancer apply {file} --go")


@app.command("stop")
def stop(context: typer.Context, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Have the run of moves that is open begin nothing more, put Pulsar's settings back, and end."""
    session = session_of(context)
    with session.region() as region:
        carry_out(region.stop_moves(), yes=True, reason=reason, timeout_s=timeout, form=session.form)


@app.command("runs")
def runs(
    context: typer.Context,
    number: Annotated[
        int | None, typer.Argument(metavar="[ID]", min=1, help="Show this run, each move beside its prediction.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 20,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Show the run, or the latest one, again and again, until it is over."),
    ] = False,
    every: Annotated[float, typer.Option("--every", min=0.1, metavar="SECONDS", help="How often, with --watch.")] = 2.0,
) -> None:
    """List the runs of moves of this region, the latest first, or show one."""
    session = session_of(context)
    with session.region() as region:
        if watch and number is None:
            number = next((each.id for each in region.move_runs(1).items), None)
        if number is None:
            show_move_runs(region.move_runs(limit), session.form)
            return
        while True:
            found = region.move_run(number)
            if watch:
                cleared(session.form)
            show_move_run(found, session.form, streaming=watch)
            if not watch or found.finished_at_ms is not None:
                return
            time.sleep(every)
