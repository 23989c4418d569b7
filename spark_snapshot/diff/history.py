"""History of one region between two moments: two snapshots in, rows of what is not the same out.

Nobody wins here: the later snapshot is what the region holds. A path is ``created``, ``modified`` or ``deleted``; where
the digests are equal nothing has changed, whatever was stamped or rewritten in between.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

CHANGES = ("created", "modified", "deleted")


def changes(before: DataFrame, after: DataFrame) -> DataFrame:
    """Compare two snapshots of a region.

    Args:
        before: Rows of the earlier one, as :data:`spark_snapshot.format.rows.SNAPSHOT`.
        after: Rows of the later one.

    Returns:
        ``path``, ``kind``, ``tenant``, ``change``, ``updated_ms`` and ``author`` of the change, ``origin``; the last
        three null where a path is gone without a tombstone: when it went is not known. In no order.
    """
    earlier = before.where(F.col("digest").isNotNull()).select(
        "path", F.col("kind").alias("b_kind"), F.col("tenant").alias("b_tenant"), F.col("digest").alias("b_digest")
    )
    later = after.select("path", "kind", "tenant", "digest", "updated_ms", "author", "origin")
    joined = earlier.join(later, "path", "full_outer")
    was, held = F.col("b_digest").isNotNull(), F.col("digest").isNotNull()
    return joined.where((was | held) & ~F.col("b_digest").eqNullSafe(F.col("digest"))).select(
        "path",
        F.coalesce("kind", "b_kind").alias("kind"),
        F.coalesce("tenant", "b_tenant").alias("tenant"),
        F.when(~was, F.lit("created")).when(~held, F.lit("deleted")).otherwise(F.lit("modified")).alias("change"),
        "updated_ms",
        "author",
        "origin",
    )
