"""The manifest of an audit: its tables, its cluster, and what was found, in numbers. Sealed by a checksum.

FOLDER/
  CLUSTER/                          the cluster's name, quoted like a URL
    20260102T030405678Z-1a2b3c/     one audit: its time, and a random part
      MANIFEST.json                 written last: without it there is no audit
      ledgers/part-….parquet        a folder for each table
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from spark_snapshot.format.files import summed
from spark_snapshot.format.layout import is_id, region_folder
from spark_snapshot.format.manifest import MANIFEST, ManifestTable, StoreFacts, seal_of, text_of, validated
from spark_snapshot.format.places import Place, place
from syncer.errors import NotFound, SnapshotDamaged, SnapshotInvalid

FORMAT: Final = "pulsar-syncer-ledger-audit"
VERSION: Final = 1


class TableFile(ManifestTable):
    """A file of a table."""

    name: str
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class AuditedStore(ManifestTable):
    """What was read, and when.

    Args:
        cluster: The cluster, by the name that it has here.
        taken_at_ms: When the reading began. Units: milliseconds since the epoch, UTC.
        made_by: Program and version.
        store: The store.
        root: Where BookKeeper's own paths begin.
    """

    cluster: str = Field(min_length=1)
    taken_at_ms: int
    made_by: str
    store: StoreFacts
    root: str


class AuditedSpread(ManifestTable):
    """How ledgers are spread over racks, or regions, as these are configured.

    Args:
        over: Over which.
        min_racks: Over how many racks brokers spread a write quorum.
        enforced: They refuse a bookie without a rack.
        ledgers: Ledgers that were looked at.
        closed: Of these, the closed ones.
        not_spread: Those with a segment that is not spread; the table ``unspread`` names them.
        counted: Closed ones that BookKeeper's auditor would count; ``None``: which bookies are up is not known.
    """

    over: Literal["racks", "regions"]
    min_racks: int
    enforced: bool
    ledgers: int = Field(ge=0)
    closed: int = Field(ge=0)
    not_spread: int = Field(ge=0)
    counted: int | None = Field(ge=0)


class AuditSummary(ManifestTable):
    """What was found, given the bookies that were not there when it was read.

    Args:
        ledgers: Ledgers that were decoded.
        classes: Of these, by the worst that an entry has.
        entries: Entries that are certain.
        lost_entries: Of these, without a replica left.
        bytes: Of closed ledgers.
        lost_bytes: Of these, by the share of lost entries.
        unknown_bytes: Ledgers that lost entries and whose length is not known.
        not_recoverable: Unclosed ledgers that nobody can recover.
        single_copy: Ledgers whose entries were written once each.
        references: References of topics to ledgers.
        undecodable: Values that cannot be decoded and paths that may not be read, by kind.
        sets_left_out: Ledgers with absurd quorums, whose copysets were not looked for.
        bookies_known: Bookies were there; if not, as in files, nobody is taken for lost.
        bookies_away: Bookies that ledgers name and that were not there.
        spread: How ledgers are spread; ``None``: racks are not configured, or could not be read.
    """

    ledgers: int = Field(ge=0)
    classes: dict[str, int]
    entries: int = Field(ge=0)
    lost_entries: int = Field(ge=0)
    bytes: int
    lost_bytes: int
    unknown_bytes: int = Field(ge=0)
    not_recoverable: int = Field(ge=0)
    single_copy: int = Field(ge=0)
    references: int = Field(ge=0)
    undecodable: dict[str, int]
    sets_left_out: int = Field(ge=0)
    bookies_known: bool
    bookies_away: tuple[str, ...]
    spread: AuditedSpread | None = None

    @model_serializer(mode="wrap")
    def _as_ever(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without racks exactly what it was before these were looked at: a manifest is sealed."""
        document: dict[str, Any] = handler(self)
        if self.spread is None:
            del document["spread"]
        return document


class AuditManifest(ManifestTable):
    """What an audit holds. ``sha256`` is over the manifest itself without that field."""

    format: Literal["pulsar-syncer-ledger-audit"] = FORMAT
    version: Literal[1] = VERSION
    id: str
    about: AuditedStore
    summary: AuditSummary
    tables: dict[str, tuple[TableFile, ...]]
    sha256: str = ""

    def sealed(self) -> AuditManifest:
        """The manifest with its own checksum."""
        return self.model_copy(update={"sha256": seal_of(self)})

    def text(self) -> str:
        """The manifest as it is written."""
        return text_of(self)


@dataclass(frozen=True, slots=True)
class FinishedAudit:
    """An audit that was checked when it was opened."""

    place: Place
    manifest: AuditManifest

    def files(self, table: str) -> list[Place]:
        """The files of a table.

        Args:
            table: Its name.
        """
        return [self.place / table / each.name for each in self.manifest.tables.get(table, ())]


def open_audit(where: str | Place) -> FinishedAudit:
    """Open an audit: its manifest, and the sizes of its files. :func:`verify_audit` reads all of them.

    Args:
        where: Its folder.

    Raises:
        NotFound: There is no such folder.
        SnapshotInvalid: The folder holds no audit, an unfinished one, or one of another version.
        SnapshotDamaged: Files are missing, or not as long as they were written.
    """
    here = where if isinstance(where, Place) else place(where)
    if not here.exists():
        raise NotFound(f"no audit {here}", hint="Name the folder of a finished one.")
    if not (here / MANIFEST).exists():
        raise SnapshotInvalid(f"{here} has no {MANIFEST}: it is no audit, or was never finished", hint=_HINT)
    try:
        document = json.loads((here / MANIFEST).read())
    except (ValueError, RecursionError, OSError) as exc:
        raise SnapshotDamaged(f"{here / MANIFEST} cannot be read: {exc}", hint=_HINT) from exc
    if not isinstance(document, dict) or (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise SnapshotInvalid(f"{here / MANIFEST} is no manifest of an audit, or one of another version", hint=_HINT)
    audit = FinishedAudit(here, validated(AuditManifest, document, str(here / MANIFEST)))
    for table, files in audit.manifest.tables.items():
        for each in files:
            file = here / table / each.name
            if file.size() != each.bytes:
                raise SnapshotDamaged(f"{file} has {file.size()} bytes; {each.bytes} were written", hint=_HINT)
    return audit


def verify_audit(audit: FinishedAudit) -> None:
    """Read all bytes: is each file as it was written?

    Args:
        audit: The audit.

    Raises:
        SnapshotDamaged: Not so.
    """
    for table, files in audit.manifest.tables.items():
        for each in files:
            if summed(audit.place / table / each.name) != (each.bytes, each.sha256):
                raise SnapshotDamaged(f"{audit.place / table / each.name} is not as it was written", hint=_HINT)


def newest_audit(folder: Place, cluster: str) -> FinishedAudit:
    """Open the newest audit of a cluster.

    Args:
        folder: Where audits lie.
        cluster: The cluster.

    Raises:
        NotFound: There is none.
        SnapshotError: It cannot be used; an older one is never taken in its place.
    """
    home = region_folder(folder, cluster)
    finished = [name for name in home.folders() if is_id(name) and (home / name / MANIFEST).exists()]
    if not finished:
        raise NotFound(f"no audit of {cluster} in {folder}", hint="Make one: python -m spark_snapshot audit take.")
    return open_audit(home / max(finished))


_HINT: Final = "Name another audit, or make a new one."
