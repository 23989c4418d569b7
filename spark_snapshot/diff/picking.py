"""Parts of snapshots: the rows of a selection, the values of some paths, the times at which losers were written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from spark_snapshot.format.selection import Selection
from syncer.model import MetaPath
from syncer.paths import child_prefixes, namespace_path


def selected(rows: DataFrame, selection: Selection) -> DataFrame:
    """Rows that a selection covers; what it can say of tenants and paths is pushed down to the files."""
    if selection.everything:
        return rows
    narrowed = selection.narrowed_to
    if not selection.named:
        return rows.where(F.col("tenant").isin(sorted(narrowed or ())))
    parts: list[Column] = []
    if selection.tenants:
        parts.append(F.col("tenant").isin(sorted(selection.tenants)))
    for namespace in sorted(selection.namespaces):
        tenant, _, name = namespace.partition("/")
        policies = namespace_path(tenant, name)
        parts.append(F.col("path") == policies)
        parts += [F.col("path").startswith(prefix) for prefix in child_prefixes(policies)]
    for path in sorted(selection.paths):
        parts += [F.col("path") == path, F.col("path").startswith(f"{path}/")]
    wanted = reduce(lambda left, right: left | right, parts)
    return rows.where(wanted if narrowed is None else F.col("tenant").isin(sorted(narrowed)) & wanted)


def written(found: DataFrame, regions: Mapping[str, DataFrame]) -> DataFrame:
    """When the losers wrote what they hold.

    Returns:
        ``path``, and ``written``: a map from region to milliseconds, of losers that hold the path in a store that keeps
        times. Paths without any are left out.
    """
    parts = [
        rows.where(F.col("modified_ms").isNotNull() & F.col("digest").isNotNull())
        .join(found.where(F.array_contains("losers", region)).select("path"), "path")
        .select("path", F.struct(F.lit(region).alias("region"), "modified_ms").alias("written"))
        for region, rows in sorted(regions.items())
    ]
    union = reduce(lambda left, right: left.unionByName(right), parts)
    return union.groupBy("path").agg(F.map_from_entries(F.collect_list("written")).alias("written"))


def living(paths: list[str], regions: Mapping[str, DataFrame]) -> dict[MetaPath, dict[str, bytes]]:
    """Values of some paths by region, of those that hold them. In the memory of this process: name few paths."""
    found: dict[MetaPath, dict[str, bytes]] = {MetaPath(path): {} for path in paths}
    if not paths:
        return found
    for region, rows in regions.items():
        chosen = rows.where(F.col("path").isin(paths) & F.col("value").isNotNull())
        for row in chosen.select("path", "value").collect():
            found[row["path"]][region] = bytes(row["value"])
    return found
