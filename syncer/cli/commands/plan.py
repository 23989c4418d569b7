"""``syncer diff`` and ``syncer plan``: what differs, as a plan that is shown, kept, tried, performed, taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from syncer.cli.confirmation import Yes
from syncer.cli.planning_calls import (
    Allow,
    Consents,
    Deletes,
    DryRun,
    Save,
    Tenants,
    Undo,
    allowed,
    carry_out,
    compared,
    differ,
    opened,
    other_side,
    scalable_of,
    undo_beside,
)
from syncer.cli.render.output import say
from syncer.cli.render.plans import plan_document, show_plan
from syncer.cli.session import log_to_stderr, session_of
from syncer.dispositions import ExitCode
from syncer.errors import PreconditionFailed
from syncer.model import Region

app = typer.Typer(no_args_is_help=True, help="Plans kept in files: show, perform, reverse them.")

PlanFile = Annotated[Path, typer.Argument(metavar="FILE", help="A plan that 'syncer diff --save' or an apply wrote.")]


def diff(
    context: typer.Context,
    other: Annotated[
        Path | None,
        typer.Option("--with", metavar="FILE", help="Configuration of the other region; only its file is read."),
    ] = None,
    backup: Annotated[Path | None, typer.Option("--backup", metavar="DIR", help="A backup to compare with.")] = None,
    tenant: Tenants = None,
    delete: Deletes = False,
    allow: Allow = None,
    save: Save = None,
) -> None:
    """Show what would make this region hold what the other side holds. Exit code 3: they differ. Writes nothing.

    Replicated parts are compared; fields that belong to one cluster never differ. What is not carried is not compared:
    scalable topics (topic://), and namespaces of the form PROPERTY/CLUSTER/NAMESPACE, are counted on each side.
    """
    session = session_of(context)
    config = session.config()
    wish = Consents(allow=allowed(allow), deletes=delete)
    log_to_stderr()

    async def run() -> ExitCode:
        async with (
            other_side(config, other=other, backup=backup) as (there, theirs),
            opened(config, own=True) as target,
        ):
            found = await compared(target, there, deletes=delete, tenants=tenant)
            scalable = await scalable_of(target, theirs)
            return await differ(target, found, wish, save=save, form=session.form, scalable=scalable)

    raise typer.Exit(anyio.run(run))


@app.command("show")
def show(context: typer.Context, file: PlanFile) -> None:
    """Show a plan that was kept in a file. No store is asked, so refusals are not shown; --dry-run of apply does."""
    from syncer.plan.review import Review
    from syncer.planning import plan_file

    review = Review(plan=plan_file.read(file), refused={})
    show_plan(plan_document(review), review, session_of(context).form)


@app.command("apply")
def apply(
    context: typer.Context,
    file: PlanFile,
    dry_run: DryRun = False,
    delete: Annotated[bool, typer.Option("--delete", help="Perform the deletes of the plan too.")] = False,
    allow: Allow = None,
    undo: Undo = None,
    yes: Yes = False,
) -> None:
    """Perform a plan on the store of its region. Refused where the store has changed since. Safe to repeat.

    It writes as any other program beside the daemon would: the daemon sees local changes and replicates them.
    """
    from syncer.planning import plan_file

    session = session_of(context)
    config = session.config()
    wish = Consents(allow=allowed(allow), deletes=delete)
    plan = plan_file.read(file, region=Region(config.region))
    log_to_stderr()

    async def run() -> ExitCode:
        async with opened(config, own=True) as target:
            return await carry_out(
                target, plan, wish, undo=undo or undo_beside(file), dry_run=dry_run, yes=yes, form=session.form
            )

    raise typer.Exit(anyio.run(run))


@app.command("reverse")
def reverse(
    file: PlanFile,
    save: Annotated[Path, typer.Option("--save", metavar="FILE", help="Where the reverse plan goes.")],
) -> None:
    """Write the plan that takes another one back: exactly what was there, cluster-local fields included."""
    from syncer.planning import plan_file

    plan = plan_file.read(file)
    if not plan.operations:
        raise PreconditionFailed(f"{file} has no operations", hint="There is nothing to take back.")
    plan_file.write(save, plan.reversed())
    say(f"wrote {save}")
