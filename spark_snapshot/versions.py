"""Values and stamps of what differs: fetched after a comparison, for few paths, by a join that moves the few.

Every function takes the rows of each region and what a comparison has found, and reads the wide columns of those paths
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from spark_snapshot.selection import Selection
from syncer.model import MetaPath
from syncer.paths import child_prefixes, namespace_path


def selected(rows: DataFrame, selection: Selection) -> DataFrame:
    """Rows that a selection covers; what it can say of tenants and paths is pushed down to the files."""
    if selection.everything:
        return rows
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
    narrowed = selection.narrowed_to
    return rows.where(wanted if narrowed is None else F.col("tenant").isin(sorted(narrowed)) & wanted)


def winners(found: DataFrame, regions: Mapping[str, DataFrame]) -> DataFrame:
    """What has been found, each with the winning row's ``by``, ``seen`` and ``value``, and the times of the losers.

    Returns:
        The columns of ``found``, those three, and ``written``: a map from region to milliseconds, of losers that hold
        the path in a store that keeps times.
    """
    held = [
        rows.select("path", "by", "seen", "value").join(found.where(F.col("winner") == region).select("path"), "path")
        for region, rows in regions.items()
    ]
    written = [
        rows.where(F.col("modified_ms").isNotNull() & F.col("digest").isNotNull())
        .join(found.where(F.array_contains("losers", region)).select("path"), "path")
        .select("path", F.struct(F.lit(region).alias("region"), "modified_ms").alias("written"))
        for region, rows in regions.items()
    ]
    times = _union(written).groupBy("path").agg(F.map_from_entries(F.collect_list("written")).alias("written"))
    return found.join(_union(held), "path").join(times, "path", "left")


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


def _union(frames: list[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.unionByName(right), frames)
