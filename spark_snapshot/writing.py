"""Writing a snapshot: rows first, then what is known of them, and its name last."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot import tables
from spark_snapshot.drafts import Draft, begun
from spark_snapshot.files import bucket_of, examine
from spark_snapshot.layout import DATA, Snapshot, latest
from spark_snapshot.manifest import Count, Described, FileRecord, Manifest
from spark_snapshot.places import Place
from spark_snapshot.words import Origin
from syncer.errors import SnapshotDamaged, SnapshotRefused

DEFAULT_BUCKETS: Final = 16
MANY: Final = 10
"""So many paths in the previous snapshot make an empty one suspicious."""

_EXAMINERS: Final = 2


def write_snapshot(
    frame: DataFrame,
    folder: Place,
    described: Described,
    *,
    buckets: int = DEFAULT_BUCKETS,
    allow_empty: bool = False,
) -> Snapshot:
    """Make a snapshot of rows at hand; see :func:`write`, whose arguments and errors are these.

    Args:
        frame: Its rows.
        folder: Where snapshots lie.
        described: What is known of it apart from its rows.
        buckets: Files.
        allow_empty: Take it although it holds nothing.
    """
    with begun(folder, described.region, taken_at_ms=described.taken_at_ms) as draft:
        before = latest(folder, described.region)
        manifest = write(frame, draft, described, before=before, buckets=buckets, allow_empty=allow_empty)
        return Snapshot(draft.publish(manifest), manifest)


def write(
    frame: DataFrame,
    draft: Draft,
    described: Described,
    *,
    before: Snapshot | None,
    buckets: int = DEFAULT_BUCKETS,
    allow_empty: bool = False,
) -> Manifest:
    """Write the rows of a snapshot and read back what was written; it is none until it is published.

    Args:
        frame: Rows of ``SNAPSHOT``, each path once. Whatever it raises goes through.
        draft: Where it is made.
        described: What is known of it apart from its rows.
        before: The snapshot before it, of the same region.
        buckets: Files; snapshots that are compared should have equally many. One is in memory at a time, per core.
        allow_empty: Take it although the region holds nothing and the previous snapshot had many paths.

    Raises:
        SnapshotRefused: The region holds nothing, see ``allow_empty``.
        SnapshotUnwritten: What stands in its place cannot be removed.
        SnapshotDamaged: A path was there twice, or what was written reads differently.
    """
    data = draft.empty(DATA)  # Spark makes the folder of the rows itself, and refuses one that is there
    tables.write_buckets(frame, data, buckets)
    manifest = Manifest(
        id=draft.id,
        taken_at=_moment(draft.id),
        about=described,
        buckets=buckets,
        kinds={},
        files=_examined(data),
    )
    counted = _counted(frame.sparkSession, Snapshot(draft.place, manifest))
    manifest = manifest.model_copy(update={"kinds": counted}).sealed()
    _guard(manifest, before, allow_empty=allow_empty)
    return manifest


def _examined(data: Place) -> tuple[FileRecord, ...]:
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
        F.count(F.when(F.col("origin") == Origin.UNSEEN.value, 1)).alias("unseen"),
        F.count(F.when(F.col("origin") == Origin.STORE.value, 1)).alias("unstamped"),
        F.count("hold").alias("held"),
    )
    return {
        row["kind"]: Count(**{name: row[name] for name in Count.model_fields})
        for row in sorted(found.collect(), key=lambda row: str(row["kind"]))
    }


def _guard(manifest: Manifest, before: Snapshot | None, *, allow_empty: bool) -> None:
    had = before.manifest.alive if before is not None else 0
    if manifest.alive == 0 and had >= MANY and not allow_empty:
        raise SnapshotRefused(
            f"the store of region {manifest.about.region} holds nothing; the snapshot before had {had} paths"
        )


def _moment(name: str) -> str:
    return f"{name[:4]}-{name[4:6]}-{name[6:8]}T{name[9:11]}:{name[11:13]}:{name[13:15]}Z"
