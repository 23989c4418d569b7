"""Sources of snapshots: readers of stores and of registers, as tables of Spark.

The readers themselves are plain generators and know nothing of Spark; only the functions here do, when they are called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spark_snapshot.sources.place import PlaceFacts, StorePlace, facts
from spark_snapshot.sources.reach import Reach
from syncer.conflict.scope import Scope
from syncer.model import MetaPath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_snapshot.format.places import Place
    from syncer.wanted.shapes import ShapedPaths

__all__ = ["PlaceFacts", "StorePlace", "facts", "kept", "live", "offline", "register", "registers", "shaped"]


def register(spark: SparkSession) -> None:
    """Make the formats ``syncer-store`` and ``syncer-registers`` known to a session. Safe to call twice."""
    from spark_snapshot.sources import datasource  # noqa: PLC0415 - Spark loads where it is used

    datasource.register(spark)


def live(
    spark: SparkSession,
    place: StorePlace,
    scope: Scope,
    *,
    tenants: Iterable[str] | None = None,
    under: MetaPath | None = None,
    readers: int | None = None,
) -> DataFrame:
    """The resources of a place, most often of a live store: rows of ``spark_snapshot.format.rows.STORE``.

    Each reader's rows are of one moment of the store; a namespace and all of it, or all of an etcd range, is read by
    one reader. With one reader all rows are of one moment. etcd's readers share one revision; files are of one moment.

    Args:
        spark: The session.
        place: The store.
        scope: What takes part.
        tenants: Only theirs; the empty name is what belongs to none.
        under: Only this path and what is below.
        readers: How many read at once; the session's parallelism, at most 8, when not given.
    """
    from spark_snapshot.sources import datasource  # noqa: PLC0415 - Spark loads where it is used

    return datasource.store(spark, place, _reach(scope, tenants, under), readers)


def kept(
    spark: SparkSession,
    place: StorePlace,
    scope: Scope,
    target: Place,
    *,
    tenants: Iterable[str] | None = None,
    readers: int | None = None,
) -> DataFrame:
    """Read as :func:`live` does, into Parquet files of a folder: rows of ``STORE`` in each.

    A table with one row for each file, written when the table is read, and each time anew: a column ``file``, JSON of
    ``name``, ``rows`` and ``bytes``. Namespaces of the first form are in no file: where a reader has met some, the JSON
    has ``first_form``, their number, and ``first_form_named``; ``name`` is empty where it has met nothing else.

    Args:
        spark: The session.
        place: The store, or its files.
        scope: What takes part.
        target: The folder, which every worker must reach.
        tenants: Only theirs; the empty name is what belongs to none.
        readers: How many read at once, as for :func:`live`.
    """
    from spark_snapshot.sources import datasource  # noqa: PLC0415 - Spark loads where it is used

    reach = replace(_reach(scope, tenants, None), first_form=True)
    return datasource.kept(spark, place, reach, readers, target)


def offline(
    spark: SparkSession,
    files: Path,
    scope: Scope,
    *,
    logs: Path | None = None,
    prefix: str = "",
    tenants: Iterable[str] | None = None,
    under: MetaPath | None = None,
    readers: int | None = None,
) -> DataFrame:
    """The resources in a store's own files, all of one moment: rows of ``spark_snapshot.format.rows.STORE``.

    Every worker must see the files. Arguments as for :func:`live` and :meth:`StorePlace.offline`.
    """
    from spark_snapshot.sources import datasource  # noqa: PLC0415 - Spark loads where it is used

    place = StorePlace.offline(files, logs=logs, prefix=prefix)
    return datasource.store(spark, place, _reach(scope, tenants, under), readers)


def shaped(spark: SparkSession, place: StorePlace, wanted: ShapedPaths, *, readers: int | None = None) -> DataFrame:
    """Paths of given shapes, as those of ledgers: rows of ``STORE``, or of ``DATED_STORE`` as the terms say.

    Args:
        spark: The session.
        place: The store, or its files.
        wanted: The paths, and the terms on which they are read.
        readers: How many read at once, as for :func:`live`.
    """
    from spark_snapshot.sources import datasource  # noqa: PLC0415 - Spark loads where it is used

    return datasource.store(spark, place, wanted, readers)


def registers(
    spark: SparkSession,
    url: str,
    scope: Scope,
    *,
    password_file: Path | None = None,
    tenants: Iterable[str] | None = None,
    under: MetaPath | None = None,
) -> DataFrame:
    """What a sidecar database says its region's store holds: rows of ``spark_snapshot.format.rows.REGISTERS``.

    Args:
        spark: The session.
        url: Of the database. A password in it goes into a private file of this process, which workers of another
            machine cannot read: there, give ``password_file``.
        scope: What takes part.
        password_file: Holds the password; every worker must have it.
        tenants: Only theirs; the empty name is what belongs to none.
        under: Only this path and what is below.

    Raises:
        ConfigError: The URL cannot be used, or its password cannot reach the workers.
    """
    from spark_snapshot.sources import datasource  # noqa: PLC0415 - Spark loads where it is used

    return datasource.registers(spark, url, password_file, _reach(scope, tenants, under))


def _reach(scope: Scope, tenants: Iterable[str] | None, under: MetaPath | None) -> Reach:
    return Reach(scope=scope, tenants=None if tenants is None else frozenset(tenants), under=under)
