"""Completes what was read of a store by the kept fields of its daemon's registers, with digests of the whole values.

Brokers drop what they do not know, and the daemon keeps it: its registers are of whole values. Only rows at which the
store lacks something are looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame

from spark_snapshot.format.rows import STORE
from spark_snapshot.sources.arrow import STORE as ROWS
from syncer.conflict.completing import completed_value
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import json_in
from syncer.conflict.withholding import carried_value
from syncer.model import MetaPath
from syncer.plan.diffing import fingerprint


def completed_rows(store: DataFrame, registers: DataFrame) -> DataFrame:
    """Complete a store's rows.

    Args:
        store: Rows of ``STORE``, each path once.
        registers: Rows of ``REGISTERS``, each path once.

    Returns:
        Rows of ``STORE``, in no order.
    """
    columns = STORE.fieldNames()
    incomplete = registers.where("gone IS NOT NULL").select("path", "gone")
    filled = store.join(incomplete, "path").select(*columns, "gone").mapInArrow(_filled, STORE)
    return store.join(incomplete.select("path"), "path", "left_anti").select(*columns).unionByName(filled)


def whole_row(path: MetaPath, value: bytes, gone: bytes) -> tuple[bytes, bytes]:
    """A stored value with the fields that it lacks, and its digest.

    Args:
        path: Of a resource.
        value: As the store holds it.
        gone: JSON of the kept fields: an object, or an array where some fields are the store's own.
    """
    told = json_in(gone)
    missing, excluded, group = cast("Any", told if isinstance(told, list) else (told, (), {}))
    kept = KeptFields(gone=missing, excluded=tuple(excluded), group=group)
    whole = carried_value(path, completed_value(path, value, kept))
    return whole, fingerprint(path, whole)


def _filled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows: list[dict[str, Any]] = batch.to_pylist()
        for row in rows:
            row["value"], row["digest"] = whole_row(MetaPath(row["path"]), row["value"], row.pop("gone"))
        yield pa.RecordBatch.from_pylist(rows, schema=ROWS)
