"""JSON documents of plans: what they would change, what is refused, and what became of a run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document
from syncer.documents.values import ChangeDocument


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


class ScalableSideDocument(Document):
    """Scalable topics (``topic://``) of a side of a comparison: they are its cluster's own, and never carried."""

    side: str
    total: int | None = Field(description="null: they were not counted.")
    whole: bool = Field(description="Whether all were counted; a side with very many is counted in part.")
    trouble: str = Field(description="Why they were not counted; empty: they were.")


class FirstFormSideDocument(Document):
    """Namespaces of the form ``PROPERTY/CLUSTER/NAMESPACE`` of a side: each is one cluster's own, and never carried."""

    side: str
    total: int
    named: list[str] = Field(description="The first of them by name, as errors show names.")


class PlanDocument(Document):
    """``syncer diff``, ``syncer backup diff``, ``syncer plan show``."""

    region: str = Field(description="Whose store the plan is for.")
    source: str = Field(description="What that store would hold.")
    made_at_ms: int
    different: bool
    compared: int | None = Field(
        description="Paths that both sides cover and that flow this way; null for a plan read from a file."
    )
    uncovered: int | None = Field(description="Paths of the other side that this region's scope leaves out.")
    unshared_paths: int | None = Field(
        default=None,
        description="These, and paths here that the other side's scope leaves out: not shared, and no difference; null "
        "for a plan read from a file.",
    )
    other_way_paths: int | None = Field(
        default=None,
        description="Paths that both carry and that do not flow from the other region to this one, by the directions "
        "of the scopes: not compared, and no difference; null for a plan read from a file.",
    )
    unknown: list[str] | None = Field(
        default=None,
        description="Sides that were not completed by their daemons' databases: fields that not every version of "
        "Pulsar knows, and that they lack, were taken to be as on the other side; null for a plan read from a file.",
    )
    scalable_topics: list[ScalableSideDocument] = Field(
        default=[],
        description="Of each side that is a region whose cluster can have some; never compared, not carried.",
    )
    first_form_namespaces: list[FirstFormSideDocument] = Field(
        default=[], description="Of each side that has some; never compared, not carried."
    )
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
    excluded: list[str] = Field(
        default=[],
        description="Fields of the plan that are not written: this region has excluded them since it was made.",
    )


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
