"""The difference of any number of regions: snapshots in, what differs out, in one pass over digests.

Says of every path what :func:`spark_snapshot.diff.verdict.judge` says. Two steps, planned as one query:

1. *Suspects*: the regions' rows in one aggregation by path, over path and digest alone and with buffers of fixed size:
   is a value everywhere, and the same? Most paths end here.
2. *Verdict*: the narrow columns of the suspects, which are few, grouped by path and judged.

Both need the rows by path and nothing else. Snapshots that lie in buckets by path (:mod:`spark_snapshot.format.tables`)
bring them that way: nothing is moved between processes, nothing is sorted. Values are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot.format.words import PathClass, StampOrigin, WinReason
from syncer.errors import PreconditionFailed
from syncer.model import TieOrder

MAX_REGIONS: Final = 60
"""Each has a bit of a sum that stays below 64 of them."""

COLUMNS: Final = (
    "path",
    "kind",
    "tenant",
    "class",
    "underlying",
    "winner",
    "winner_ms",
    "winner_author",
    "winner_digest",
    "origin",
    "reason",
    "losers",
    "holds",
)
STATE: Final = ("digest", "updated_ms", "author", "origin", "hold")
"""Columns of a snapshot that say how a region stands at a path."""
_ANOTHER_SEED: Final = 1
_DIGITS, _OPPOSITE = "0123456789ABCDEF", "FEDCBA9876543210"
_AFTER_DIGITS: Final = "G"


def diff(
    regions: Mapping[str, DataFrame], ties: TieOrder, *, same: bool = False, observed: Observation | None = None
) -> DataFrame:
    """Compare regions.

    Args:
        regions: Each region's rows of ``SNAPSHOT``, each path once; only ``path`` to ``hold`` are read.
        ties: Who wins when two stamps have the same time.
        same: Bring also the paths at which nothing differs. All are judged then, which takes its time.
        observed: Is told, when the rows are computed, how many ``paths`` there are and how many of them are ``living``
            in some region. Those that differ all live somewhere, so the others of them are the same.

    Returns:
        One row of ``COLUMNS`` for each path. ``holds`` is a map from region to reason. A path that a region has twice
        raises when its row is computed.

    Raises:
        PreconditionFailed: Fewer than two regions, or too many.
    """
    check_number(len(regions))
    frames = dict(sorted(regions.items()))
    return judged(_states(frames) if same else suspected(frames, observed), list(frames), ties)


def suspected(frames: Mapping[str, DataFrame], observed: Observation | None) -> DataFrame:
    """The regions' rows of paths that are not the same everywhere, as :func:`judged` takes them.

    Args:
        frames: Each region's rows, in order of the names.
        observed: See :func:`diff`.
    """
    return _states(frames).join(_suspects(frames, observed).hint("shuffle_hash"), "key")


def _states(frames: Mapping[str, DataFrame]) -> DataFrame:
    return _union(
        frame.select(_key(), "kind", "tenant", F.lit(at).alias("at"), *STATE)
        for at, frame in enumerate(frames.values())
    )


def check_number(regions: int) -> None:
    """Check how many regions are to be compared.

    Raises:
        PreconditionFailed: Fewer than two, or too many.
    """
    if not 2 <= regions <= MAX_REGIONS:
        raise PreconditionFailed(
            f"{regions} regions to compare; it takes two at least, and {MAX_REGIONS} at most",
            hint="Name a snapshot of each region that is to be compared.",
        )


def _suspects(frames: Mapping[str, DataFrame], observed: Observation | None) -> DataFrame:
    """Paths whose rows are not all alive and equal, nor all dead; those that a region has twice are among them.

    Two independent 64-bit hashes stand for a digest, since buffers that hold bytes would have to be sorted.
    """
    rows = _union(
        frame.select(
            _key(),
            F.col("digest").isNotNull().cast("long").alias("alive"),
            F.xxhash64("digest").alias("one"),
            F.xxhash64(F.lit(_ANOTHER_SEED), "digest").alias("two"),
            F.lit(1 << at).cast("long").alias("bit"),
        )
        for at, frame in enumerate(frames.values())
    )
    found = rows.groupBy("key").agg(
        F.sum("alive").alias("alive"),
        F.count(F.lit(1)).alias("rows"),
        F.sum("bit").alias("bits"),
        F.min("one").alias("least_one"),
        F.max("one").alias("most_one"),
        F.min("two").alias("least_two"),
        F.max("two").alias("most_two"),
    )
    if observed is not None:
        living = F.count(F.when(F.col("alive") > 0, 1)).alias("living")
        found = found.observe(observed, F.count(F.lit(1)).alias("paths"), living)
    equal = (F.col("least_one") == F.col("most_one")) & (F.col("least_two") == F.col("most_two"))
    same = (F.col("alive") == 0) | ((F.col("alive") == len(frames)) & equal)
    each_once = F.bit_count("bits") == F.col("rows")
    return found.where(~(same & each_once)).select("key")


def judged(rows: DataFrame, names: list[str], ties: TieOrder) -> DataFrame:
    """Judge paths by all that the regions have there.

    Args:
        rows: Each region's rows of these paths: ``key`` (the path), ``at`` (the region's number), and of a snapshot
            ``kind``, ``tenant`` and the columns of a state.
        names: The regions, in order; a region's number is its place here.
        ties: Who wins when two stamps have the same time.

    Returns:
        One row of ``COLUMNS`` for each path that some region has ever had.
    """
    of = F.array(*[F.lit(name) for name in names])
    state = F.struct(
        F.element_at(of, F.col("at") + 1).alias("region"),
        (-F.col("at")).alias("order"),
        *STATE,
        _rank(F.col("author"), ties).alias("rank"),
    )
    grouped = rows.groupBy(F.col("key").alias("path")).agg(
        F.first("kind").alias("kind"), F.first("tenant").alias("tenant"), F.collect_list(state).alias("rows")
    )
    known = F.filter("rows", lambda row: row["digest"].isNotNull() | (row["author"] != ""))
    weighed = grouped.withColumn("known", known).withColumn("best", F.array_max(F.transform("known", _weight)))
    best = F.col("best")
    others = F.filter("known", lambda row: ~row["digest"].eqNullSafe(best["digest"]))
    like_winner = F.filter("known", lambda row: row["digest"].eqNullSafe(best["digest"]))
    living = F.filter("known", lambda row: row["digest"].isNotNull())
    compared = (
        weighed.where(best.isNotNull())
        .withColumn("others", others)
        .withColumn(
            "losers",
            F.when(best["alive"], F.array_except(of, _names(like_winner))).otherwise(F.array_sort(_names(living))),
        )
        .withColumn("held", F.filter("rows", lambda row: row["hold"].isNotNull()))
        .withColumn("rival", F.array_max(F.transform("others", lambda row: F.struct(row["updated_ms"], row["rank"]))))
    )
    plain = (
        F.when(F.size("losers") == 0, PathClass.SAME.value)
        .when(~best["alive"], PathClass.DELETED.value)
        .when(F.size("others") == 0, PathClass.ONLY_IN.value)
        .otherwise(PathClass.DIFFERS.value)
    )
    waits = F.exists("held", lambda row: F.array_contains("losers", row["region"]))
    twice = F.size("rows") != F.size(F.array_distinct(_names(F.col("rows"))))
    refusal = F.raise_error(F.concat(F.lit("a snapshot has a path twice: "), F.col("path"))).cast("string")
    found = compared.withColumn("plain", F.when(twice, refusal).otherwise(plain)).withColumn("waits", waits)
    return found.select(
        "path",
        "kind",
        "tenant",
        F.when(F.col("waits"), PathClass.HELD.value).otherwise(F.col("plain")).alias("class"),
        F.when(F.col("waits"), F.col("plain")).alias("underlying"),
        best["region"].alias("winner"),
        best["updated_ms"].alias("winner_ms"),
        best["author"].alias("winner_author"),
        best["digest"].alias("winner_digest"),
        best["origin"].alias("origin"),
        _reason(best, F.col("rival")).alias("reason"),
        "losers",
        F.map_from_entries(F.transform("held", lambda row: F.struct(row["region"], row["hold"]))).alias("holds"),
    )


def _weight(row: Column) -> Column:
    """What makes a row the winner, in the order in which it counts; the rest is carried along."""
    return F.struct(
        row["updated_ms"],
        row["rank"],
        row["digest"].isNotNull().alias("alive"),
        row["digest"],
        (row["origin"] == StampOrigin.REGISTER.value).alias("stamped"),
        row["order"],
        row["region"],
        row["author"],
        row["origin"],
    )


def _rank(author: Column, ties: TieOrder) -> Column:
    """Text that is the greater, the later the author in the order of ties: by UTF-16 code units, as Java compares."""
    units = F.hex(F.encode(author, "UTF-16BE"))
    if ties is TieOrder.NATIVE:
        return units
    return F.concat(F.translate(units, _DIGITS, _OPPOSITE), F.lit(_AFTER_DIGITS))


def _reason(best: Column, rival: Column) -> Column:
    return (
        F.when(rival.isNull(), WinReason.ONLY.value)
        .when(rival["updated_ms"] != best["updated_ms"], WinReason.NEWER.value)
        .when(rival["rank"] != best["rank"], WinReason.REGION_ORDER.value)
        .otherwise(WinReason.SAME_STAMP.value)
    )


def _names(rows: Column) -> Column:
    return F.transform(rows, lambda row: row["region"])


def _key() -> Column:
    """The path under another name. By its own, a union does not see that its parts lie in the same buckets."""
    return F.col("path").alias("key")


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.unionByName(right), frames)
