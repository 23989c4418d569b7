"""JSON documents of one path's explanation: its versions, the journal's decisions, and all beside them."""

from __future__ import annotations

from pydantic import Field

from syncer.documents.conflicts import ConflictDocument
from syncer.documents.holds import HoldDocument, ParkedDocument
from syncer.documents.values import OtherDocument, PresentDocument
from syncer.inspection.status import Document


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
