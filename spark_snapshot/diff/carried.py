"""Findings between regions of different scopes, from rows that lie in any way: each path by those that carry it.

As :mod:`spark_snapshot.diff.findings`, of rows that Spark has brought together by path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from spark_snapshot.diff.findings import DDL, counts_batch, findings_batch, row_of
from spark_snapshot.diff.regions import STATE, check_number, suspected
from spark_snapshot.diff.sharing import CarryingRegions, Tally, added
from spark_snapshot.diff.verdict import RegionRow, judge
from spark_snapshot.format.words import PathClass
from syncer.errors import SnapshotDamaged
from syncer.model import MetaPath, Region, TieOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedFindings:
    """Judges paths with the rows that regions have there; what ``mapInArrow`` calls.

    Args:
        carriers: The regions, in order, and who of them carries a path.
        ties: Who wins when two stamps have the same time.
    """

    carriers: CarryingRegions
    ties: TieOrder

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of ``FOUND``: findings, and at the end who shares what.

        Raises:
            SnapshotDamaged: A region has a path twice.
        """
        tally: Tally = Counter()
        for batch in batches:
            found = (self._judged(row, tally) for row in batch.to_pylist())
            yield findings_batch([row for row in found if row is not None])
        yield counts_batch(0, 0, tally)

    def _judged(self, row: Mapping[str, Any], tally: Tally) -> Sequence[Any] | None:
        path = MetaPath(row["key"])
        states: dict[Region, RegionRow | None] = {region: None for region, _ in self.carriers.rules}
        for each in row["rows"]:
            region = self.carriers.rules[each["at"]][0]
            if states[region] is not None:
                raise SnapshotDamaged(f"a snapshot has a path twice: {path}")
            states[region] = RegionRow.of(each)
        ways = self.carriers.sharing(path)
        self.carriers.tallied(tally, ways, [state is not None and state.alive for state in states.values()])
        verdict = judge(states, self.ties, ways)
        if verdict is None or verdict.finding is PathClass.SAME:
            return None
        return row_of((path, row["kind"], row["tenant"]), verdict)


def diff_of_carried(
    regions: Mapping[str, DataFrame],
    ties: TieOrder,
    carriers: CarryingRegions,
    *,
    observed: Observation | None = None,
) -> DataFrame:
    """Compare regions of different scopes.

    Args:
        regions: Each region's rows of ``SNAPSHOT``, each path once; only ``path`` to ``hold`` are read.
        ties: Who wins when two stamps have the same time.
        carriers: The regions, and who of them carries a path.
        observed: As for :func:`spark_snapshot.diff.regions.diff`.

    Returns:
        Rows as :func:`spark_snapshot.diff.comparison.compared` has them for such regions.

    Raises:
        PreconditionFailed: Fewer than two regions, or too many.
    """
    check_number(len(regions))
    rows = suspected(dict(sorted(regions.items())), observed)
    grouped = rows.groupBy("key").agg(
        F.first("kind").alias("kind"),
        F.first("tenant").alias("tenant"),
        F.collect_list(F.struct("at", *STATE)).alias("rows"),
    )
    return grouped.mapInArrow(CarriedFindings(carriers=carriers, ties=ties), DDL).drop("paths", "living")


def parted(found: DataFrame) -> tuple[DataFrame, Tally]:
    """Findings apart from who shares what.

    Args:
        found: Rows of a comparison of regions of different scopes, better kept than computed again.
    """
    tallies = found.where("path IS NULL").select("tally").collect()
    return found.where("path IS NOT NULL").drop("tally"), added(row["tally"] for row in tallies)


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Keeps rows whose path two regions share at least; what ``mapInArrow`` calls."""

    carriers: CarryingRegions

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield them."""
        for batch in batches:
            paths = batch.column("path").to_pylist()
            shared = [bool(self.carriers.sharing(MetaPath(str(path)))) for path in paths]
            yield batch.filter(pa.array(shared, pa.bool_()))


def shared_rows(rows: DataFrame, carriers: CarryingRegions) -> DataFrame:
    """Rows with a path that two regions share at least.

    Args:
        rows: With a column ``path``.
        carriers: Who carries a path.
    """
    return rows.mapInArrow(SharedRows(carriers), rows.schema)
