"""The job that takes a snapshot: a region's store, joined with its daemon's registers, written whole or not at all.

The registers are read first, then the store. What the daemon writes in between is then a change that the registers do
not know yet (``unseen``), never an old value that looks new; nobody is told of such rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from spark_snapshot import sources
from spark_snapshot.jobs import Job
from spark_snapshot.layout import Snapshot, latest
from spark_snapshot.manifest import Described, StoreFacts, described_scope
from spark_snapshot.picture import picture
from spark_snapshot.places import Place
from spark_snapshot.sources.place import Facts, StorePlace
from spark_snapshot.watermark import Sidecar, sidecar_of
from spark_snapshot.writing import DEFAULT_BUCKETS, write_snapshot
from syncer.config.model import Config, in_ms
from syncer.daemon import version
from syncer.errors import SnapshotRefused

_PARTITIONS: Final = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be taken, and where it goes.

    Args:
        config: Of the region.
        folder: Where snapshots lie.
        offline: Files of the store to read instead of it (ZooKeeper's folder, a file of ``etcdctl snapshot save``);
            then no registers take part, since nobody knows of which moment the files are.
        buckets: Files of the snapshot; equally many in all that are to be compared.
        allow_empty: Keep it although the store holds nothing and held much before.
    """

    config: Config
    folder: Place
    offline: Path | None = None
    buckets: int = DEFAULT_BUCKETS
    allow_empty: bool = False


def take(job: Job, order: Order) -> Snapshot:
    """Take a snapshot.

    Raises:
        StoreError: The store does not answer, or does not let us in. Nothing is left.
        StateError: The daemon's database is there and cannot be read.
        SnapshotError: The snapshot cannot be written, or is refused.
        JobCancelled: It was asked to stop. Nothing is left.
    """
    config, session = order.config, job.session
    scope = config.compiled_scope()
    place = StorePlace.of(config) if order.offline is None else StorePlace.files_of(config, order.offline)
    taken_at_ms = time.time_ns() // 1_000_000
    before = sources.facts(place)
    sidecar = sidecar_of(config) if order.offline is None else None
    previous = latest(order.folder, config.region)
    expected = None if previous is None else previous.manifest.rows
    described = Described(
        region=config.region,
        taken_at_ms=taken_at_ms,
        made_by=f"pulsar-syncer {version()}",
        store=_store_facts(before, before),
        registers=sidecar is not None,
        watermark=dict(sidecar.watermark) if sidecar is not None else {},
        scope=described_scope(scope),
        scope_fingerprint=scope.fingerprint,
        ties=config.tie_order,
    )
    before_take = str(session.conf.get(_PARTITIONS))
    session.conf.set(_PARTITIONS, str(order.buckets))  # the join lies as the files will
    registers: DataFrame | None = None
    try:
        if sidecar is not None:
            with job.phase("registers", f"reading the registers of {config.region}", expected_rows=expected):
                registers = _registers(job, sidecar, order).persist(StorageLevel.DISK_ONLY)
                registers.count()
        rows = picture(
            sources.live(session, place, scope),
            registers,
            region=config.region,
            taken_at_ms=taken_at_ms,
            max_clock_skew_ms=in_ms(config.limits.max_clock_skew),
        )
        rounds = (
            2 if registers is None else 3
        )  # the store, its registers, and all of it again to count what was written
        whole = None if expected is None else rounds * expected
        with job.phase("store", f"taking a snapshot of {config.region}", expected_rows=whole):
            return write_snapshot(
                rows,
                order.folder,
                described,
                buckets=order.buckets,
                allow_empty=order.allow_empty,
                completed=lambda known: _completed(known, before, sources.facts(place)),
            )
    finally:
        session.conf.set(_PARTITIONS, before_take)
        if registers is not None:
            registers.unpersist()


def _registers(job: Job, sidecar: Sidecar, order: Order) -> DataFrame:
    scope = order.config.compiled_scope()
    return sources.registers(job.session, sidecar.url, scope, password_file=sidecar.password_file)


def _completed(described: Described, before: Facts, after: Facts) -> Described:
    if (before.cluster, before.identity) != (after.cluster, after.identity):
        raise SnapshotRefused(
            f"the store of region {described.region} became another one while it was read",
            hint="Take it again when the store is the one that it should be.",
        )
    return described.model_copy(update={"store": _store_facts(before, after)})


def _store_facts(before: Facts, after: Facts) -> StoreFacts:
    return StoreFacts(
        kind=before.kind,
        identity=before.identity or before.where,
        revision_before=before.position,
        revision_after=after.position,
        cluster_id=before.cluster or "",
    )
