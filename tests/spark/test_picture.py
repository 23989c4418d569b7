"""A picture gives each row the stamp that the register has for it, or the least that the daemon would give."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from spark_snapshot.capture.picture import picture
from spark_snapshot.format.rows import REGISTERS, SNAPSHOT, STORE

TAKEN = 1_700_000_100_000
ONE, TWO = b"\x01" * 16, b"\x02" * 16
SEEN = '{"west~1":7}'


def stored(path: str, digest: bytes, modified_ms: int | None) -> tuple[Any, ...]:
    return (path, "tenant", path[1:], digest, modified_ms, "r1", b'{"of":"store"}')


def register(path: str, digest: bytes | None, updated_ms: int, author: str, hold: str | None = None) -> tuple[Any, ...]:
    return (path, "tenant", path[1:], digest, updated_ms, author, f"{author}~1", SEEN, updated_ms, author, hold, None)


def shown(
    path: str, digest: bytes | None, updated_ms: int, author: str, origin: str, *rest: Any, hold: str | None = None
) -> tuple[Any, ...]:
    by, seen, modified_ms, revision, value = rest
    row = (path, "tenant", path[1:], digest, updated_ms, author, origin, hold)
    return (*row, by, seen, modified_ms, revision, value)


VALUE = b'{"of":"store"}'

# path: what the store holds, what the register says, the row of the snapshot (None: none)
CASES: dict[str, tuple[Any, Any, Any]] = {
    "/agreed": (
        stored("/agreed", ONE, 900),
        register("/agreed", ONE, 500, "west", "flipping"),
        shown("/agreed", ONE, 500, "west", "register", "west~1", SEEN, 900, "r1", VALUE, hold="flipping"),
    ),
    "/changed": (
        stored("/changed", TWO, 900),
        register("/changed", ONE, 500, "west"),
        shown("/changed", TWO, 900, "east", "unseen", "west~1", SEEN, 900, "r1", VALUE),
    ),
    "/changed-by-a-slow-clock": (
        stored("/changed-by-a-slow-clock", TWO, 400),
        register("/changed-by-a-slow-clock", ONE, 500, "west"),
        shown("/changed-by-a-slow-clock", TWO, 501, "east", "unseen", "west~1", SEEN, 400, "r1", VALUE),
    ),
    "/changed-without-a-time": (
        stored("/changed-without-a-time", TWO, None),
        register("/changed-without-a-time", ONE, 500, "west"),
        shown("/changed-without-a-time", TWO, TAKEN, "east", "unseen", "west~1", SEEN, None, "r1", VALUE),
    ),
    "/changed-by-a-fast-clock": (
        stored("/changed-by-a-fast-clock", TWO, TAKEN + 90_000),
        register("/changed-by-a-fast-clock", ONE, 500, "west"),
        shown(
            "/changed-by-a-fast-clock", TWO, TAKEN + 30_000, "east", "unseen",
            "west~1", SEEN, TAKEN + 90_000, "r1", VALUE,
        ),
    ),
    "/new": (
        stored("/new", ONE, 900),
        None,
        shown("/new", ONE, 900, "east", "store", "", "{}", 900, "r1", VALUE),
    ),
    "/new-without-a-time": (
        stored("/new-without-a-time", ONE, None),
        None,
        shown("/new-without-a-time", ONE, 0, "east", "store", "", "{}", None, "r1", VALUE),
    ),
    "/risen": (
        stored("/risen", ONE, 900),
        register("/risen", None, 950, "west"),
        shown("/risen", ONE, 951, "east", "unseen", "west~1", SEEN, 900, "r1", VALUE),
    ),
    "/tombstone": (
        None,
        register("/tombstone", None, 500, "west", "has-topics"),
        shown("/tombstone", None, 500, "west", "register", "west~1", SEEN, None, None, None, hold="has-topics"),
    ),
    "/vanished": (
        None,
        register("/vanished", ONE, 500, "west"),
        shown("/vanished", None, 501, "east", "unseen", "west~1", SEEN, None, None, None),
    ),
    "/never-here": (None, register("/never-here", None, 0, ""), None),
    "/never-here-and-held": (
        None,
        register("/never-here-and-held", None, 0, "", "unknown-cluster"),
        shown(
            "/never-here-and-held", None, 0, "", "register", "~1", SEEN, None, None, None, hold="unknown-cluster"
        ),
    ),
}  # fmt: skip


def test_the_table(spark: SparkSession) -> None:
    store = spark.createDataFrame([case[0] for case in CASES.values() if case[0]], STORE)
    registers = spark.createDataFrame([case[1] for case in CASES.values() if case[1]], REGISTERS)
    wanted = spark.createDataFrame([case[2] for case in CASES.values() if case[2]], SNAPSHOT)
    actual = picture(store, registers, region="east", taken_at_ms=TAKEN)
    assert actual.columns == SNAPSHOT.fieldNames()
    assertDataFrameEqual(actual, wanted, ignoreNullable=True)


@pytest.mark.parametrize("modified_ms", [900, None])
def test_without_a_database_the_stores_time_stands_in(spark: SparkSession, modified_ms: int | None) -> None:
    store = spark.createDataFrame([stored("/a", ONE, modified_ms)], STORE)
    wanted = shown("/a", ONE, modified_ms or 0, "east", "store", "", "{}", modified_ms, "r1", VALUE)
    actual = picture(store, None, region="east", taken_at_ms=TAKEN)
    assertDataFrameEqual(actual, spark.createDataFrame([wanted], SNAPSHOT), ignoreNullable=True)
