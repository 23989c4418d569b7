"""``syncer snapshot restore`` and ``reverse``: back to what a snapshot holds, by ordinary plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from syncer.cli.commands.snapshots.steps import (
    AcceptShrunken,
    Folder,
    Namespaces,
    Paths,
    Tenants,
    bulk,
    named,
    selection_of,
)
from syncer.cli.confirmation import Yes
from syncer.cli.planning_calls import (
    Allow,
    Consents,
    Deletes,
    DryRun,
    Save,
    Target,
    Undo,
    allowed,
    carry_out,
    check_own,
    compared,
    differ,
    opened,
    undo_beside,
)
from syncer.cli.render.output import Format, say
from syncer.cli.session import CommandSession, log_to_stderr, session_of
from syncer.dispositions import ExitCode
from syncer.errors import SnapshotShrunken, StateError
from syncer.model import MetaPath, Region, Stamp
from syncer.paths import tenant_of
from syncer.replacing import replace

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.plan.losses import LossBounds
    from syncer.planning.compare import ComparedSides
    from syncer.repair.revert import Reverse, StampOf

OTHERS_NAMED: Final = 5
"""Paths that are named where all are counted."""

RepairPlan = Annotated[Path, typer.Argument(metavar="PLAN", help="The plan that 'syncer snapshot sync' was given.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to those of snapshots."""
    app.command("restore")(restore)
    app.command("reverse")(reverse)


def restore(
    context: typer.Context,
    snapshot: Annotated[str, typer.Argument(help="A folder or URI; or an id, or a region for its newest.")],
    *,
    folder: Folder = None,
    tenant: Tenants = None,
    namespace: Namespaces = None,
    path: Paths = None,
    dry_run: DryRun = False,
    delete: Deletes = False,
    allow: Allow = None,
    accept_shrunken: AcceptShrunken = False,
    save: Save = None,
    undo: Undo = None,
    foreign: Annotated[
        bool, typer.Option("--from-another-region", help="Take the snapshot of another region for this one.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Bring a path, a namespace, a tenant or all of this region back to what a snapshot holds, by an ordinary plan.

    It is a new change with the present time, which the daemon replicates, and which can be taken back. With --save
    nothing is written: the plan is kept for 'syncer plan apply'. A damaged snapshot is refused before the first write.
    """
    session = session_of(context)
    config = session.config()
    wish = Consents(allow=allowed(allow), deletes=delete)
    log_to_stderr()
    with bulk():
        from spark_snapshot.format.side import SnapshotSide

        selection = selection_of(tenant, namespace, path)
        (found,) = named(session, folder, [snapshot], selection)
        there = SnapshotSide(found, selection)
    check_own(f"{found.id} is a snapshot", there.region, config, foreign=foreign)
    ending = _Ending(
        save=save,
        undo=undo or undo_beside(Path.cwd() / f"restore-{found.id}"),
        form=session.form,
        dry_run=dry_run,
        yes=yes,
        losses=None if accept_shrunken else config.snapshots.loss_bounds,
    )

    async def find(target: Target) -> ComparedSides:
        return await compared(target, there, deletes=delete, only=there.selection.covers)

    raise typer.Exit(anyio.run(_bring_back, config, wish, ending, find))


def reverse(
    context: typer.Context,
    plan: RepairPlan,
    *,
    folder: Folder = None,
    dry_run: DryRun = False,
    delete: Deletes = False,
    allow: Allow = None,
    accept_shrunken: AcceptShrunken = False,
    save: Save = None,
    undo: Undo = None,
    yes: Yes = False,
) -> None:
    """Take back what 'syncer snapshot sync' has changed here: to what this region's snapshot of the plan holds.

    Only paths where the repair's version stands; what was changed since stays, and is counted. As with 'restore' it is
    a new change, which wins in every region, also where the path held the repair's version before; what the repair has
    made here stays, or is deleted everywhere with --delete.
    """
    from syncer.plan.diffing import pictured
    from syncer.repair.repair_file import RepairFile
    from syncer.repair.revert import given_to, reverse_of

    session = session_of(context)
    config = session.config()
    wish = Consents(allow=allowed(allow), deletes=delete)
    log_to_stderr()
    given = given_to(Region(config.region), RepairFile(plan))
    with bulk():
        from spark_snapshot.format.selection import Selection
        from spark_snapshot.format.side import SnapshotSide

        (found,) = named(session, folder, [given.snapshot])
        tenants = frozenset(map(tenant_of, given.winners))
        there = SnapshotSide(found, Selection() if "" in tenants else Selection(tenants=tenants))
    ending = _Ending(
        save=save,
        undo=undo or undo_beside(Path.cwd() / f"reverse-{found.id}"),
        form=session.form,
        dry_run=dry_run,
        yes=yes,
        losses=None if accept_shrunken else config.snapshots.loss_bounds,
    )

    def told(path: MetaPath) -> bool:
        return path in given.winners and there.selection.covers(path)

    async def find(target: Target) -> ComparedSides:
        everything = await compared(target, there, deletes=True, empty=True, only=told)
        standing = pictured(await target.side.in_group([each.path for each in everything.plan.operations]))
        with _known(session) as stamp_of:
            made = reverse_of(given, everything.plan, standing, deletes=delete, stamp_of=stamp_of)
        _tell(made)
        return replace(everything, plan=made.plan)

    raise typer.Exit(anyio.run(_bring_back, config, wish, ending, find))


@contextmanager
def _known(session: CommandSession) -> Iterator[StampOf | None]:
    """What the region knows, as far as its daemon's database can be read here."""
    with ExitStack() as stack:
        try:
            views = stack.enter_context(session.views())
        except StateError as exc:
            say(f"! a version is told by its value alone, since the daemon's database cannot be read: {exc.message}")
            yield None
            return

        def stamp_of(path: MetaPath) -> Stamp | None:
            register = views.register(path)
            return None if register is None or register.known is None else register.known.stamp

        yield stamp_of


def _tell(made: Reverse) -> None:
    if made.others:
        some = ", ".join(made.others[:OTHERS_NAMED]) + (", …" if len(made.others) > OTHERS_NAMED else "")
        say(f"{len(made.others)} paths hold another version than the repair's, and stay as they are: {some}")
    if made.unchanged:
        say(f"{made.unchanged} paths hold what the snapshot holds: the repair has not reached them")
    deleted = sum(each.after is None for each in made.plan.operations)
    if deleted:
        say(f"! {deleted} paths will be deleted in every region: the repair has made them in this one")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """What becomes of the plan: kept in a file, or performed; and how much it may delete (``None``: however much)."""

    save: Path | None
    undo: Path
    form: Format
    dry_run: bool
    yes: bool
    losses: LossBounds | None


async def _bring_back(
    config: Config, wish: Consents, ending: _Ending, find: Callable[[Target], Awaitable[ComparedSides]]
) -> ExitCode:
    """Make the plan that brings some paths of this region back, and keep or perform what is wanted of it."""
    async with opened(config, own=True) as target:
        found = await find(target)
        _check_losses(found, ending)
        if ending.save is not None:
            return await differ(target, found, wish, save=ending.save, form=ending.form)
        return await carry_out(
            target, found.plan, wish, undo=ending.undo, dry_run=ending.dry_run, yes=ending.yes, form=ending.form
        )


def _check_losses(found: ComparedSides, ending: _Ending) -> None:
    """Refuse to delete most of what the region holds because a snapshot lacks it; a dry run only says so.

    Raises:
        SnapshotShrunken: So much would be deleted, and no operator has accepted it.
    """
    deletes = sum(each.after is None for each in found.plan.operations)
    if ending.losses is None or not ending.losses.exceeded(found.held, found.held - deletes):
        return
    why = (
        f"{deletes} of the {found.held} paths that region {found.plan.region} holds here would be deleted, since the "
        f"snapshot lacks them: {ending.losses} (snapshots.max_lost_fraction, snapshots.min_lost)"
    )
    hint = "Check that the snapshot is the right one (--dry-run shows all); --accept-shrunken lets it pass."
    if not ending.dry_run:
        raise SnapshotShrunken(why, hint=hint)
    say(f"! it would be refused: {why}. {hint}")
