"""The readers as Python data sources of Spark: partitions and options, nothing else.

Tenants and subtrees are given by options, not taken from the filters of a query (``pushFilters``): Spark 4.3 keeps what
a reader takes from one query for the next one on the same table, so a later query without a filter would come short.
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from spark_snapshot.format.rows import DATED_STORE, REGISTERS, STORE
from spark_snapshot.sources.place import Part, StorePlace, source
from spark_snapshot.sources.reach import Reach
from syncer.errors import ConfigError
from syncer.wanted.shapes import ShapedPaths

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_snapshot.format.places import Place
    from spark_snapshot.sources.found import ResourceBatch
    from spark_snapshot.sources.sidecar import Database
    from syncer.wanted.contract import WantedPaths

STORE_FORMAT: Final = "syncer-store"
KEPT_FORMAT: Final = "syncer-store-kept"
REGISTERS_FORMAT: Final = "syncer-registers"
MAX_READERS: Final = 8
"""Of one live store at once: more are a load for its servers, and not for Spark."""


def register(spark: SparkSession) -> None:
    """Make the formats known to a session."""
    spark.dataSource.register(StoreSource)
    spark.dataSource.register(KeptSource)
    spark.dataSource.register(RegistersSource)


def store(spark: SparkSession, place: StorePlace, wanted: WantedPaths, readers: int | None) -> DataFrame:
    """The rows of a store."""
    return _reading(spark, STORE_FORMAT, place, wanted, readers).load()


def kept(spark: SparkSession, place: StorePlace, wanted: WantedPaths, readers: int | None, target: Place) -> DataFrame:
    """Files that hold the rows of a store, made when the table is read: see :mod:`spark_snapshot.sources.keeping`."""
    reading = _reading(spark, KEPT_FORMAT, place, wanted, readers)
    return reading.option("target", target.location).load().where("file IS NOT NULL")


def _reading(
    spark: SparkSession, form: str, place: StorePlace, wanted: WantedPaths, readers: int | None
) -> DataFrameReader:
    register(spark)
    count = readers or min(MAX_READERS, spark.sparkContext.defaultParallelism)
    options = {"place": place.to_json(), "wanted": wanted.to_json(), "readers": str(count)}
    return spark.read.format(form).options(**options)


def registers(spark: SparkSession, url: str, password_file: Path | None, reach: Reach) -> DataFrame:
    """The rows of a sidecar database."""
    from spark_snapshot.sources.sidecar import without_password  # noqa: PLC0415 - loads SQLAlchemy

    shown, password = without_password(url)
    if password is not None and password_file is None:
        if not (spark.sparkContext.master or "").startswith("local"):
            raise ConfigError(
                "the password of the sidecar database cannot be handed to workers of another machine",
                hint="Give 'state.password_file', a file that every worker has.",
            )
        password_file = _private(password)
    register(spark)
    reading = spark.read.format(REGISTERS_FORMAT).option("database", shown).option("reach", reach.to_json())
    return reading.option("passwordFile", str(password_file or "")).load()


class _Partition(InputPartition):
    """What one task reads."""

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self.part = part


class _StoreReader(DataSourceReader):
    def __init__(self, place: str, wanted: str, readers: int) -> None:
        self._place = place
        self._wanted = wanted  # as text: a scope cannot be pickled
        self._readers = readers

    def partitions(self) -> Sequence[InputPartition]:
        """One for each reader; none where nothing is asked for."""
        parts = source(StorePlace.from_json(self._place)).parts(wanted_of(self._wanted), self._readers)
        return [_Partition(part) for part in parts] or [_Partition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one reader."""
        from spark_snapshot.sources.arrow import stored  # noqa: PLC0415 - on the worker only

        return stored(self._found(partition), dated=wanted_of(self._wanted).terms.created)

    def _found(self, partition: InputPartition) -> Iterator[ResourceBatch]:
        assert isinstance(partition, _Partition)  # noqa: S101 - narrows the type
        if partition.part is not None:
            wanted = wanted_of(self._wanted).digested()
            yield from source(StorePlace.from_json(self._place)).read(wanted, partition.part)


class _KeptReader(_StoreReader):
    def __init__(self, place: str, wanted: str, readers: int, target: str) -> None:
        super().__init__(place, wanted, readers)
        self._target = target

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Write the rows of one reader; tell of them."""
        from spark_snapshot.format.places import place  # noqa: PLC0415 - on the worker only
        from spark_snapshot.sources.arrow import stored  # noqa: PLC0415 - on the worker only
        from spark_snapshot.sources.first_form import FirstFormCount  # noqa: PLC0415 - on the worker only
        from spark_snapshot.sources.keeping import keep  # noqa: PLC0415 - on the worker only

        count = FirstFormCount()
        return keep(stored(count.taken_out(self._found(partition))), place(self._target), count.told)


class _RegistersReader(DataSourceReader):
    def __init__(self, database: Database, reach: str) -> None:
        self._database = database
        self._reach = reach

    def partitions(self) -> Sequence[InputPartition]:
        """One: a page follows the other."""
        return [_Partition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows."""
        from spark_snapshot.sources import sidecar  # noqa: PLC0415 - on the worker only
        from spark_snapshot.sources.arrow import registered  # noqa: PLC0415 - on the worker only

        del partition
        yield from registered(sidecar.read(self._database, Reach.from_json(self._reach)))


class StoreSource(DataSource):
    """What a store holds of what is wanted. Options: ``place`` and ``wanted`` (JSON), ``readers``."""

    @classmethod
    def name(cls) -> str:
        """Its format."""
        return STORE_FORMAT

    def schema(self) -> StructType:
        """Its rows."""
        options: Any = self.options
        return DATED_STORE if wanted_of(options["wanted"]).terms.created else STORE

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads it."""
        del schema
        options: Any = self.options
        return _StoreReader(options["place"], options["wanted"], int(options.get("readers", "1")))


class KeptSource(DataSource):
    """Files with the same. Options: ``place`` and ``wanted`` (JSON), ``readers``, ``target`` (a folder)."""

    @classmethod
    def name(cls) -> str:
        """Its format."""
        return KEPT_FORMAT

    def schema(self) -> StructType:
        """A row for each path; only those that tell of a file say something."""
        return StructType([StructField("file", StringType())])

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads and writes."""
        del schema
        options: Any = self.options
        return _KeptReader(options["place"], options["wanted"], int(options.get("readers", "1")), options["target"])


class RegistersSource(DataSource):
    """A daemon's registers. Options: ``database`` (a URL without a password), ``passwordFile``, ``reach`` (JSON)."""

    @classmethod
    def name(cls) -> str:
        """Its format."""
        return REGISTERS_FORMAT

    def schema(self) -> StructType:
        """Its rows."""
        return REGISTERS

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads it."""
        from spark_snapshot.sources.sidecar import Database  # noqa: PLC0415 - loads SQLAlchemy

        del schema
        options: Any = self.options
        file = options.get("passwordFile", "")
        database = Database(url=options["database"], password_file=Path(file) if file else None)
        return _RegistersReader(database, options["reach"])


def wanted_of(text: str) -> WantedPaths:
    """What is wanted, from its text: policies, or paths by their shapes."""
    return ShapedPaths.from_json(text) if "shapes" in json.loads(text) else Reach.from_json(text)


def _private(password: str) -> Path:
    """A file of this process that nobody else can read, gone when it ends."""
    handle, name = tempfile.mkstemp(prefix="syncer-")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(password)
    atexit.register(_remove, name)
    return Path(name)


def _remove(name: str) -> None:
    Path(name).unlink(missing_ok=True)
