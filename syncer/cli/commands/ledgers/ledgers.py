"""``syncer ledgers``: where a cluster's data is, and what the loss of bookies would cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from syncer.cli.commands.ledgers.options import (
    ROOT,
    BookiesArgument,
    ClusterOption,
    EnforcedRacksOption,
    FilesOption,
    QuorumsOption,
    RackOption,
    ReadsOption,
    RootOption,
    ledgers_wish,
    opening_wish,
)
from syncer.cli.session import session_of
from syncer.dispositions import ExitCode

app = typer.Typer(no_args_is_help=True, help="Ledgers of a Pulsar cluster: where its data is, and what may be lost.")

_MIB: Final = 1 << 20


@app.callback()
def ledgers() -> None:
    """Ledgers of a Pulsar cluster: where its data is, and what may be lost."""


@app.command("audit")
def audit(
    context: typer.Context,
    cluster: ClusterOption,
    by_topic: Annotated[bool, typer.Option("--by-topic", help="Group ledgers by topic, not by namespace.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with plots, too; never overwritten.")
    ] = None,
    files: FilesOption = None,
    max_reads: ReadsOption = None,
    root: RootOption = ROOT,
) -> None:
    """Judge all ledgers of a cluster: replicas left, why bytes are kept, bookies, and findings with their remedies.

    Read-only: no ledger is opened, no broker and no bookie is asked. Exits with 3 where there are findings.
    """
    from syncer.cli.render.ledgers.answer import show
    from syncer.cli.render.ledgers.audit import draw_audit
    from syncer.cli.render.ledgers.page import audit_page
    from syncer.cli.render.output import say
    from syncer.inspection.ledgers.questions import AuditQuestion
    from syncer.planning.whole_file import whole

    session, wish = session_of(context), ledgers_wish(cluster, files=files, max_reads=max_reads, root=root)
    found = session.ledgers().audit(wish, AuditQuestion(topics=by_topic, overview=html is not None))
    if html is not None:
        with whole(html) as file:
            file.write(audit_page(found).encode())
    show(found, session.form, draw_audit)
    if html is not None:
        say(f"wrote {html}")
    raise typer.Exit(ExitCode.DIFFERENT if found.findings else ExitCode.DONE)


@app.command("explain")
def explain(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="LEDGER|TOPIC", help="Id of a ledger, or a topic's whole name.")],
    cluster: ClusterOption,
    files: FilesOption = None,
    max_reads: ReadsOption = None,
    root: RootOption = ROOT,
) -> None:
    """Show which entry of a ledger lies on which bookie, or the ledgers of a topic and whether it can be loaded.

    Exits with 3 where entries are lost, the ledger cannot be recovered, or the topic cannot be loaded.
    """
    from syncer.cli.render.ledgers.answer import show
    from syncer.cli.render.ledgers.explained import draw_explained, is_harmed
    from syncer.inspection.ledgers.questions import ExplainQuestion

    session, wish = session_of(context), ledgers_wish(cluster, files=files, max_reads=max_reads, root=root)
    found = session.ledgers().explain(wish, ExplainQuestion(what))
    show(found, session.form, draw_explained)
    raise typer.Exit(ExitCode.DIFFERENT if is_harmed(found) else ExitCode.DONE)


@app.command("what-if")
def what_if(
    context: typer.Context,
    cluster: ClusterOption,
    bookie: BookiesArgument = None,
    *,
    rack: RackOption = None,
    size: Annotated[
        int | None,
        typer.Option("--any", min=1, max=10, metavar="K", help="Any K bookies: the worst sets, and the odds of harm."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many of the worst sets.")] = 10,
    quorums: QuorumsOption = None,
    enforce_racks: EnforcedRacksOption = None,
    files: FilesOption = None,
    max_reads: ReadsOption = None,
    root: RootOption = ROOT,
) -> None:
    """Tell what the loss of bookies would cost: entries, topics that cannot be loaded, and whether writing goes on.

    Bookies that are away already stay away. Exits with 3 where the loss harms anything.
    """
    from syncer.cli.render.ledgers.answer import show
    from syncer.cli.render.ledgers.losses import draw_any_loss, draw_loss
    from syncer.inspection.ledgers.questions import AnyLossQuestion, LossQuestion

    named = bool(bookie or rack)
    if named == (size is not None):
        raise typer.BadParameter("give bookies or --rack, or else --any K")
    session, wish = session_of(context), ledgers_wish(cluster, files=files, max_reads=max_reads, root=root)
    opening = opening_wish(quorums, enforce_racks)
    if size is not None:
        worst = session.ledgers().any_loss(wish, AnyLossQuestion(size=size, shown=limit))
        show(worst, session.form, draw_any_loss)
        raise typer.Exit(ExitCode.DIFFERENT if worst.harmful else ExitCode.DONE)
    question = LossQuestion(bookies=tuple(bookie or ()), racks=tuple(rack or ()), opening=opening)
    found = session.ledgers().loss(wish, question)
    show(found, session.form, draw_loss)
    blocked = found.opening is not None and not found.opening.possible
    harmed = found.lost_ledgers_count or found.blocked_ledgers_count or blocked
    raise typer.Exit(ExitCode.DIFFERENT if harmed else ExitCode.DONE)


@app.command("decommission")
def decommission(
    context: typer.Context,
    cluster: ClusterOption,
    bookie: BookiesArgument = None,
    *,
    rack: RackOption = None,
    together: Annotated[
        bool, typer.Option("--together", help="All are stopped at once; otherwise one after the other.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=0.001, metavar="MIB_PER_S", help="What all recovery workers copy together."),
    ] = None,
    quorums: QuorumsOption = None,
    enforce_racks: EnforcedRacksOption = None,
    files: FilesOption = None,
    max_reads: ReadsOption = None,
    root: RootOption = ROOT,
) -> None:
    """Tell what it moves to stop bookies for good, in which order, how long it takes, and what blocks it for ever.

    Nothing is stopped. Exits with 3 where something blocks it.
    """
    from syncer.cli.render.ledgers.answer import show
    from syncer.cli.render.ledgers.losses import draw_decommission
    from syncer.inspection.ledgers.questions import LeavingQuestion

    if not (bookie or rack):
        raise typer.BadParameter("give bookies or --rack")
    session, wish = session_of(context), ledgers_wish(cluster, files=files, max_reads=max_reads, root=root)
    question = LeavingQuestion(
        bookies=tuple(bookie or ()),
        racks=tuple(rack or ()),
        opening=opening_wish(quorums, enforce_racks),
        together=together,
        bytes_per_s=None if rate is None else rate * _MIB,
    )
    found = session.ledgers().leaving(wish, question)
    show(found, session.form, draw_decommission)
    blocked = found.opening is not None and not found.opening.possible
    ends = all(each.ends for each in found.steps)
    raise typer.Exit(ExitCode.DONE if ends and not blocked else ExitCode.DIFFERENT)


@app.command("under-replicated")
def under_replicated(
    context: typer.Context,
    cluster: ClusterOption,
    files: FilesOption = None,
    max_reads: ReadsOption = None,
    root: RootOption = ROOT,
) -> None:
    """List ledgers that are marked as under-replicated, with their topics, and tell whether recovery moves.

    Exits with 3 where a ledger is marked, or names a bookie that is away.
    """
    from syncer.cli.render.ledgers.answer import show
    from syncer.cli.render.ledgers.recovery import draw_under_replicated

    session, wish = session_of(context), ledgers_wish(cluster, files=files, max_reads=max_reads, root=root)
    found = session.ledgers().under_replicated(wish)
    show(found, session.form, draw_under_replicated)
    raise typer.Exit(ExitCode.DIFFERENT if found.marked or found.unmarked else ExitCode.DONE)


@app.command("orphans")
def orphans(
    context: typer.Context,
    cluster: ClusterOption,
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", metavar="NAME", help="Another cluster whose ledgers the same bookies keep."),
    ] = None,
    all_clusters: Annotated[
        bool,
        typer.Option(
            "--all-clusters", help="The clusters given are all of these bookies: what nobody refers to is proven."
        ),
    ] = False,
    apart: Annotated[
        float | None,
        typer.Option(
            "--apart",
            min=1,
            max=3600,
            metavar="SECONDS",
            help="Before references are asked for first, and again between the two looks.",
        ),
    ] = None,
    max_reads: ReadsOption = None,
    root: RootOption = ROOT,
) -> None:
    """Find ledgers that nobody refers to, and references to ledgers that are not there, by two looks at the store.

    Nothing is deleted. Without --all-clusters nothing is proven: other clusters may keep their ledgers here. Exits
    with 3 where an orphan or a missing ledger is found.
    """
    from syncer.cli.render.ledgers.answer import show
    from syncer.cli.render.ledgers.recovery import draw_orphans
    from syncer.inspection.ledgers.questions import LOOKS_APART_S, OrphansQuestion

    session, wish = session_of(context), ledgers_wish(cluster, others=beside, max_reads=max_reads, root=root)
    question = OrphansQuestion(whole=all_clusters, apart_s=LOOKS_APART_S if apart is None else apart)
    found = session.ledgers().orphans(wish, question)
    show(found, session.form, draw_orphans)
    raise typer.Exit(ExitCode.DIFFERENT if found.orphans or found.missing else ExitCode.DONE)
