"""``syncer snapshot``: pictures of whole stores, compared, and what they show told to the group.

The jobs run on Spark, in this process or wherever ``--master`` says. Spark, Java and Arrow are loaded by the commands
that need them, and by no other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from syncer.cli.commands.snapshots import restore, sync
from syncer.cli.commands.snapshots.steps import (
    PROGRESS_FORM,
    AcceptShrunken,
    Folder,
    Master,
    Memory,
    Namespaces,
    Pages,
    Paths,
    Scratch,
    Settings,
    ShowProgress,
    Tenants,
    bulk,
    check_writable,
    folder_of,
    job_of,
    named,
    selection_of,
    to_compare,
    write_report,
)
from syncer.cli.planning_calls import now_ms
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.render.snapshots import (
    SNAPSHOT_HEADINGS,
    changes_document,
    diff_document,
    show_changes,
    show_diff,
    snapshot_document,
    snapshot_facts,
    snapshot_rows,
)
from syncer.cli.session import log_to_stderr, session_of
from syncer.dispositions import ExitCode
from syncer.documents.document import Document
from syncer.documents.snapshots import BrokenDocument, PruneDocument, RemoveDocument, SnapshotDocument, SnapshotList
from syncer.version import made_by

app = typer.Typer(no_args_is_help=True, help="Snapshots: compare any number of regions, and make them equal.")
sync.add_to(app)
restore.add_to(app)


@app.command("take")
def take(
    context: typer.Context,
    *,
    folder: Folder = None,
    tenant: Tenants = None,
    offline: Annotated[
        Path | None,
        typer.Option(
            "--offline",
            metavar="DIR|FILE",
            help="Read ZooKeeper's folder ('version-2'), or a file of 'etcdctl snapshot save', instead of the store.",
        ),
    ] = None,
    buckets: Annotated[
        int | None,
        typer.Option(
            "--buckets", min=1, max=10_000, help="Files, as many in all to compare; 'snapshots.buckets' if not given."
        ),
    ] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Keep it although the store holds nothing and held much before.")
    ] = False,
    accept_shrunken: AcceptShrunken = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with what the last run had read when it was stopped.")
    ] = False,
    master: Master = None,
    memory: Memory = "2g",
    ui: Pages = False,
    scratch: Scratch = None,
    conf: Settings = None,
    progress: ShowProgress = None,
) -> None:
    """Write a picture of this region: its store, and what its daemon's registers say of it. Whole, or not at all.

    Where the daemon's database exists here, each row has the stamp that the group knows; without it a comparison is a
    picture of what differs, and says so. With --tenant it holds these tenants alone; whatever uses it looks no further.
    """
    with bulk():
        from spark_snapshot.format.extent import extent_of
        from spark_snapshot.jobs.take import Order
        from spark_snapshot.jobs.take import take as taken

        if resume and (offline is not None or tenant):
            raise typer.BadParameter("--resume reads nothing; leave --offline and --tenant out")
        session = session_of(context)
        config = session.config()
        log_to_stderr()
        order = Order(
            config=config,
            folder=folder_of(session, folder),
            offline=None if offline is None else offline.absolute(),
            buckets=config.snapshots.buckets if buckets is None else buckets,
            extent=extent_of(tenant),
            allow_empty=allow_empty,
            accept_shrunken=accept_shrunken,
            resume=resume,
        )
        with job_of(
            context, f"snapshot of {config.region}", progress, master, memory, ui=ui, scratch=scratch, conf=conf
        ) as job:
            document = snapshot_document(taken(job, order))
    _show(context, document)


@app.command("list")
def list_(
    context: typer.Context,
    folder: Folder = None,
    region: Annotated[str | None, typer.Option("--region", help="Only this region's.")] = None,
) -> None:
    """List what a folder holds: snapshots, what cannot be used and why, what is unfinished."""
    with bulk():
        from spark_snapshot.format.layout import snapshots_in

        session = session_of(context)
        found = snapshots_in(folder_of(session, folder), region)
        document = SnapshotList(
            items=[snapshot_document(each) for each in found.snapshots],
            broken=[BrokenDocument(place=str(where), code=why.code, detail=why.message) for where, why in found.broken],
            unfinished=[str(each) for each in found.unfinished],
        )

    def told() -> None:
        output.table(SNAPSHOT_HEADINGS, snapshot_rows(document.items), empty="no snapshots")
        for broken in document.broken:
            say(f"! {broken.place}: {broken.detail}")
        for unfinished in document.unfinished:
            say(f"unfinished: {unfinished}")

    _print(context, document, told)


@app.command("show")
def show(
    context: typer.Context,
    snapshot: Annotated[str, typer.Argument(help="A folder or URI; or an id, or a region for its newest.")],
    folder: Folder = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every byte, and compare it with the checksums.")
    ] = False,
) -> None:
    """Show one snapshot: when it was taken, of what, and how much it holds."""
    with bulk():
        from spark_snapshot.format import layout

        session = session_of(context)
        (found,) = named(session, folder, [snapshot])
        if verify:
            layout.verify(found)
    _show(context, snapshot_document(found))
    if verify:
        say("every file is as it was written")


@app.command("diff")
def diff(
    context: typer.Context,
    snapshots: Annotated[
        list[str] | None,
        typer.Argument(help="Two or more: folders or URIs; ids; regions, for their newest."),
    ] = None,
    *,
    folder: Folder = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="What one region changed since: 2026-11-16, 36h, Monday. See --region."
        ),
    ] = None,
    region: Annotated[str | None, typer.Option("--region", help="With --since; that of the configuration.")] = None,
    tenant: Tenants = None,
    namespace: Namespaces = None,
    path: Paths = None,
    fields: Annotated[
        bool, typer.Option("--fields", help="Say of each path that is shown which fields differ.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Paths that are named; all are counted.")] = 1000,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page to read: HTML with plots.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Write what would make all equal, for 'snapshot sync'."),
    ] = None,
    master: Master = None,
    memory: Memory = "2g",
    ui: Pages = False,
    scratch: Scratch = None,
    conf: Settings = None,
    progress: ShowProgress = None,
) -> None:
    """Compare snapshots: of different regions, who holds the newest; of one region, what it changed. Exit 3: different.

    Nothing is asked of any store or daemon, and nothing is changed.
    """
    with bulk():
        from spark_snapshot.jobs import compare

        session = session_of(context)
        selection = selection_of(tenant, namespace, path)
        found = to_compare(session, folder, snapshots or [], since, region, selection)
        wish = compare.CompareOptions(selection=selection, shown=limit, fields=fields, plan=plan)
        over_time = len({each.region for each in found}) == 1 and len(found) == 2
        check_writable(report, plan, over_time=over_time)
        with job_of(context, "snapshot diff", progress, master, memory, ui=ui, scratch=scratch, conf=conf) as job:
            if over_time:
                changes = changes_document(compare.between(job, found[0], found[1], wish))
                _print(context, changes, lambda: show_changes(changes))
                raise typer.Exit(ExitCode.DIFFERENT if any(changes.counts.values()) else ExitCode.DONE)
            result = compare.compare(job, found, wish, now=now_ms(), made_by=made_by())
        if report is not None:
            write_report(report, result)
        named = diff_document(
            result, plan=None if plan is None else str(plan), report=None if report is None else str(report)
        )
    _print(context, named, lambda: show_diff(named))
    raise typer.Exit(ExitCode.DIFFERENT if named.different else ExitCode.DONE)


@app.command("prune")
def prune(
    context: typer.Context,
    *,
    folder: Folder = None,
    region: Annotated[str | None, typer.Option("--region", help="Only this region's.")] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, help="So many of the newest of each region and extent stay.")
    ] = None,
    keep_days: Annotated[float | None, typer.Option("--keep-days", min=0, help="What is younger stays.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Delete old snapshots. With both numbers, what either keeps stays; the newest of each region and extent does."""
    with bulk():
        from spark_snapshot.format.layout import snapshots_in
        from spark_snapshot.format.retention import prune as pruned

        session = session_of(context)
        where = folder_of(session, folder)
        going = pruned(where, now_ms=now_ms(), region=region, keep=keep, keep_days=keep_days, dry_run=dry_run)
        left = len(snapshots_in(where, region).snapshots) - (len(going) if dry_run else 0)
    document = PruneDocument(dry_run=dry_run, removed=[str(each.place) for each in going], kept=left)

    def told() -> None:
        output.table(("would be removed" if dry_run else "removed",), [(each,) for each in document.removed])
        say(f"{document.kept} kept")

    _print(context, document, told)


@app.command("remove")
def remove(
    context: typer.Context,
    snapshots: Annotated[list[str], typer.Argument(help="Ids, whole; or folders or URIs. Also what cannot be used.")],
    *,
    folder: Folder = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Delete the snapshots that are named; when one of them is not there, none."""
    with bulk():
        from spark_snapshot.format.naming import removable
        from spark_snapshot.format.retention import remove as removed

        session = session_of(context)
        alone = all(word.startswith("/") or "://" in word for word in snapshots)
        where = None if alone and folder is None else folder_of(session, folder)
        going = [removable(word, where) for word in snapshots]
        for each in going if not dry_run else ():
            removed(each)
    document = RemoveDocument(dry_run=dry_run, removed=[str(each) for each in going])

    def told() -> None:
        output.table(("would be removed" if dry_run else "removed",), [(each,) for each in document.removed])

    _print(context, document, told)


def _print(context: typer.Context, document: Document, told: Callable[[], None]) -> None:
    form = session_of(context).form
    if form is Format.TABLE:
        told()
    elif PROGRESS_FORM in context.meta:
        output.stream(document, form)  # after lines of progress: one more line
    else:
        output.document(document, form)


def _show(context: typer.Context, document: SnapshotDocument) -> None:
    _print(context, document, lambda: output.facts(snapshot_facts(document)))
