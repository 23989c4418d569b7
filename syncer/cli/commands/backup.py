"""``syncer backup``: a region's resources as readable files, checked, compared, and brought back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from syncer.cli.commands import plan
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
    check_own,
    compared,
    now_ms,
    opened,
    other_side,
    tell_unknown,
    undo_beside,
)
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import log_to_stderr, session_of
from syncer.dispositions import ExitCode, disposition
from syncer.documents.backups import BackupDocument, FindingDocument, VerifyDocument
from syncer.documents.words import moment
from syncer.errors import BackupDamaged

if TYPE_CHECKING:
    from syncer.backup.layout import Manifest

REPORT_EVERY: Final = 20_000

app = typer.Typer(no_args_is_help=True, help="Backups: tenants, namespaces, policies and topics as readable files.")

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the backup.")]


@app.command("create")
def create(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory that does not exist; it is made.")],
) -> None:
    """Write all resources in scope to a new directory, with a manifest and checksums. Whole, or not at all."""
    from syncer.backup.taking import take_backup
    from syncer.version import made_by

    session = session_of(context)
    config = session.config()
    log_to_stderr()
    told = 0

    def report(count: int) -> None:
        nonlocal told
        if count - told >= REPORT_EVERY:
            told = count
            say(f"{count} resources read")

    async def run() -> Manifest:
        async with opened(config, own=True) as target:
            tell_unknown(target.side)
            return await take_backup(
                target.side,
                directory,
                clusters=tuple(map(config.names.in_group, config.clusters)),
                now=now_ms(),
                made_by=made_by(),
                report=report,
            )

    document = _document(directory, anyio.run(run))
    if session.form is not Format.TABLE:
        output.document(document, session.form)
    else:
        output.facts(_facts(document))


@app.command("verify")
def verify(context: typer.Context, directory: Directory) -> None:
    """Check every file of a backup: which are missing, extra or damaged. Needs no configuration."""
    from syncer.backup.reading import Backup

    session = session_of(context)
    backup = Backup(directory)
    findings = backup.verify()
    document = VerifyDocument(
        **_document(directory, backup.manifest).model_dump(),
        ok=not findings,
        findings=[FindingDocument(file=each.file, fault=each.fault.value, detail=each.detail) for each in findings],
    )
    if session.form is not Format.TABLE:
        output.document(document, session.form)
    else:
        output.facts([*_facts(document), ("files", "all as they were written" if document.ok else "not all are right")])
        if findings:
            output.out("")
            output.table(("file", "fault", "detail"), [(each.file, each.fault, each.detail) for each in findings])
    if findings:
        raise typer.Exit(disposition(BackupDamaged).exit_code)


@app.command("diff")
def diff(
    context: typer.Context,
    directory: Directory,
    tenant: Tenants = None,
    delete: Deletes = False,
    allow: Allow = None,
    save: Save = None,
) -> None:
    """Show what a restore would do; the same as ``syncer diff --backup DIR``. Exit code 3: they differ."""
    plan.diff(context, backup=directory, tenant=tenant, delete=delete, allow=allow, save=save)


@app.command("restore")
def restore(
    context: typer.Context,
    directory: Directory,
    *,
    dry_run: DryRun = False,
    tenant: Tenants = None,
    delete: Deletes = False,
    allow: Allow = None,
    undo: Undo = None,
    foreign: Annotated[
        bool, typer.Option("--from-another-region", help="Take the backup of another region for this one.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Create and update until the region holds what the backup holds; what only the region has is named and left.

    A damaged backup is refused before anything is written. Cluster-local fields of what exists stay as they are.
    """
    session = session_of(context)
    config = session.config()
    wish = Consents(allow=allowed(allow), deletes=delete)
    log_to_stderr()

    async def run() -> ExitCode:
        async with other_side(config, other=None, backup=directory) as (there, _), opened(config, own=True) as target:
            check_own(f"{directory} is a backup", there.region, config, foreign=foreign)
            found = await compared(target, there, deletes=delete, tenants=tenant)
            return await carry_out(
                target,
                found.plan,
                wish,
                undo=undo or undo_beside(directory.absolute()),
                dry_run=dry_run,
                yes=yes,
                form=session.form,
            )

    raise typer.Exit(anyio.run(run))


def _document(directory: Path, manifest: Manifest) -> BackupDocument:
    return BackupDocument(
        directory=str(directory),
        region=manifest.region,
        taken_at_ms=manifest.taken_at_ms,
        resources=manifest.resources,
        files=len(manifest.files),
        size_bytes=sum(record.bytes for record in manifest.files),
        completed=manifest.completed,
    )


def _facts(document: BackupDocument) -> list[tuple[str, object]]:
    return [
        ("backup", document.directory),
        ("region", document.region),
        ("taken", moment(document.taken_at_ms)),
        *((kind, count) for kind, count in document.resources.items()),
        ("size", f"{document.size_bytes} bytes in {document.files} files"),
        *([] if document.completed else [("newer fields", "unknown where a value lacks them")]),
    ]
