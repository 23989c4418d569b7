"""JSON documents of the commands of snapshots: a contract, as all of :mod:`syncer.documents.catalogue`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document


class SnapshotDocument(Document):
    """``syncer snapshot take`` and ``show``: one picture of a region's store."""

    id: str
    region: str
    place: str = Field(description="Folder or URI.")
    extent: list[str] | None = Field(
        default=None, description="Tenants: it holds what belongs to these alone; null: the whole region."
    )
    taken_at_ms: int
    made_by: str
    store: str = Field(description="Kind of the store.")
    store_id: str = Field(description="Which store it was; empty where nobody can say.")
    revision_before: str = Field(description="The store's revision (zxid) when the reading began; empty without one.")
    revision_after: str = Field(description="The store's when the reading had ended: the rows hold nothing later.")
    registers: bool = Field(description="Whether a daemon's registers took part; if not, no stamp is the group's.")
    watermark: dict[str, int] = Field(description="Last message of the bus that was taken in, by sender.")
    alive: dict[str, int] = Field(description="Resources by kind.")
    dead: int = Field(description="Tombstones.")
    unseen: int = Field(description="Changes that the daemon had not taken yet.")
    unstamped: int = Field(description="Rows that no register knows.")
    held: int = Field(description="Paths at which a change waits for a person.")
    files: int
    size_bytes: int


class BrokenDocument(Document):
    """A snapshot that cannot be used."""

    place: str
    code: str
    detail: str


class SnapshotList(Document):
    """``syncer snapshot list``: by region, the newest last."""

    items: list[SnapshotDocument]
    broken: list[BrokenDocument]
    unfinished: list[str] = Field(description="Being taken now, or given up; the next one clears what was given up.")


class PruneDocument(Document):
    """``syncer snapshot prune``."""

    dry_run: bool
    removed: list[str] = Field(description="With --dry-run: what would be removed.")
    kept: int


class RemoveDocument(Document):
    """``syncer snapshot remove``."""

    dry_run: bool
    removed: list[str] = Field(description="With --dry-run: what would be removed.")


class FieldDocument(Document):
    """One place inside of a value that is not the same everywhere."""

    pointer: str = Field(description="JSON pointer (RFC 6901); empty: the whole value.")
    local: bool = Field(description="It belongs to one cluster; no repair touches it.")
    excluded: bool = Field(
        default=False, description="A region has it for itself ('scope.exclude'); no repair touches it."
    )
    values: dict[str, str | None] = Field(description="JSON text by region; null: absent.")


class DifferenceDocument(Document):
    """One path that is not the same everywhere."""

    path: str
    resource: str
    cls: Literal["only-in", "differs", "deleted", "held"]
    underlying: str | None = Field(description="Its class without the hold; null where it is not held.")
    winner: str = Field(description="A region that holds what the others should.")
    stamp: str = Field(description="Of the winner's version.")
    origin: Literal["register", "unseen", "store"] = Field(
        description="Where that stamp comes from. Only 'register' is a stamp that the group knows."
    )
    reason: str
    losers: list[str] = Field(description="Regions that would change.")
    holds: dict[str, str] = Field(description="Why a change waits, by region.")
    fields: list[FieldDocument] | None = Field(description="null without --fields.")


class CountsDocument(Document):
    """Paths by class."""

    name: str
    by_class: dict[str, int]


class SharedPathsDocument(Document):
    """What two regions of a comparison share."""

    regions: list[str] = Field(description="Both, in order of their names.")
    shared_class: str = Field(description="Label of the paths that both carry, as in 'syncer status'.")
    shared_paths: int = Field(description="How many living paths of these there are in either region.")
    unshared_paths: int = Field(description="Living paths that only one of the two carries: not shared, no difference.")


class RepairPlanDocument(Document):
    """What was written into a repair plan."""

    file: str
    paths: int
    deletes: int
    unstamped: int = Field(description="Paths that are named and not told: no daemon has stamped them yet.")


class SnapshotDiffDocument(Document):
    """``syncer snapshot diff`` of different regions."""

    snapshots: list[SnapshotDocument]
    different: int
    same: int
    by_class: dict[str, int]
    kinds: list[CountsDocument]
    tenants: list[CountsDocument] = Field(description="Those with most differences.")
    more_tenants: int
    winners: dict[str, int]
    losers: dict[str, int]
    origins: dict[str, int]
    reasons: dict[str, int]
    holds: dict[str, int]
    notes: list[str]
    extent: list[str] | None = Field(
        default=None,
        description="Tenants: only what belongs to these is in all of the snapshots, and compared; null: everything.",
    )
    excluded: int = Field(
        default=0, description="Paths that differ only in fields that a region has for itself: no difference."
    )
    unshared_paths: int = Field(
        default=0, description="Living paths that only one of all regions carries: not shared, no difference."
    )
    pairs: list[SharedPathsDocument] = Field(
        default=[], description="What each pair of regions shares; empty where all have the same scope."
    )
    items: list[DifferenceDocument] = Field(description="The first ones in order of the paths; see --limit.")
    plan: RepairPlanDocument | None
    report: str | None


class ChangedDocument(Document):
    """One path that a region changed."""

    path: str
    resource: str
    change: Literal["created", "modified", "deleted"]
    stamp: str | None = Field(description="Of the later version; null where a path is gone without a trace.")
    fields: list[FieldDocument] | None = Field(description="'before' and 'after'; null without --fields.")


class SnapshotChangesDocument(Document):
    """``syncer snapshot diff`` of one region over time."""

    before: SnapshotDocument
    after: SnapshotDocument
    extent: list[str] | None = Field(
        default=None,
        description="Tenants: only what belongs to these is in both snapshots, and compared; null: everything.",
    )
    unshared_paths: int = Field(
        default=0,
        description="Paths that one of both scopes leaves out: neither created nor deleted, and not counted otherwise.",
    )
    counts: dict[str, int]
    items: list[ChangedDocument] = Field(description="The first ones in order of the paths; see --limit.")


class UntoldDocument(Document):
    """A path that was not told, and why."""

    path: str
    reason: str


class RepairDocument(Document):
    """``syncer snapshot sync`` and ``progress``, an entry of ``repairs``: what is told again, and how far it is."""

    id: int
    state: Literal["loading", "ready", "running", "done", "cancelled", "failed"]
    regions: list[str] = Field(description="Whose snapshots were compared.")
    taken_at_ms: int = Field(description="When the oldest of these was taken.")
    total: int = Field(description="Paths; 0 while they are brought in.")
    done: int
    told: int = Field(description="Told on the bus; every region decides by the usual order and guards.")
    superseded: int = Field(description="Left out: this region knows a later change.")
    reread: int = Field(description="This region's own paths that no daemon had stamped: they are read again.")
    elsewhere: int = Field(description="Likewise of other regions: their own daemons find these.")
    refused: int = Field(description="Not told; see refusals.")
    asked_by: str
    reason: str
    begun_at_ms: int | None
    finished_at_ms: int | None
    detail: str
    refusals: list[UntoldDocument] = Field(description="The first refused paths.")


class RepairList(Document):
    """``syncer snapshot repairs``, the latest first."""

    items: list[RepairDocument]


class RepairChange(Document):
    """How much a repair changes in a region."""

    region: str
    what: str
    paths: int


class RepairPath(Document):
    """One path of a repair."""

    path: str
    cls: str = Field(description="only-in, differs, deleted or held.")
    found_in: str
    stamp: str | None = Field(description="Of the version that is told; null: no daemon has stamped it.")
    losers: list[str]
    held: dict[str, str]


class RepairSnapshot(Document):
    """A snapshot that a repair goes by."""

    region: str
    taken_at_ms: int


class RepairPreview(Document):
    """``syncer snapshot sync --dry-run``."""

    sha256: str = Field(default="", description="Checksum of the plan: over HTTP the ETag by which it is told.")
    snapshots: list[RepairSnapshot] = Field(default=[], description="Of which regions, and when they were taken.")
    paths: int
    deletes: int
    taken_at_ms: int
    changes: list[RepairChange]
    unstamped: dict[str, int] = Field(description="By region: what its own daemon has to find in its store.")
    native_may_ignore: dict[str, int] = Field(description="By native region: tellings that it may ignore.")
    objections: list[str] = Field(description="Why the daemon here would refuse it as it stands, by its configuration.")
    hints: list[str] = Field(default=[], description="Of each objection, what can be done about it.")
    items: list[RepairPath] = Field(description="The first 1000.")


SNAPSHOT_DOCUMENTS = (
    SnapshotDocument,
    SnapshotList,
    PruneDocument,
    RemoveDocument,
    SnapshotDiffDocument,
    SnapshotChangesDocument,
)
