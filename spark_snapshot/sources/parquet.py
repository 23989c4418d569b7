"""Reads what somebody has read of a store into Parquet files: a row for each path, with its value as it is.

Such rows come of a store that only another machine may reach, or of an export that is there already. Columns, by name:
``path`` and ``value``; and where they are known ``modified_ms``, ``revision`` and ``created_ms``. Others are left.
Paths are those of brokers, without a chroot or a namespace; each is there once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.found import ResourceBatch, batched
from syncer.errors import ConfigError, StoreError
from syncer.model import MetaPath, Millis, Revision
from syncer.wanted.contract import WantedPaths

NEEDED: Final[dict[str, pa.DataType]] = {"path": pa.string(), "value": pa.binary()}
GIVEN: Final[dict[str, pa.DataType]] = {
    "modified_ms": pa.int64(),
    "revision": pa.string(),
    "created_ms": pa.int64(),
}
"""Columns that may be there."""

_BATCH_ROWS: Final = 4_096


class RowGroup(NamedTuple):
    """A row group of a file: what one of several readers reads at least."""

    file: str
    number: int


def parts(place: Path, count: int) -> list[tuple[RowGroup, ...]]:
    """What each of at most so many readers reads; together all rows, each once.

    Args:
        place: The folder, or the file.
        count: So many readers.

    Raises:
        ConfigError: There is no file, or one without the columns that are needed.
        StoreError: A file cannot be read.
    """
    groups = _groups(place)
    dealt = (tuple(groups[index::count]) for index in range(count))
    return [each for each in dealt if each]


def read(wanted: WantedPaths, part: tuple[RowGroup, ...]) -> Iterator[ResourceBatch]:
    """Read what is asked for of some row groups.

    Args:
        wanted: What is asked for.
        part: The row groups.

    Raises:
        ConfigError: A file lacks a column.
        StoreError: A file cannot be read, or a row is no path of a store.
    """
    yield from batched(_asked_for(wanted, part))


def value_at(place: Path, path: MetaPath) -> bytes | None:
    """The value at a path, ``None`` when there is none; raises as :func:`read` does.

    Args:
        place: The folder, or the file.
        path: The path.
    """
    rows = chain.from_iterable(_rows(_groups(place)))
    return next((value for found, value, *_ in rows if found == path), None)


def written(place: Path) -> str:
    """When the newest file was written, in UTC: how old its rows are at least.

    Args:
        place: The folder, or the file.
    """
    newest = max(file.stat().st_mtime for file in _files(place))
    return datetime.fromtimestamp(newest, UTC).isoformat(timespec="milliseconds")


def _asked_for(wanted: WantedPaths, part: tuple[RowGroup, ...]) -> Iterator[ResourceBatch]:
    folders = Folders(wanted)
    dated = wanted.terms.created
    for rows in _rows(part):
        found = (
            folders.found(path, value, modified_ms, revision, created_ms=created_ms)
            for path, value, modified_ms, revision, created_ms in rows
        )
        yield ResourceBatch.of(each if dated else each[:-1] for each in found if each is not None)


_Row = tuple[MetaPath, bytes, Millis | None, Revision, Millis | None]


def _rows(groups: Iterable[RowGroup]) -> Iterator[Iterator[_Row]]:
    for file, some in groupby(groups, key=lambda group: group.file):
        opened = _opened(file)
        names = [name for name in (*NEEDED, *GIVEN) if name in opened.schema_arrow.names]
        numbers = [group.number for group in some]
        try:
            for batch in opened.iter_batches(_BATCH_ROWS, row_groups=numbers, columns=names, use_threads=False):
                yield _checked(file, batch)
        except (pa.ArrowException, OSError) as exc:
            raise StoreError(f"{file} cannot be read: {exc}") from exc


def _checked(file: str, batch: pa.RecordBatch) -> Iterator[_Row]:
    columns: list[list[Any]] = []
    for name, kind in (*NEEDED.items(), *GIVEN.items()):
        if name in batch.schema.names:
            column: Any = batch.column(name).cast(kind)
            columns.append(column.to_pylist())
        else:
            columns.append([None] * batch.num_rows)
    for path, value, modified_ms, revision, created_ms in zip(*columns, strict=True):
        if path is None or not path.startswith("/"):
            raise StoreError(f"{file} has a row with the path {path!r}, which is no path of a store")
        yield MetaPath(path), value or b"", modified_ms, Revision(revision or ""), created_ms


def _groups(place: Path) -> list[RowGroup]:
    """All row groups, those of one file one behind the other."""
    files = map(str, _files(place))
    return [RowGroup(file, number) for file in files for number in range(_opened(file).num_row_groups)]


def _files(place: Path) -> list[Path]:
    files = sorted(place.glob("**/*.parquet")) if place.is_dir() else [place]
    if not files:
        raise ConfigError(f"there is no Parquet file in {place}", hint="Name the folder of files '….parquet'.")
    return files


def _opened(file: str) -> pq.ParquetFile:
    try:
        opened = pq.ParquetFile(file, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as exc:
        raise StoreError(f"{file} cannot be read: {exc}") from exc
    schema = opened.schema_arrow
    lacking = []
    for name, kind in (*NEEDED.items(), *GIVEN.items()):
        there = schema.field(name).type if name in schema.names else None
        if (there is None and name in NEEDED) or (there is not None and not _fits(there, kind)):
            lacking.append(f"'{name}' {'is missing' if there is None else f'is {there}'}; {kind} is needed")
    if lacking:
        raise ConfigError(
            f"{file} holds no rows of a store: {'; '.join(lacking)}",
            hint="Each row has a 'path' and its 'value'; 'modified_ms', 'revision' and 'created_ms' may be there.",
        )
    return opened


def _fits(there: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_dictionary(there):
        there = there.value_type
    if pa.types.is_string(wanted):
        return pa.types.is_string(there) or pa.types.is_large_string(there)
    if pa.types.is_binary(wanted):
        return pa.types.is_binary(there) or pa.types.is_large_binary(there) or pa.types.is_fixed_size_binary(there)
    return pa.types.is_integer(there)
