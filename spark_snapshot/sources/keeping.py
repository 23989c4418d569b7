"""Rows of a reader put into a Parquet file beside it, so that their values never go through Java to be written.

What goes on to Spark is one empty row for each, by which it counts how far the reading has come, and with the last of
them what the file is. Spark asks again for what a task that failed has read: each try has a file of its own, and only
files that were told of are ever read.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from spark_snapshot.format.places import Place

GROUP_BYTES: Final = 16 << 20
"""A row group has about so many bytes of rows; as many are in memory."""

_SELDOM: Final = {"path", "digest", "revision", "value"}
"""Columns that hardly ever hold the same twice."""
_TOLD: Final = pa.schema([pa.field("file", pa.string())])


def keep(
    batches: Iterable[pa.RecordBatch], target: Place, beside: Callable[[], Mapping[str, object]] = dict
) -> Iterator[pa.RecordBatch]:
    """Write rows to a file of a folder; no file where there are none.

    Args:
        batches: Rows, at least one in each batch.
        target: The folder.
        beside: Further fields of the JSON; asked when all has been read.

    Yields:
        As many rows of one column, ``file``: null, but in the last JSON of the file's ``name``, ``rows`` and ``bytes``,
        and of what is told beside. Without rows, one with an empty name where something is told beside.

    Raises:
        OSError: The place refuses the file, or has no room.
    """
    file = target / f"part-{uuid.uuid4().hex}.parquet"
    waiting: list[pa.RecordBatch] = []
    rows = size = last = 0
    with ExitStack() as stack:
        writer: pq.ParquetWriter | None = None
        for batch in batches:
            if last:
                yield _counted(last)
            if writer is None:
                writer = stack.enter_context(_writer(file, batch.schema))
            waiting.append(batch)
            last = batch.num_rows
            rows += last
            size += batch.nbytes
            if size >= GROUP_BYTES:
                _write(writer, waiting)
                size = 0
        if writer is None:
            if told := beside():
                yield _counted(1, json.dumps({"name": "", "rows": 0, "bytes": 0, **told}))
            return
        _write(writer, waiting)
    file.flush()
    yield _counted(last, json.dumps({"name": file.name, "rows": rows, "bytes": file.size(), **beside()}))


def _writer(file: Place, schema: pa.Schema) -> pq.ParquetWriter:
    dictionaries: Any = [name for name in schema.names if name not in _SELDOM]  # the types know only of yes and no
    return pq.ParquetWriter(
        file.path,
        schema,
        filesystem=file.files,
        compression="zstd",
        compression_level=1,
        use_dictionary=dictionaries,
        write_statistics=False,
        write_page_checksum=True,
    )


def _write(writer: pq.ParquetWriter, waiting: list[pa.RecordBatch]) -> None:
    if waiting:
        table = pa.Table.from_batches(waiting)
        waiting.clear()
        writer.write_table(table, row_group_size=table.num_rows)


def _counted(rows: int, last: str | None = None) -> pa.RecordBatch:
    column: pa.Array[Any] = pa.nulls(rows, pa.string())
    if last is not None:
        column = pa.array([None] * (rows - 1) + [last], pa.string())
    return pa.RecordBatch.from_arrays([column], schema=_TOLD)
