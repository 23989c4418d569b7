"""``syncer status --check``: the verdict on a region, for monitoring and for whoever was woken by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from syncer.cli.again import with_config
from syncer.cli.render import output
from syncer.cli.render.output import Format, out
from syncer.documents.status import ReasonDocument, VerdictDocument
from syncer.errors import AccessError, ServerUnreachable, StateDenied, StateMissing, StateUnavailable, SyncerError
from syncer.inspection.conditions import NextStep, Severity
from syncer.inspection.verdict import EXIT, LookOutcome, RegionVerdict, VerdictReason, judge

if TYPE_CHECKING:
    from syncer.cli.reaching.contract import ShownRegion
    from syncer.cli.session import CommandSession
    from syncer.documents.status import StatusDocument


def check(session: CommandSession) -> None:
    """Print the verdict, and leave with its exit status.

    Raises:
        typer.Exit: Always.
    """
    with session.region() as region:
        label = region.label
        status, verdict = found(region, session)
    if status is not None:
        label = status.region
    if session.form is Format.TABLE:
        for line in lines(verdict, session):
            out(line)
    else:
        output.document(_document(verdict, session, label), session.form)
    raise typer.Exit(EXIT[verdict.outcome])


def found(region: ShownRegion, session: CommandSession) -> tuple[StatusDocument | None, RegionVerdict]:
    """The status of a region with the verdict on it, or the verdict on why it cannot be looked at.

    Raises:
        ConfigError: The configuration is wrong.
        StateForeign: The database is another region's, or of another version.
        AnswerInvalid: What answers is no daemon.
    """
    try:
        status = region.status()
    except (StateUnavailable, ServerUnreachable, AccessError) as exc:
        return None, _unlooked(exc, session)
    return status, judge(status)


def _unlooked(exc: SyncerError, session: CommandSession) -> RegionVerdict:
    """The verdict on a region that cannot be looked at."""
    if isinstance(exc, StateDenied):
        command = session.as_owner(exc.owner) if exc.owner else ""
        words = "as the user whose database it is" if exc.owner else exc.hint
        return _unseen(LookOutcome.NOT_ALLOWED, exc, NextStep(words, command))
    if isinstance(exc, AccessError):
        return _unseen(LookOutcome.NOT_ALLOWED, exc, NextStep(exc.hint))
    if isinstance(exc, ServerUnreachable):
        return _unseen(LookOutcome.UNREACHABLE, exc, NextStep(exc.hint))
    if isinstance(exc, StateMissing):
        step = NextStep("a daemon may just be starting: wait for it, or start it", "syncer status --wait 60")
        return _unseen(LookOutcome.NO_DATABASE, exc, step)
    return _unseen(LookOutcome.NO_DATABASE, exc, NextStep(exc.hint))


def _unseen(outcome: LookOutcome, exc: SyncerError, step: NextStep) -> RegionVerdict:
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
