"""A snapshot as rows of Spark: read by bucket, so that nothing has to be moved to compare it with another.

Spark knows that files lie in buckets only of tables. A table is made in the session's catalog for as long as it takes
to resolve it; its files are not the catalog's and stay as they are.
"""

from __future__ import annotations

import uuid

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from spark_snapshot.format.layout import DATA, Snapshot
from spark_snapshot.format.places import Place
from spark_snapshot.format.rows import SNAPSHOT

_DDL = ", ".join(f"`{each.name}` {each.dataType.simpleString()}" for each in SNAPSHOT)

_WRITING = {
    "compression": "zstd",
    "parquet.compression.codec.zstd.level": "1",
    "parquet.block.size": str(32 << 20),  # so that a tenant or a path is found without reading most of a bucket
    "parquet.enable.dictionary#path": "false",  # no path is there twice
    "parquet.enable.dictionary#digest": "false",
    "parquet.enable.dictionary#value": "false",
}

_WHILE_WRITING = {
    "spark.sql.adaptive.localShuffleReader.enabled": "false",
    "spark.sql.adaptive.skewJoin.enabled": "false",
}
"""Where rows come from a join that lies by path in as many parts already, Spark leaves our own distribution out; then
nothing may read these parts in other pieces, or a bucket would come in several files."""


def rows(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """Rows of ``SNAPSHOT``. What is read is checked page by page against the checksums in the files."""
    name = _table_name()
    spark.sql(
        f"CREATE TABLE {name} ({_DDL}) USING parquet OPTIONS ('parquet.page.verify-checksum.enabled' 'true') "
        f"CLUSTERED BY (path) SORTED BY (path) INTO {snapshot.manifest.buckets} BUCKETS "
        f"LOCATION {_quoted((snapshot.place / DATA).location)}"
    )
    try:
        return spark.table(name)
    finally:
        spark.sql(f"DROP TABLE {name}")


def write_buckets(frame: DataFrame, target: Place, buckets: int) -> None:
    """Write rows of ``SNAPSHOT``, each bucket as one file in the order of its paths.

    The rows go where their path's hash says, once; a bucket is sorted where it is written.
    """
    spark = frame.sparkSession
    name = _table_name()
    before = {option: str(spark.conf.get(option)) for option in _WHILE_WRITING}
    for option, value in _WHILE_WRITING.items():
        spark.conf.set(option, value)
    writer: DataFrameWriter = frame.select(*SNAPSHOT.fieldNames()).repartition(buckets, "path").write.format("parquet")
    try:
        writer.options(**_WRITING).bucketBy(buckets, "path").sortBy("path").option("path", target.location).mode(
            "error"
        ).saveAsTable(name)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        for option, value in before.items():
            spark.conf.set(option, value)


def _table_name() -> str:
    return f"snapshot_{uuid.uuid4().hex}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
