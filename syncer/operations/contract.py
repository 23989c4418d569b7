"""The contract of operations: every kind that can be asked for, a request, and where requests and answers lie.

    client                          sidecar database                       daemon
    ask(kind, arguments, who, why)  ─▶ a row, pending
                                       pending rows, oldest first          ─▶ the handler of the kind
    wait(number)                    ◀─ done or failed, answer, code        ◀─ in the transaction that performs it

The command line and the REST API ask alike. A kind is stored with its row, so its name never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from syncer.state.contract.operations import Operation


class OperationKind(StrEnum):
    """Every kind of operation, by the name that is stored."""

    CONFIRM = "confirm"
    REJECT = "reject"
    UNDO = "undo"
    RESTORE = "restore"
    CONFLICTS_DISCARD = "conflicts-discard"
    RELEASE = "release"
    DECLINE = "decline"
    PAUSE = "pause"
    RESUME = "resume"
    REGIONS_FORGET = "regions-forget"
    REGIONS_ADMIT = "regions-admit"
    REGIONS_LEAVE = "regions-leave"
    REGIONS_JOIN = "regions-join"
    QUARANTINE_RETRY = "quarantine-retry"
    QUARANTINE_DISCARD = "quarantine-discard"
    REBUILD = "rebuild"
    SNAPSHOT_SYNC = "snapshot-sync"
    SNAPSHOT_CANCEL = "snapshot-cancel"


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """One operation that is asked for."""

    kind: str
    arguments: Mapping[str, str]


class Desk(Protocol):
    """Where requests are left and answers are found; :class:`syncer.state.views.region.Views` implements it."""

    def ask(self, kind: str, arguments: Mapping[str, str], asked_by: str, reason: str) -> int:
        """Leave a request; the operation's number."""
        ...

    def operation(self, number: int) -> Operation | None:
        """An operation by its number, as it is now."""
        ...
