"""The job that takes a snapshot: a region's store, joined with its daemon's registers, written whole or not at all.

In two steps: what there is to read is read into files (:mod:`spark_snapshot.capture.reading`), then the picture is made
of these. A job that was stopped in the second step can be gone on with.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_snapshot import sources
from spark_snapshot.capture.picture import picture
from spark_snapshot.capture.reading import CaptureRequest, Read, read_before, read_region, tables_of
from spark_snapshot.capture.writing import DEFAULT_BUCKETS, write
from spark_snapshot.format.drafts import SnapshotDraft, begun, check_locks, refused, resumed
from spark_snapshot.format.extent import WHOLE, Extent
from spark_snapshot.format.layout import Snapshot, latest
from spark_snapshot.format.manifest import check_noted
from spark_snapshot.format.places import Place
from spark_snapshot.format.uncarried import UNCARRIED
from spark_snapshot.runtime.phases import Job
from spark_snapshot.sources.place import StorePlace
from syncer.config.model import Config, in_ms
from syncer.errors import DiskFull, JobError

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
        extent: How much of the region is read; of a job that is gone on with, what that one had read.
        allow_empty: Keep it although the store holds nothing and held much before.
        accept_shrunken: Keep it although most of what the last one held is gone.
        resume: Ask the store nothing; make the snapshot of what the last job had read when it was stopped.

    Raises:
        PreconditionFailed: Nobody can go on with a run in an object store.
    """

    config: Config
    folder: Place
    offline: Path | None = None
    buckets: int = DEFAULT_BUCKETS
    extent: Extent = WHOLE
    allow_empty: bool = False
    accept_shrunken: bool = False
    resume: bool = False

    def __post_init__(self) -> None:
        if self.resume:
            check_locks(self.folder)  # before Spark starts


def take(job: Job, order: Order) -> Snapshot:
    """Take a snapshot.

    Raises:
        PreconditionFailed: The region's scope has more rules than a manifest may have. The store is not read.
        StoreError: The store does not answer, or does not let us in. Nothing is left.
        StateError: The daemon's database is there and cannot be read. Nothing is left.
        SnapshotError: The snapshot cannot be written, or is refused. Nothing is left.
        NotFound: There is nothing to go on with.
        JobError: It was asked to stop, or Spark has failed. On a disk with room what was read whole is kept.
    """
    region = order.config.region
    check_noted(region, order.config.compiled_scope(), order.config.scope.exclusions())
    if order.resume:
        with resumed(order.folder, region) as draft:
            read = read_before(draft, order.config)
            return _written(job, order, draft, read, _last(order, read.about.extent))
    before = _last(order, order.extent)
    taken_at_ms = time.time_ns() // 1_000_000
    place = StorePlace.of(order.config) if order.offline is None else StorePlace.files_of(order.config, order.offline)
    facts = sources.facts(place)
    with begun(order.folder, region, taken_at_ms=taken_at_ms) as draft:
        wanted = CaptureRequest(
            config=order.config,
            extent=order.extent,
            registers=order.offline is None,
            taken_at_ms=taken_at_ms,
            expected=None if before is None else before.manifest.rows,
        )
        read = read_region(job, draft, wanted, place, facts)
        return _written(job, order, draft, read, before)


def _last(order: Order, extent: Extent) -> Snapshot | None:
    """The last snapshot that was kept of the same region and extent: what the new one is held to."""
    with refused(order.folder):
        return latest(order.folder, order.config.region, extent)


def _written(job: Job, order: Order, draft: SnapshotDraft, read: Read, before: Snapshot | None) -> Snapshot:
    what = f"writing a snapshot of {order.config.region}"
    twice = 2 * read.rows  # they are counted when they are written
    try:
        with job.phase("write", what, expected_rows=twice), _lying_in(job, order.buckets):
            store, registers = tables_of(job.session, draft, read, order.config.cluster_names)
            rows = picture(
                store,
                registers,
                region=order.config.region,
                taken_at_ms=read.about.taken_at_ms,
                max_clock_skew_ms=in_ms(order.config.limits.max_clock_skew),
            )
            manifest = write(
                rows,
                draft,
                read.about,
                before=before,
                buckets=order.buckets,
                allow_empty=order.allow_empty,
                losses=None if order.accept_shrunken else order.config.snapshots.loss_bounds,
            )
    except JobError as exc:
        if isinstance(exc, DiskFull) or not draft.resumable:
            raise
        exc.hint = f"What was read is kept: 'syncer snapshot take --resume' goes on with it. {exc.hint}"
        raise
    if read.uncarried is not None:
        draft.write(UNCARRIED, read.uncarried.text())
    return Snapshot(draft.publish(manifest), manifest)


@contextmanager
def _lying_in(job: Job, buckets: int) -> Iterator[None]:
    """Have a join lie as the files will, so that its rows need not be moved again."""
    before = str(job.session.conf.get(_PARTITIONS))
    job.session.conf.set(_PARTITIONS, str(buckets))
    try:
        yield
    finally:
        job.session.conf.set(_PARTITIONS, before)
