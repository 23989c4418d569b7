"""JSON documents of operations: what was asked of the daemon, by whom and why, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.state.contract.operations import Operation


class OperationDocument(Document):
    """Something that the daemon was asked to do."""

    id: int
    kind: str
    arguments: dict[str, str]
    state: Literal["pending", "done", "failed", "refused"] = Field(
        description="'refused': it was tried without the right to it, and nothing was asked of the daemon."
    )
    answer: str
    code: str = Field(description="Of the error, where it failed or was refused; else empty.")
    asked_by: str = Field(default="", description="Who: user@host, name of a token, subject of a certificate.")
    reason: str = Field(default="", description="Why.")
    asked_at_ms: int = 0
    finished_at_ms: int | None = Field(default=None, description="When it was answered; null: not yet.")
    origin: str = Field(default="", description="Address that it was asked from; empty: the daemon's own host.")
    credential: str = Field(default="", description="By which credential; empty: as a user of the host.")


class OperationList(Document):
    """Answer of every command that changes something, and ``syncer operations list``."""

    items: list[OperationDocument]
    next: int | None = Field(default=None, description="Give it to --after for more; null: this is all.")


def operation_document(operation: Operation) -> OperationDocument:
    """An operation as the contract has it. A plan is left out: it is as large as what it changes."""
    return OperationDocument(
        id=operation.id,
        kind=operation.kind,
        arguments={name: value for name, value in operation.arguments.items() if name != "plan"},
        state=operation.state.value,
        answer=operation.answer,
        code=operation.code,
        asked_by=operation.asked_by,
        reason=operation.reason,
        asked_at_ms=operation.asked_at_ms,
        finished_at_ms=operation.finished_at_ms,
        origin=operation.origin,
        credential=operation.credential,
    )
