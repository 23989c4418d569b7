"""What the commands print with ``-o json``: a contract. Fields may be added; none changes its meaning or goes away.

Units: ``*_ms`` milliseconds since the epoch, UTC; ``*_s`` seconds. A stamp is ``time@region``, a digest hexadecimal.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from syncer.status import Document, RegionDocument, StatusDocument


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
    value: str | None = Field(description="The kept value as text.")
    value_base64: str | None = Field(description="The kept value where it is no text.")


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


DOCUMENTS: Final = (
    StatusDocument, RegionList, DecisionDocument, ExplainDocument, HoldList, ParkedList, ConflictList, ConflictDetail,
    QuarantineList, OperationList, CheckDocument, TopicDocument,
)  # fmt: skip
