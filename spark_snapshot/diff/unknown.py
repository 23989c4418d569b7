"""Comparison of snapshots whose values were not completed: a newer field that is absent there is unknown, not removed.

Such a snapshot was taken without the registers of a daemon. Where it differs, it is judged anew with the newer fields
that it lacks taken to be as in the version that counts. Digests do not tell that, so values are read; nothing of this
is done where all snapshots were completed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from spark_snapshot.diff.findings import FOUND_DDL, found_table, row_of
from spark_snapshot.diff.values import versions
from spark_snapshot.diff.verdict import RegionRow, judge
from spark_snapshot.format.words import PathClass, StampOrigin
from syncer.errors import InvariantBroken
from syncer.model import MetaPath, Millis, Region, Stamp, TieOrder
from syncer.plan.diffing import assumed, fingerprint
from syncer.replacing import replace

_NEEDED = ("region", "path", "kind", "tenant", "digest", "updated_ms", "author", "origin", "hold", "value")


def meant(path: MetaPath, values: Mapping[str, bytes], unknown: Collection[str], first: str) -> dict[str, bytes]:
    """Values of one path as they are compared.

    Args:
        path: Where.
        values: By region; where the one that counts is not completed itself, the others' fields in this order.
        unknown: Regions whose values are not completed.
        first: The region whose version counts.
    """
    found = dict(values)
    if first not in found:
        return found
    if first in unknown:
        for value in values.values():
            found[first] = assumed(path, found[first], value)
    for region in unknown:
        if region != first and region in found:
            found[region] = assumed(path, found[region], found[first])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudge:
    """Judges the rows of one path, in Spark's ``applyInArrow``.

    Args:
        regions: All that are compared, in order.
        unknown: Those whose values are not completed.
        ties: Who wins when two stamps have the same time.
    """

    regions: tuple[Region, ...]
    unknown: frozenset[Region]
    ties: TieOrder

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Rows of ``FOUND`` without the counts: one, or none where nothing but unknown fields differs.

        Raises:
            InvariantBroken: No region has ever had the path.
        """
        held = {Region(row["region"]): row for row in rows.to_pylist()}
        states: dict[Region, RegionRow | None] = dict.fromkeys(self.regions)
        states |= {region: _state(row) for region, row in held.items()}
        one: dict[str, Any] = next(iter(held.values()))
        path = MetaPath(one["path"])
        verdict = judge(states, self.ties)
        if verdict is None:
            raise InvariantBroken(f"a difference at a path that nobody has: {path}")
        newest = sorted(held, key=lambda region: (region in self.unknown, -held[region]["updated_ms"], region))
        values: dict[str, bytes] = {
            region: held[region]["value"] for region in newest if held[region]["value"] is not None
        }
        for name, value in meant(path, values, self.unknown, verdict.winner).items():
            state = states[Region(name)]
            if state is not None and value != values[Region(name)]:
                states[Region(name)] = replace(state, digest=fingerprint(path, value))
        again = judge(states, self.ties)
        if again is None or again.finding is PathClass.SAME:
            return found_table([])
        version = _state(held[again.winner])
        return found_table([row_of((path, one["kind"], one["tenant"]), replace(again, version=version))])


def judged_anew(
    found: DataFrame, regions: Mapping[str, DataFrame], unknown: Collection[str], ties: TieOrder
) -> DataFrame:
    """A comparison without what differs only by fields that are unknown in some region.

    Args:
        found: Rows of :func:`spark_snapshot.diff.regions.diff`, better kept than computed again.
        regions: The snapshots that were compared.
        unknown: The regions whose values are not completed.
        ties: Who wins when two stamps have the same time.
    """
    differing = F.coalesce("underlying", "class") == PathClass.DIFFERS.value
    judge_again = Rejudge(
        regions=tuple(map(Region, sorted(regions))), unknown=frozenset(map(Region, unknown)), ties=ties
    )

    def anew(rows: pa.Table) -> pa.Table:
        return judge_again(rows)  # Spark counts the arguments of a function, and takes a method's first one for a key

    rows = versions(found.where(differing), regions).select(*_NEEDED)
    again = rows.groupBy("path").applyInArrow(anew, FOUND_DDL)
    return found.where(~differing).unionByName(again.select(*found.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """Finds paths whose values ``was`` and ``now`` differ by unknown fields alone; what ``mapInArrow`` calls.

    Args:
        unknown: Which of ``before`` and ``after`` are not completed.
    """

    unknown: frozenset[str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the paths."""
        for batch in batches:
            paths = [row["path"] for row in batch.to_pylist() if self._alike(MetaPath(row["path"]), row)]
            yield pa.RecordBatch.from_arrays([pa.array(paths, pa.string())], ["path"])

    def _alike(self, path: MetaPath, row: Mapping[str, Any]) -> bool:
        values = meant(path, {"before": row["was"], "after": row["now"]}, self.unknown, "after")
        return fingerprint(path, values["before"]) == fingerprint(path, values["after"])


def changed_surely(found: DataFrame, before: DataFrame, after: DataFrame, unknown: frozenset[str]) -> DataFrame:
    """Changes of one region without those that are only of unknown fields.

    Args:
        found: Rows of :func:`spark_snapshot.diff.history.changes`.
        before: Rows of the earlier snapshot.
        after: Rows of the later one.
        unknown: Which of ``before`` and ``after`` are not completed.
    """
    values = (
        found.where(F.col("change") == "modified")
        .select("path")
        .join(before.select("path", F.col("value").alias("was")), "path")
        .join(after.select("path", F.col("value").alias("now")), "path")
    )
    return found.join(values.mapInArrow(Unchanged(unknown=unknown), "path string"), "path", "left_anti")


def _state(row: Mapping[str, Any]) -> RegionRow:
    return RegionRow(
        digest=row["digest"],
        stamp=Stamp(Millis(row["updated_ms"]), Region(row["author"])),
        origin=StampOrigin(row["origin"]),
        hold=row["hold"],
    )
