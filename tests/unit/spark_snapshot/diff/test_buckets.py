"""What is looked at before two files of a bucket are compared."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_snapshot.diff.buckets import suspects
from syncer.errors import SnapshotDamaged
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
