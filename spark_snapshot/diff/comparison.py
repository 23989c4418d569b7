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

from spark_snapshot.diff.carried import diff_of_carried
from spark_snapshot.diff.findings import DDL, Findings
from spark_snapshot.diff.regions import check_number, diff
from spark_snapshot.diff.sharing import CarryingRegions
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
    carriers: CarryingRegions | None = None,
    observed: Observation | None = None,
) -> DataFrame:
    """Compare snapshots, one of each region.

    Args:
        spark: The session.
        snapshots: By region; :func:`spark_snapshot.format.layout.comparable` has found that they can be compared.
        ties: Who wins when two stamps have the same time.
        carriers: The regions, and who of them carries a path; ``None``: all carry the same.
        observed: See :func:`spark_snapshot.diff.regions.diff`.

    Returns:
        Rows as :func:`spark_snapshot.diff.regions.diff` has them, without those that are the same. With ``carriers``
        also rows without a path, which tell in the column ``tally`` who shares what: see
        :func:`spark_snapshot.diff.carried.parted`.

    Raises:
        PreconditionFailed: Fewer than two, or too many.
    """
    check_number(len(snapshots))
    ordered = dict(sorted(snapshots.items()))
    number = {each.manifest.buckets for each in ordered.values()}
    if len(number) > 1 or any(each.place.local is None for each in ordered.values()):
        return compared_rows(
            {region: tables.rows(spark, each) for region, each in ordered.items()}, ties, carriers, observed=observed
        )
    buckets = number.pop()
    files = files_by_bucket(list(ordered.values()), buckets)

    judge = Findings(files=files, regions=tuple(map(Region, ordered)), ties=ties, carriers=carriers)
    tasks = min(buckets, _TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    rows = spark.range(0, buckets, numPartitions=tasks).mapInArrow(judge, DDL)
    if observed is not None:
        counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("paths", "living")]
        rows = rows.observe(observed, *counts)
    if carriers is not None:
        return rows.drop("paths", "living")
    return rows.where(F.col("path").isNotNull()).drop("paths", "living", "tally")


def compared_rows(
    regions: Mapping[str, DataFrame],
    ties: TieOrder,
    carriers: CarryingRegions | None,
    *,
    observed: Observation | None = None,
) -> DataFrame:
    """Compare rows of snapshots that lie in any way, or parts of snapshots.

    Args:
        regions: Each region's rows of ``SNAPSHOT``.
        ties: Who wins when two stamps have the same time.
        carriers: See :func:`compared`, also for what it returns.
        observed: See :func:`spark_snapshot.diff.regions.diff`.

    Raises:
        PreconditionFailed: Fewer than two, or too many.
    """
    if carriers is None:
        return diff(regions, ties, observed=observed)
    return diff_of_carried(regions, ties, carriers, observed=observed)


def files_by_bucket(snapshots: Sequence[Snapshot], buckets: int) -> list[list[str | None]]:
    """For each bucket its file in each snapshot; ``None`` where it has none."""
    found: list[list[str | None]] = [[None] * len(snapshots) for _ in range(buckets)]
    for number, snapshot in enumerate(snapshots):
        for record in snapshot.manifest.files:
            found[record.bucket][number] = (snapshot.place / DATA / record.name).path
    return found
