"""The layout of snapshots, versions 1 to 3: which folder holds what, and what is checked before one is believed.

    FOLDER/
      REGION/                           the region's name, quoted like a URL
        20260102T030405678Z-1a2b3c/     one snapshot: its time, and a random part
          MANIFEST.json                 written last: without it there is no snapshot
          UNCARRIED.json                  only where the store has namespaces that nothing carries: how many, the first
          data/part-…_00003.c000.zstd.parquet     bucket 3, sorted by path
        .20260103T…-4d5e6f.partial/     one that is being taken, or was given up

A row lies in bucket ``pmod(murmur3(path), buckets)``, which is how Spark distributes by path, and each bucket is one
file. So any number of snapshots with as many buckets are compared bucket by bucket, without moving a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from spark_snapshot.format.extent import WHOLE, Extent, shared
from spark_snapshot.format.files import COLUMNS, examine
from spark_snapshot.format.manifest import MANIFEST, SnapshotManifest, read_manifest
from spark_snapshot.format.places import Place, place
from syncer.conflict.scope import Scope
from syncer.errors import NotFound, SnapshotDamaged, SnapshotError, SnapshotInvalid, SnapshotsIncomparable
from syncer.model import TieOrder

DATA: Final = "data"
PARTIAL: Final = ".partial"
_ID: Final = re.compile(r"\d{8}T\d{9}Z-[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that was checked when it was opened."""

    place: Place
    manifest: SnapshotManifest

    @property
    def id(self) -> str:
        """Its name in its region's folder; later ones sort later."""
        return self.manifest.id

    @property
    def region(self) -> str:
        """Whose store it shows."""
        return self.manifest.about.region

    @property
    def extent(self) -> Extent:
        """How much of the region it shows."""
        return self.manifest.about.extent


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderListing:
    """What a folder holds: snapshots, the latest last; those that cannot be used, and why; unfinished ones."""

    snapshots: tuple[Snapshot, ...]
    broken: tuple[tuple[Place, SnapshotError], ...]
    unfinished: tuple[Place, ...]


def region_folder(folder: Place, region: str) -> Place:
    """Where a region's snapshots lie."""
    name = quote(region, safe="")
    return folder / (f"%2E{name[1:]}" if name.startswith(".") else name)


def new_id(taken_at_ms: int, random: str) -> str:
    """Name of a snapshot. ``random``: six hexadecimal digits."""
    moment = datetime.fromtimestamp(taken_at_ms / 1000, tz=UTC)
    return f"{moment:%Y%m%dT%H%M%S}{taken_at_ms % 1000:03}Z-{random}"


def is_id(name: str) -> bool:
    """Whether a folder's name is that of a snapshot."""
    return _ID.fullmatch(name) is not None


def open_snapshot(where: str | Place) -> Snapshot:
    """Open a snapshot: its manifest, the sizes of its files and what their ends say of rows and columns.

    The bytes of the files are compared by :func:`verify`, which reads all of them.

    Raises:
        NotFound: There is no such folder.
        SnapshotInvalid: The folder holds no snapshot, an unfinished one, or one of another version.
        SnapshotDamaged: Files are missing, extra, cut off, or not what was written.
    """
    here = where if isinstance(where, Place) else place(where)
    snapshot = _opened(here)
    data = here / DATA
    written = {each.name: each for each in snapshot.manifest.files}
    found = {name for name in data.file_names() if not name.startswith(("_", "."))}
    if found != written.keys():
        missing, extra = sorted(written.keys() - found), sorted(found - written.keys())
        what = f"{missing[0]} is missing" if missing else f"{extra[0]} does not belong to it"
        raise SnapshotDamaged(f"{data}: {what}")
    for name, record in written.items():
        size = (data / name).size()
        if size != record.bytes:
            raise SnapshotDamaged(f"{data / name} has {size} bytes; {record.bytes} were written")
        rows = _rows_of(data / name)
        if rows != record.rows:
            raise SnapshotDamaged(f"{data / name} has {rows} rows; {record.rows} were written")
    return snapshot


def verify(snapshot: Snapshot) -> None:
    """Read all bytes: is each file as it was written, and each path there once and in order?

    Raises:
        SnapshotDamaged: Not so.
    """
    for record in snapshot.manifest.files:
        where = snapshot.place / DATA / record.name
        if examine(where, record.bucket) != record:
            raise SnapshotDamaged(f"{where} is not as it was written: its checksum is another")


def comparable(snapshots: Sequence[Snapshot], *, one_region: bool = False) -> TieOrder:
    """Check that snapshots can be compared, and tell by which order of ties.

    Args:
        snapshots: Two or more.
        one_region: They are of one region at different times, rather than of different regions.

    Raises:
        SnapshotsIncomparable: A region is there twice, they were taken by another order of ties or other projections,
            have nothing in common, or the rules of one are not those that it names.
    """
    if len(snapshots) < 2:
        raise SnapshotsIncomparable(f"{len(snapshots)} snapshots to compare; it takes two")
    regions = [each.region for each in snapshots]
    twice = sorted({region for region in regions if regions.count(region) > 1})
    if twice and not one_region:
        raise SnapshotsIncomparable(
            f"region {twice[0]} is there twice", hint="Name one snapshot of each region that is to be compared."
        )
    if one_region and len({each.id for each in snapshots}) < len(snapshots):
        raise SnapshotsIncomparable(f"snapshot {snapshots[0].id} is there twice", hint="Name two different ones.")
    for each in snapshots:
        about = each.manifest.about
        if Scope(about.rules, told=True).fingerprint != about.scope_fingerprint:
            raise SnapshotsIncomparable(
                f"snapshot {each.id} of {each.region} names another scope than that of its rules",
                hint="What it covers cannot be told: take a new one.",
            )
    first = snapshots[0]
    for other in snapshots[1:]:
        for what, here, there in (
            ("order of ties", first.manifest.about.ties, other.manifest.about.ties),
            ("projections", first.manifest.about.projections, other.manifest.about.projections),
        ):
            if here != there:
                raise SnapshotsIncomparable(
                    f"snapshots of {first.region} and {other.region} were taken by another {what}: {here} and {there}"
                )
    if shared(each.extent for each in snapshots).empty:
        extents = "; ".join(f"{each.id} of {each.region}: {each.extent}" for each in snapshots)
        raise SnapshotsIncomparable(
            f"no tenant is in all of these snapshots ({extents})",
            hint="Name snapshots that hold the same tenants; one of a whole region goes with any.",
        )
    return first.manifest.about.ties


def snapshots_in(folder: Place, region: str | None = None) -> FolderListing:
    """List what a folder holds, of one region or of all. Manifests are read, files are not."""
    snapshots: list[Snapshot] = []
    broken: list[tuple[Place, SnapshotError]] = []
    unfinished: list[Place] = []
    for one in [region_folder(folder, region).name] if region is not None else folder.folders():
        if one.startswith("."):
            continue
        for name in (folder / one).folders():
            here = folder / one / name
            if name.endswith(PARTIAL) or (is_id(name) and not (here / MANIFEST).exists()):
                unfinished.append(here)
            elif is_id(name):
                try:
                    snapshots.append(_opened(here))
                except SnapshotError as exc:
                    broken.append((here, exc))
                except (NotFound, FileNotFoundError):
                    continue  # somebody has just removed it
    snapshots.sort(key=lambda each: (each.region, each.id))
    return FolderListing(snapshots=tuple(snapshots), broken=tuple(broken), unfinished=tuple(unfinished))


def latest(folder: Place, region: str, extent: Extent = WHOLE) -> Snapshot | None:
    """The latest snapshot of a region and of exactly this extent, if there is one."""
    found = [each for each in snapshots_in(folder, region).snapshots if each.extent == extent]
    return found[-1] if found else None


def regions_of(folder: Place) -> list[str]:
    """Regions that the folder has something of."""
    return [unquote(name) for name in folder.folders() if not name.startswith(".")]


def _opened(here: Place) -> Snapshot:
    text = _manifest_text(here)
    manifest = read_manifest(text, str(here / MANIFEST))
    if manifest.id != here.name:
        raise SnapshotDamaged(f"{here} holds the manifest of another snapshot: {manifest.id}")
    return Snapshot(here, manifest)


def _manifest_text(here: Place) -> bytes:
    if not here.exists():
        raise NotFound(f"no snapshot {here}", hint="See 'syncer snapshot list'.")
    if not (here / MANIFEST).exists():
        raise SnapshotInvalid(f"{here} has no {MANIFEST}: it is no snapshot, or was never finished")
    try:
        return (here / MANIFEST).read()
    except OSError as exc:
        raise SnapshotDamaged(f"{here / MANIFEST} cannot be read: {exc}") from exc


def _rows_of(where: Place) -> int:
    """Rows that the end of a file tells of."""
    try:
        end = pq.read_metadata(where.path, filesystem=where.files)
        _same_columns(where, end.schema.to_arrow_schema().names)
        return int(end.num_rows)
    except (pa.ArrowException, OSError, ValueError) as exc:
        raise SnapshotDamaged(f"{where} is no Parquet, or is cut off: {exc}") from exc


def _same_columns(where: Place, names: Iterable[str]) -> None:
    if list(names) != list(COLUMNS):
        raise SnapshotDamaged(f"{where} has other columns than a snapshot's: {', '.join(names)}")
