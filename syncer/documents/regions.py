"""JSON documents of the group: its regions, and what first contact of a new one would change."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document
from syncer.documents.status import RegionDocument


class RegionList(Document):
    """``syncer regions list``."""

    items: list[RegionDocument]


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
