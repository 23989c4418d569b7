"""Rows of a store in Parquet: read as any store is, shared out by row groups, refused by the name of what lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_snapshot.sources import parquet
from spark_snapshot.sources.place import PARQUET_FILES, StorePlace, facts, source
from spark_snapshot.sources.reach import Reach
from syncer.conflict.scope import Scope
from syncer.errors import ConfigError, StoreError
from syncer.model import MetaPath, Region
from syncer.paths import fence_path
from syncer.replication.fence import Fence
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind, ledger_paths

LEDGERS = ledger_paths(LedgerPart.LEDGERS)
PATHS = [f"/ledgers/00/0000/L{number:04}" for number in range(40)]


def write(file: Path, rows: int = 7, **columns: Any) -> Path:
    """Write a file of ledgers in row groups; what is given goes before the usual."""
    usual = {
        "path": pa.array(PATHS),
        "value": pa.array([b"%d" % number for number in range(len(PATHS))]),
        "created_ms": pa.array(range(len(PATHS)), pa.int64()),
    }
    held = {name: column for name, column in (usual | columns).items() if column is not None}
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(held), file, row_group_size=rows)
    return file


def found_in(place: Path, readers: int = 1) -> list[tuple[Any, ...]]:
    return [
        (each.path, each.kind, each.value, each.created_ms)
        for part in parquet.parts(place, readers)
        for batch in parquet.read(LEDGERS, part)
        for each in batch
    ]


@pytest.mark.parametrize("readers", [1, 2, 5, 50])
def test_every_row_is_read_once_whoever_shares(tmp_path: Path, readers: int) -> None:
    write(tmp_path / "a.parquet", path=pa.array([f"{path}1" for path in PATHS]))
    write(tmp_path / "below" / "b.parquet", rows=100)
    found = found_in(tmp_path, readers)
    assert sorted(path for path, *_ in found) == sorted([*PATHS, *(f"{path}1" for path in PATHS)])
    assert {(path, kind, value, at) for path, kind, value, at in found} >= {
        (path, LedgerPathKind.LEDGER, b"%d" % number, number) for number, path in enumerate(PATHS)
    }
    assert len(parquet.parts(tmp_path, readers)) == min(readers, 7)


def test_what_is_not_asked_for_is_left_and_columns_of_others_too(tmp_path: Path) -> None:
    paths = ["/admin/policies/acme", *PATHS[1:]]
    file = write(tmp_path / "a.parquet", path=pa.array(paths), note=pa.array(["x"] * len(paths)), created_ms=None)
    assert [(path, at) for path, _, _, at in found_in(file)] == [(path, None) for path in PATHS[1:]]
    policies = [each for part in parquet.parts(file, 1) for batch in parquet.read(Reach(), part) for each in batch]
    assert [(each.path, each.value) for each in policies] == [("/admin/policies/acme", b"0")]


@pytest.mark.parametrize(
    "columns",
    [
        {"path": pa.array(PATHS, pa.large_string()), "value": pa.array([b"v"] * 40, pa.large_binary())},
        {"path": pa.array(PATHS).dictionary_encode(), "created_ms": pa.array([3] * 40, pa.int32())},
        {"value": pa.array([b"abc"] * 40, pa.binary(3)), "revision": pa.array(["7"] * 40)},
        {"value": pa.array([None] * 40, pa.binary()), "modified_ms": pa.array([None] * 40, pa.int64())},
    ],
)
def test_columns_may_be_of_any_type_that_holds_the_same(tmp_path: Path, columns: dict[str, Any]) -> None:
    assert [path for path, *_ in found_in(write(tmp_path / "a.parquet", **columns))] == PATHS


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"path": None}, "'path' is missing; string is needed"),
        ({"value": pa.array(range(40))}, "'value' is int64; binary is needed"),
        ({"value": None, "created_ms": pa.array(["x"] * 40)}, "'value' is missing.*'created_ms' is string; int64"),
    ],
)
def test_a_file_without_the_columns_is_refused_by_their_names(
    tmp_path: Path, columns: dict[str, Any], said: str
) -> None:
    file = write(tmp_path / "a.parquet", **columns)
    with pytest.raises(ConfigError, match=said) as found:
        parquet.parts(file, 1)
    assert str(file) in found.value.message


@pytest.mark.parametrize("path", [None, "", "ledgers/00/0000/L0001"])
def test_a_row_that_is_no_path_is_refused(tmp_path: Path, path: str | None) -> None:
    file = write(tmp_path / "a.parquet", path=pa.array([path, *PATHS[1:]]))
    with pytest.raises(StoreError, match="no path of a store"):
        found_in(file)


def test_damage_is_said_and_nothing_to_read_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no Parquet file"):
        parquet.parts(tmp_path, 1)
    file = write(tmp_path / "a.parquet", rows=100)
    whole = file.read_bytes()
    file.write_bytes(whole[:30] + bytes(40) + whole[70:])
    with pytest.raises(StoreError, match=r"a\.parquet cannot be read"):
        found_in(file)
    file.write_bytes(whole[:-9])
    with pytest.raises(StoreError, match=r"a\.parquet cannot be read"):
        parquet.parts(file, 1)


def test_it_is_a_place_as_others_are(tmp_path: Path) -> None:
    value = Fence(number=7, database_id="d", generation=1, store_id="the-store").encode()
    paths = [fence_path(Region("east")), *PATHS[1:]]
    write(tmp_path / "a.parquet", path=pa.array(paths), value=pa.array([value] * 40))
    place = StorePlace.offline(tmp_path, region="east")
    assert StorePlace.from_json(place.to_json()) == place
    assert place.kind == StorePlace.offline(tmp_path / "a.parquet").kind == PARQUET_FILES
    told = facts(place)
    assert (told.kind, told.where, told.identity) == (PARQUET_FILES, str(tmp_path), "the-store")
    assert told.position.endswith("+00:00")
    assert parquet.value_at(tmp_path, MetaPath("/nobody")) is None
    parts = source(place).parts(Reach(scope=Scope()), 1)
    assert [len(batch) for part in parts for batch in source(place).read(LEDGERS, part)] == [39]
