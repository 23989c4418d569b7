"""The client of operations: leave requests for the daemon, wait for its answers, tell what became of them."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.dispositions import Disposition, disposition_of_code
from syncer.operations.contract import Desk, OperationRequest
from syncer.state.contract.operations import OperationState

if TYPE_CHECKING:
    from syncer.state.contract.operations import Asked, Operation

POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Answers:
    """Operations that were asked for together, as they were when all were answered or the time was over."""

    operations: Sequence[Operation]

    @property
    def pending(self) -> list[Operation]:
        """Those that the daemon has not answered yet; it does when it runs."""
        return [each for each in self.operations if each.state is OperationState.PENDING]

    @property
    def failed(self) -> list[Operation]:
        """Those that changed nothing; the answer says why."""
        return [each for each in self.operations if each.state is OperationState.FAILED]

    @property
    def failure(self) -> Disposition | None:
        """How the first failure leaves the program; ``None`` when nothing failed."""
        return disposition_of_code(self.failed[0].code) if self.failed else None


def ask(desk: Desk, requests: Sequence[OperationRequest], asked: Asked, *, timeout_s: float) -> Answers:
    """Ask for operations, all or none, and wait for all answers.

    Raises:
        StateUnavailable: The database cannot be written now.
    """
    return wait(desk, desk.ask_all(requests, asked), timeout_s)


def wait(desk: Desk, numbers: Sequence[int], timeout_s: float) -> Answers:
    """Wait until all are answered, or the time is over."""
    deadline = time.monotonic() + timeout_s
    while True:
        answers = Answers([operation for operation in map(desk.operation, numbers) if operation is not None])
        if not answers.pending or time.monotonic() >= deadline:
            return answers
        time.sleep(POLL_S)


def this_user() -> str:
    """User and machine of this process, as operations name who asked for them."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as containers have
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
