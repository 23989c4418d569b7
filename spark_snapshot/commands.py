"""``python -m spark_snapshot audit take|what-if|worst``: audits of ledgers in bulk, on any master of Spark.

The last line is a document: the manifest of an audit, or the price of a loss. Exit code 3 says that there is harm, or
that something could not be read.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict

from syncer.cli.commands.snapshots.steps import (
    Master,
    Memory,
    Pages,
    Scratch,
    Settings,
    ShowProgress,
    bulk,
    folder_of,
    job_of,
)
from syncer.cli.render import output
from syncer.cli.render.output import Format
from syncer.cli.session import log_to_stderr, session_of
from syncer.dispositions import ExitCode
from syncer.model import MetaPath
from syncer.wanted.ledgers import LEDGERS_ROOT

if TYPE_CHECKING:
    from spark_snapshot.audit.losses import LossOutcome
    from spark_snapshot.audit.manifest import FinishedAudit

app = typer.Typer(no_args_is_help=True, help="Audits of ledgers: where the data is, and the price of a loss.")

AuditFolder = Annotated[str, typer.Option("--folder", metavar="DIR|URI", help="Where audits lie.")]


class HarmedTopics(BaseModel):
    """Topics that a loss harms in one way: how many, and the first of them by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int
    first: tuple[str, ...]


class WhatIfDocument(BaseModel):
    """The price of a loss, on a finished audit.

    Args:
        audit: The audit.
        taken_at_ms: Its age. Units: milliseconds since the epoch, UTC.
        complete: Nothing was left out of it; otherwise there may be more than is told.
        bookies: Those that are lost.
        ledgers: Ledgers by the worst that an entry has.
        lost_entries: Entries without a replica left.
        lost_bytes: Their bytes, by their share of closed ledgers.
        unknown_bytes: Ledgers that lose entries and whose length is not known.
        not_recoverable: Unclosed ledgers that nobody could recover.
        topics_lost: Topics that lose entries.
        topics_not_loadable: Topics with a ledger that nobody could recover.
        without_topic: Harmed ledgers of which no topic is known.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    audit: str
    taken_at_ms: int
    complete: bool
    bookies: tuple[str, ...]
    ledgers: dict[str, int]
    lost_entries: int
    lost_bytes: int
    unknown_bytes: int
    not_recoverable: int
    topics_lost: HarmedTopics
    topics_not_loadable: HarmedTopics
    without_topic: int

    @classmethod
    def of(cls, audit: FinishedAudit, bookies: frozenset[str], found: LossOutcome) -> WhatIfDocument:
        """Make the document.

        Args:
            audit: The audit.
            bookies: Those that are lost.
            found: What that costs.
        """
        return cls(
            audit=audit.manifest.id,
            taken_at_ms=audit.manifest.about.taken_at_ms,
            complete=not audit.manifest.summary.undecodable,
            bookies=tuple(sorted(bookies)),
            ledgers=dict(sorted(found.counts.classes.items())),
            lost_entries=found.counts.lost_entries,
            lost_bytes=found.counts.lost_bytes,
            unknown_bytes=found.counts.unknown_bytes,
            not_recoverable=found.counts.not_recoverable,
            topics_lost=HarmedTopics(count=found.lost[0], first=found.lost[1]),
            topics_not_loadable=HarmedTopics(count=found.not_loadable[0], first=found.not_loadable[1]),
            without_topic=found.without_topic,
        )


class WorstSet(BaseModel):
    """A set of bookies, and the cost of its loss: entries and bytes exactly, ledgers within bounds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bookies: tuple[str, ...]
    entries: int
    bytes: int
    ledgers_at_least: int
    ledgers_at_most: int
    not_recoverable_at_least: int
    not_recoverable_at_most: int


class WorstSetsDocument(BaseModel):
    """The sets of bookies whose loss costs most, on a finished audit.

    Args:
        audit: The audit.
        taken_at_ms: Its age. Units: milliseconds since the epoch, UTC.
        complete: Nothing was left out of it; otherwise there may be more than is told.
        size: Bookies of a set.
        tried: Sets that were tried.
        harmful: Of these, those whose loss harms a ledger.
        exact: All sets were tried; otherwise as many were drawn at random.
        items: The worst.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    audit: str
    taken_at_ms: int
    complete: bool
    size: int
    tried: int
    harmful: int
    exact: bool
    items: tuple[WorstSet, ...]


@app.command("take")
def take(
    context: typer.Context,
    cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Of the table 'cluster.NAME'.")],
    *,
    folder: AuditFolder,
    offline: Annotated[
        Path | None,
        typer.Option(
            "--offline", metavar="DIR|FILE", help="Read ZooKeeper's folder, etcd's snapshot file, or Parquet, instead."
        ),
    ] = None,
    root: Annotated[
        str, typer.Option("--ledgers-root", metavar="PATH", help="Where BookKeeper's own paths begin.")
    ] = LEDGERS_ROOT,
    readers: Annotated[int | None, typer.Option("--readers", min=1, max=64, help="How many read at once.")] = None,
    max_reads_per_s: Annotated[
        int | None, typer.Option("--max-reads-per-s", min=1, help="Paths of a live store asked for in a second.")
    ] = None,
    master: Master = None,
    memory: Memory = "2g",
    ui: Pages = False,
    scratch: Scratch = None,
    conf: Settings = None,
    progress: ShowProgress = None,
) -> None:
    """Audit the ledgers of a cluster into tables of Parquet, whole or not at all. The store is only read."""
    with bulk():
        from spark_snapshot.jobs.audit import AuditOrder, audit
        from spark_snapshot.sources import StorePlace
        from syncer.config.clusters import placement_rules

        session = session_of(context)
        config = session.config()
        log_to_stderr()
        order = AuditOrder(
            cluster=cluster,
            place=StorePlace.of_cluster(config, cluster)
            if offline is None
            else StorePlace.files_of_cluster(config, cluster, offline.absolute()),
            folder=folder_of(session, folder),
            root=MetaPath(root),
            readers=readers,
            max_reads_per_s=max_reads_per_s,
            rules=placement_rules(config, cluster),
        )
        with job_of(context, f"audit of {cluster}", progress, master, memory, ui=ui, scratch=scratch, conf=conf) as job:
            found = audit(job, order)
    summary = found.manifest.summary
    harm = summary.lost_entries or summary.not_recoverable or summary.undecodable or not summary.bookies_known
    harm = harm or (summary.spread is not None and summary.spread.not_spread)
    _end(context, found.manifest, harm=bool(harm))


@app.command("what-if")
def what_if(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(metavar="AUDIT", help="A folder or URI; or a cluster, for its newest.")],
    *,
    bookie: Annotated[list[str], typer.Option("--bookie", metavar="ID", help="It is lost; may be repeated.")],
    folder: Annotated[
        str | None, typer.Option("--folder", metavar="DIR|URI", help="Where audits lie, to find a cluster's newest.")
    ] = None,
    master: Master = None,
    memory: Memory = "2g",
    ui: Pages = False,
    scratch: Scratch = None,
    conf: Settings = None,
    progress: ShowProgress = None,
) -> None:
    """Tell what the loss of bookies would cost, on a finished audit. The cluster is not asked."""
    with bulk():
        from spark_snapshot.audit.judging import LostBookies
        from spark_snapshot.audit.losses import what_if as losses

        log_to_stderr()
        opened = _opened(context, audit, folder)
        lost = frozenset(bookie)
        with (
            job_of(context, "what-if", progress, master, memory, ui=ui, scratch=scratch, conf=conf) as job,
            job.phase("judge", f"judging the ledgers of {opened.manifest.about.cluster}"),
        ):
            found = losses(job.session, opened, LostBookies(lost))
    document = WhatIfDocument.of(opened, lost, found)
    _end(context, document, harm=bool(document.lost_entries or document.not_recoverable))


@app.command("worst")
def worst(
    context: typer.Context,
    audit: Annotated[str, typer.Argument(metavar="AUDIT", help="A folder or URI; or a cluster, for its newest.")],
    *,
    folder: Annotated[
        str | None, typer.Option("--folder", metavar="DIR|URI", help="Where audits lie, to find a cluster's newest.")
    ] = None,
    size: Annotated[int, typer.Option("--size", min=1, help="Bookies that are lost together.")] = 2,
    count: Annotated[int, typer.Option("--count", min=1, help="Sets that are named.")] = 10,
) -> None:
    """Name the sets of bookies whose loss costs most, and the odds of harm, by the copysets of a finished audit."""
    with bulk():
        from spark_snapshot.audit.worst import copyset_costs

        opened = _opened(context, audit, folder)
        costs = copyset_costs(opened, size)
        found = costs.worst(size, count)
        odds = costs.odds(size, secrets.randbelow)
    summary = opened.manifest.summary
    document = WorstSetsDocument(
        audit=opened.manifest.id,
        taken_at_ms=opened.manifest.about.taken_at_ms,
        complete=not summary.undecodable and not summary.sets_left_out,
        size=size,
        tried=odds.tried,
        harmful=odds.harmful,
        exact=odds.exact,
        items=tuple(
            WorstSet(
                bookies=each.bookies,
                entries=each.entries,
                bytes=each.bytes,
                ledgers_at_least=each.ledgers.at_least,
                ledgers_at_most=each.ledgers.at_most,
                not_recoverable_at_least=each.blocked.at_least,
                not_recoverable_at_most=each.blocked.at_most,
            )
            for each in found
        ),
    )
    _end(context, document, harm=bool(found))


def _opened(context: typer.Context, audit: str, folder: str | None) -> FinishedAudit:
    from spark_snapshot.audit.manifest import newest_audit, open_audit

    if audit.startswith("/") or "://" in audit:
        return open_audit(audit)
    return newest_audit(folder_of(session_of(context), folder), audit)


def _end(context: typer.Context, document: BaseModel, *, harm: bool) -> None:
    form = session_of(context).form
    output.stream(document, Format.JSON if form is Format.TABLE else form)
    if harm:
        raise typer.Exit(ExitCode.DIFFERENT)
