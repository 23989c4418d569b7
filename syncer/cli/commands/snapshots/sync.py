"""``syncer snapshot sync`` and what belongs to it: telling the group again what snapshots show to differ."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import CommandSession, session_of
from syncer.dispositions import ExitCode
from syncer.documents.snapshots import RepairDocument, RepairPreview
from syncer.documents.words import moment, stamped, with_times
from syncer.operations.client import POLL_S
from syncer.state.contract.repairs import RepairState

if TYPE_CHECKING:
    from syncer.cli.reaching.contract import RegionDecision, RegionReach

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
    from syncer.repair.preview import Consent

    session, consent = session_of(context), Consent(deletes=allow_deletes, old=force_old)
    with session.region() as region:
        found, decision = region.sync(plan, consent, _Teller().brought_in)
        if dry_run:
            if session.form is Format.TABLE:
                _show_preview(found)
            else:
                output.document(found, session.form)
            return
        _tell_preview(found)
        agree(decision.target, *decision.words, yes=yes)
        _carry_out(session, region, decision, reason, timeout)


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
    with session.region() as region:
        carry_out(region.cancel_sync(number), yes=True, reason=reason, timeout_s=timeout, form=session.form)


def _carry_out(
    session: CommandSession, region: RegionReach, decision: RegionDecision, reason: str, timeout_s: float
) -> None:
    """Have the daemon begin, and follow it to the end."""
    deadline = time.monotonic() + timeout_s
    answers = decision.ask(reason, timeout_s)
    asked = answers.operations[0]
    number = int(asked.arguments["repair"])
    if answers.pending:
        say(f"no answer from the daemon; repair {number} begins when it runs")
        raise typer.Exit(ExitCode.UNREACHABLE)
    if answers.failure is not None:
        say(f"error: {asked.answer}")
        raise typer.Exit(answers.failure.exit_code)
    _follow(lambda: region.repair(number), deadline)
    _show(session, region.repair(number))


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


def _show_preview(found: RepairPreview) -> None:
    output.table(
        ("path", "class", "found in", "stamp", "changes"),
        [
            (
                each.path,
                each.cls,
                each.found_in,
                stamped(each.stamp),
                ",".join(f"{loser} (held)" if loser in each.held else loser for loser in each.losers),
            )
            for each in found.items
        ],
        empty="nothing differs",
    )
    _tell_preview(found)
    for why, hint in zip_longest(found.objections, found.hints, fillvalue=""):
        say(f"! the daemon here would refuse it: {why}. {hint}")


def _tell_preview(found: RepairPreview) -> None:
    regions = ", ".join(f"{each.region} of {moment(each.taken_at_ms)}" for each in found.snapshots)
    say(f"snapshots: {regions}; {found.paths} paths, {found.deletes} of them deletes")
    for each in found.changes:
        say(f"{each.region}: {each.paths} {each.what}")
    for region, count in found.unstamped.items():
        say(f"{region}: {count} paths that no daemon had stamped: its own daemon finds them, if one runs there")
    for region, count in found.native_may_ignore.items():
        say(f"{region}: runs Pulsar's own synchronizer, which may ignore {count} of these")
