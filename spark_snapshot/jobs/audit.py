"""The job that audits: a cluster's ledgers, read whole and judged, as tables that are there whole or not at all."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark.sql import DataFrame

from spark_snapshot import sources
from spark_snapshot.audit.manifest import AuditedStore, FinishedAudit
from spark_snapshot.audit.taking import AuditParts, take_tables
from spark_snapshot.capture.reading import store_facts
from spark_snapshot.format.drafts import begun
from spark_snapshot.format.manifest import StoreFacts
from spark_snapshot.format.places import Place
from spark_snapshot.runtime.phases import Job
from spark_snapshot.sources import StorePlace
from syncer.errors import SnapshotRefused
from syncer.ledgers.auditing.spreading import USUAL_RULES, PlacementRules
from syncer.model import MetaPath
from syncer.version import made_by
from syncer.wanted.ledgers import LEDGERS_ROOT, LedgerPart, ledger_paths


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOrder:
    """What is to be audited, and where the audit goes.

    Args:
        cluster: The cluster, by the name that it has here.
        place: Its store, or files of it.
        folder: Where audits lie.
        root: Where BookKeeper's own paths begin.
        readers: How many read at once; the session's parallelism, at most 8, when not given.
        max_reads_per_s: Paths of a live store that all of them together ask for in a second.
        rules: How the cluster's brokers place ledgers.
    """

    cluster: str
    place: StorePlace
    folder: Place
    root: MetaPath = LEDGERS_ROOT
    readers: int | None = None
    max_reads_per_s: int | None = None
    rules: PlacementRules = USUAL_RULES


def audit(job: Job, order: AuditOrder) -> FinishedAudit:
    """Audit the ledgers of a cluster.

    Args:
        job: Does it.
        order: What is wanted.

    Raises:
        StoreError: The store does not answer, or does not let us in. Nothing is left.
        SnapshotRefused: It became another store meanwhile. Nothing is left.
        SnapshotUnwritten: The folder refuses it. Nothing is left.
        JobError: It was asked to stop, or Spark has failed. Nothing is left.
    """
    taken_at_ms = time.time_ns() // 1_000_000
    before = sources.facts(order.place)

    def read(part: LedgerPart) -> DataFrame:
        wanted = ledger_paths(part, root=order.root, max_reads_per_s=order.max_reads_per_s)
        return sources.shaped(job.session, order.place, wanted, readers=order.readers)

    def ended() -> StoreFacts:
        after = sources.facts(order.place)
        if (before.cluster, before.identity) != (after.cluster, after.identity):
            raise SnapshotRefused(
                f"the store of cluster {order.cluster} became another one while it was read",
                hint="Audit it again when the store is the one that it should be.",
            )
        return store_facts(before, after)

    with begun(order.folder, order.cluster, taken_at_ms=taken_at_ms) as draft:
        about = AuditedStore(
            cluster=order.cluster,
            taken_at_ms=taken_at_ms,
            made_by=made_by(),
            store=store_facts(before, before),
            root=order.root,
        )
        parts = AuditParts(
            ledgers=lambda: read(LedgerPart.LEDGERS),
            references=lambda: read(LedgerPart.REFERENCES),
            bookies=lambda: read(LedgerPart.BOOKIES),
            ended=ended,
        )
        return take_tables(job, draft, about, parts, order.rules)
