"""Snapshots for tests, made of values at hand: what a store holds, and what a daemon's registers say of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from spark_snapshot.capture.picture import picture
from spark_snapshot.capture.writing import write_snapshot
from spark_snapshot.format.layout import Snapshot, open_snapshot
from spark_snapshot.format.manifest import Described, StoreFacts, described_exclusions, described_scope
from spark_snapshot.format.places import Place
from spark_snapshot.format.rows import REGISTERS, STORE
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, TieOrder
from syncer.paths import resource_at, tenant_of
from syncer.plan.diffing import fingerprint

TAKEN_MS = 1_800_000_000_000
EVERYTHING = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """What a register says: the seated value (``None``: deleted), when and by whom."""

    value: bytes | None
    at: int
    by: str
    hold: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A region: values of its store, and registers; ``None``: no daemon."""

    store: Mapping[str, bytes] = field(default_factory=dict)
    registers: Mapping[str, Stamped] | None = field(default_factory=dict)
    modified_ms: int | None = None


def synced(values: Mapping[str, Stamped]) -> Held:
    """A region whose daemon has seen all that its store holds."""
    return Held(
        store={path: each.value for path, each in values.items() if each.value is not None}, registers=dict(values)
    )


def snapshot_of(
    spark: SparkSession,
    folder: Place,
    region: str,
    held: Held,
    *,
    taken_ms: int = TAKEN_MS,
    buckets: int = 2,
    scope: Scope = EVERYTHING,
    exclude: Sequence[Exclusion] = (),
) -> Snapshot:
    """Write a snapshot, and open it again."""
    store = spark.createDataFrame(
        [
            (*_named(path), fingerprint(MetaPath(path), value), held.modified_ms, "1", value)
            for path, value in held.store.items()
        ],
        STORE,
    )
    registers = None
    if held.registers is not None:
        registers = spark.createDataFrame(
            [
                (
                    *_named(path),
                    None if each.value is None else fingerprint(MetaPath(path), each.value),
                    each.at,
                    each.by,
                    f"{each.by}~1",
                    json.dumps({f"{each.by}~1": each.at}),
                    each.at,
                    each.by,
                    each.hold,
                    None,
                )
                for path, each in held.registers.items()
            ],
            REGISTERS,
        )
    described = Described(
        region=region,
        taken_at_ms=taken_ms,
        made_by="tests",
        store=StoreFacts(kind="none"),
        registers=registers is not None,
        scope=described_scope(scope),
        scope_fingerprint=scope.fingerprint,
        ties=TieOrder.SMALLER_REGION,
        exclude=described_exclusions(Exclusions(exclude)),
    )
    rows = picture(store, registers, region=region, taken_at_ms=taken_ms)
    return open_snapshot(write_snapshot(rows, folder, described, buckets=buckets, allow_empty=True).place)


def _named(path: str) -> tuple[str, str, str]:
    return path, resource_at(MetaPath(path)).kind.value, tenant_of(MetaPath(path))
