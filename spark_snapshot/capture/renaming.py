"""Reads rows of a store by the group's names of clusters, as its daemon does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from spark_snapshot.format.rows import STORE
from spark_snapshot.sources.arrow import STORE as ROWS
from syncer.conflict.withholding import carried_value
from syncer.naming.cluster_names import ClusterNames
from syncer.plan.diffing import fingerprint


def renamed_rows(store: DataFrame, given: Mapping[str, str]) -> DataFrame:
    """Rename what a store's rows name of clusters.

    Args:
        store: Rows of ``STORE``.
        given: By the name here, the name in the group.

    Returns:
        Rows of ``STORE``, with the digests of what they are now.
    """
    return store.mapInArrow(partial(_renamed, dict(given)), STORE) if given else store


def renamed_row(row: dict[str, Any], names: ClusterNames) -> dict[str, Any]:
    """One row of ``STORE`` by the group's names."""
    path = names.path_in_group(row["path"])
    value = names.value_in_group(row["path"], row["value"])
    if path == row["path"] and value == row["value"]:
        return row
    value = carried_value(path, value)
    return {**row, "path": path, "value": value, "digest": fingerprint(path, value)}


def _renamed(given: dict[str, str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    names = ClusterNames(given)
    for batch in batches:
        yield pa.RecordBatch.from_pylist([renamed_row(row, names) for row in batch.to_pylist()], schema=ROWS)
