"""JSON documents of the quarantine, the dead-letter queue of messages and changes."""

from __future__ import annotations

from syncer.inspection.status import Document


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
