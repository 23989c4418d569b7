"""Losses of a finished audit: its ledgers judged once more, given bookies that are lost. No ledger is decoded again.

A task takes some of the row groups of a file, reads of them the columns that a judgement needs, and gives on only what
is harmed, and counts of all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from spark_snapshot.audit.judging import LostBookies, judgements
from spark_snapshot.audit.ledger_files import LedgerFiles
from spark_snapshot.audit.manifest import FinishedAudit
from spark_snapshot.audit.rows import JUDGEMENTS, REFERENCES, as_spark
from spark_snapshot.format.places import Place

SHOWN: Final = 1_000
"""Topics that are named; all are counted."""

_NEEDED: Final = (
    "ledger_id", "ensemble", "write_quorum", "ack_quorum", "last_entry", "length_bytes", "format_version",
    "creation_token", "created_ms", "state", "topic", "segments",
)  # fmt: skip
_COUNTS: Final = pa.field("counts", pa.string())
_FOUND: Final = pa.schema([*JUDGEMENTS, _COUNTS])


@dataclass(slots=True)
class LossCounts:
    """Ledgers, given a loss, in numbers.

    ``bytes`` and ``lost_bytes`` are of closed ledgers; of ``unknown_bytes`` that lost entries no length is known.
    ``named`` counts ledgers by each lost bookie that they name, entry or not.
    """

    ledgers: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    entries: int = 0
    lost_entries: int = 0
    bytes: int = 0
    lost_bytes: int = 0
    unknown_bytes: int = 0
    not_recoverable: int = 0
    single_copy: int = 0
    named: Counter[str] = field(default_factory=Counter)

    def take(self, rows: pa.RecordBatch) -> None:
        """Count a batch.

        Args:
            rows: Of ``JUDGEMENTS``.
        """
        self.ledgers += rows.num_rows
        self.classes.update(_counted(rows.column("class")))
        for name in ("entries", "lost_entries", "lost_bytes"):
            setattr(self, name, getattr(self, name) + _sum(rows.column(name)))
        self.bytes += _sum(rows.column("length_bytes"))
        self.unknown_bytes += _sum(pc.and_(_some(rows.column("lost_entries")), rows.column("length_bytes").is_null()))
        recoverable: Any = rows.column("recoverable")
        self.not_recoverable += _sum(pc.invert(recoverable))
        self.single_copy += _sum(rows.column("single_copy"))
        named: Any = rows.column("named")
        self.named.update(_counted(named.flatten()))

    def add(self, other: LossCounts) -> None:
        """Add the counts of other ledgers.

        Args:
            other: The counts.
        """
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, mine + theirs)

    def text(self) -> str:
        """The counts as JSON."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def of(cls, text: str) -> LossCounts:
        """Read counts.

        Args:
            text: JSON of them.
        """
        counts = cls()
        for name, each in json.loads(text).items():
            setattr(counts, name, Counter(each) if isinstance(each, dict) else each)
        return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class LossOutcome:
    """A loss as it leaves a cluster.

    Args:
        counts: Of all ledgers.
        lost: Topics with entries lost: how many, and the first by name.
        not_loadable: Topics with a ledger that nobody can recover, which keeps them from being loaded, likewise.
        without_topic: Harmed ledgers of which nobody knows a topic.
    """

    counts: LossCounts
    lost: tuple[int, tuple[str, ...]]
    not_loadable: tuple[int, tuple[str, ...]]
    without_topic: int


def judged_again(spark: SparkSession, audit: FinishedAudit, lost: LostBookies, *, lacking: bool = False) -> DataFrame:
    """Judge the ledgers of an audit, given a loss.

    Args:
        spark: The session.
        audit: The audit.
        lost: Bookies that are lost.
        lacking: Also rows of ledgers that only lack a replica, else only of those that are harmed.

    Returns:
        Rows of ``JUDGEMENTS``; and for each part of a file one more without an id, whose column ``counts`` has the JSON
        of :class:`LossCounts` of all its ledgers.
    """
    return judged_files(spark, audit.files("ledgers"), lost, lacking=lacking)


def judged_files(spark: SparkSession, files: list[Place], lost: LostBookies, *, lacking: bool) -> DataFrame:
    """Judge the ledgers of some files, as :func:`judged_again`.

    Args:
        spark: The session.
        files: Each of rows of ``LEDGERS``.
        lost: Bookies that are lost.
        lacking: Also rows of ledgers that only lack a replica.
    """
    ledgers = LedgerFiles.of(spark, files)
    return ledgers.numbers(spark).mapInArrow(_FileJudging(ledgers, lost, lacking), as_spark(_FOUND))


def counts_in(found: DataFrame) -> LossCounts:
    """Add up the counts among rows of :func:`judged_again`.

    Args:
        found: The rows.
    """
    total = LossCounts()
    for row in found.where("counts is not null").select("counts").collect():
        total.add(LossCounts.of(row["counts"]))
    return total


def what_if(spark: SparkSession, audit: FinishedAudit, lost: LostBookies) -> LossOutcome:
    """Tell what a loss would cost.

    Args:
        spark: The session.
        audit: A finished audit.
        lost: Bookies that are lost.

    Raises:
        SnapshotDamaged: A file of the audit is gone or damaged.
    """
    found = judged_again(spark, audit, lost).persist()
    try:
        counts = counts_in(found)  # first: how much is harmed decides how it is best joined
        topics = _harmed_topics(found, _references(spark, audit)).persist()
        nameless = topics.where("topic is null").select("ledgers").collect()
        return LossOutcome(
            counts=counts,
            lost=_named(topics.where("topic is not null and lost")),
            not_loadable=_named(topics.where("topic is not null and blocked")),
            without_topic=nameless[0]["ledgers"] if nameless else 0,
        )
    finally:
        found.unpersist()  # and what was made of it


def _harmed_topics(found: DataFrame, references: DataFrame) -> DataFrame:
    """Topics with their harmed ledgers, and with what harms them; what refers to a ledger goes before what it says."""
    harmed = found.where("counts is null").select("ledger_id", "lost_entries", "recoverable", "topic")
    referring = (
        references.join(harmed.select("ledger_id"), "ledger_id", "left_semi")
        .groupBy("ledger_id")
        .agg(F.min("topic").alias("referring"))
    )
    return (
        harmed.join(referring, "ledger_id", "left")
        .groupBy(F.coalesce("referring", "topic").alias("topic"))
        .agg(
            F.count("ledger_id").alias("ledgers"),
            F.expr("bool_or(lost_entries > 0)").alias("lost"),
            F.expr("bool_or(recoverable is not null and not recoverable)").alias("blocked"),
        )
    )


def _references(spark: SparkSession, audit: FinishedAudit) -> DataFrame:
    files = [each.location for each in audit.files("references")]
    schema = as_spark(REFERENCES)
    return spark.read.schema(schema).parquet(*files) if files else spark.createDataFrame([], schema)


def _named(topics: DataFrame) -> tuple[int, tuple[str, ...]]:
    first: list[Row] = topics.select("topic").orderBy("topic").limit(SHOWN).collect()
    count = topics.count() if len(first) == SHOWN else len(first)
    return count, tuple(row["topic"] for row in first)


@dataclass(frozen=True, slots=True)
class _FileJudging:
    """Judges files, each in some parts; what ``mapInArrow`` calls."""

    ledgers: LedgerFiles
    lost: LostBookies
    lacking: bool

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            chosen: list[Any] = batch.column(0).to_pylist()
            for number in chosen:
                counts = LossCounts()
                for rows in self.ledgers.rows(number, _NEEDED):
                    found = judgements(rows, self.lost)
                    counts.take(found)
                    shown = found.filter(self._shown(found))
                    if shown.num_rows:
                        yield _with_counts(shown, pa.nulls(shown.num_rows, pa.string()))
                nothing: list[Any] = [pa.nulls(1, each.type) for each in JUDGEMENTS]
                told = pa.RecordBatch.from_arrays(nothing, schema=JUDGEMENTS)
                yield _with_counts(told, pa.array([counts.text()]))

    def _shown(self, found: pa.RecordBatch) -> Any:  # noqa: ANN401 - a mask of Arrow
        recoverable: Any = found.column("recoverable")
        # of a write quorum of 0 nothing is lacked, and all is lost
        harmed = pc.or_(_some(found.column("lost_entries")), pc.invert(recoverable.fill_null(True)))
        return pc.or_(harmed, _some(found.column("below_write_quorum"))) if self.lacking else harmed


def _with_counts(rows: pa.RecordBatch, counts: pa.Array[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*rows.columns, counts], schema=_FOUND)


def _some(column: Any) -> Any:  # noqa: ANN401 - Arrow's functions give anything
    return pc.greater(column, pa.scalar(0, pa.int64()))


def _counted(column: pa.Array[Any]) -> dict[str, int]:
    values: Any = column
    found = values.value_counts()
    return {each["values"]: each["counts"] for each in found.to_pylist()}


def _sum(column: Any) -> int:  # noqa: ANN401 - Arrow's functions give anything
    """Add up a column without nulls in Python's own numbers, where those of 64 bits may not do."""
    total: Any = pc.sum(pc.cast(column, pa.decimal128(38)) if pa.types.is_int64(column.type) else column)
    return int(total.as_py() or 0)
