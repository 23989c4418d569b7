"""Values that a comparison did not read: the winners', and all that is needed to publish them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot.format.rows import SNAPSHOT

CARRIED = ("by", "seen", "modified_ms", "revision", "value")
"""Columns of a snapshot that a comparison leaves out."""


def with_winners(found: DataFrame, regions: Mapping[str, DataFrame]) -> DataFrame:
    """Add to each row of a comparison what its winner's snapshot says beyond the digest.

    Args:
        found: Rows of :func:`spark_snapshot.diff.regions.diff`, better kept than computed again (``cache``, or a file).
        They
            should be few against the snapshots; however many they are, they need not fit into memory.
        regions: The snapshots that were compared.

    Returns:
        The same rows with ``CARRIED`` behind. ``value`` is null for a tombstone.
    """
    winning = _union(
        frame.select("path", F.lit(name).alias("winner"), *CARRIED) for name, frame in sorted(regions.items())
    )
    return found.hint("shuffle_hash").join(winning, ["path", "winner"], "inner").select(*found.columns, *CARRIED)


def versions(found: DataFrame, regions: Mapping[str, DataFrame]) -> DataFrame:
    """What each region has at the paths of a comparison: rows of ``SNAPSHOT``, and their ``region``."""
    rows = _union(
        frame.select(F.lit(name).alias("region"), *SNAPSHOT.fieldNames()) for name, frame in sorted(regions.items())
    )
    return rows.join(found.select("path").hint("shuffle_hash"), "path", "left_semi")


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.unionByName(right), frames)
