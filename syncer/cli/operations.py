"""Asking the daemon to change something: a person agrees, a row goes into the database, the daemon answers it."""

from __future__ import annotations

import getpass
import socket
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.render import output
from syncer.cli.render.output import Format, moment, say, with_times
from syncer.conflict.shown import FACTS, HOLD_FACTS
from syncer.dispositions import DISPOSITIONS
from syncer.documents.commands import OperationDocument, OperationList
from syncer.errors import ExitCode, PreconditionFailed
from syncer.terminal import visible

if TYPE_CHECKING:
    from syncer.operations.decisions import Request
    from syncer.state.contract.operations import Operation
    from syncer.state.views.region import Views

POLL_S: Final = 0.05

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the operation.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait for the daemon.")]


def agree(target: str, *consequences: str, yes: bool) -> None:
    """Have a person agree by typing what it is about; each consequence is a line of its own.

    Raises:
        PreconditionFailed: Nobody agreed, or there is nobody to ask.
    """
    for consequence in consequences:
        say(consequence)
    if yes:
        return
    if not attended():
        raise PreconditionFailed(
            f"this has to be confirmed for {target}, and there is no terminal to ask at; nothing was changed",
            hint="Give --yes to go ahead.",
        )
    say(f"Type {target} to go ahead, anything else to leave it as it is:")
    if sys.stdin.readline().strip() not in {target, visible(target)}:
        raise PreconditionFailed(
            "not confirmed; nothing was changed", hint="Type the name exactly as shown, or give --yes."
        )


def attended() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty()


def ask(views: Views, requests: Sequence[Request], *, reason: str, timeout_s: float, form: Format) -> None:
    """Ask the daemon, wait for all answers, print them.

    Raises:
        typer.Exit: With the code of the first failure, or 4 when the daemon did not answer all in time.
    """
    asked_by = who()
    numbers = [views.ask(request.kind, request.arguments, asked_by, reason) for request in requests]
    answers = wait(views, numbers, timeout_s)
    _show(answers, form)
    pending = [operation.id for operation in answers if operation.state.value == "pending"]
    if pending:
        rows = ", ".join(map(str, pending))
        say(
            f"no answer from the daemon within {timeout_s:g} s; operation {rows} stays queued until it runs:"
            " see 'syncer status'"
        )
        raise typer.Exit(ExitCode.UNREACHABLE)
    failed = [operation for operation in answers if operation.state.value == "failed"]
    if failed:
        raise typer.Exit(exit_code(failed[0].code))


def wait(views: Views, numbers: Sequence[int], timeout_s: float) -> list[Operation]:
    """Wait until all are answered, or the time is over; how they are then."""
    deadline = time.monotonic() + timeout_s
    while True:
        answers = [operation for operation in map(views.operation, numbers) if operation is not None]
        if all(operation.state.value != "pending" for operation in answers) or time.monotonic() >= deadline:
            return answers
        time.sleep(POLL_S)


def _show(operations: Sequence[Operation], form: Format) -> None:
    if form is Format.TABLE:
        output.table(
            ("id", "operation", "about", "state", "answer"),
            [(each.id, each.kind, about(each), each.state.value, with_times(each.answer)) for each in operations],
        )
        return
    items = [
        OperationDocument(
            id=each.id,
            kind=each.kind,
            arguments=each.arguments,
            state=each.state.value,
            answer=each.answer,
            code=each.code,
        )
        for each in operations
    ]
    output.document(OperationList(items=items), form)


def about(operation: Operation) -> str:
    """What an operation is about, in short: its arguments, but for those that say how the path was shown."""
    given = operation.arguments.items()
    words = [_said(operation.kind, name, value) for name, value in given if name not in {*FACTS, *HOLD_FACTS}]
    return " ".join(filter(None, words)) or "this region"


def _said(kind: str, name: str, value: str) -> str:
    """An argument of an operation, for people."""
    match name, value:
        case "everywhere", _:
            return "all regions" if value == "true" else "this region"
        case _, "false" | "":
            return ""
        case _, "true":
            return name
        case (("stamp" | "loser"), _):
            return with_times(value)
        case "until", _:
            return f"up to {moment(int(value))}" if kind == "regions-join" else f"up to {value}"
        case (("path" | "region"), _):
            return value
        case _:
            return f"{name} {value}"


def exit_code(code: str) -> ExitCode:
    """The exit code that belongs to an operation's code."""
    return next((row.exit_code for cls, row in DISPOSITIONS.items() if cls.code == code), ExitCode.FAILED)


def who() -> str:
    """Who asks."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as containers have
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
