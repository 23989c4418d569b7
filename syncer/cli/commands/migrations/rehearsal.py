"""``syncer migration rehearse`` and ``prepare``: what a migration would do, with nothing set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from syncer.cli.commands.migrations.migration import RETRY_FOR, app
from syncer.cli.planning_calls import now_ms
from syncer.cli.render.migration_rehearsal import preparation_document, show_preparation, show_rehearsal
from syncer.cli.render.output import say
from syncer.cli.session import log_to_stderr, session_of
from syncer.dispositions import ExitCode

if TYPE_CHECKING:
    from syncer.migration.preparing.step import Preparation
    from syncer.migration.running.control.rehearsing import Rehearsal

PlanFile = Annotated[Path, typer.Argument(metavar="FILE", help="A plan that 'syncer migration plan --save' wrote.")]


@app.command("rehearse")
def rehearse_migration(context: typer.Context, file: PlanFile) -> None:
    """Say what a migration would do, wave by wave: exit status 0, or 1 where a check or a topic keeps it from it.

    Both clusters are read and nothing is set. Topics that are not loaded are, and each wave is watched for 5 s or more.
    """
    from syncer.config.admin_clients import RETRY_READS_FOR, migration_sides
    from syncer.config.own_topics import own_topics
    from syncer.migration.reading import plan_file
    from syncer.migration.running.clock import WallClock
    from syncer.migration.running.control.rehearsing import rehearse

    session = session_of(context)
    plan = plan_file.read(file)
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> Rehearsal:
        async with migration_sides(config, *plan.tables, retry_for=RETRY_READS_FOR) as (here, there):
            return await rehearse(plan, here, there, WallClock(), own_topics=own_topics(config))

    found = anyio.run(run)
    show_rehearsal(plan, found, session.form)
    if not found.may_begin or any(each.refused for each in found.waves):
        raise typer.Exit(ExitCode.FAILED)


@app.command("prepare")
def prepare_green(context: typer.Context, file: PlanFile) -> None:
    """List the steps that green would be given, and what nothing gives it. Nothing is set.

    Both clusters are read; topics that are not loaded are, to learn what their subscriptions carry.
    """
    from syncer.config.admin_clients import migration_sides
    from syncer.migration.checks.finding import ClusterPair
    from syncer.migration.preparing import prepare
    from syncer.migration.reading import plan_file
    from syncer.migration.reading.preflight import read_for

    session = session_of(context)
    plan = plan_file.read(file)
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> Preparation:
        async with migration_sides(config, *plan.tables, retry_for=RETRY_FOR) as (here, there):
            seen = await read_for(plan, here, there, now_ms(), load=True)
        return prepare(ClusterPair(scope=plan.scope, bounds=plan.bounds, blue=seen.blue, green=seen.green))

    show_preparation(preparation_document(plan, anyio.run(run)), session.form)
    say("nothing was set; 'syncer migration start' carries these steps out")
