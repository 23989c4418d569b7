"""The comparison on Spark says of every path what the pure verdict says, for two regions and for many."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import ArrayType, BinaryType, LongType, MapType, StringType, StructField, StructType
from pyspark.testing import assertDataFrameEqual

from spark_snapshot.diff.regions import COLUMNS, diff
from spark_snapshot.diff.verdict import PathVerdict, RegionRow, judge
from spark_snapshot.format.words import PathClass, StampOrigin
from syncer.errors import PreconditionFailed
from syncer.model import Millis, Region, Stamp, TieOrder
from tests.spark.rows import frame, path_of, random_regions

SMALL, LARGE = b"\x01" * 16, b"\xf0" * 16
NAMES = {2: ["west", "east"], 3: ["north", "west", "east"], 5: ["e", "d", "c", "b", "a"]}


def state(digest: bytes | None, at: int, by: str, **more: Any) -> RegionRow:
    return RegionRow(digest=digest, stamp=Stamp(Millis(at), Region(by)), **more)


def expected(path: str, verdict: PathVerdict) -> tuple[Any, ...]:
    return (
        path,
        "namespace",
        path.split("/")[3],
        verdict.finding.value,
        verdict.underlying.value if verdict.underlying else None,
        verdict.winner,
        int(verdict.version.stamp.updated_at_ms),
        verdict.version.stamp.region,
        verdict.version.digest,
        verdict.version.origin.value,
        verdict.reason.value,
        list(verdict.losers),
        dict(verdict.holds),
    )


def found(rows: DataFrame) -> dict[str, tuple[Any, ...]]:
    return {row["path"]: tuple(_plain(row, name) for name in COLUMNS) for row in rows.collect()}


def _plain(row: Row, name: str) -> Any:
    value = row[name]
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.parametrize(("regions", "ties"), [(2, "smaller"), (3, "native"), (5, "smaller")])
def test_spark_says_what_the_referee_says(spark: SparkSession, regions: int, ties: str) -> None:
    order = TieOrder(ties)
    held = random_regions(regions, NAMES[regions], 4_000)
    frames = {name: frame(spark, states) for name, states in held.items()}
    verdicts = {}
    for path in {path for states in held.values() for path in states}:
        verdict = judge({Region(name): states.get(path) for name, states in held.items()}, order)
        if verdict is not None:
            verdicts[path] = verdict
    assert {verdict.finding for verdict in verdicts.values()} == set(PathClass)
    wanted = {path: expected(path, verdict) for path, verdict in verdicts.items()}
    differing = {path: row for path, row in wanted.items() if row[3] != PathClass.SAME}
    rows = diff(frames, order)
    assert tuple(rows.columns) == COLUMNS
    assert found(rows) == differing
    if regions == 3:
        assert found(diff(frames, order, same=True)) == wanted
        turned = dict(reversed(frames.items()))
        assert found(diff(turned, order)) == differing, "the order in which regions are given says nothing"


def test_literal_rows(spark: SparkSession) -> None:
    east = {
        path_of(1): state(SMALL, 5, "east"),
        path_of(2): state(SMALL, 5, "east"),
        path_of(3): state(None, 9, "east"),
        path_of(4): state(SMALL, 5, "east", hold="first-contact"),
        path_of(5): state(None, 5, "east"),
    }
    west = {
        path_of(1): state(SMALL, 8, "west"),
        path_of(3): state(LARGE, 8, "west"),
        path_of(4): state(LARGE, 5, "west", origin=StampOrigin.UNSEEN),
        path_of(6): state(None, 5, "west"),
    }
    rows = [
        (2, "only-in", None, "east", 5, "east", SMALL, "register", "only", ["west"], {}),
        (3, "deleted", None, "east", 9, "east", None, "register", "newer", ["west"], {}),
        (4, "differs", None, "east", 5, "east", SMALL, "register", "region-order", ["west"], {"east": "first-contact"}),
    ]
    schema = StructType(
        [
            *[StructField(name, StringType()) for name in COLUMNS[:6]],
            StructField("winner_ms", LongType()),
            StructField("winner_author", StringType()),
            StructField("winner_digest", BinaryType()),
            StructField("origin", StringType()),
            StructField("reason", StringType()),
            StructField("losers", ArrayType(StringType())),
            StructField("holds", MapType(StringType(), StringType())),
        ]
    )
    wanted = spark.createDataFrame(
        [(path_of(row[0]), "namespace", "tenant-000", *row[1:]) for row in rows],
        schema,
    )
    actual = diff({"east": frame(spark, east), "west": frame(spark, west)}, TieOrder.SMALLER_REGION)
    assertDataFrameEqual(actual, wanted, ignoreNullable=True)


def test_a_path_that_a_region_has_twice_is_an_error(spark: SparkSession) -> None:
    east = frame(spark, {path_of(1): state(SMALL, 5, "east")})
    none = frame(spark, {path_of(2): state(SMALL, 5, "east")}).where("false")
    with pytest.raises(PySparkException, match=f"twice: {path_of(1)}"):
        diff({"east": east.union(east), "west": none}, TieOrder.SMALLER_REGION).collect()


def test_it_takes_two(spark: SparkSession) -> None:
    with pytest.raises(PreconditionFailed, match="1 regions"):
        diff({"east": frame(spark, {path_of(1): state(SMALL, 5, "east")})}, TieOrder.SMALLER_REGION)
