"""What is looked at before two files of a bucket are compared."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_snapshot.diff.buckets import suspects
from spark_snapshot.diff.sharing import COUNTED, NOT_SHARED, CarryingRegions
from syncer.conflict.scope import Rule
from syncer.conflict.settings import Direction
from syncer.errors import SnapshotDamaged
from syncer.model import Region
from tests.support.snapshot_files import SCHEMA, write_file


def test_a_path_that_stands_twice_or_in_no_order_is_damage(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    write_file(good, ["/a", "/b", "/c"])
    assert suspects([str(good), str(good)]).paths == 3
    write_file(bad, ["/a"])
    assert suspects([str(good), str(bad)]).paths == 3
    for paths in (["/a", "/b", "/b"], ["/b", "/a", "/c"]):
        write_file(bad, paths)
        for files in ([good, bad], [bad, good]):
            with pytest.raises(SnapshotDamaged, match="a path twice"):
                suspects([str(each) for each in files])


def test_bytes_that_have_changed_are_damage_not_a_failed_job(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    rows = [{"path": f"/{at:06}", "kind": "namespace", "tenant": "t", "digest": b"\x01" * 16} for at in range(2_000)]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file, write_page_checksum=True, compression="none")
    whole = file.read_bytes()
    at = whole.index(b"/001000")
    file.write_bytes(whole[:at] + b"/001001" + whole[at + 7 :])
    with pytest.raises(SnapshotDamaged, match="cannot be read"):
        suspects([str(file), None])
    file.unlink()
    with pytest.raises(SnapshotDamaged, match="cannot be read"):
        suspects([str(file), None])


def test_what_all_hold_alike_that_carry_it_is_suspected_of_nothing(tmp_path: Path) -> None:
    everything = (Rule("/admin/policies/**", Direction.BOTH),)
    half = (Rule("/admin/policies/b*", Direction.IGNORE), Rule("/admin/policies/**", Direction.APPLY))
    east, north, west = (Region(name) for name in ("east", "north", "west"))
    carriers = CarryingRegions(((east, everything), (north, half), (west, everything)))
    held = {"east": ["a1", "b1", "b2"], "north": ["a1", "a2"], "west": ["a1", "b1"]}
    files = []
    for name, tenants in held.items():
        files.append(str(tmp_path / f"{name}.parquet"))
        write_file(Path(files[-1]), [f"/admin/policies/{tenant}" for tenant in tenants])
    blind = suspects(files)
    assert (len(blind.rows[0]), blind.ways) == (3, None)
    found = suspects(files, carriers)
    assert (found.paths, found.living) == (blind.paths, blind.living) == (4, 4)
    assert [[row["path"] for row in rows.to_pylist()] for rows in found.rows] == [
        ["/admin/policies/b2", None],
        [None, "/admin/policies/a2"],
        [None, None],
    ]
    both = Direction.BOTH
    assert found.ways == ({east: both, west: both}, {east: both, north: Direction.APPLY, west: both})
    assert (found.tally[COUNTED], found.tally[NOT_SHARED]) == (3, 0)
    assert {key: count for key, count in found.tally.items() if key.endswith("shared")} == {
        "0 1 not shared": 2,
        "0 1 shared": 1,
        "0 2 shared": 2,
        "1 2 not shared": 1,
        "1 2 shared": 1,
    }
    alone = CarryingRegions(((east, everything), (north, half[:1])))
    lonely = suspects(files[:2], alone)
    assert (len(lonely.rows[0]), lonely.ways) == (0, ())
    assert lonely.tally[NOT_SHARED] == lonely.tally[COUNTED] == 3
