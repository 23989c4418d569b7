"""JSON documents of the quarantine, the dead-letter queue of messages and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.state.views.summaries import DeadLetterSummary


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


class QuarantineList(Document):
    """``syncer quarantine list``."""

    items: list[QuarantineDocument]
    next: int | None


def quarantine_document(row: DeadLetterSummary) -> QuarantineDocument:
    """An entry of the quarantine as the contract has it, without its payload."""
    return QuarantineDocument(
        id=row.id,
        origin=row.origin,
        position=row.position,
        code=row.code,
        detail=row.detail,
        path=row.path,
        payload_bytes=row.payload_bytes,
        recorded_at_ms=row.recorded_at_ms,
    )
