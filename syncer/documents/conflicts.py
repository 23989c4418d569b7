"""JSON documents of conflicts: who lost, to whom, and what the loser would change."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from syncer.documents.document import Document
from syncer.documents.values import ChangeDocument, PresentDocument, changes_to, present_document
from syncer.replacing import replace

if TYPE_CHECKING:
    from syncer.documents.values import Present
    from syncer.operations.decisions import Lost
    from syncer.state.views.summaries import ConflictSummary


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
    withheld: bool = Field(default=False, description="Values are left out: who asks has no right to see them.")


class LosersOfRegion(Document):
    """All that a region has lost, and what it would lead to to forget it."""

    region: str
    count: int
    until: int = Field(description="Number of its latest conflict: none that comes later is forgotten.")
    discard: list[str]


class ConflictList(Document):
    """``syncer conflicts list``."""

    items: list[ConflictDocument]
    next: int | None


def conflict_document(row: ConflictSummary) -> ConflictDocument:
    """A conflict as the contract has it."""
    return ConflictDocument(
        id=row.id,
        path=row.path,
        loser=str(row.loser),
        winner=str(row.winner),
        reason=row.reason,
        recorded_at_ms=row.recorded_at_ms,
        restored_at_ms=row.restored_at_ms,
        value_bytes=row.value_bytes,
    )


def kept_value(found: ConflictDetail) -> bytes | None:
    """The value that lost; ``None``: a delete, not known here, or withheld."""
    if found.value is not None:
        return found.value.encode()
    return base64.b64decode(found.value_base64) if found.value_base64 is not None else None


def without_values(found: ConflictDetail) -> ConflictDetail:
    """The conflict for who may not see values: sizes and stamps stay."""
    hidden: dict[str, Any] = {
        "value": None,
        "value_base64": None,
        "present": None,
        "changes": [],
        "change": "",
        "withheld": True,
    }
    return found.model_copy(update=hidden)


def conflict_detail(lost: Lost, present: Present) -> ConflictDetail:
    """A conflict with its value, what stands in its place, and how they differ."""
    present = replace(present, kept=lost.kept)
    action, changes, change = None, list[ChangeDocument](), ""
    if lost.row.loser_digest is None or lost.row.value is not None:
        action, changes, change = changes_to(lost.row.path, present, lost.row.value)
    row, known, stored = lost.row, lost.shown.known, lost.shown.stored
    value: dict[str, Any] = {"value": None, "value_base64": None}
    if row.value is not None:
        try:
            value["value"] = row.value.decode()
        except UnicodeDecodeError:
            value["value_base64"] = base64.b64encode(row.value).decode()
    return ConflictDetail(
        id=row.id,
        path=row.path,
        loser=str(row.loser),
        winner=str(row.winner),
        reason=row.reason,
        recorded_at_ms=row.recorded_at_ms,
        restored_at_ms=row.restored_at_ms,
        value_bytes=len(row.value) if row.value is not None else None,
        loser_seen={str(counter): int(at) for counter, at in row.loser_seen.items()},
        deleted=row.loser_digest is None,
        known=str(known) if known is not None else None,
        stored=str(stored) if stored is not None else None,
        present=present_document(present, row.path, lost.shown.digest),
        action=action,
        changes=changes,
        change=change,
        **value,
    )
