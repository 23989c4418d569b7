"""Comparison of snapshots whose values were not completed: a newer field that is absent there is unknown, not removed.

Such a snapshot was taken without the registers of a daemon. Where it differs, it is judged anew with the newer fields
that it lacks taken to be as in the version that counts, and with those that its region has for itself left out. Digests
do not tell that, so values are read; nothing of this is done where all snapshots were completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from spark_snapshot.diff.excluded import NOTHING_EXCLUDED, ExcludedFields
from spark_snapshot.diff.findings import FOUND_DDL, found_table, row_of
from spark_snapshot.diff.regions import COLUMNS
from spark_snapshot.diff.sharing import CarryingRegions
from spark_snapshot.diff.values import versions
from spark_snapshot.diff.verdict import RegionRow, judge
from spark_snapshot.format.words import EXCLUDED, PathClass
from syncer.errors import InvariantBroken
from syncer.model import MetaPath, Region, TieOrder
from syncer.plan.diffing import assumed, fingerprint
from syncer.replacing import replace

_NEEDED = ("region", "path", "kind", "tenant", "digest", "updated_ms", "author", "origin", "hold", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class UncompletedSides:
    """Snapshots whose values were not completed, by their names in a comparison.

    Args:
        unknown: Those of which newer fields that are absent are unknown.
        excluded: Fields of which they hold their stores' own values.
    """

    unknown: frozenset[str]
    excluded: ExcludedFields = NOTHING_EXCLUDED

    def meant(self, path: MetaPath, values: Mapping[str, bytes], first: str) -> dict[str, bytes]:
        """Values of one path as they are compared, but for excluded fields.

        Args:
            path: Where.
            values: By snapshot; where the one that counts is not completed itself, the others' fields in this order.
            first: The one whose version counts.
        """
        found = dict(values)
        if first not in found:
            return found
        if first in self.unknown:
            for value in values.values():
                found[first] = assumed(path, found[first], value)
        for name in self.unknown:
            if name != first and name in found:
                found[name] = assumed(path, found[name], found[first])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudge:
    """Judges the rows of one path, in Spark's ``applyInArrow``.

    Args:
        regions: All that are compared, in order.
        sides: Those whose values are not completed.
        ties: Who wins when two stamps have the same time.
        carriers: Who carries a path; ``None``: all.
    """

    regions: tuple[Region, ...]
    sides: UncompletedSides
    ties: TieOrder
    carriers: CarryingRegions | None = None

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Rows of ``FOUND`` without the counts: one, or none where nothing but unknown fields differs.

        Where the rest that differs are fields that a region has for itself, the class is ``EXCLUDED``.

        Raises:
            InvariantBroken: No region has ever had the path.
        """
        held = {Region(row["region"]): row for row in rows.to_pylist()}
        states: dict[Region, RegionRow | None] = dict.fromkeys(self.regions)
        states |= {region: RegionRow.of(row) for region, row in held.items()}
        one: dict[str, Any] = next(iter(held.values()))
        path = MetaPath(one["path"])
        ways = None if self.carriers is None else self.carriers.sharing(path)
        verdict = judge(states, self.ties, ways)
        if verdict is None:
            raise InvariantBroken(f"a difference at a path that nobody has: {path}")
        newest = sorted(held, key=lambda region: (region in self.sides.unknown, -held[region]["updated_ms"], region))
        values: dict[str, bytes] = {
            region: held[region]["value"] for region in newest if held[region]["value"] is not None
        }
        whole = self.sides.meant(path, values, verdict.winner)
        again = judge(_as_compared(path, states, values, whole), self.ties, ways)
        if again is None or again.finding is PathClass.SAME:
            return found_table([])
        named = path, one["kind"], one["tenant"]
        shared = self.sides.excluded.left_out(path, whole, verdict.winner)
        again = judge(_as_compared(path, states, values, shared), self.ties, ways)
        if again is None or again.finding is PathClass.SAME:
            return found_table([_excluded(row_of(named, verdict))])
        return found_table([row_of(named, replace(again, version=RegionRow.of(held[again.winner])))])


def _as_compared(
    path: MetaPath,
    states: Mapping[Region, RegionRow | None],
    values: Mapping[str, bytes],
    compared: Mapping[str, bytes],
) -> dict[Region, RegionRow | None]:
    """States with the digests of the values that are compared in the place of those that are stored."""
    found = dict(states)
    for name, value in compared.items():
        state = states[Region(name)]
        if state is not None and value != values[Region(name)]:
            found[Region(name)] = replace(state, digest=fingerprint(path, value))
    return found


def _excluded(row: Sequence[Any]) -> tuple[Any, ...]:
    at = COLUMNS.index("class")
    return *row[:at], EXCLUDED, None, *row[at + 2 :]


def judged_anew(
    found: DataFrame,
    regions: Mapping[str, DataFrame],
    sides: UncompletedSides,
    ties: TieOrder,
    carriers: CarryingRegions | None = None,
) -> DataFrame:
    """A comparison without what differs only by fields that are unknown in some region.

    Paths whose live values differ in nothing else than fields that a region has for itself are there with the class
    ``EXCLUDED``.

    Args:
        found: Rows of :func:`spark_snapshot.diff.regions.diff`, better kept than computed again.
        regions: The snapshots that were compared.
        sides: The regions whose values are not completed.
        ties: Who wins when two stamps have the same time.
        carriers: Who carries a path; ``None``: all.
    """
    differing = F.coalesce("underlying", "class") == PathClass.DIFFERS.value
    judge_again = Rejudge(regions=tuple(map(Region, sorted(regions))), sides=sides, ties=ties, carriers=carriers)

    def anew(rows: pa.Table) -> pa.Table:
        return judge_again(rows)  # Spark counts the arguments of a function, and takes a method's first one for a key

    rows = versions(found.where(differing), regions).select(*_NEEDED)
    again = rows.groupBy("path").applyInArrow(anew, FOUND_DDL)
    return found.where(~differing).unionByName(again.select(*found.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """Finds paths whose values ``was`` and ``now`` differ by unknown or excluded fields alone; ``mapInArrow`` calls it.

    Args:
        sides: Which of ``before`` and ``after`` are not completed.
    """

    sides: UncompletedSides

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the paths."""
        for batch in batches:
            paths = [row["path"] for row in batch.to_pylist() if self._alike(MetaPath(row["path"]), row)]
            yield pa.RecordBatch.from_arrays([pa.array(paths, pa.string())], ["path"])

    def _alike(self, path: MetaPath, row: Mapping[str, Any]) -> bool:
        values = self.sides.meant(path, {"before": row["was"], "after": row["now"]}, "after")
        values = self.sides.excluded.left_out(path, values, "after")
        return fingerprint(path, values["before"]) == fingerprint(path, values["after"])


def changed_surely(found: DataFrame, before: DataFrame, after: DataFrame, sides: UncompletedSides) -> DataFrame:
    """Changes of one region without those that are only of unknown fields, or of fields that it has for itself.

    Args:
        found: Rows of :func:`spark_snapshot.diff.history.changes`.
        before: Rows of the earlier snapshot.
        after: Rows of the later one.
        sides: Which of ``before`` and ``after`` are not completed.
    """
    values = (
        found.where(F.col("change") == "modified")
        .select("path")
        .join(before.select("path", F.col("value").alias("was")), "path")
        .join(after.select("path", F.col("value").alias("now")), "path")
    )
    return found.join(values.mapInArrow(Unchanged(sides=sides), "path string"), "path", "left_anti")
