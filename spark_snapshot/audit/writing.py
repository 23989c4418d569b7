"""The tables of an audit, written where they are made: a worker's rows never go through Java.

Spark asks again for what a task that failed has done: each try writes files of its own, and only files that were told
of are ever read, or stay.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Row

from spark_snapshot.audit.copysets import CopysetTable
from spark_snapshot.audit.decoding import LedgerRows, references_of
from spark_snapshot.audit.manifest import TableFile
from spark_snapshot.audit.rows import COPYSETS, LEDGERS, REFERENCES, UNDECODABLE
from spark_snapshot.format.files import summed
from spark_snapshot.format.places import Place, place

GROUP_ROWS: Final = 100_000
"""Rows of a row group; as many are in memory."""

COPYSETS_OF_TASKS: Final = "copysets-of-tasks"
"""A table of the draft only: a set is there once for each task."""
_COLUMNS: Final[dict[str, pa.DataType]] = {"table": pa.string(), "file": pa.string(), "left_out": pa.int64()}
WRITTEN: Final = pa.schema(_COLUMNS)
"""What a task tells of each file: its table, JSON of a :class:`TableFile`, and ledgers whose copysets were left out."""


class TableWriter:
    """A file of a table, which is there only if rows were added.

    Args:
        folder: Of the table.
        schema: Of its rows.
    """

    def __init__(self, folder: Place, schema: pa.Schema) -> None:
        self._folder = folder
        self._file = folder / f"part-{uuid.uuid4().hex}.parquet"
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []
        self._held = self._rows = 0
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Args:
            batch: The rows.

        Raises:
            OSError: The place refuses the file, or has no room.
        """
        if batch.num_rows:
            self._waiting.append(batch)
            self._held += batch.num_rows
        if self._held >= GROUP_ROWS:
            self._write()

    def ended(self) -> TableFile | None:
        """Finish the file, and say what it is; None where there were no rows.

        Raises:
            OSError: The place refuses the file, or has no room.
        """
        self._write()
        if self._writer is None:
            return None
        self._writer.close()
        self._file.flush()
        size, checksum = summed(self._file)
        return TableFile(name=self._file.name, rows=self._rows, bytes=size, sha256=checksum)

    def _write(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._folder.files.create_dir(self._folder.path)
            self._writer = pq.ParquetWriter(
                self._file.path,
                self._schema,
                filesystem=self._file.files,
                compression="zstd",
                compression_level=1,
                write_page_checksum=True,
            )
        table = pa.Table.from_batches(self._waiting, self._schema)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows
        self._waiting.clear()
        self._held = 0


@dataclass(frozen=True, slots=True)
class LedgerTables:
    """Decodes ledgers into the tables of a folder; what ``mapInArrow`` calls.

    Args:
        location: The folder, as Spark is told of it; every worker must reach it.
        root: Where BookKeeper's own paths begin.
    """

    location: str
    root: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of ``WRITTEN`` for rows of ``DATED_STORE``.

        Raises:
            OSError: The place refuses a file, or has no room.
        """
        decode, copysets = LedgerRows(self.root), CopysetTable()
        schemas = {"ledgers": LEDGERS, "undecodable": UNDECODABLE, COPYSETS_OF_TASKS: COPYSETS}
        with TaskTables(self.location, **schemas) as tables:
            for batch in batches:
                ledgers, flaws = decode.rows(batch)
                tables.add(ledgers=ledgers, undecodable=flaws)
                copysets.add(ledgers)
            for part in copysets.rows().to_batches():
                tables.add(**{COPYSETS_OF_TASKS: part})
            yield from tables.told(copysets.left_out)


@dataclass(frozen=True, slots=True)
class ReferenceTables:
    """Decodes what refers to ledgers into the tables of a folder; what ``mapInArrow`` calls.

    Args:
        location: As for :class:`LedgerTables`.
    """

    location: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of ``WRITTEN`` for rows of ``STORE`` or ``DATED_STORE``; raises as :class:`LedgerTables`."""
        with TaskTables(self.location, references=REFERENCES, undecodable=UNDECODABLE) as tables:
            for batch in batches:
                references, flaws = references_of(batch)
                tables.add(references=references, undecodable=flaws)
            yield from tables.told(0)


class TaskTables:
    """The files that a task writes, one for each of its tables.

    Args:
        location: The folder of the tables.
        schemas: Of the rows, by table.
    """

    def __init__(self, location: str, **schemas: pa.Schema) -> None:
        here = place(location)
        self._writers = {table: TableWriter(here / table, schema) for table, schema in schemas.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._writers.values():
            writer.__exit__(kind, exc, trace)

    def add(self, **batches: pa.RecordBatch) -> None:
        """Add rows.

        Args:
            batches: By table.
        """
        for table, batch in batches.items():
            self._writers[table].add(batch)

    def told(self, left_out: int) -> Iterator[pa.RecordBatch]:
        """Finish the files, and yield rows of ``WRITTEN`` that tell of them.

        Args:
            left_out: Ledgers whose copysets were left out.
        """
        for table, writer in self._writers.items():
            file = writer.ended()
            if file is not None:
                yield _told(table, file, left_out)
                left_out = 0

    def files(self) -> dict[str, tuple[TableFile, ...]]:
        """Finish the files, and say what they are, by table."""
        ended = {table: writer.ended() for table, writer in self._writers.items()}
        return {table: (file,) for table, file in ended.items() if file is not None}


def files_told(rows: Iterable[Row]) -> dict[str, tuple[TableFile, ...]]:
    """The files that tasks have told of, by table.

    Args:
        rows: Of ``WRITTEN``.
    """
    found = defaultdict[str, list[TableFile]](list)
    for row in rows:
        found[row["table"]].append(TableFile.model_validate_json(row["file"]))
    return {table: tuple(sorted(files, key=lambda each: each.name)) for table, files in found.items()}


def files_written(folder: Place) -> tuple[TableFile, ...]:
    """The files that Spark itself has put into a folder; what it has left beside them is removed.

    Args:
        folder: Of one table.
    """
    found = []
    for name in folder.file_names():
        file = folder / name
        if name.startswith(("_", ".")):
            folder.files.delete_file(file.path)
            continue
        size, checksum = summed(file)
        rows = pq.read_metadata(file.path, filesystem=file.files).num_rows
        found.append(TableFile(name=name, rows=rows, bytes=size, sha256=checksum))
    return tuple(found)


def only(folder: Place, files: Iterable[TableFile]) -> None:
    """Remove what tries that failed have left in a table's folder.

    Args:
        folder: Of the table.
        files: Those that belong to it.
    """
    wanted = {each.name for each in files}
    for name in folder.file_names():
        if name not in wanted:
            folder.files.delete_file((folder / name).path)


def _told(table: str, file: TableFile, left_out: int) -> pa.RecordBatch:
    columns: list[list[Any]] = [[table], [file.model_dump_json()], [left_out]]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, each.type) for column, each in zip(columns, WRITTEN, strict=True)], schema=WRITTEN
    )
