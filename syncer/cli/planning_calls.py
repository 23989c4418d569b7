"""Shared steps of the commands around plans and backups: regions opened, plans made, judged and performed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from syncer.cli.confirmation import agree
from syncer.cli.render.output import Format, say
from syncer.cli.render.plans import Applied, plan_document, show_applied, show_plan, tell_plan
from syncer.dispositions import ExitCode
from syncer.documents.words import counted
from syncer.errors import ConfigError, PreconditionFailed, StateError, SyncerError
from syncer.model import MetaPath, Millis, Region
from syncer.plan.review import ALLOWABLE, Reason, Review

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.plan.operations import Plan
    from syncer.planning.apply import RunOutcome
    from syncer.planning.compare import ComparedSides
    from syncer.planning.completion import Completion
    from syncer.planning.scalable import ScalableSide
    from syncer.planning.sources import LiveSide, Side
    from syncer.stores.contract import MetadataStore

REPORT_EVERY_S: Final = 1.0

Deletes = Annotated[bool, typer.Option("--delete", help="Delete what only this region has; without it that is left.")]
Tenants = Annotated[
    list[str] | None,
    typer.Option("--tenant", metavar="NAME", help="Only what belongs to it; may be repeated."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="REASON",
        help=f"Set a refusal aside; may be repeated: {', '.join(sorted(ALLOWABLE))}.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything, write nothing.")]
Undo = Annotated[
    Path | None, typer.Option("--undo", metavar="FILE", help="Where the plan goes that takes everything back.")
]
Save = Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Keep the plan in a file.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consents:
    """What an operator has let pass."""

    allow: frozenset[Reason] = frozenset()
    deletes: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """The configured region with its store open, and its daemon's database where that is here."""

    config: Config
    store: MetadataStore
    completion: Completion

    @property
    def side(self) -> LiveSide:
        """As one side of a comparison."""
        from syncer.planning.sources import LiveSide

        return LiveSide(self.store, Region(self.config.region), self.config.compiled_scope(), self.completion)

    async def scalable(self) -> ScalableSide | None:
        """Its scalable topics, which no comparison sees; ``None``: its cluster cannot have any."""
        from syncer.config.admin_clients import broker_probes
        from syncer.planning.scalable import scalable_side

        async with broker_probes(self.config, self.store) as (_, brokers):
            return await scalable_side(
                self.side.name, self.store, self.config.store.kind, brokers, alone=len(self.config.clusters) <= 1
            )

    async def judged(self, plan: Plan, wish: Consents) -> Review:
        """Judge a plan by what the region is like now."""
        from syncer.config.admin_clients import broker_probes
        from syncer.planning.preconditions import reviewed

        async with broker_probes(self.config, self.store) as (probe, _):
            return await reviewed(
                plan,
                self.store,
                probe,
                settings=self.config.settings(),
                scope=self.config.compiled_scope(),
                allow=wish.allow,
                deletes=wish.deletes,
            )


def now_ms() -> Millis:
    """The time, UTC."""
    return Millis(time.time_ns() // 1_000_000)


def allowed(names: list[str] | None) -> frozenset[Reason]:
    """The reasons that ``--allow`` names."""
    wrong = [name for name in names or () if name not in ALLOWABLE]
    if wrong:
        raise typer.BadParameter(f"--allow {wrong[0]!r}: one of {', '.join(sorted(ALLOWABLE))}")
    return frozenset(Reason(name) for name in names or ())


@asynccontextmanager
async def opened(config: Config, *, own: bool = False) -> AsyncIterator[Target]:
    """Open the store of a region.

    Args:
        config: Of the region.
        own: Excluded fields are read as the store holds them, and not as the group does.

    Raises:
        StoreError: It does not answer, or does not let us in.
    """
    store = config.make_store()
    completion = await anyio.to_thread.run_sync(_completion, config, own)
    try:
        await store.open()
        yield Target(config, store, completion)
    finally:
        completion.close()
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            await store.close()


def _completion(config: Config, own: bool) -> Completion:
    """What completes the values of a region: its daemon's database, if it is here."""
    from syncer.planning.completion import Completion
    from syncer.state.views.region import Views

    try:
        keeps, trouble = Views.open(config.database_url(), Region(config.region)), ""
    except (ConfigError, StateError) as exc:
        keeps, trouble = None, exc.message
    settings = config.settings()
    return Completion(keeps, trouble, drops=settings.brokers is not None, excluded=settings.excluded, own=own)


@asynccontextmanager
async def other_side(
    config: Config, *, other: Path | None, backup: Path | None
) -> AsyncIterator[tuple[Side, Target | None]]:
    """Open the other side: a region by its configuration, with what was opened of it, or a backup.

    Raises:
        ConfigError: The other configuration is wrong.
        PreconditionFailed: Both name the same store.
        BackupError: The backup cannot be used.
    """
    from syncer.backup.reading import Backup
    from syncer.backup.side import BackupSide
    from syncer.config import load

    if (other is None) == (backup is None):
        raise typer.BadParameter("give either --with FILE or --backup DIR")
    if backup is not None:
        yield BackupSide(await anyio.to_thread.run_sync(Backup, backup)), None
        return
    try:
        theirs = load(other, file_only=True)
    except ConfigError as exc:
        raise ConfigError(
            exc.message, hint=f"Check what --with names: 'syncer config check --config {other}'."
        ) from exc
    if theirs.store.kind == config.store.kind and theirs.store_settings == config.store_settings:
        raise PreconditionFailed(
            f"{other} names the very store of region {config.region}: a region does not differ from itself",
            hint="Name the configuration of the other region with --with.",
        )
    async with opened(theirs) as target:
        yield target.side, target


def tell_unknown(side: Side) -> None:
    """Say on stderr that a side is not completed, and why."""
    if side.trouble:
        say(
            f"{side.name}: fields that not every version of Pulsar knows count as unknown where it lacks them, "
            f"since {side.trouble}"
        )


def check_own(what: str, there: Region, config: Config, *, foreign: bool) -> None:
    """Refuse to bring another region's state over here, unless an operator says so.

    Raises:
        PreconditionFailed: It is another region's.
    """
    if there != config.region and not foreign:
        raise PreconditionFailed(
            f"{what} of region {there}, not of {config.region}",
            hint="Name that region's configuration, or give --from-another-region to copy it over here.",
        )


def _any(_path: MetaPath) -> bool:
    return True


async def compared(
    target: Target,
    there: Side,
    *,
    deletes: bool,
    empty: bool = False,
    tenants: Collection[str] | None = None,
    only: Callable[[MetaPath], bool] = _any,
) -> ComparedSides:
    """Make the plan that makes the target hold what is there; see :func:`syncer.planning.compare.compare`."""
    from syncer.planning.compare import compare

    for side in (target.side, there):
        tell_unknown(side)
    tenants = frozenset(tenants or ())
    return await compare(target.side, there, now=now_ms(), deletes=deletes, empty=empty, tenants=tenants, only=only)


async def scalable_of(*targets: Target | None) -> list[ScalableSide]:
    """What regions have of scalable topics; those whose clusters cannot have any are left out."""
    return [seen for each in targets if each is not None and (seen := await each.scalable()) is not None]


async def differ(
    target: Target,
    found: ComparedSides,
    wish: Consents,
    *,
    save: Path | None,
    form: Format,
    scalable: Sequence[ScalableSide] = (),
) -> ExitCode:
    """Show what differs, and keep the plan if that is wanted; the exit code says whether anything does."""
    from syncer.planning import plan_file

    review = await target.judged(found.plan, wish)
    if save is not None:
        plan_file.write(save, found.plan)
        say(f"wrote {save}; perform it with: syncer plan apply {save}{' --delete' if wish.deletes else ''}")
    document = plan_document(
        review,
        compared=found.compared,
        uncovered=found.uncovered,
        unshared=found.unshared,
        other_way=found.other_way,
        unknown=found.unknown,
        scalable=scalable,
        first_form=found.first_form,
    )
    show_plan(document, review, form)
    return ExitCode.DIFFERENT if document.different else ExitCode.DONE


async def carry_out(
    target: Target, plan: Plan, wish: Consents, *, undo: Path, dry_run: bool, yes: bool, form: Format
) -> ExitCode:
    """Judge a plan, have an operator agree, perform it, keep what takes it back, show what became of it.

    Raises:
        PlanStale: Something no longer fits: before the first write, or later; what was finished is shown.
        PreconditionFailed: Nobody agreed, or the undo file cannot be written. Nothing was written.
        StoreError: The store refuses, or does not answer.
    """
    from syncer.planning.apply import perform, pretend

    review = await target.judged(plan, wish)
    scope = target.config.compiled_scope()
    operations = review.accepted
    outcome = await perform(operations, target.store, scope, completion=target.completion, send=pretend)
    kept: Path | None = None
    if outcome.applied and not dry_run and outcome.error is None:
        tell_plan(review)
        agree(
            plan.region,
            f"{counted(len(outcome.applied), 'operation')} would be performed in region {plan.region}.",
            yes=yes,
        )
        outcome = await _performed(target, review, outcome, undo)
        kept = undo if outcome.applied or outcome.unknown else None
    show_applied(Applied(review=review, outcome=outcome, dry_run=dry_run, undo=kept), form)
    if outcome.error is not None:
        raise outcome.error
    return ExitCode.REFUSED if review.refused else ExitCode.DONE


async def _performed(target: Target, review: Review, tried: RunOutcome, undo: Path) -> RunOutcome:
    """Perform what was tried. The undo is on the disk before the first write, and exact after the last.

    Its first form takes back everything that was to be done: safe after a crash, since what was not done is recognised.
    """
    from syncer.planning import plan_file
    from syncer.planning.apply import perform

    plan = review.plan
    plan_file.write(undo, plan.reversed(only=[each.path for each in tried.applied]))
    try:
        outcome = await perform(
            review.accepted,
            target.store,
            target.config.compiled_scope(),
            completion=target.completion,
            report=_Progress(),
        )
    except SyncerError:  # found before the first write
        plan_file.discard(undo)
        raise
    done = [each.path for each in (*outcome.applied, *outcome.unknown)]
    if not done:
        plan_file.discard(undo)
        return outcome
    try:
        plan_file.write(undo, plan.reversed(only=done), replace=True)
    except PreconditionFailed as exc:
        say(f"! {exc.message}: {undo} also names what was not performed; that does no harm")
    return outcome


def undo_beside(path: Path) -> Path:
    """Where the undo of a plan or of a restore goes when nobody says."""
    stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3] + "Z"
    return path.with_name(f"{path.name.removesuffix('.json')}.undo-{stamp}.json")


class _Progress:
    """Says how far a run has come, not more than once a second."""

    def __init__(self) -> None:
        self._told_at = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self._told_at >= REPORT_EVERY_S:
            self._told_at = time.monotonic()
            say(f"{done} of {total} operations done")
