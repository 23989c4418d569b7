"""The same bucket of several snapshots: which of its paths are not the same everywhere. Arrow alone, without Spark.

This is the first step of :mod:`spark_snapshot.diff` for snapshots that lie in equal buckets of one disk. Paths and
digests are compared column by column; only the rows of what differs leave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

NARROW: Final = ("path", "kind", "tenant", "digest", "updated_ms", "author", "origin", "hold")
_REPEATED: Final = ["kind", "tenant", "author", "origin", "hold"]

_FIELDS: Final[list[tuple[str, pa.DataType]]] = [
    ("key", pa.string()),
    ("kind", pa.string()),
    ("tenant", pa.string()),
    ("digest", pa.binary()),
    ("updated_ms", pa.int64()),
    ("author", pa.string()),
    ("origin", pa.string()),
    ("hold", pa.string()),
    ("at", pa.int32()),
    ("paths", pa.int64()),
    ("living", pa.int64()),
]
ROWS: Final = pa.schema(_FIELDS)
"""A region's row (``at``: the region's number) at a path that is not the same everywhere.

One row without ``key`` has the counts of the bucket: all its paths, and how many of them live in some region.
"""


@dataclass(frozen=True, slots=True)
class _Side:
    """A region's rows, and for each path of the union of all regions the number of its row; -1: none."""

    rows: pa.Table
    at: np.ndarray[Any, np.dtype[np.int64]]

    def digests(self) -> pa.Array[Any]:
        """Digest at each path of the union; null where the region has no row or a tombstone."""
        digests = self.rows.column("digest").combine_chunks()
        return digests.take(pa.array(self.at, mask=self.at < 0))


def suspects(files: Sequence[str | None]) -> Iterator[pa.RecordBatch]:
    """Find the paths of a bucket that are not alive and equal everywhere, nor dead or absent everywhere.

    Args:
        files: The bucket's file in each region, on this machine; ``None`` where it has no row.

    Yields:
        Rows of ``ROWS``: each region's, and one with the counts.

    Raises:
        OSError: A file is gone or damaged; a page is not as its checksum says.
        pyarrow.ArrowException: Likewise.
    """
    tables = [_read(file) for file in files]
    paths, sides = _aligned(tables)
    first = sides[0].digests()
    first_dead: Any = pc.is_null(first)
    same = np.ones(len(paths), dtype=np.bool_)
    alive = ~_flags(first_dead)
    for side in sides[1:]:
        digests = side.digests()
        dead: Any = pc.is_null(digests)
        compared: Any = pc.equal(first, digests)
        equal = compared.fill_null(False)
        same &= _flags(pc.or_(equal, pc.and_(first_dead, dead)))
        alive |= ~_flags(dead)
    yield _counts(len(paths), int(alive.sum()))
    for number, side in enumerate(sides):
        wanted = side.at[~same]
        rows = side.rows.take(np.sort(wanted[wanted >= 0]))
        yield from _plain(rows, number).to_batches()


def _read(file: str | None) -> pa.Table:
    if file is None:
        return pa.table({name: pa.array([], ROWS.field("key" if name == "path" else name).type) for name in NARROW})
    return pq.read_table(
        file,
        columns=list(NARROW),
        use_threads=False,
        memory_map=True,
        read_dictionary=_REPEATED,
        page_checksum_verification=True,
        partitioning=None,
    )


def _aligned(tables: Sequence[pa.Table]) -> tuple[Any, list[_Side]]:
    """The union of all regions' paths, in no order, and each region's rows by it."""
    union = tables[0].column("path").combine_chunks()
    places: list[np.ndarray[Any, np.dtype[np.int64]]] = [np.arange(len(union), dtype=np.int64)]
    for table in tables[1:]:
        own = table.column("path").combine_chunks()
        found: Any = pc.index_in(own, value_set=union)
        new = _flags(pc.is_null(found))
        where = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        where[new] = len(union) + np.arange(int(new.sum()))
        if new.any():
            union = pa.concat_arrays([union, own.filter(pa.array(new))])
        at = np.full(len(union), -1, dtype=np.int64)
        at[where] = np.arange(len(own), dtype=np.int64)
        places.append(at)
    sides = [
        _Side(table, np.concatenate([at, np.full(len(union) - len(at), -1, dtype=np.int64)]))
        for table, at in zip(tables, places, strict=True)
    ]
    return union, sides


def _plain(rows: pa.Table, number: int) -> pa.Table:
    count = len(rows)
    columns = [rows.column(name).cast(field.type) for name, field in zip(NARROW, ROWS, strict=False)]
    nothing = pa.nulls(count, pa.int64())
    return pa.table([*columns, pa.array(np.full(count, number, dtype=np.int32)), nothing, nothing], schema=ROWS)


def _counts(paths: int, living: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"paths": paths, "living": living}], schema=ROWS)


def _flags(flags: pa.Array[Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray(flags.to_numpy(zero_copy_only=False), dtype=np.bool_)
