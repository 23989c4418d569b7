"""JSON documents of backups: what one holds, and what its verification found."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.documents.document import Document


class BackupDocument(Document):
    """``syncer backup create``."""

    directory: str
    region: str
    taken_at_ms: int
    resources: dict[str, int] = Field(description="By kind.")
    files: int
    size_bytes: int
    completed: bool = Field(
        default=True,
        description="Whether values have the fields that brokers dropped and the daemon keeps; false: its database was "
        "not at hand, and fields that not every version of Pulsar knows are unknown where a value lacks them.",
    )


class FindingDocument(Document):
    """A file of a backup that is not as it was written."""

    file: str
    fault: Literal["missing", "extra", "damaged"]
    detail: str


class VerifyDocument(BackupDocument):
    """``syncer backup verify``."""

    ok: bool
    findings: list[FindingDocument]
