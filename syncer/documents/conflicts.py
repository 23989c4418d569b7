"""JSON documents of conflicts: who lost, to whom, and what the loser would change."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.values import ChangeDocument, PresentDocument
from syncer.inspection.status import Document


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


class ConflictList(Document):
    """``syncer conflicts list``."""

    items: list[ConflictDocument]
    next: int | None
