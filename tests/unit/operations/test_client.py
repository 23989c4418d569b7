"""The client of operations: what is asked, how long answers are waited for, and by which code it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from syncer.dispositions import ExitCode
from syncer.errors import NotFound
from syncer.operations import client
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.operations import Asked, Operation, OperationState


@dataclass
class Desk:
    """Answers each request at the given look, or never."""

    answers: dict[int, tuple[int, OperationState, str]]
    rows: dict[int, Operation] = field(default_factory=dict)
    looks: int = 0

    def ask_all(self, requests: Sequence[OperationRequest], asked: Asked) -> list[int]:
        numbers = range(len(self.rows) + 1, len(self.rows) + 1 + len(requests))
        for number, request in zip(numbers, requests, strict=True):
            self.rows[number] = Operation(
                id=number, kind=request.kind, arguments={**request.arguments}, asked_by=asked.by, reason=asked.reason
            )
        return [*numbers]

    def operation(self, number: int) -> Operation | None:
        self.looks += 1
        row = self.rows.get(number)
        at, state, code = self.answers.get(number, (0, OperationState.PENDING, ""))
        return row if row is None or self.looks < at else replace(row, state=state, code=code)


ME = Asked(by="me", reason="because")
PAUSE = OperationRequest(OperationKind.PAUSE, {"everywhere": "true"})
RESUME = OperationRequest(OperationKind.RESUME, {})


def test_all_answers_are_waited_for() -> None:
    desk = Desk({1: (1, OperationState.DONE, ""), 2: (5, OperationState.DONE, "")})
    answers = client.ask(desk, [PAUSE, RESUME], ME, timeout_s=30)
    assert [each.state for each in answers.operations] == [OperationState.DONE] * 2
    assert (answers.pending, answers.failed, answers.failure) == ([], [], None)


def test_what_is_asked_bears_the_stored_name_and_who_asked_why() -> None:
    desk = Desk({})
    client.ask(desk, [PAUSE], ME, timeout_s=0)
    (row,) = desk.rows.values()
    assert (row.kind, row.arguments) == ("pause", {"everywhere": "true"})
    assert (row.asked_by, row.reason) == ("me", "because")


def test_what_is_not_answered_in_time_is_pending_and_no_failure() -> None:
    answers = client.ask(Desk({}), [PAUSE], ME, timeout_s=0)
    assert [each.id for each in answers.pending] == [1]
    assert answers.failure is None


def test_the_first_failure_says_how_to_leave() -> None:
    desk = Desk({1: (0, OperationState.FAILED, "precondition-failed"), 2: (0, OperationState.FAILED, NotFound.code)})
    answers = client.ask(desk, [PAUSE, RESUME], ME, timeout_s=0)
    assert answers.failure is not None
    assert answers.failure.exit_code is ExitCode.REFUSED


def test_a_code_of_another_version_is_an_ordinary_failure() -> None:
    desk = Desk({1: (0, OperationState.FAILED, "of-tomorrow")})
    answers = client.ask(desk, [PAUSE], ME, timeout_s=0)
    assert answers.failure is not None
    assert answers.failure.exit_code is ExitCode.FAILED


def test_an_operation_whose_row_is_gone_is_not_waited_for() -> None:
    assert client.wait(Desk({}), [7], timeout_s=30).operations == []
