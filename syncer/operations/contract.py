"""The contract of operations: every kind that can be asked for, a request, and where requests and answers lie.

    client                          sidecar database                       daemon
    ask(requests, who, why)         ─▶ a row of each, pending
                                       pending rows, oldest first          ─▶ the handler of the kind
    wait(number)                    ◀─ done or failed, answer, code        ◀─ in the transaction that performs it

The command line and the REST API ask alike. A kind is stored with its row, so its name never changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from syncer.state.contract.operations import Asked, Operation


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
    MIGRATION_START = "migration-start"
    MIGRATION_COMMAND = "migration-command"
    MIGRATION_UNDOABLE = "migration-undoable"
    JOB_TAKE = "job-take"
    JOB_DIFF = "job-diff"
    JOB_CANCEL = "job-cancel"
    MOVES_APPLY = "moves-apply"
    MOVES_DRY_RUN = "moves-dry-run"
    MOVES_STOP = "moves-stop"


COMMANDS_OF_MIGRATIONS: Final = frozenset({OperationKind.MIGRATION_COMMAND})
"""Kinds that steer or stop the migration that is open; the daemon answers them in order."""
BEFORE_MIGRATIONS: Final = frozenset({OperationKind.MIGRATION_START, OperationKind.MIGRATION_UNDOABLE})
"""Kinds that read whole clusters before anything is decided; the daemon answers them in order, beside the commands."""
OF_MIGRATIONS: Final = COMMANDS_OF_MIGRATIONS | BEFORE_MIGRATIONS
"""Kinds that the daemon's service of migrations performs: they ask clusters, and take their time."""

CHANGES_OF_MOVE_RUNS: Final = frozenset({OperationKind.MOVES_APPLY, OperationKind.MOVES_STOP})
"""Kinds that begin or stop a run of moves; the daemon answers them in order."""
READS_OF_MOVE_RUNS: Final = frozenset({OperationKind.MOVES_DRY_RUN})
"""Kinds that only say what a run would do; the daemon answers them in order, beside the changes."""
OF_MOVE_RUNS: Final = CHANGES_OF_MOVE_RUNS | READS_OF_MOVE_RUNS
"""Kinds that the daemon's service of moves performs, likewise."""


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """One operation that is asked for."""

    kind: str
    arguments: Mapping[str, str]


class Desk(Protocol):
    """Where requests are left and answers are found; :class:`syncer.state.views.region.Views` implements it."""

    def ask_all(self, requests: Sequence[OperationRequest], asked: Asked) -> list[int]:
        """Leave requests, all or none; the operations' numbers, in order."""
        ...

    def operation(self, number: int) -> Operation | None:
        """An operation by its number, as it is now."""
        ...
