"""Operations at the terminal: ask the daemon, show its answers, end with the exit code of the first failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from syncer.cli.confirmation import agree
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.conflict.shown import FACTS, HOLD_FACTS
from syncer.dispositions import ExitCode
from syncer.documents.operations import OperationList
from syncer.documents.words import moment, with_times

if TYPE_CHECKING:
    from syncer.cli.reaching.contract import DecisionAnswers, RegionDecision
    from syncer.documents.operations import OperationDocument

Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the operation.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait for the daemon.")]


def carry_out(decision: RegionDecision, *, yes: bool, reason: str, timeout_s: float, form: Format) -> None:
    """Show what would be asked, have the operator agree where that is due, ask, and print the answers.

    Raises:
        typer.Exit: See :func:`show`; or nobody agreed.
    """
    if decision.words:
        agree(decision.target, *decision.words, yes=yes)
    show(decision.ask(reason, timeout_s), timeout_s, form)


def show(answers: DecisionAnswers, timeout_s: float, form: Format) -> None:
    """Print answers of the daemon that were waited for so long.

    Raises:
        typer.Exit: With the code of the first failure, or 4 when the daemon did not answer all in time.
    """
    _show(answers.operations, form)
    if answers.pending:
        rows = ", ".join(str(operation.id) for operation in answers.pending)
        say(
            f"no answer from the daemon within {timeout_s:g} s; operation {rows} stays queued until it runs:"
            " see 'syncer status'"
        )
        raise typer.Exit(ExitCode.UNREACHABLE)
    if answers.failure is not None:
        raise typer.Exit(answers.failure.exit_code)


def _show(operations: Sequence[OperationDocument], form: Format) -> None:
    if form is Format.TABLE:
        output.table(
            ("id", "operation", "about", "state", "answer"),
            [(each.id, each.kind, about(each), each.state, with_times(each.answer)) for each in operations],
        )
        return
    output.document(OperationList(items=list(operations)), form)


def about(operation: OperationDocument) -> str:
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
        case "plan", _:
            return ""
        case (("path" | "region"), _):
            return value
        case _:
            return f"{name} {value}"
