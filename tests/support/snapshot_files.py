"""Snapshots as the writer leaves them, made by Arrow alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from spark_snapshot.format.files import COLUMNS, examine
from spark_snapshot.format.layout import DATA, Snapshot, new_id
from spark_snapshot.format.manifest import MANIFEST, Count, Described, SnapshotManifest, StoreFacts, described_scope
from spark_snapshot.format.places import place
from spark_snapshot.format.words import StampOrigin
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, TieOrder
from syncer.paths import resource_at, tenant_of
from syncer.plan.diffing import fingerprint

NOW = 1_700_000_000_123
SCHEMA = pa.schema(
    [(name, pa.int64() if name.endswith("_ms") else pa.binary() if name in {"digest", "value"} else pa.string())
     for name in COLUMNS]
)  # fmt: skip


def described(region: str = "east", taken_at_ms: int = NOW, **more: object) -> Described:
    """What is known of a snapshot before its rows are read."""
    fields: dict[str, object] = {
        "region": region,
        "taken_at_ms": taken_at_ms,
        "made_by": "test",
        "store": StoreFacts(kind="sqlite", identity="one"),
        "registers": True,
        "scope": described_scope(Scope()),
        "scope_fingerprint": Scope().fingerprint,
        "ties": TieOrder.SMALLER_REGION,
        **more,
    }
    return Described.model_validate(fields)


def write_file(path: Path, paths: list[str]) -> None:
    """One file of a bucket."""
    _write_rows(path, [{"path": each, "kind": "namespace", "tenant": "t", "digest": b"\x01" * 16} for each in paths])


def _write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path, row_group_size=2)


def made(folder: Path, about: Described | None = None, random: str = "000001") -> Snapshot:
    """A snapshot of two buckets, as the writer leaves it."""
    about = about or described()
    name = new_id(about.taken_at_ms, random)
    here = folder / about.region / name
    (here / DATA).mkdir(parents=True)
    records = []
    for bucket, paths in enumerate((["/a", "/b", "/c"], ["/d", "/e"])):
        file = here / DATA / f"part-0_{bucket:05}.c000.parquet"
        write_file(file, paths)
        records.append(examine(place(file), bucket))
    manifest = SnapshotManifest(
        id=name,
        taken_at="2023-11-14T22:13:20Z",
        version=about.version,
        about=about,
        buckets=2,
        kinds={"namespace": Count(alive=5, dead=0, unseen=0, unstamped=0, held=0)},
        files=tuple(records),
    ).sealed()
    (here / MANIFEST).write_text(manifest.text())
    return Snapshot(place(here), manifest)


def holding(folder: Path, held: Mapping[MetaPath, bytes], about: Described | None = None) -> Snapshot:
    """A snapshot of values that the region's own daemon has stamped, in one bucket."""
    about = about or described()
    name = new_id(about.taken_at_ms, "000001")
    here = folder / about.region / name
    (here / DATA).mkdir(parents=True)
    file = here / DATA / "part-0_00000.c000.parquet"
    _write_rows(
        file,
        [
            {
                "path": path,
                "kind": resource_at(path).kind.value,
                "tenant": tenant_of(path),
                "digest": fingerprint(path, value),
                "updated_ms": NOW,
                "author": about.region,
                "origin": StampOrigin.REGISTER.value,
                "by": f"{about.region}~1",
                "seen": "{}",
                "revision": "1",
                "value": value,
            }
            for path, value in sorted(held.items())
        ],
    )
    manifest = SnapshotManifest(
        version=about.version,
        id=name,
        taken_at="2023-11-14T22:13:20Z",
        about=about,
        buckets=1,
        kinds={"namespace": Count(alive=len(held), dead=0, unseen=0, unstamped=0, held=0)},
        files=(examine(place(file), 0),),
    ).sealed()
    (here / MANIFEST).write_text(manifest.text())
    return Snapshot(place(here), manifest)
