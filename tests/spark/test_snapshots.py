"""Snapshots written by Spark and read again: whole or not at all, and compared without moving or sorting a row."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from spark_snapshot.capture.writing import write_snapshot
from spark_snapshot.diff.comparison import compared
from spark_snapshot.diff.regions import diff
from spark_snapshot.diff.values import versions, with_winners
from spark_snapshot.diff.verdict import RegionRow
from spark_snapshot.format import tables
from spark_snapshot.format.drafts import LOCK
from spark_snapshot.format.layout import DATA, Snapshot, latest, open_snapshot, snapshots_in, verify
from spark_snapshot.format.manifest import Described, StoreFacts, described_scope
from spark_snapshot.format.places import place
from spark_snapshot.format.rows import SNAPSHOT
from spark_snapshot.format.words import StampOrigin
from syncer.conflict.scope import Scope
from syncer.errors import SnapshotDamaged, SnapshotRefused, SnapshotUnwritten
from syncer.model import Millis, Region, Stamp, TieOrder
from tests.spark.rows import frame, path_of, random_regions, snapshot_row

NOW = 1_700_000_000_000
SMALL, LARGE = b"\x01" * 16, b"\xf0" * 16


def described(region: str, taken_at_ms: int = NOW) -> Described:
    return Described(
        region=region,
        taken_at_ms=taken_at_ms,
        made_by="test",
        store=StoreFacts(kind="sqlite"),
        registers=True,
        scope=described_scope(Scope()),
        scope_fingerprint=Scope().fingerprint,
        ties=TieOrder.SMALLER_REGION,
    )


def taken(spark: SparkSession, folder: Path, regions: Mapping[str, Mapping[str, RegionRow]]) -> dict[str, Snapshot]:
    return {
        name: write_snapshot(frame(spark, states), place(folder), described(name), buckets=4)
        for name, states in regions.items()
    }


def plain(rows: DataFrame) -> list[str]:
    """Rows as text, in order: what holds a map cannot be compared by Spark."""
    return sorted(str(row.asDict()) for row in rows.collect())


def some(count: int, digest: bytes = SMALL, at: int = 5) -> dict[str, RegionRow]:
    return {
        path_of(number): RegionRow(digest=digest, stamp=Stamp(Millis(at), Region("east"))) for number in range(count)
    }


def test_what_is_written_is_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    regions = random_regions(1, ["east"], 500)
    east = taken(spark, tmp_path, regions)["east"]
    opened = open_snapshot(east.place)
    verify(opened)
    assert opened.manifest == east.manifest
    assert plain(tables.rows(spark, opened)) == plain(frame(spark, regions["east"]))
    states = regions["east"].values()
    (count,) = opened.manifest.kinds.values()
    assert (count.alive, count.dead) == (sum(s.alive for s in states), sum(not s.alive for s in states))
    assert count.unseen == sum(s.origin is StampOrigin.UNSEEN for s in states)
    assert count.unstamped == sum(s.origin is StampOrigin.STORE for s in states)
    assert count.held == sum(s.hold is not None for s in states)
    names = {file.name for file in (Path(east.place.path) / DATA).iterdir()}
    assert names == {each.name for each in opened.manifest.files}
    assert len(names) == 4
    assert not spark.catalog.listTables()


def test_a_comparison_moves_and_sorts_nothing(spark: SparkSession, tmp_path: Path) -> None:
    snapshots = taken(spark, tmp_path, random_regions(2, ["a", "b", "c"], 300))
    rows = diff({name: tables.rows(spark, each) for name, each in snapshots.items()}, TieOrder.SMALLER_REGION)
    assert rows.collect()
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "FileScan parquet" in plan
    assert "Exchange" not in plan
    assert "Sort" not in plan


@pytest.mark.parametrize("regions", [2, 4])
def test_files_are_compared_as_tables_are(spark: SparkSession, tmp_path: Path, regions: int) -> None:
    held = random_regions(3 + regions, "abcd"[:regions], 1_500)
    snapshots = taken(spark, tmp_path, held)
    frames = {name: frame(spark, states) for name, states in held.items()}
    by_files, by_rows = Observation(), Observation()
    found = compared(spark, snapshots, TieOrder.NATIVE, observed=by_files)
    wanted = diff(frames, TieOrder.NATIVE, observed=by_rows)
    assert plain(found) == plain(wanted)
    assert by_files.get == by_rows.get
    everything = {path for states in held.values() for path in states}
    living = {path for states in held.values() for path, state in states.items() if state.alive}
    assert by_files.get == {"paths": len(everything), "living": len(living)}


def test_buckets_of_another_number_are_compared_as_well(spark: SparkSession, tmp_path: Path) -> None:
    held = random_regions(9, "ab", 300)
    a = write_snapshot(frame(spark, held["a"]), place(tmp_path), described("a"), buckets=2)
    b = write_snapshot(frame(spark, held["b"]), place(tmp_path), described("b"), buckets=3)
    found = compared(spark, {"a": a, "b": b}, TieOrder.NATIVE)
    assert plain(found) == plain(diff({n: frame(spark, s) for n, s in held.items()}, TieOrder.NATIVE))


def test_values_are_fetched_for_what_differs(spark: SparkSession, tmp_path: Path) -> None:
    east = [snapshot_row(path, state, f"east {path}".encode()) for path, state in some(40).items()]
    newer = {path: state for path, state in some(20, LARGE, 6).items() if path.endswith("7")}
    newer[path_of(3)] = RegionRow(digest=None, stamp=Stamp(Millis(9), Region("west")))
    west = [snapshot_row(path, state, f"west {path}".encode()) for path, state in (some(30) | newer).items()]
    frames = {"east": spark.createDataFrame(east, SNAPSHOT), "west": spark.createDataFrame(west, SNAPSHOT)}
    snapshots = {
        name: write_snapshot(rows, place(tmp_path), described(name), buckets=2) for name, rows in frames.items()
    }
    found = compared(spark, snapshots, TieOrder.SMALLER_REGION).cache()
    rows = {name: tables.rows(spark, each) for name, each in snapshots.items()}
    fetched = {row["path"]: row for row in with_winners(found, rows).collect()}
    assert {path: row["value"] and bytes(row["value"]).decode() for path, row in fetched.items()} == {
        path_of(3): None,
        path_of(7): f"west {path_of(7)}",
        path_of(17): f"west {path_of(17)}",
        **{path_of(number): f"east {path_of(number)}" for number in range(30, 40)},
    }
    assert fetched[path_of(7)]["by"] == "east~1"
    both = versions(found, rows).where(F.col("path") == path_of(7)).collect()
    assert {row["region"]: bytes(row["value"]).split()[0] for row in both} == {"east": b"east", "west": b"west"}
    found.unpersist()


def test_a_region_that_holds_nothing_is_a_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    snapshots = taken(spark, tmp_path, {"east": {}, "west": some(3)})
    assert open_snapshot(snapshots["east"].place).manifest.rows == 0
    assert compared(spark, snapshots, TieOrder.SMALLER_REGION).count() == 3
    assert tables.rows(spark, snapshots["east"]).count() == 0


def test_nothing_where_there_was_much_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    here = place(tmp_path)
    first = write_snapshot(frame(spark, some(20)), here, described("east"), buckets=2)
    tombs = {path: RegionRow(digest=None, stamp=Stamp(Millis(9), Region("east"))) for path in some(20)}
    for gone in ({}, tombs):
        with pytest.raises(SnapshotRefused, match="had 20 paths"):
            write_snapshot(frame(spark, gone), here, described("east", NOW + 1), buckets=2)
        assert latest(here, "east") == first
        assert not snapshots_in(here).unfinished
    allowed = write_snapshot(frame(spark, tombs), here, described("east", NOW + 1), buckets=2, allow_empty=True)
    assert latest(here, "east") == allowed


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_what_fails_in_the_middle_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    here = place(tmp_path)
    taken(spark, tmp_path, {"east": some(20)})
    before = names(tmp_path / "east")
    dying = frame(spark, some(20)).withColumn(
        "value", F.when(F.col("path") == path_of(13), F.raise_error(F.lit("gone")).cast("binary"))
    )
    with pytest.raises(PySparkException, match="gone"):
        write_snapshot(dying, here, described("east", NOW + 1), buckets=2)
    twice = frame(spark, some(20)).union(frame(spark, some(1)))
    with pytest.raises(SnapshotDamaged, match="twice"):
        write_snapshot(twice, here, described("east", NOW + 1), buckets=2)
    assert names(tmp_path / "east") == before
    assert not spark.catalog.listTables()


def test_what_was_given_up_is_cleared_and_what_is_written_is_not(spark: SparkSession, tmp_path: Path) -> None:
    given_up, written = (tmp_path / "east" / f".20231114T22132000{n}Z-00000{n}.partial" for n in (1, 2))
    for each in (given_up, written):
        (each / DATA).mkdir(parents=True)
        (each / LOCK).touch()
    lock = os.open(written / LOCK, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        east = taken(spark, tmp_path, {"east": some(3)})["east"]
    finally:
        os.close(lock)
    assert names(tmp_path / "east") == {written.name, east.id, LOCK}


def test_a_place_that_takes_no_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "east").write_text("a file is in the way")
    with pytest.raises(SnapshotUnwritten, match="east"):
        write_snapshot(frame(spark, some(3)), place(tmp_path), described("east"), buckets=2)


def test_names_that_are_awkward(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "it's a folder %20 ü"
    region = "../eu west'1"
    snapshot = taken(spark, folder, {region: some(3)})[region]
    assert tables.rows(spark, snapshot).count() == 3
    assert [each.region for each in snapshots_in(place(folder)).snapshots] == [region]
    assert _inside(folder, [Path(snapshot.place.path)])


def _inside(folder: Path, paths: Iterable[Path]) -> bool:
    return all(folder in path.resolve().parents for path in paths)
