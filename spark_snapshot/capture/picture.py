"""A region's picture: what its store holds, stamped by what its daemon's registers say of it.

What the store holds and what the register says may differ: the daemon has not taken the change yet, or runs nowhere.
Such a row gets the stamp that the daemon would give it at least: greater than the register's, in this region's name.
It is marked (``unseen``), because the group does not know that stamp.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it
from pyspark.sql.types import StringType

from spark_snapshot.format.rows import SNAPSHOT
from spark_snapshot.format.words import StampOrigin
from syncer.conflict.settings import DEFAULT_CLOCK_SKEW_MS

NO_TIME: Final = 0
_NOTHING_SEEN: Final = "{}"
_COLUMNS: Final = SNAPSHOT.fieldNames()


def picture(
    store: DataFrame,
    registers: DataFrame | None,
    *,
    region: str,
    taken_at_ms: int,
    max_clock_skew_ms: int = DEFAULT_CLOCK_SKEW_MS,
) -> DataFrame:
    """Join what a store holds with what the registers say.

    Args:
        store: Rows of ``STORE``, each path once.
        registers: Rows of ``REGISTERS``, each path once; ``None`` when the region has no daemon's database.
        region: Whose store it is; the author of what nobody has stamped.
        taken_at_ms: When the store was read; the time of a change whose store keeps none.
        max_clock_skew_ms: How far beyond that a store's own time may lie; it counts as that much at most.

    Returns:
        Rows of ``SNAPSHOT``, each path once.

    Units: milliseconds since the epoch, UTC.
    """
    limit = F.lit(taken_at_ms + max_clock_skew_ms).cast("long")
    modified = F.when(F.col("modified_ms").isNotNull(), F.least(F.col("modified_ms"), limit))  # least() skips nulls
    if registers is None:
        return store.select(
            *_kept(),
            F.coalesce(modified, F.lit(NO_TIME)).cast("long").alias("updated_ms"),
            F.lit(region).alias("author"),
            F.lit(StampOrigin.STORE.value).alias("origin"),
            _no_text().alias("hold"),
            F.lit("").alias("by"),
            F.lit(_NOTHING_SEEN).alias("seen"),
            *_of_store(),
        ).select(*_COLUMNS)
    said = registers.select(
        F.col("path").alias("_path"),
        F.col("digest").alias("_digest"),
        F.col("updated_ms").alias("_updated_ms"),
        F.col("author").alias("_author"),
        F.col("by").alias("_by"),
        F.col("seen").alias("_seen"),
        F.col("hold").alias("_hold"),
    )
    unknown = F.col("_path").isNull()
    agreed = F.col("digest") == F.col("_digest")  # null where the register is dead or there is none
    unseen_ms = F.greatest(F.coalesce(modified, F.lit(taken_at_ms)), F.col("_updated_ms") + 1)
    held = store.join(said, F.col("path") == F.col("_path"), "left").select(
        *_kept(),
        F.when(unknown, F.coalesce(modified, F.lit(NO_TIME)))
        .when(agreed, F.col("_updated_ms"))
        .otherwise(unseen_ms)
        .cast("long")
        .alias("updated_ms"),
        F.when(agreed, F.col("_author")).otherwise(F.lit(region)).alias("author"),
        F.when(unknown, StampOrigin.STORE.value)
        .when(agreed, StampOrigin.REGISTER.value)
        .otherwise(StampOrigin.UNSEEN.value)
        .alias("origin"),
        F.col("_hold").alias("hold"),
        F.coalesce("_by", F.lit("")).alias("by"),
        F.coalesce("_seen", F.lit(_NOTHING_SEEN)).alias("seen"),
        *_of_store(),
    )
    return held.select(*_COLUMNS).unionByName(_absent(store, registers, region))


def _absent(store: DataFrame, registers: DataFrame, region: str) -> DataFrame:
    """Tombstones: what the registers know and the store does not hold. A register that never sat stays for its hold."""
    vanished = F.col("digest").isNotNull()
    never_sat = F.col("digest").isNull() & (F.col("author") == "")
    return (
        registers.join(store.select("path"), "path", "left_anti")
        .where(~never_sat | F.col("hold").isNotNull())
        .select(
            "path",
            "kind",
            "tenant",
            F.lit(None).cast("binary").alias("digest"),
            F.when(vanished, F.col("updated_ms") + 1).otherwise(F.col("updated_ms")).alias("updated_ms"),
            F.when(vanished, F.lit(region)).otherwise(F.col("author")).alias("author"),
            F.when(vanished, StampOrigin.UNSEEN.value).otherwise(StampOrigin.REGISTER.value).alias("origin"),
            "hold",
            "by",
            "seen",
            F.lit(None).cast("long").alias("modified_ms"),
            _no_text().alias("revision"),
            F.lit(None).cast("binary").alias("value"),
        )
    )


def _kept() -> list[str]:
    return ["path", "kind", "tenant", "digest"]


def _of_store() -> list[str]:
    return ["modified_ms", "revision", "value"]


def _no_text() -> Column:
    return F.lit(None).cast(StringType())
