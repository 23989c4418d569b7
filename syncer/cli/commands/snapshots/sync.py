"""``syncer snapshot sync`` and what belongs to it: telling the group again what snapshots show to differ."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.planning_calls import now_ms
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import CommandSession, session_of
from syncer.dispositions import ExitCode
from syncer.documents.snapshots import RepairDocument
from syncer.documents.words import counted, moment, stamped, with_times
from syncer.inspection.repairs import cancelling, repair_status
from syncer.operations.client import POLL_S, this_user, wait
from syncer.state.contract.operations import Asked
from syncer.state.contract.repairs import RepairState

if TYPE_CHECKING:
    from syncer.repair.preconditions import Objection
    from syncer.repair.preview import Consent, Preview
    from syncer.repair.repair_file import RepairFile
    from syncer.state.views.region import Views

REPORT_EVERY_S: Final = 1.0

Plan = Annotated[Path, typer.Argument(metavar="PLAN", help="A file that 'syncer snapshot diff --plan' wrote.")]
Number = Annotated[int, typer.Argument(metavar="ID", min=1, help="Number of the repair.")]
Wait = Annotated[float, typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait for its end.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to those of snapshots."""
    app.command("sync")(sync)
    app.command("repairs")(repairs)
    app.command("progress")(progress)
    app.command("cancel")(cancel)


def sync(
    context: typer.Context,
    plan: Plan,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change where, and what would be refused; ask nobody.")
    ] = False,
    allow_deletes: Annotated[bool, typer.Option("--allow-deletes", help="However much is deleted.")] = False,
    force_old: Annotated[
        bool, typer.Option("--force-old", help="However old the snapshots are; what may have been deleted is left out.")
    ] = False,
    yes: Yes = False,
    reason: Why = "",
    timeout: Wait = 3600.0,
) -> None:
    """Make all regions equal: the daemon here tells, for each path, the version that wins, with its own stamp.

    What was changed since the snapshots is later and stays. Guards and holds act in every region as always. The daemon
    goes on without this command, which may be ended at any time: see 'syncer snapshot progress'.
    """
    from syncer.inspection.repair_plans import plan_preview, read_plan
    from syncer.repair.preview import Consent, refused
    from syncer.repair.repair_file import RepairFile

    session, file = session_of(context), RepairFile(plan)
    config = session.config(whole=False)
    found = read_plan(file, config)
    consent = Consent(deletes=allow_deletes, old=force_old)
    if dry_run:
        objections = list(refused(found, config.repair_terms, now_ms(), consent))
        if session.form is Format.TABLE:
            _show_preview(found, objections)
        else:
            output.document(plan_preview(found, objections), session.form)
        return
    _tell_preview(found)
    agree(
        config.region,
        f"The daemon of {config.region} would tell {counted(found.paths, 'path')} to all regions.",
        yes=yes,
    )
    with session.views() as views:
        _carry_out(session, views, file, consent, reason, timeout)


def repairs(context: typer.Context, limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 20) -> None:
    """List what was told again, and what is being told, the latest first."""
    session = session_of(context)
    with session.region() as region:
        listed = region.repairs(limit)
    if session.form is not Format.TABLE:
        output.document(listed, session.form)
        return
    output.table(
        ("id", "state", "snapshots", "taken", "paths", "done", "told", "superseded", "refused", "asked by"),
        [
            (
                each.id,
                each.state,
                ",".join(each.regions),
                moment(each.taken_at_ms),
                each.total,
                each.done,
                each.told,
                each.superseded,
                each.refused,
                each.asked_by,
            )
            for each in listed.items
        ],
        empty="nothing was ever told again",
    )


def progress(
    context: typer.Context,
    number: Number,
    till_over: Annotated[bool, typer.Option("--wait", help="Until it is over.")] = False,
    timeout: Wait = 3600.0,
) -> None:
    """Show how far a repair is, and what was refused."""
    session = session_of(context)
    with session.region() as region:
        if till_over:
            _follow(lambda: region.repair(number), time.monotonic() + timeout)
        _show(session, region.repair(number))


def cancel(context: typer.Context, number: Number, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """End a repair. What was told stays told; the rest is dropped."""
    session = session_of(context)
    with session.views() as views:
        asked = cancelling(views, number)
        ask(views, asked.requests, reason=reason, timeout_s=timeout, form=session.form)


def _carry_out(
    session: CommandSession, views: Views, file: RepairFile, consent: Consent, reason: str, timeout_s: float
) -> None:
    """Bring the tellings in, have the daemon begin, and follow it to the end."""
    from syncer.repair.loading import ask_for, bring_in

    deadline = time.monotonic() + timeout_s
    asked = Asked(by=this_user(), reason=reason)
    repair = bring_in(views, file, asked, made_at_ms=now_ms(), report=_Teller().brought_in)
    answers = wait(views, ask_for(views, repair, consent, asked), timeout_s)
    if not answers.operations or answers.pending:
        say(f"no answer from the daemon; repair {repair.id} begins when it runs")
        raise typer.Exit(ExitCode.UNREACHABLE)
    if answers.failure is not None:
        views.drop_repair(repair.id)
        say(f"error: {answers.failed[0].answer}")
        raise typer.Exit(answers.failure.exit_code)
    _follow(lambda: repair_status(views, repair.id), deadline)
    _show(session, repair_status(views, repair.id))


class _Teller:
    """Says on stderr how far something is, now and then."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def say(self, text: str) -> None:
        if time.monotonic() - self._said >= REPORT_EVERY_S:
            self._said = time.monotonic()
            say(text)

    def brought_in(self, count: int) -> None:
        self.say(f"{count} paths brought in")


def _follow(look: Callable[[], RepairDocument], deadline: float) -> None:
    """Wait for the end of a repair, and say how far it is.

    Raises:
        typer.Exit: It is not over in time; the daemon goes on.
    """
    teller = _Teller()
    while not RepairState((repair := look()).state).over:
        if time.monotonic() >= deadline:
            number = repair.id
            say(f"repair {number} goes on: {repair.done} of {repair.total} paths; 'syncer snapshot progress {number}'")
            raise typer.Exit(ExitCode.UNREACHABLE)
        teller.say(f"{repair.done} of {repair.total} paths")
        time.sleep(POLL_S)


def _show(session: CommandSession, document: RepairDocument) -> None:
    if session.form is not Format.TABLE:
        output.document(document, session.form)
        return
    output.facts(
        [
            ("repair", document.id),
            ("state", document.state),
            ("snapshots", f"{', '.join(document.regions)}, the oldest of {moment(document.taken_at_ms)}"),
            ("paths", f"{document.done} of {document.total} decided"),
            ("told", document.told),
            ("superseded", f"{document.superseded} (a later change is known)"),
            ("read again", f"{document.reread} here, {document.elsewhere} by the daemons of their own regions"),
            ("refused", document.refused),
            *([("because", document.detail)] if document.detail else []),
        ]
    )
    if document.refusals:
        output.out("")
        output.table(("path", "reason"), [(each.path, with_times(each.reason)) for each in document.refusals])


def _show_preview(found: Preview, refused: list[Objection]) -> None:
    output.table(
        ("path", "class", "found in", "stamp", "changes"),
        [
            (
                each.path,
                each.cls,
                each.found_in,
                stamped(each.event.stamp if each.event is not None else None),
                ",".join(f"{loser} (held)" if loser in each.held else loser for loser in each.losers),
            )
            for each in found.shown
        ],
        empty="nothing differs",
    )
    _tell_preview(found)
    for each in refused:
        say(f"! the daemon here would refuse it: {each.why}. {each.hint}")


def _tell_preview(found: Preview) -> None:
    regions = ", ".join(f"{each.region} of {moment(each.taken_at_ms)}" for each in found.head.regions)
    say(f"snapshots: {regions}; {found.paths} paths, {found.deletes} of them deletes")
    for (region, what), count in sorted(found.changes.items()):
        say(f"{region}: {count} {what}")
    for region, count in sorted(found.unstamped.items()):
        say(f"{region}: {count} paths that no daemon had stamped: its own daemon finds them, if one runs there")
    for region, count in sorted(found.ignored.items()):
        say(f"{region}: runs Pulsar's own synchronizer, which may ignore {count} of these")
