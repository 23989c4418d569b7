"""The comparison of snapshots, the fastest way that they allow.

The answer is always that of :mod:`spark_snapshot.diff.regions`.

Snapshots of equally many buckets on a disk that the workers share are compared and judged file by file, one task to a
bucket; nothing goes from one to another.
Otherwise (an object store, buckets of another number) Spark reads them as tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot.diff.findings import DDL, Findings
from spark_snapshot.diff.regions import check_number, diff
from spark_snapshot.format import tables
from spark_snapshot.format.layout import DATA, Snapshot
from syncer.model import Region, TieOrder

_TASKS_PER_CORE = 2
"""A task costs Spark about as much as some ten thousand rows; the cores should end together all the same."""


def compared(
    spark: SparkSession,
    snapshots: Mapping[str, Snapshot],
    ties: TieOrder,
    *,
    observed: Observation | None = None,
) -> DataFrame:
    """Compare snapshots, one of each region.

    Args:
        spark: The session.
        snapshots: By region; :func:`spark_snapshot.format.layout.comparable` has found that they can be compared.
        ties: Who wins when two stamps have the same time.
        observed: See :func:`spark_snapshot.diff.regions.diff`.

    Returns:
        Rows as :func:`spark_snapshot.diff.regions.diff` has them, without those that are the same.

    Raises:
        PreconditionFailed: Fewer than two, or too many.
    """
    check_number(len(snapshots))
    ordered = dict(sorted(snapshots.items()))
    number = {each.manifest.buckets for each in ordered.values()}
    if len(number) > 1 or any(each.place.local is None for each in ordered.values()):
        return diff({region: tables.rows(spark, each) for region, each in ordered.items()}, ties, observed=observed)
    buckets = number.pop()
    files = files_by_bucket(list(ordered.values()), buckets)

    judge = Findings(files=files, regions=tuple(map(Region, ordered)), ties=ties)
    tasks = min(buckets, _TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    rows = spark.range(0, buckets, numPartitions=tasks).mapInArrow(judge, DDL)
    if observed is not None:
        counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("paths", "living")]
        rows = rows.observe(observed, *counts)
    return rows.where(F.col("path").isNotNull()).drop("paths", "living")


def files_by_bucket(snapshots: Sequence[Snapshot], buckets: int) -> list[list[str | None]]:
    """For each bucket its file in each snapshot; ``None`` where it has none."""
    found: list[list[str | None]] = [[None] * len(snapshots) for _ in range(buckets)]
    for number, snapshot in enumerate(snapshots):
        for record in snapshot.manifest.files:
            found[record.bucket][number] = (snapshot.place / DATA / record.name).path
    return found
