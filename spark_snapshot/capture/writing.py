"""Write a snapshot: rows first, then what is known of them, and its name last."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot.format import tables
from spark_snapshot.format.drafts import SnapshotDraft, begun
from spark_snapshot.format.files import bucket_of, examine
from spark_snapshot.format.layout import DATA, Snapshot, latest
from spark_snapshot.format.manifest import BucketFile, Count, Described, SnapshotManifest
from spark_snapshot.format.places import Place
from spark_snapshot.format.words import StampOrigin
from syncer.conflict.classes.pairs import ScopeClass, class_of
from syncer.conflict.scope import Scope
from syncer.errors import SnapshotDamaged, SnapshotRefused, SnapshotShrunken
from syncer.model import MetaPath
from syncer.plan.losses import LossBounds

DEFAULT_BUCKETS: Final = 16
MANY: Final = 10
"""So many paths in the previous snapshot make an empty one suspicious."""
USUAL_LOSSES: Final = LossBounds()

_EXAMINERS: Final = 2


def write_snapshot(
    frame: DataFrame,
    folder: Place,
    described: Described,
    *,
    buckets: int = DEFAULT_BUCKETS,
    allow_empty: bool = False,
    losses: LossBounds | None = USUAL_LOSSES,
) -> Snapshot:
    """Make a snapshot of rows at hand; see :func:`write`, whose arguments and errors are these.

    Args:
        frame: Its rows.
        folder: Where snapshots lie.
        described: What is known of it apart from its rows.
        buckets: Files.
        allow_empty: Take it although it holds nothing.
        losses: What may be gone.
    """
    with begun(folder, described.region, taken_at_ms=described.taken_at_ms) as draft:
        before = latest(folder, described.region, described.extent)
        manifest = write(
            frame, draft, described, before=before, buckets=buckets, allow_empty=allow_empty, losses=losses
        )
        return Snapshot(draft.publish(manifest), manifest)


def write(
    frame: DataFrame,
    draft: SnapshotDraft,
    described: Described,
    *,
    before: Snapshot | None,
    buckets: int = DEFAULT_BUCKETS,
    allow_empty: bool = False,
    losses: LossBounds | None = USUAL_LOSSES,
) -> SnapshotManifest:
    """Write the rows of a snapshot and read back what was written; it is none until it is published.

    Args:
        frame: Rows of ``SNAPSHOT``, each path once. Whatever it raises goes through.
        draft: Where it is made.
        described: What is known of it apart from its rows.
        before: The snapshot before it, of the same region and extent.
        buckets: Files; snapshots that are compared should have equally many. One is in memory at a time, per core.
        allow_empty: Take it although the region holds nothing and the previous snapshot had many paths.
        losses: How much of the previous snapshot may be gone; ``None``: anything, but for all of it.

    Raises:
        SnapshotRefused: The region holds nothing, see ``allow_empty``; a ``SnapshotShrunken``: too much is gone.
        SnapshotUnwritten: What stands in its place cannot be removed.
        SnapshotDamaged: A path was there twice, or what was written reads differently.
    """
    data = draft.empty(DATA)  # Spark makes the folder of the rows itself, and refuses one that is there
    tables.write_buckets(frame, data, buckets)
    manifest = SnapshotManifest(
        version=described.version,
        id=draft.id,
        taken_at=_moment(draft.id),
        about=described,
        buckets=buckets,
        kinds={},
        files=_examined(data),
    )
    counted = _counted(frame.sparkSession, Snapshot(draft.place, manifest))
    manifest = manifest.model_copy(update={"kinds": counted}).sealed()
    if before is not None:
        _guard(Snapshot(draft.place, manifest), before, allow_empty=allow_empty, losses=losses)
    return manifest


def _examined(data: Place) -> tuple[BucketFile, ...]:
    """Read back what Spark has written, and remove what it has left beside."""
    names = data.file_names()
    buckets: dict[int, str] = {}
    for name in names:
        bucket = None if name.startswith(("_", ".")) else bucket_of(name)
        if bucket is None:
            data.files.delete_file((data / name).path)
        elif bucket in buckets:
            raise SnapshotDamaged(f"{data}: bucket {bucket} has two files, {buckets[bucket]} and {name}")
        else:
            buckets[bucket] = name
    with ThreadPoolExecutor(_EXAMINERS) as pool:
        return tuple(pool.map(lambda each: examine(data / each[1], each[0]), sorted(buckets.items())))


def _counted(spark: SparkSession, draft: Snapshot) -> dict[str, Count]:
    frame = tables.rows(spark, draft)
    found = frame.groupBy("kind").agg(
        F.count("digest").alias("alive"),
        F.count(F.when(F.col("digest").isNull(), 1)).alias("dead"),
        F.count(F.when(F.col("origin") == StampOrigin.UNSEEN.value, 1)).alias("unseen"),
        F.count(F.when(F.col("origin") == StampOrigin.STORE.value, 1)).alias("unstamped"),
        F.count("hold").alias("held"),
    )
    return {
        row["kind"]: Count(**{name: row[name] for name in Count.model_fields})
        for row in sorted(found.collect(), key=lambda row: str(row["kind"]))
    }


def _guard(taken: Snapshot, before: Snapshot, *, allow_empty: bool, losses: LossBounds | None) -> None:
    """Refuse what an odd store would leave; what passes here is what the next one is held to.

    Where the scope has been changed since, only that counts which both carry.
    """
    had, has, about = before.manifest.alive, taken.manifest.alive, taken.manifest.about
    if before.manifest.about.scope_fingerprint != about.scope_fingerprint:
        both = class_of(Scope(before.manifest.about.rules, told=True), Scope(about.rules, told=True))
        had, has = _living(before, both), _living(taken, both)
    if has == 0 and allow_empty:
        return
    what = f"the store of region {about.region}" + ("" if about.extent.whole else f" ({about.extent})")
    if has == 0 and had >= MANY:
        raise SnapshotRefused(f"{what} holds nothing; the last snapshot, {before.id}, had {had} paths")
    if losses is not None and losses.exceeded(had, has):
        raise SnapshotShrunken(
            f"{what} holds {has} paths; the last snapshot, {before.id}, had {had}: {losses} are gone "
            "(snapshots.max_lost_fraction, snapshots.min_lost)",
            hint="Check that the store is the right one, and whole; if so much was meant to go, take the snapshot once "
            "with --accept-shrunken.",
        )


def _living(snapshot: Snapshot, shared: ScopeClass) -> int:
    """How many living paths of a class a snapshot has.

    Raises:
        SnapshotDamaged: A file cannot be read.
    """
    found = 0
    for record in snapshot.manifest.files:
        where = snapshot.place / DATA / record.name
        try:
            with pq.ParquetFile(where.path, filesystem=where.files) as file:
                for batch in file.iter_batches(columns=["path", "digest"], use_threads=False):
                    living = batch.filter(pc.is_valid(batch.column("digest")))
                    found += sum(shared.contains(MetaPath(str(path))) for path in living.column("path").to_pylist())
        except (pa.ArrowException, OSError) as exc:
            raise SnapshotDamaged(f"{where} cannot be read: {exc}") from exc
    return found


def _moment(name: str) -> str:
    return f"{name[:4]}-{name[4:6]}-{name[6:8]}T{name[9:11]}:{name[11:13]}:{name[13:15]}Z"
