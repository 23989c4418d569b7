"""Operations: what operators ask of the daemon, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from syncer.model import Millis


class OperationState(StrEnum):
    """Life of an operation: asked by the CLI, done or failed by the daemon."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Something that an operator asked the daemon to do. ``kind`` names it, ``arguments`` are its own."""

    id: int
    kind: str
    arguments: dict[str, str]
    asked_by: str
    reason: str
    state: OperationState = OperationState.PENDING
    answer: str = ""
    code: str = ""


class OperationTransaction(Protocol):
    """The part of a transaction that is about operations."""

    def pending_operations(self, limit: int) -> list[Operation]:
        """Operations that wait for the daemon, oldest first."""
        ...

    def finish_operation(self, number: int, state: OperationState, answer: str, code: str, now: Millis) -> None:
        """Answer an operation."""
        ...
