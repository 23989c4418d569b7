"""``syncer jobs``: snapshots that the daemon takes and compares where it runs, asked for, followed and ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli import operations
from syncer.cli.operations import Timeout, Why
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import CommandSession, session_of
from syncer.dispositions import ExitCode
from syncer.documents.jobs import JobDocument
from syncer.documents.words import moment
from syncer.jobs.wishes import job_named_in
from syncer.state.contract.jobs import JobState

if TYPE_CHECKING:
    from syncer.cli.reaching.contract import RegionDecision, RegionReach

app = typer.Typer(no_args_is_help=True, help="Snapshots that the daemon takes and compares where it runs.")

FOLLOW_S: Final = 0.5

Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="Number of the job.")]
Tenants = Annotated[
    list[str] | None, typer.Option("--tenant", metavar="NAME", help="Only what belongs to it; may be repeated.")
]
TillOver = Annotated[bool, typer.Option("--wait", help="Until it is over; its outcome is the exit status.")]
Limit = Annotated[float, typer.Option("--wait-timeout", min=0, metavar="SECONDS", help="How long --wait waits.")]


@app.command("list")
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 20,
    before: Annotated[int | None, typer.Option("--before", min=1, metavar="ID", help="Only older ones.")] = None,
) -> None:
    """List jobs, the latest first: those that wait or run, and the last 50 that are over."""
    session = session_of(context)
    with session.region() as region:
        document = region.jobs(limit, before)
    if session.form is not Format.TABLE:
        output.document(document, session.form)
        return
    output.table(
        ("id", "kind", "about", "state", "asked by", "asked", "began", "ended", "detail"),
        [
            (
                each.id,
                each.kind,
                _about(each),
                each.state,
                each.asked_by,
                moment(each.asked_at_ms),
                _moment(each.began_at_ms),
                _moment(each.ended_at_ms),
                each.detail,
            )
            for each in document.items
        ],
        empty="no job was asked for",
    )
    if document.next is not None:
        say(f"more: --before {document.next}")


@app.command("show")
def show(context: typer.Context, number: Number) -> None:
    """Show a job, and what it said at its end."""
    session = session_of(context)
    with session.region() as region:
        job = region.job(number)
    _show(session, job)


@app.command("take")
def take(
    context: typer.Context,
    *,
    tenant: Tenants = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Keep it although the store holds nothing and held much before.")
    ] = False,
    accept_shrunken: Annotated[
        bool, typer.Option("--accept-shrunken", help="However much of what was held before is gone.")
    ] = False,
    till_over: TillOver = False,
    limit: Limit = 3600.0,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Have the daemon take a snapshot into 'snapshots.folder'; then it removes those beyond 'snapshots.keep'."""
    session = session_of(context)
    with session.region() as region:
        asked = region.take(tenant or [], allow_empty=allow_empty, accept_shrunken=accept_shrunken)
        _ask(session, region, asked, reason, timeout, limit if till_over else None)


@app.command("diff")
def diff(
    context: typer.Context,
    snapshots: Annotated[list[str], typer.Argument(help="Two or more of the folder: ids; regions, for their newest.")],
    *,
    tenant: Tenants = None,
    fields: Annotated[bool, typer.Option("--fields", help="Say which fields differ.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Make a plan for 'snapshot sync', too, kept where the daemon runs.")
    ] = False,
    till_over: TillOver = False,
    limit: Limit = 3600.0,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Have the daemon compare snapshots of 'snapshots.folder'. With --wait, exit status 3: something differs."""
    session = session_of(context)
    with session.region() as region:
        asked = region.compare(snapshots, tenant or [], fields=fields, plan=plan)
        _ask(session, region, asked, reason, timeout, limit if till_over else None)


@app.command("cancel")
def cancel(context: typer.Context, number: Number, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """End a job: one that waits never begins, one that runs is stopped and leaves nothing half done."""
    session = session_of(context)
    with session.region() as region:
        operations.carry_out(region.end(number), yes=True, reason=reason, timeout_s=timeout, form=session.form)


def _ask(
    session: CommandSession,
    region: RegionReach,
    asked: RegionDecision,
    reason: str,
    timeout_s: float,
    follow_s: float | None,
) -> None:
    """Ask for a job, and show it: as it waits, or as it ended."""
    answers = asked.ask(reason, timeout_s)
    if answers.pending or answers.failure is not None:
        operations.show(answers, timeout_s, session.form)
    number = job_named_in(answers.operations[0].answer)
    job = region.job(number) if follow_s is None else _followed(region, number, time.monotonic() + follow_s)
    _show(session, job)
    if follow_s is not None:
        raise typer.Exit(_exit_code(job))


def _followed(region: RegionReach, number: int, deadline: float) -> JobDocument:
    """Wait for the end of a job.

    Raises:
        typer.Exit: It is not over in time; the daemon goes on.
    """
    told = ""
    while not JobState((job := region.job(number)).state).over:
        if job.state != told:
            say(f"job {number} is {job.state}")
            told = job.state
        if time.monotonic() >= deadline:
            say(f"job {number} goes on: 'syncer jobs show {number}'")
            raise typer.Exit(ExitCode.UNREACHABLE)
        time.sleep(FOLLOW_S)
    return job


def _exit_code(document: JobDocument) -> ExitCode:
    if document.state != "succeeded":
        return ExitCode.FAILED
    return ExitCode.DIFFERENT if document.different else ExitCode.DONE


def _show(session: CommandSession, document: JobDocument) -> None:
    if session.form is not Format.TABLE:
        output.document(document, session.form)
        return
    output.facts(
        [
            ("job", document.id),
            ("kind", document.kind),
            ("about", _about(document)),
            ("state", document.state),
            ("asked by", document.asked_by),
            *([("reason", document.reason)] if document.reason else []),
            ("asked", moment(document.asked_at_ms)),
            *([("began", f"{_moment(document.began_at_ms)} on {document.host}")] if document.host else []),
            *([("ended", _moment(document.ended_at_ms))] if document.ended_at_ms is not None else []),
            *([("because", document.detail)] if document.detail else []),
            *([("snapshot", document.output["id"])] if "id" in document.output else []),
            *([("different", "yes" if document.different else "no")] if document.different is not None else []),
        ]
    )


def _about(job: JobDocument) -> str:
    """What a job works on, in short."""
    snapshots, tenants = (_listed(job.arguments.get(name)) for name in ("snapshots", "tenants"))
    words = [*snapshots, *(f"tenant {each}" for each in tenants)]
    words += [name.replace("_", "-") for name, value in job.arguments.items() if value is True]
    return " ".join(words) or "this region"


def _listed(value: object) -> Sequence[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _moment(at_ms: int | None) -> str | None:
    return moment(at_ms) if at_ms is not None else None
