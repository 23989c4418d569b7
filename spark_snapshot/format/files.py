"""One file of a snapshot, examined byte by byte and path by path. No Spark."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_snapshot.format.manifest import BucketFile
from spark_snapshot.format.places import Place
from spark_snapshot.format.rows import SNAPSHOT
from syncer.errors import SnapshotDamaged

COLUMNS: Final = tuple(SNAPSHOT.fieldNames())
_BUCKET: Final = re.compile(r"_(\d{5})\.")
_CHUNK_BYTES: Final = 4 << 20
_BATCH_ROWS: Final = 65_536


def bucket_of(name: str) -> int | None:
    """The bucket that a file's name tells; ``None`` when it is none of a bucket's."""
    found = _BUCKET.search(name)
    return int(found.group(1)) if found is not None else None


def examine(where: Place, bucket: int) -> BucketFile:
    """Read a whole file and say what it is.

    Raises:
        SnapshotDamaged: It is no Parquet of a snapshot, or a path is there twice or out of order.
    """
    size, checksum = summed(where)
    return BucketFile(name=where.name, bucket=bucket, rows=_rows_in_order(where), bytes=size, sha256=checksum)


def summed(where: Place) -> tuple[int, str]:
    """Read a whole file: its bytes, and the checksum over them.

    Args:
        where: The file.
    """
    checksum = hashlib.sha256()
    size = 0
    with where.files.open_input_stream(where.path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            checksum.update(chunk)
            size += len(chunk)
    return size, checksum.hexdigest()


def _rows_in_order(where: Place) -> int:
    rows = 0
    last: pa.Scalar[Any] | None = None
    try:
        with pq.ParquetFile(where.path, filesystem=where.files, pre_buffer=False) as file:
            if tuple(file.schema_arrow.names) != COLUMNS:
                raise SnapshotDamaged(f"{where} has other columns than a snapshot's")
            for batch in file.iter_batches(_BATCH_ROWS, columns=["path"], use_threads=False):
                paths = batch.column(0)
                later = pc.greater(paths[1:], paths[:-1])
                first = last is None or paths[0].as_py() > last.as_py()
                if not first or not pc.all(later, min_count=0).as_py():
                    raise SnapshotDamaged(f"{where}: a path is there twice, or out of order")
                rows += len(paths)
                last = paths[-1]
    except (pa.ArrowException, OSError, ValueError) as exc:
        raise SnapshotDamaged(f"{where} is no Parquet, or is cut off: {exc}") from exc
    return rows
