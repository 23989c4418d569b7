"""JSON documents of the sidecar database's upkeep: its check, and what compacting gained."""

from __future__ import annotations

from pydantic import Field

from syncer.documents.document import Document


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
