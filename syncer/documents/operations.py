"""JSON documents of operations: what was asked of the daemon, and its answer."""

from __future__ import annotations

from typing import Literal

from syncer.documents.document import Document


class OperationDocument(Document):
    """Something that the daemon was asked to do."""

    id: int
    kind: str
    arguments: dict[str, str]
    state: Literal["pending", "done", "failed"]
    answer: str
    code: str


class OperationList(Document):
    """Answer of every command that changes something."""

    items: list[OperationDocument]
