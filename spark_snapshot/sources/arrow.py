"""Record batches of what readers find: kind, tenant and digest are made here, beside the reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from spark_snapshot.sources.found import ResourceBatch

if TYPE_CHECKING:
    from spark_snapshot.sources.sidecar import RegisterRow

_STORE: Final[list[pa.Field[Any]]] = [
    pa.field("path", pa.string(), nullable=False),
    pa.field("kind", pa.string(), nullable=False),
    pa.field("tenant", pa.string(), nullable=False),
    pa.field("digest", pa.binary(), nullable=False),
    pa.field("modified_ms", pa.int64()),
    pa.field("revision", pa.string(), nullable=False),
    pa.field("value", pa.binary(), nullable=False),
]
STORE: Final = pa.schema(_STORE)
"""As ``spark_snapshot.format.rows.STORE``."""
DATED_STORE: Final = pa.schema([*_STORE, pa.field("created_ms", pa.int64())])
"""As ``spark_snapshot.format.rows.DATED_STORE``."""

_REGISTERS: Final[list[pa.Field[Any]]] = [
    pa.field("path", pa.string(), nullable=False),
    pa.field("kind", pa.string(), nullable=False),
    pa.field("tenant", pa.string(), nullable=False),
    pa.field("digest", pa.binary()),
    pa.field("updated_ms", pa.int64(), nullable=False),
    pa.field("author", pa.string(), nullable=False),
    pa.field("by", pa.string(), nullable=False),
    pa.field("seen", pa.string(), nullable=False),
    pa.field("known_ms", pa.int64(), nullable=False),
    pa.field("known_author", pa.string(), nullable=False),
    pa.field("hold", pa.string()),
    pa.field("gone", pa.binary()),
]
REGISTERS: Final = pa.schema(_REGISTERS)
"""As ``spark_snapshot.format.rows.REGISTERS``."""


def stored(batches: Iterable[ResourceBatch], *, dated: bool = False) -> Iterator[pa.RecordBatch]:
    """Rows of a store; a batch for each.

    Args:
        batches: What a reader finds.
        dated: With times of creation.
    """
    schema = DATED_STORE if dated else STORE
    for batch in batches:
        paths, kinds, tenants, values, times, revisions, created = batch.columns
        batch.digest()
        found: list[list[Any]] = [paths, kinds, tenants, batch.digests, times, revisions, values]
        if dated:
            found.append(created)
        columns: list[pa.Array[Any]] = [
            pa.array(column, field.type) for column, field in zip(found, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def registered(pages: Iterable[list[RegisterRow]]) -> Iterator[pa.RecordBatch]:
    """Rows of registers; a batch for each page."""
    for page in pages:
        columns: list[pa.Array[Any]] = [
            pa.array(column, field.type) for column, field in zip(zip(*page, strict=True), REGISTERS, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=REGISTERS)
