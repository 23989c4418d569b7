"""``syncer migration``: plan the move of a cluster's clients to another cluster, and check whether it may begin."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from syncer.cli.migration_options import (
    AllNamespaces,
    Bound,
    Canary,
    From,
    Override,
    To,
    Wave,
    WaveSize,
    WholeCluster,
    wished,
)
from syncer.cli.planning_calls import now_ms
from syncer.cli.render.migration import plan_document, show_plan, show_preflight
from syncer.cli.render.output import say
from syncer.cli.session import log_to_stderr, session_of
from syncer.dispositions import ExitCode
from syncer.migration.checks.finding import CheckStage
from syncer.migration.migration_plan import MigrationPlan

if TYPE_CHECKING:
    from syncer.migration.reading.preflight import PlannedPair, Preflight

RETRY_FOR: Final = timedelta(seconds=5)
"""How long a broker that does not answer is asked again: an operator waits for it."""

app = typer.Typer(no_args_is_help=True, help="Move the clients of one Pulsar cluster to another, losing no message.")


@app.command("plan")
def plan(
    context: typer.Context,
    *,
    save: Annotated[Path, typer.Option("--save", metavar="FILE", help="Where the plan goes; never overwritten.")],
    blue: From = None,
    green: To = None,
    canary: Canary = None,
    wave: Wave = None,
    all_namespaces: AllNamespaces = False,
    wave_size: WaveSize = 10,
    whole_cluster: WholeCluster = False,
    override: Override = None,
    bound: Bound = None,
) -> None:
    """Make the plan of a migration: both clusters are read, nothing is changed.

    The plan is sealed by a fingerprint, and holds as long as no topic or subscription is made or deleted at blue.
    """
    from syncer.config.admin_clients import migration_sides
    from syncer.migration.reading import plan_file
    from syncer.migration.reading.preflight import make_plan

    session = session_of(context)
    wish = wished(
        blue=blue,
        green=green,
        canary=canary,
        waves=wave,
        every=all_namespaces,
        wave_size=wave_size,
        whole_cluster=whole_cluster,
        overrides=override,
        bounds=bound,
    )
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> PlannedPair:
        async with migration_sides(config, *wish.tables, retry_for=RETRY_FOR) as (here, there):
            return await make_plan(wish, here, there, now_ms())

    made = anyio.run(run)
    plan_file.write(save, made.plan)
    show_plan(plan_document(str(save), made.plan, made.blue), session.form)
    say(f"wrote {save}; check it with: syncer migration preflight {save}")


@app.command("preflight")
def preflight(
    context: typer.Context,
    *,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A plan; without one, say what is moved by options.")
    ] = None,
    blue: From = None,
    green: To = None,
    canary: Canary = None,
    wave: Wave = None,
    all_namespaces: AllNamespaces = False,
    wave_size: WaveSize = 10,
    whole_cluster: WholeCluster = False,
    override: Override = None,
    bound: Bound = None,
    stage: Annotated[
        CheckStage, typer.Option("--stage", help="How far the migration is: what has to hold by then.")
    ] = CheckStage.BEFORE,
) -> None:
    """Check whether a migration may begin, with evidence and remedy: exit status 0, or 1 where it may not.

    Both clusters are read, nothing is changed and no topic is loaded.
    """
    from syncer.config.admin_clients import migration_sides
    from syncer.config.own_topics import own_topics
    from syncer.migration.reading import plan_file
    from syncer.migration.reading.preflight import make_plan, make_preflight, read_for

    session = session_of(context)
    given = (blue, green, canary, wave, override, bound)
    if file is not None and (any(each is not None for each in given) or all_namespaces or whole_cluster):
        raise typer.BadParameter("the plan says what is moved: give FILE alone, or options alone")
    kept = plan_file.read(file) if file is not None else None
    wish = kept or wished(
        blue=blue,
        green=green,
        canary=canary,
        waves=wave,
        every=all_namespaces,
        wave_size=wave_size,
        whole_cluster=whole_cluster,
        overrides=override,
        bounds=bound,
    )
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> Preflight:
        async with migration_sides(config, *wish.tables, retry_for=RETRY_FOR) as (here, there):
            if isinstance(wish, MigrationPlan):
                planned = await read_for(wish, here, there, now_ms())
            else:
                planned = await make_plan(wish, here, there, now_ms())
        return await make_preflight(planned, stage, own_topics=own_topics(config))

    found = anyio.run(run)
    show_preflight(found, session.form, kept=kept is not None)
    if not found.may_begin:
        raise typer.Exit(ExitCode.FAILED)
