"""Decoding and judging as tables of Spark: rows of a store in, rows of an audit out. Each row stays where it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot.audit.columns import MOST
from spark_snapshot.audit.decoding import LedgerRows, reference_rows
from spark_snapshot.audit.judging import LostBookies, judgements
from spark_snapshot.audit.rows import (
    DECODED,
    JUDGEMENTS,
    LEDGERS,
    REFERENCES,
    REFERRED,
    UNDECODABLE,
    as_spark,
)
from syncer.ledgers.paths import ROOT


def decoded(rows: DataFrame, *, root: str = ROOT) -> DataFrame:
    """Decode what was read of a store's ledgers.

    Args:
        rows: Of ``DATED_STORE``.
        root: Where BookKeeper's own paths begin.

    Returns:
        Rows of ``DECODED``; :func:`ledgers_in` and :func:`undecodable_in` take them apart.
    """
    read = rows.select("path", "kind", "value", "created_ms")
    return read.mapInArrow(LedgerRows(root), as_spark(DECODED))


def referred(rows: DataFrame) -> DataFrame:
    """Decode what was read of all that refers to ledgers.

    Args:
        rows: Of ``STORE`` or ``DATED_STORE``.

    Returns:
        Rows of ``REFERRED``; :func:`references_in` and :func:`undecodable_in` take them apart.
    """
    return rows.select("path", "kind", "value").mapInArrow(reference_rows, as_spark(REFERRED))


def ledgers_in(found: DataFrame) -> DataFrame:
    """The rows of ``LEDGERS`` among those of ``DECODED``.

    Args:
        found: The rows.
    """
    return found.where("why is null").select(LEDGERS.names)


def references_in(found: DataFrame) -> DataFrame:
    """The rows of ``REFERENCES`` among those of ``REFERRED``.

    Args:
        found: The rows.
    """
    return found.where("why is null").select(REFERENCES.names)


def undecodable_in(found: DataFrame) -> DataFrame:
    """The rows of ``UNDECODABLE`` among those of ``DECODED`` or ``REFERRED``.

    Args:
        found: The rows.
    """
    return found.where("why is not null").select(UNDECODABLE.names)


def judged(ledgers: DataFrame, lost: LostBookies) -> DataFrame:
    """Judge ledgers, given a loss.

    Args:
        ledgers: Rows of ``LEDGERS``.
        lost: Bookies that are lost.

    Returns:
        Rows of ``JUDGEMENTS``, one for each.
    """
    return ledgers.select(LEDGERS.names).mapInArrow(_Judging(lost), as_spark(JUDGEMENTS))


def merged(copysets: DataFrame) -> DataFrame:
    """Put the copysets of several tasks together.

    Args:
        copysets: Rows of ``COPYSETS``.

    Returns:
        The same, each set once.
    """
    sums = [F.coalesce(F.try_sum(name), F.lit(MOST)).alias(name) for name in ("ledgers", "entries", "bytes")]
    return copysets.groupBy("kind", "bookies").agg(*sums)


@dataclass(frozen=True, slots=True)
class _Judging:
    """What ``mapInArrow`` calls."""

    lost: LostBookies

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield judgements(batch, self.lost)
