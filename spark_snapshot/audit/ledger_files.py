"""The ledgers of an audit, read again by the row groups of their files: each task has some, and only some columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from spark_snapshot.format.places import Place, place
from syncer.errors import SnapshotDamaged

_TASKS_PER_CORE: Final = 2
_BATCH_ROWS: Final = 20_000


@dataclass(frozen=True, slots=True)
class LedgerFiles:
    """Files of rows of ``LEDGERS``, each in some parts.

    Args:
        files: Where they are; every worker must reach them.
        parts: Of each file.
    """

    files: tuple[str, ...]
    parts: int

    @classmethod
    def of(cls, spark: SparkSession, files: list[Place]) -> Self:
        """Files in as many parts as there are tasks to be had.

        Args:
            spark: The session.
            files: The files.
        """
        parts = -(-_TASKS_PER_CORE * spark.sparkContext.defaultParallelism // max(len(files), 1))
        return cls(tuple(each.location for each in files), parts)

    def numbers(self, spark: SparkSession) -> DataFrame:
        """The numbers of all parts, each in a partition of its own.

        Args:
            spark: The session.
        """
        tasks = len(self.files) * self.parts
        return spark.range(0, tasks, numPartitions=max(tasks, 1))

    def rows(self, number: int, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """The ledgers of a part, which has every so-many-th row group of its file.

        Args:
            number: Of the part.
            columns: Those that are needed.

        Raises:
            SnapshotDamaged: The file is gone or damaged.
        """
        which, part = divmod(number, self.parts)
        file = place(self.files[which])
        try:
            with pq.ParquetFile(
                file.path, filesystem=file.files, page_checksum_verification=True, pre_buffer=False
            ) as opened:
                groups = range(part, opened.num_row_groups, self.parts)
                if groups:
                    yield from opened.iter_batches(
                        _BATCH_ROWS, row_groups=list(groups), columns=list(columns), use_threads=False
                    )
        except (pa.ArrowException, OSError) as exc:
            raise SnapshotDamaged(f"{file} cannot be read: {exc}") from exc
