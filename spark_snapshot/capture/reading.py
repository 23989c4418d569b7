"""The first step of a snapshot: all that it is made of is read, once, into files of the draft.

Only here is the store asked. What is made of the files afterwards may be begun again, in another process and much
later, and still shows the moment at which they were read.

The registers are read first, then the store. What the daemon writes in between is then a change that the registers do
not know yet (``unseen``), never an old value that looks new; nobody is told of such rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow.parquet as pq
from pydantic import ValidationError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark_snapshot import sources
from spark_snapshot.capture.completing import completed_rows
from spark_snapshot.capture.renaming import renamed_rows
from spark_snapshot.capture.watermark import Sidecar, sidecar_of
from spark_snapshot.format.drafts import READ, SnapshotDraft, flush_all
from spark_snapshot.format.extent import Extent
from spark_snapshot.format.manifest import (
    Described,
    ManifestTable,
    StoreFacts,
    current_projections,
    described_exclusions,
    described_scope,
)
from spark_snapshot.format.places import Place
from spark_snapshot.format.rows import REGISTERS, STORE
from spark_snapshot.format.uncarried import Uncarried, summed
from spark_snapshot.runtime.phases import Job
from spark_snapshot.sources.place import PlaceFacts, StorePlace
from syncer.config.model import Config
from syncer.conflict.scope import Scope
from syncer.errors import PreconditionFailed, SnapshotDamaged, SnapshotRefused
from syncer.version import made_by

_STORE: Final = "store"
_REGISTERS: Final = "registers"
_CHECKED: Final = {"parquet.page.verify-checksum.enabled": "true"}


class ReadFile(ManifestTable):
    """A file of rows; ``incomplete``: so many are of registers whose store lacks fields that the daemon keeps.

    ``first_form``: so many namespaces of the first form its reader has met, some of them named. They are not in it.
    """

    name: str
    rows: int
    bytes: int
    incomplete: int = 0
    first_form: int = 0
    first_form_named: tuple[str, ...] = ()


class Read(ManifestTable):
    """Files of the rows that were read, of the store and of the registers, and how they are to be understood.

    ``uncarried``: resources that were met, and are in no file.
    """

    version: Literal[1] = 1
    about: Described
    files: tuple[ReadFile, ...]
    registers: tuple[ReadFile, ...]
    uncarried: Uncarried | None = None

    @property
    def rows(self) -> int:
        """Resources of the store."""
        return sum(each.rows for each in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """What is to be read.

    Args:
        config: Of the region.
        extent: How much of it.
        registers: Whether those of the daemon's database take part, where there is one.
        taken_at_ms: When it began.
        expected: How many resources there will be, where that can be said.
    """

    config: Config
    extent: Extent
    registers: bool
    taken_at_ms: int
    expected: int | None


def read_region(job: Job, draft: SnapshotDraft, wanted: CaptureRequest, place: StorePlace, before: PlaceFacts) -> Read:
    """Read a region's registers and its store into a draft, and note what that was.

    Args:
        job: Does it.
        draft: Where the files go.
        wanted: What is read.
        place: The store, or its files.
        before: What the store is, and how far it has come.

    Raises:
        StoreError: The store does not answer, or does not let us in.
        StateError: The daemon's database is there and cannot be read.
        SnapshotRefused: It became another store meanwhile.
        JobCancelled: It was asked to stop.
    """
    config, extent, expected = wanted.config, wanted.extent, wanted.expected
    scope = config.compiled_scope()
    sidecar = sidecar_of(config) if wanted.registers else None
    known: tuple[ReadFile, ...] = ()
    if sidecar is not None:
        with job.phase("registers", f"reading the registers of {config.region}", expected_rows=expected):
            known = _written(_registers(job.session, sidecar, config, extent), draft.empty(_REGISTERS))
    with job.phase("store", f"reading the store of {config.region}", expected_rows=expected):
        told = read_store(job.session, place, scope, draft.empty(_STORE), tenants=extent.tenants)
    after = sources.facts(place)
    if (before.cluster, before.identity) != (after.cluster, after.identity):
        raise SnapshotRefused(
            f"the store of region {config.region} became another one while it was read",
            hint="Take it again when the store is the one that it should be.",
        )
    read = Read(
        about=Described(
            region=config.region,
            taken_at_ms=wanted.taken_at_ms,
            made_by=made_by(),
            store=store_facts(before, after),
            registers=sidecar is not None,
            watermark=dict(sidecar.watermark) if sidecar is not None else {},
            scope=described_scope(scope),
            scope_fingerprint=scope.fingerprint,
            ties=config.tie_order,
            tenants=None if extent.tenants is None else tuple(sorted(extent.tenants)),
            exclude=described_exclusions(config.scope.exclusions()),
        ),
        files=tuple(each for each in told if each.name),
        registers=known,
        uncarried=summed((each.first_form, each.first_form_named) for each in told),
    )
    for name in draft.place.folders():
        flush_all(draft.place / name)
    draft.write(READ, read.model_dump_json())
    return read


def read_store(
    session: SparkSession,
    place: StorePlace,
    scope: Scope,
    target: Place,
    *,
    tenants: Iterable[str] | None = None,
    readers: int | None = None,
) -> tuple[ReadFile, ...]:
    """Read a store, with digests, into Parquet files of a new folder; arguments as for :func:`sources.live`.

    A reader that has met nothing but namespaces of the first form gives a record without a name, and no file.
    """
    target.files.create_dir(target.path)
    told = sources.kept(session, place, scope, target, tenants=tenants, readers=readers).collect()
    return tuple(ReadFile.model_validate_json(row["file"]) for row in told)


def read_before(draft: SnapshotDraft, config: Config) -> Read:
    """What an earlier job has read into a draft.

    Raises:
        PreconditionFailed: It was read by other rules than the configuration's.
        SnapshotDamaged: It is not there as it was read.
    """
    where = draft.place / READ
    try:
        read = Read.model_validate_json(where.read())
    except (ValidationError, OSError) as exc:
        raise SnapshotDamaged(f"{where} cannot be understood", hint="Take a snapshot without --resume.") from exc
    for folder, files in ((_STORE, read.files), (_REGISTERS, read.registers)):
        for each in files:
            file = draft.place / folder / each.name
            if file.size() != each.bytes:
                raise SnapshotDamaged(f"{file} is not as it was read", hint="Take a snapshot without --resume.")
    about = read.about
    if (about.scope_fingerprint, about.ties, about.projections, about.exclude) != (
        config.compiled_scope().fingerprint,
        config.tie_order,
        current_projections(),
        described_exclusions(config.scope.exclusions()),
    ):
        raise PreconditionFailed(
            f"what was read of region {config.region} was read by another scope, order of ties or projections, or with "
            "other excluded fields",
            hint="Take a snapshot without --resume.",
        )
    return read


def tables_of(
    session: SparkSession, draft: SnapshotDraft, read: Read, names: Mapping[str, str]
) -> tuple[DataFrame, DataFrame | None]:
    """What was read, as rows of ``STORE`` and of ``REGISTERS``; ``None`` where no registers took part.

    The store's rows are by the group's names of clusters, and completed by the registers, as the digests of these are.

    Args:
        session: Spark's.
        draft: Where the files are.
        read: What was read.
        names: Of clusters: by the name here, the name in the group.
    """
    store = renamed_rows(_rows(session, STORE, draft.place / _STORE, read.files), names)
    known = _rows(session, REGISTERS, draft.place / _REGISTERS, read.registers) if read.about.registers else None
    if known is not None and any(each.incomplete for each in read.registers):
        store = completed_rows(store, known)
    return store, known


def _rows(session: SparkSession, schema: StructType, folder: Place, files: Iterable[ReadFile]) -> DataFrame:
    named = [(folder / each.name).location for each in files]
    if not named:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).options(**_CHECKED).parquet(*named)


def _written(rows: DataFrame, folder: Place) -> tuple[ReadFile, ...]:
    """Rows put into files of a new folder, by Spark."""
    rows.write.options(compression="zstd").parquet(folder.location)
    found: list[ReadFile] = []
    for name in folder.file_names():
        if not name.startswith(("_", ".")):
            file = folder / name
            end = pq.read_metadata(file.path, filesystem=file.files)
            found.append(
                ReadFile(
                    name=name, rows=end.num_rows, bytes=file.size() or 0, incomplete=_filled(end, REGISTERS, "gone")
                )
            )
    return tuple(found)


def _filled(end: pq.FileMetaData, schema: StructType, name: str) -> int:
    """How many rows of a file have something in a column, at most."""
    at, found = schema.fieldNames().index(name), 0
    for number in range(end.num_row_groups):
        column = end.row_group(number).column(at)
        nulls = column.statistics.null_count if column.statistics is not None else None
        found += column.num_values - (nulls or 0)
    return found


def _registers(session: SparkSession, sidecar: Sidecar, config: Config, extent: Extent) -> DataFrame:
    return sources.registers(
        session, sidecar.url, config.compiled_scope(), password_file=sidecar.password_file, tenants=extent.tenants
    )


def store_facts(before: PlaceFacts, after: PlaceFacts) -> StoreFacts:
    """The record of a store that was read.

    Args:
        before: What it was when the reading began.
        after: What it is when the reading has ended.
    """
    return StoreFacts(
        kind=before.kind,
        identity=before.identity or before.where,
        revision_before=before.position,
        revision_after=after.position,
        cluster_id=before.cluster or "",
    )
