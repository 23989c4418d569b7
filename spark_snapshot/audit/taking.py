"""An audit is taken: what is read becomes tables, ledgers first, then what refers to them, then the bookies.

That order is the proof: a ledger is made before it is referred to, and its reference goes before it does. All of it is
in a draft, as a snapshot's rows are, so that there is a whole audit or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot.audit.bookies import ListedBookies
from spark_snapshot.audit.columns import MOST
from spark_snapshot.audit.judging import LostBookies
from spark_snapshot.audit.ledger_files import LedgerFiles
from spark_snapshot.audit.losses import LossCounts, counts_in, judged_files
from spark_snapshot.audit.manifest import (
    AuditedSpread,
    AuditedStore,
    AuditManifest,
    AuditSummary,
    FinishedAudit,
    TableFile,
)
from spark_snapshot.audit.rows import BOOKIE_LIST, COPYSETS, UNDECODABLE, as_spark
from spark_snapshot.audit.spreading import TOLD, SpreadCounts, SpreadRule, SpreadTables
from spark_snapshot.audit.writing import (
    COPYSETS_OF_TASKS,
    WRITTEN,
    LedgerTables,
    ReferenceTables,
    TaskTables,
    files_told,
    files_written,
    only,
)
from spark_snapshot.format.drafts import SnapshotDraft
from spark_snapshot.format.manifest import StoreFacts
from spark_snapshot.format.places import Place
from spark_snapshot.runtime.phases import Job
from syncer.ledgers.auditing.spreading import USUAL_RULES, PlacementRules

TABLES: Final = ("ledgers", "references", "undecodable", "bookies", "copysets", "unspread")

_Files = dict[str, tuple[TableFile, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditParts:
    """What is read of a store, each part when it is asked for: rows of ``DATED_STORE``.

    Args:
        ledgers: Of ledgers.
        references: Of what refers to them.
        bookies: Of bookies, their cookies and racks.
        ended: Tells what the store is when all of this was read.
    """

    ledgers: Callable[[], DataFrame]
    references: Callable[[], DataFrame]
    bookies: Callable[[], DataFrame]
    ended: Callable[[], StoreFacts]


def take_tables(
    job: Job, draft: SnapshotDraft, about: AuditedStore, parts: AuditParts, rules: PlacementRules = USUAL_RULES
) -> FinishedAudit:
    """Take an audit, and publish it.

    Args:
        job: Does it.
        draft: Where it is made.
        about: What is read.
        parts: Reads it.
        rules: How brokers place ledgers.

    Raises:
        StoreError: The store does not answer, or does not let us in.
        SnapshotRefused: It became another one meanwhile.
        SnapshotUnwritten: The place refuses it.
        JobCancelled: It was asked to stop.
    """
    here, cluster = draft.place, about.cluster
    with job.phase("ledgers", f"reading the ledgers of {cluster}"):
        rows = parts.ledgers().select("path", "kind", "value", "created_ms")
        told = rows.mapInArrow(LedgerTables(here.location, about.root), as_spark(WRITTEN)).collect()
        files, left_out = files_told(told), sum(row["left_out"] for row in told)
    with job.phase("references", f"reading what refers to ledgers of {cluster}"):
        rows = parts.references().select("path", "kind", "value")
        told = rows.mapInArrow(ReferenceTables(here.location), as_spark(WRITTEN)).collect()
        files = _both(files, files_told(told))
    with job.phase("bookies", f"reading the bookies of {cluster}"):
        bookies = ListedBookies.of(parts.bookies().collect(), about.root)
        store = parts.ended()
    lost = LostBookies(frozenset(bookies.states) if bookies.known else frozenset(), others=bookies.known)
    with job.phase("judge", f"judging the ledgers of {cluster}"):
        ledgers = [here / "ledgers" / each.name for each in files.get("ledgers", ())]
        counts = counts_in(judged_files(job.session, ledgers, lost, lacking=False))
    spread = None
    if bookies.racks_known:
        with job.phase("spread", f"looking how the ledgers of {cluster} are spread"):
            files["unspread"], spread = _spread(job, here, ledgers, bookies, rules)
    with job.phase("copysets", f"counting the copysets of {cluster}"):
        files["copysets"] = _copysets(job, here, files.pop(COPYSETS_OF_TASKS, ()))
    with TaskTables(here.location, bookies=BOOKIE_LIST, undecodable=UNDECODABLE) as tables:
        tables.add(bookies=bookies.rows(counts.named), undecodable=bookies.undecodable())
        files = _both(files, tables.files())
    for table, some in files.items():
        only(here / table, some)
    manifest = AuditManifest(
        id=draft.id,
        about=about.model_copy(update={"store": store}),
        summary=_summary(counts, files, here, left_out, bookies, spread),
        tables={table: files.get(table, ()) for table in TABLES if table != "unspread" or spread is not None},
    ).sealed()
    return FinishedAudit(draft.publish(manifest, [table for table in TABLES if files.get(table)]), manifest)


def _spread(
    job: Job, here: Place, ledgers: list[Place], bookies: ListedBookies, rules: PlacementRules
) -> tuple[tuple[TableFile, ...], AuditedSpread]:
    """Hold ledgers against racks, or regions: those that are not spread as a table, and all in numbers."""
    writable = bookies.writable if bookies.known else None
    rule = SpreadRule(racks=dict(bookies.racks.racks), rules=rules, writable=writable)
    files = LedgerFiles.of(job.session, ledgers)
    look = SpreadTables(here.location, files, rule)
    told = files.numbers(job.session).mapInArrow(look, as_spark(TOLD)).collect()
    counts = SpreadCounts()
    for row in told:
        if row["table"] is None:
            counts.add(row.asDict())
    spread = AuditedSpread(
        over="regions" if rules.regions else "racks",
        min_racks=rules.policy.min_racks,
        enforced=rules.policy.enforced,
        ledgers=counts.ledgers,
        closed=counts.closed,
        not_spread=counts.not_spread,
        counted=None if writable is None else counts.counted or 0,
    )
    return files_told(row for row in told if row["table"] is not None).get("unspread", ()), spread


def _copysets(job: Job, here: Place, files: tuple[TableFile, ...]) -> tuple[TableFile, ...]:
    """Put what tasks have found together: each set once."""
    if not files:
        return ()
    schema = as_spark(COPYSETS)
    rows = job.session.read.schema(schema).parquet(*((here / COPYSETS_OF_TASKS / each.name).location for each in files))
    sums = [F.coalesce(F.try_sum(name), F.lit(MOST)).alias(name) for name in ("ledgers", "entries", "bytes")]
    merged = rows.groupBy("kind", "bookies").agg(*sums)
    merged.write.options(compression="zstd").parquet((here / "copysets").location)
    return files_written(here / "copysets")


def _both(some: _Files, more: _Files) -> _Files:
    return {table: some.get(table, ()) + more.get(table, ()) for table in {*some, *more}}


def _summary(
    counts: LossCounts,
    files: _Files,
    here: Place,
    left_out: int,
    bookies: ListedBookies,
    spread: AuditedSpread | None,
) -> AuditSummary:
    flaws = Counter[str]()
    for each in files.get("undecodable", ()):
        file = here / "undecodable" / each.name
        kinds: pa.Table = pq.read_table(file.path, filesystem=file.files, columns=["kind"], partitioning=None)
        flaws.update(map(str, kinds.column("kind").to_pylist()))
    return AuditSummary(
        ledgers=counts.ledgers,
        classes=dict(sorted(counts.classes.items())),
        entries=counts.entries,
        lost_entries=counts.lost_entries,
        bytes=counts.bytes,
        lost_bytes=counts.lost_bytes,
        unknown_bytes=counts.unknown_bytes,
        not_recoverable=counts.not_recoverable,
        single_copy=counts.single_copy,
        references=sum(each.rows for each in files.get("references", ())),
        undecodable=dict(sorted(flaws.items())),
        sets_left_out=left_out,
        bookies_known=bookies.known,
        bookies_away=tuple(sorted(counts.named)),
        spread=spread,
    )
