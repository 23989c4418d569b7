"""The client of operations: what is asked, how long answers are waited for, and by which code it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from syncer.errors import ExitCode, NotFound
from syncer.operations import client
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.operations import Operation, OperationState


@dataclass
class Desk:
    """Answers each request at the given look, or never."""

    answers: dict[int, tuple[int, OperationState, str]]
    rows: dict[int, Operation] = field(default_factory=dict)
    looks: int = 0

    def ask(self, kind: str, arguments: Mapping[str, str], asked_by: str, reason: str) -> int:
        number = len(self.rows) + 1
        self.rows[number] = Operation(id=number, kind=kind, arguments={**arguments}, asked_by=asked_by, reason=reason)
        return number

    def operation(self, number: int) -> Operation | None:
        self.looks += 1
        row = self.rows.get(number)
        at, state, code = self.answers.get(number, (0, OperationState.PENDING, ""))
        return row if row is None or self.looks < at else replace(row, state=state, code=code)


PAUSE = OperationRequest(OperationKind.PAUSE, {"everywhere": "true"})
RESUME = OperationRequest(OperationKind.RESUME, {})


def test_all_answers_are_waited_for() -> None:
    desk = Desk({1: (1, OperationState.DONE, ""), 2: (5, OperationState.DONE, "")})
    answers = client.ask(desk, [PAUSE, RESUME], asked_by="me", reason="because", timeout_s=30)
    assert [each.state for each in answers.operations] == [OperationState.DONE] * 2
    assert (answers.pending, answers.failed, answers.failure) == ([], [], None)


def test_what_is_asked_bears_the_stored_name_and_who_asked_why() -> None:
    desk = Desk({})
    client.ask(desk, [PAUSE], asked_by="me", reason="because", timeout_s=0)
    (row,) = desk.rows.values()
    assert (row.kind, type(row.kind), row.arguments) == ("pause", str, {"everywhere": "true"})
    assert (row.asked_by, row.reason) == ("me", "because")


def test_what_is_not_answered_in_time_is_pending_and_no_failure() -> None:
    answers = client.ask(Desk({}), [PAUSE], asked_by="me", reason="", timeout_s=0)
    assert [each.id for each in answers.pending] == [1]
    assert answers.failure is None


def test_the_first_failure_says_how_to_leave() -> None:
    desk = Desk({1: (0, OperationState.FAILED, "precondition-failed"), 2: (0, OperationState.FAILED, NotFound.code)})
    answers = client.ask(desk, [PAUSE, RESUME], asked_by="me", reason="", timeout_s=0)
    assert answers.failure is not None
    assert answers.failure.exit_code is ExitCode.REFUSED


def test_a_code_of_another_version_is_an_ordinary_failure() -> None:
    desk = Desk({1: (0, OperationState.FAILED, "of-tomorrow")})
    answers = client.ask(desk, [PAUSE], asked_by="me", reason="", timeout_s=0)
    assert answers.failure is not None
    assert answers.failure.exit_code is ExitCode.FAILED


def test_an_operation_whose_row_is_gone_is_not_waited_for() -> None:
    assert client.wait(Desk({}), [7], timeout_s=30).operations == []
