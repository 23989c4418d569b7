"""JSON documents of changes that wait: held ones for an operator, parked ones for something else."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.inspection.status import Document


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


class HoldList(Document):
    """``syncer holds list``."""

    items: list[HoldDocument]
    next: str | None = Field(description="Give it to --after for more; null: this is all.")


class ParkedDocument(Document):
    """A write that waits for another path or for the store."""

    path: str
    reason: str
    since_ms: int
    stamp: str | None
    detail: str


class ParkedList(Document):
    """``syncer parked list``."""

    items: list[ParkedDocument]
    next: str | None
