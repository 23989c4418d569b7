"""``syncer status --check``: the verdict on a region, for monitoring and for whoever was woken by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from syncer.cli.again import with_config
from syncer.cli.render import output
from syncer.cli.render.output import Format, out
from syncer.documents.status import ReasonDocument, VerdictDocument
from syncer.errors import StateDenied, StateMissing, StateUnavailable
from syncer.inspection.conditions import NextStep, Severity
from syncer.inspection.status import collect
from syncer.inspection.verdict import EXIT, LookOutcome, RegionVerdict, VerdictReason, judge

if TYPE_CHECKING:
    from syncer.cli.session import CommandSession
    from syncer.config import Config


def check(session: CommandSession, config: Config) -> None:
    """Print the verdict, and leave with its exit status.

    Raises:
        typer.Exit: Always.
    """
    verdict = found(session, config)
    if session.form is Format.TABLE:
        for line in lines(verdict, session):
            out(line)
    else:
        output.document(_document(verdict, session, config.region), session.form)
    raise typer.Exit(EXIT[verdict.outcome])


def found(session: CommandSession, config: Config) -> RegionVerdict:
    """The verdict on the region, or on why it cannot be looked at.

    Raises:
        ConfigError: The configuration is wrong.
        StateForeign: The database is another region's, or of another version.
    """
    try:
        with session.views() as views:
            return judge(collect(views, config))
    except StateDenied as exc:
        command = session.as_owner(exc.owner) if exc.owner else ""
        words = "as the user whose database it is" if exc.owner else exc.hint
        return _unseen(LookOutcome.NOT_ALLOWED, exc, NextStep(words, command))
    except StateMissing as exc:
        step = NextStep("a daemon may just be starting: wait for it, or start it", "syncer status --wait 60")
        return _unseen(LookOutcome.NO_DATABASE, exc, step)
    except StateUnavailable as exc:
        return _unseen(LookOutcome.NO_DATABASE, exc, NextStep(exc.hint))


def _unseen(outcome: LookOutcome, exc: StateUnavailable, step: NextStep) -> RegionVerdict:
    reason = VerdictReason(exc.code, Severity.ALARM, exc.message, step)
    return RegionVerdict(outcome=outcome, message=exc.message, step=step, reasons=(reason,))


def lines(verdict: RegionVerdict, session: CommandSession) -> tuple[str, str]:
    """The verdict and the next step, a line each. A command stands first, as it is typed; what it is for, behind it."""
    command = with_config(session, verdict.step.command)
    return verdict.line, f"next: {command}  # {verdict.step.words}" if command else f"next: {verdict.step.words}"


def _document(verdict: RegionVerdict, session: CommandSession, region: str) -> VerdictDocument:
    return VerdictDocument(
        region=region,
        verdict=verdict.outcome.value,
        exit_status=EXIT[verdict.outcome],
        message=verdict.message,
        next=verdict.step.words,
        command=with_config(session, verdict.step.command),
        reasons=[
            ReasonDocument(
                code=each.code,
                severity=each.severity.value,
                message=each.message,
                next=each.step.words,
                command=with_config(session, each.step.command),
            )
            for each in verdict.reasons
        ],
    )
