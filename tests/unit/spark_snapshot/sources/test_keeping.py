"""Rows that a reader puts into a file beside it: all of them, in order, and counted as they come."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_snapshot.format.places import place
from spark_snapshot.sources import keeping
from spark_snapshot.sources.arrow import STORE, stored
from spark_snapshot.sources.found import ResourceBatch
from spark_snapshot.sources.keeping import keep
from syncer.model import MetaPath, Millis, Revision

VALUES = st.lists(st.binary(max_size=300), min_size=1, max_size=5)


def batch(number: int, values: list[bytes]) -> ResourceBatch:
    return ResourceBatch.of(
        (MetaPath(f"/admin/policies/t{number}-{at}"), "tenant", f"t{number}-{at}", each, Millis(at), Revision("1"))
        for at, each in enumerate(values)
    )


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """What the first call of all loads is no example's time."""
    list(stored([batch(0, [b"{}"])]))


@given(batches=st.lists(VALUES, max_size=6), group=st.sampled_from([1, 700, 1 << 20]))
def test_what_is_kept_is_what_was_read(
    batches: list[list[bytes]], group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("kept")
    rows = list(stored(batch(number, values) for number, values in enumerate(batches)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeping, "GROUP_BYTES", group)
        told = list(keep(rows, place(target)))
    assert [each.num_rows for each in told] == [each.num_rows for each in rows]
    said = [text for each in told for text in each.column("file").to_pylist() if text is not None]
    if not rows:
        assert (said, list(target.iterdir())) == ([], [])
        return
    assert told[-1].column("file")[-1].as_py() == said[0]
    (file,) = target.iterdir()
    count = sum(map(len, batches))
    assert [json.loads(text) for text in said] == [{"name": file.name, "rows": count, "bytes": file.stat().st_size}]
    assert pq.read_table(file, page_checksum_verification=True).equals(pa.Table.from_batches(rows, STORE))


def test_each_try_has_a_file_of_its_own(tmp_path: Path) -> None:
    rows = list(stored([batch(1, [b"{}"])]))
    names = {json.loads(list(keep(rows, place(tmp_path)))[-1].column("file")[-1].as_py())["name"] for _ in range(2)}
    assert {each.name for each in tmp_path.iterdir()} == names
    assert len(names) == 2


def test_a_place_that_takes_no_files(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        list(keep(stored([batch(1, [b"{}"])]), place(tmp_path / "nowhere")))


def test_what_is_told_beside_comes_with_the_last_row_or_alone(tmp_path: Path) -> None:
    more = {"first_form": 2, "first_form_named": ["a"]}
    told = list(keep(stored([batch(1, [b"{}", b"{}"])]), place(tmp_path), lambda: more))
    (said,) = [json.loads(text) for each in told for text in each.column("file").to_pylist() if text is not None]
    assert said.keys() == {"name", "rows", "bytes", *more}
    assert {field: said[field] for field in ("rows", *more)} == {"rows": 2, **more}
    alone = list(keep([], place(tmp_path / "nowhere"), lambda: more))
    assert [json.loads(str(text)) for each in alone for text in each.column("file").to_pylist()] == [
        {"name": "", "rows": 0, "bytes": 0, **more}
    ]
