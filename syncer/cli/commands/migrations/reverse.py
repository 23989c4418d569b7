"""``syncer migration reverse``: the plan of the way back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from syncer.cli.commands.migrations.migration import RETRY_FOR, app
from syncer.cli.planning_calls import now_ms
from syncer.cli.render.migration import plan_document, show_plan
from syncer.cli.render.output import say
from syncer.cli.session import log_to_stderr, session_of

if TYPE_CHECKING:
    from syncer.migration.reading.preflight import PlannedPair


@app.command("reverse")
def reverse_migration(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A plan that 'syncer migration plan --save' wrote.")],
    save: Annotated[Path, typer.Option("--save", metavar="FILE", help="Where the plan goes; never overwritten.")],
) -> None:
    """Make the plan of the way back, from green to blue: the same namespaces, waves and bounds, no check passed over.

    Both clusters are read as they are now, and nothing is changed.
    """
    from syncer.config.admin_clients import migration_sides
    from syncer.migration.reading import plan_file
    from syncer.migration.reading.preflight import make_plan

    session = session_of(context)
    wish = plan_file.read(file).back
    config = session.config(whole=False)
    log_to_stderr()

    async def run() -> PlannedPair:
        async with migration_sides(config, *wish.tables, retry_for=RETRY_FOR) as (here, there):
            return await make_plan(wish, here, there, now_ms())

    made = anyio.run(run)
    plan_file.write(save, made.plan)
    show_plan(plan_document(str(save), made.plan, made.blue), session.form)
    say(f"wrote {save}; check it with: syncer migration preflight {save}")
