"""JSON documents that commands print with ``-o json``: a contract. Fields may be added; none changes or goes away.

Units: ``*_ms`` milliseconds since the epoch, UTC; ``*_s`` seconds. A stamp is ``time@region``, a digest hexadecimal.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from syncer.documents.snapshots import SNAPSHOT_DOCUMENTS
from syncer.documents.values import ChangeDocument, OtherDocument, PresentDocument
from syncer.inspection.status import Document, RegionDocument, StatusDocument


class ReasonDocument(Document):
    """One thing that speaks for a verdict, or is said beside it."""

    code: str
    severity: Literal["alarm", "advice"] = Field(
        description="alarm: an operator is needed. advice: it can wait, and a region is well with it."
    )
    message: str
    next: str = Field(description="What an operator does about it.")
    command: str = Field(description="The command to begin with; empty: there is none.")


class VerdictDocument(Document):
    """``syncer status --check``."""

    region: str
    verdict: Literal["well", "operator-needed", "silent", "no-database", "not-allowed"]
    exit_status: int = Field(
        description="Of the command: 0 well, 1 operator-needed, 4 silent or no-database, 6 not-allowed."
    )
    message: str = Field(description="The verdict in a line.")
    next: str = Field(description="What an operator does next.")
    command: str = Field(description="The command to begin with; empty: there is none.")
    reasons: list[ReasonDocument] = Field(description="Alarms first; then what can wait.")


class RegionList(Document):
    """``syncer regions list``."""

    items: list[RegionDocument]


class DecisionDocument(Document):
    """One decision of the journal; ``events tail -o json`` prints one per line."""

    id: int
    at_ms: int
    path: str
    decision: str
    stamp: str | None
    digest: str | None
    seen: dict[str, int] | None = Field(description="What the author had seen, by counter.")
    against: str | None = Field(description="The other candidate.")
    detail: str


class VersionDocument(Document):
    """A version of a path."""

    stamp: str
    by: str = Field(description="Who counted the change.")
    seen: dict[str, int]
    digest: str | None = Field(description="null: deleted.")
    alive: bool


class HoldDocument(Document):
    """A change that waits for a person."""

    path: str
    waits: Literal["write", "publication", "event"] = Field(
        description="A remote change that is not written; a local one that is not published; an event from the future."
    )
    reason: str
    stamp: str
    since_ms: int
    detail: str
    known: str | None = Field(description="Stamp of the newest change known here, the held one or a later one.")
    stored: str | None = Field(description="Stamp of what this region's store was last known to hold.")


class FirstContact(Document):
    """A path that first contact would change."""

    path: str
    ours: str | None = Field(description="Stamp of the value found here; null: there is none.")
    theirs: str = Field(description="Stamp of what would take its place; its region is the author.")
    becomes: Literal["created", "replaced", "deleted"]


class FirstContactPlan(Document):
    """``syncer regions join``: what first contact would change in this region's store."""

    waits: bool = Field(description="Nothing is written or published before it is confirmed.")
    until_ms: int | None = Field(
        description="What is held since then, or longer, passes when this is confirmed; null: it has yet to join."
    )
    created: int
    replaced: int
    deleted: int
    sent: int = Field(description="Values of this region that wait to be sent to the others.")
    authors: dict[str, int] = Field(description="Paths by the region whose value would be written.")
    refuses: dict[str, list[str]] = Field(
        default={}, description="Databases that are refused because members say so, or an operator did, by region."
    )
    items: list[FirstContact]


class ParkedDocument(Document):
    """A write that waits for another path or for the store."""

    path: str
    reason: str
    since_ms: int
    stamp: str | None
    detail: str


class ConflictDocument(Document):
    """A concurrent change that lost."""

    id: int
    path: str
    loser: str
    winner: str
    reason: str
    recorded_at_ms: int
    restored_at_ms: int | None
    value_bytes: int | None = Field(description="Size of the kept value; null: a delete, or not yet known.")


class ConflictDetail(ConflictDocument):
    """``syncer conflicts show``."""

    loser_seen: dict[str, int]
    deleted: bool = Field(description="Whether the loser was a delete.")
    known: str | None = Field(description="Stamp of the newest change known here now: what a restore replaces.")
    stored: str | None = Field(description="Stamp of what this region's store was last known to hold.")
    value: str | None = Field(description="The kept value as text.")
    value_base64: str | None = Field(description="The kept value where it is no text.")
    present: PresentDocument | None = Field(default=None, description="What the store holds now; null: not looked.")
    action: Literal["create", "update", "delete"] | None = Field(
        default=None, description="What a restore would do to the store; null: nothing, or that cannot be told."
    )
    changes: list[ChangeDocument] = Field(default=[], description="What a restore would change in the replicated part.")
    change: str = Field(default="", description="The same in words, as 'syncer diff' shows it.")


class QuarantineDocument(Document):
    """Something that could not be handled."""

    id: int
    origin: str
    position: str
    code: str
    detail: str
    path: str | None
    payload_bytes: int
    recorded_at_ms: int


class ExplainDocument(Document):
    """``syncer explain``: why a path is as it is."""

    path: str
    resource: str | None
    scope: str = Field(description="Which way the path flows.")
    verdict: str
    known: VersionDocument | None
    seated: VersionDocument | None = Field(description="What the store was last known to hold.")
    due: bool
    hold: HoldDocument | None
    parked: ParkedDocument | None
    intent: str | None = Field(description="Stamp of a write whose outcome is not known.")
    allowed: str | None = Field(description="Stamp that a person has let pass the guards.")
    candidates: list[DecisionDocument] = Field(description="Newest first.")
    conflicts: list[ConflictDocument]
    present: PresentDocument | None = Field(default=None, description="What the store holds now; null: not looked.")
    others: list[OtherDocument] = Field(
        default=[], description="Other versions whose values are kept here; of each sort the latest 20."
    )


class HoldList(Document):
    """``syncer holds list``."""

    items: list[HoldDocument]
    next: str | None = Field(description="Give it to --after for more; null: this is all.")


class ParkedList(Document):
    """``syncer parked list``."""

    items: list[ParkedDocument]
    next: str | None


class ConflictList(Document):
    """``syncer conflicts list``."""

    items: list[ConflictDocument]
    next: int | None


class QuarantineList(Document):
    """``syncer quarantine list``."""

    items: list[QuarantineDocument]
    next: int | None


class OperationDocument(Document):
    """Something that the daemon was asked to do."""

    id: int
    kind: str
    arguments: dict[str, str]
    state: Literal["pending", "done", "failed"]
    answer: str
    code: str


class OperationList(Document):
    """Answer of every command that changes something."""

    items: list[OperationDocument]


class ProblemDocument(Document):
    """One mistake in the configuration."""

    source: str
    line: int | None
    field: str
    what: str
    suggestion: str


class DependencyDocument(Document):
    """Whether something that the daemon needs answers."""

    name: str
    ok: bool
    cause: str
    hint: str


class CheckDocument(Document):
    """``syncer config check``."""

    ok: bool
    file: str
    problems: list[ProblemDocument]
    warnings: list[str]
    dependencies: list[DependencyDocument] = Field(description="Empty without --connect.")


class StepDocument(Document):
    """One thing that the bus needs in a cluster."""

    cluster: str
    subject: str
    wanted: str
    found: str
    state: Literal["present", "needed", "done"]


class TopicDocument(Document):
    """``syncer topic init``."""

    topic: str
    steps: list[StepDocument]


class RefusalDocument(Document):
    """Why an operation is not performed."""

    reason: str
    detail: str


class PlannedDocument(Document):
    """One operation of a plan, in the order in which they are performed."""

    action: Literal["create", "update", "delete"]
    resource: str
    name: str
    path: str
    changes: list[ChangeDocument] = Field(description="What an update changes in the replicated part.")
    refused: list[RefusalDocument] = Field(description="Why it would not be performed; empty: it would.")


class LeftDocument(Document):
    """A resource that only this region has, and that the plan leaves."""

    resource: str
    name: str
    path: str


class PlanDocument(Document):
    """``syncer diff``, ``syncer backup diff``, ``syncer plan show``."""

    region: str = Field(description="Whose store the plan is for.")
    source: str = Field(description="What that store would hold.")
    made_at_ms: int
    different: bool
    compared: int | None = Field(description="Paths that both sides cover; null for a plan read from a file.")
    uncovered: int | None = Field(description="Paths of the other side that this region's scope leaves out.")
    operations: list[PlannedDocument]
    left: list[LeftDocument]


class PerformedDocument(Document):
    """What became of one operation."""

    action: Literal["create", "update", "delete"]
    resource: str
    name: str
    path: str
    state: Literal["applied", "already", "refused", "unknown", "unreached"] = Field(
        description="unknown: sent, no answer came. unreached: the run stopped before."
    )
    refused: list[RefusalDocument]


class FailureDocument(Document):
    """Why a run stopped."""

    code: str
    message: str
    hint: str


class AppliedDocument(Document):
    """``syncer plan apply``, ``syncer backup restore``."""

    region: str
    source: str
    dry_run: bool = Field(description="Nothing was written: 'applied' is what would be.")
    counts: dict[str, int] = Field(description="Operations by state.")
    operations: list[PerformedDocument]
    left: list[LeftDocument]
    undo: str | None = Field(description="File of the plan that takes back what was applied.")
    error: FailureDocument | None


class BackupDocument(Document):
    """``syncer backup create``."""

    directory: str
    region: str
    taken_at_ms: int
    resources: dict[str, int] = Field(description="By kind.")
    files: int
    size_bytes: int


class FindingDocument(Document):
    """A file of a backup that is not as it was written."""

    file: str
    fault: Literal["missing", "extra", "damaged"]
    detail: str


class VerifyDocument(BackupDocument):
    """``syncer backup verify``."""

    ok: bool
    findings: list[FindingDocument]


class StateFindingDocument(Document):
    """One check of the sidecar database."""

    check: str
    ok: bool
    detail: str


class StateCheckDocument(Document):
    """``syncer state check``."""

    sound: bool
    items: list[StateFindingDocument]


class CompactDocument(Document):
    """``syncer state compact``."""

    rows_dropped: int
    bytes_before: int = Field(description="Of the file, or of the tables and their indexes in PostgreSQL.")
    bytes_after: int


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


class RepairPreview(Document):
    """``syncer snapshot sync --dry-run``."""

    paths: int
    deletes: int
    taken_at_ms: int
    changes: list[RepairChange]
    unstamped: dict[str, int] = Field(description="By region: what its own daemon has to find in its store.")
    native_may_ignore: dict[str, int] = Field(description="By native region: tellings that it may ignore.")
    objections: list[str] = Field(description="Why the daemon here would refuse it as it stands, by its configuration.")
    items: list[RepairPath] = Field(description="The first 1000.")


class KeyDocument(Document):
    """``syncer keys create`` and ``syncer keys show``."""

    file: str = Field(description="Where the private half stands.")
    id: str = Field(description="By what messages, logs and the status name the pair.")
    public: str = Field(description="The public half, as it stands in 'peers.keys'.")
    region: str | None = Field(description="Whose it is; null: neither --region nor a configuration says so.")


DOCUMENTS: Final = (
    StatusDocument, VerdictDocument, RegionList, DecisionDocument, ExplainDocument, HoldList, ParkedList, ConflictList,
    ConflictDetail, QuarantineList, OperationList, CheckDocument, TopicDocument, PlanDocument, AppliedDocument,
    BackupDocument, VerifyDocument, FirstContactPlan, StateCheckDocument, CompactDocument,
    RepairDocument, RepairList, RepairPreview, KeyDocument, *SNAPSHOT_DOCUMENTS,
)  # fmt: skip
