"""``syncer holds``: changes that wait for an operator, who may let them pass, refuse them, or leave them waiting."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.confirmation import Yes, agree
from syncer.cli.naming import path_of
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.conflict.shown import HOLDS
from syncer.documents.holds import HoldList, hold_document
from syncer.documents.words import moment, stamped, with_times
from syncer.errors import NotFound, PreconditionFailed
from syncer.operations.decisions import HeldChange, every_event, every_hold, held_at, in_order

if TYPE_CHECKING:
    from syncer.state.views.region import Views

_LEAVE: Final = "The third choice is to leave it: it goes on waiting, and everything else goes on without it."

app = typer.Typer(no_args_is_help=True, help="Changes that wait for a person: confirm, reject, or leave them.")

Path = Annotated[
    str | None, typer.Argument(metavar="[PATH]", help="Path of the held change, or the name of what stands there.")
]
All = Annotated[bool, typer.Option("--all", help="Every held change (that --only selects).")]
Only = Annotated[str, typer.Option("--only", metavar="REASON", help="With --all: only holds of this reason.")]

Same = Annotated[
    str,
    typer.Option("--stamp", metavar="STAMP", help="With PATH: only if this change is held, as 'list' has shown it."),
]


@app.command("list")
def list_holds(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    after: Annotated[str, typer.Option("--after", metavar="PATH", help="Go on behind this path.")] = "",
) -> None:
    """List what waits, in path order."""
    session = session_of(context)
    with session.views() as views:
        held = itertools.islice(every_hold(views, after), limit + 1)
        items = in_order(held, (each for each in every_event(views) if each.path > after))
    shown = [hold_document(each) for each in items[:limit]]
    following = shown[-1].path if len(items) > limit else None
    if session.form is not Format.TABLE:
        output.document(HoldList(items=shown, next=following), session.form)
        return
    output.table(
        ("path", "waits", "reason", "stamp", "since", "detail"),
        [
            (each.path, each.waits, each.reason, stamped(each.stamp), moment(each.since_ms), with_times(each.detail))
            for each in shown
        ],
        empty="nothing is held",
    )
    if following is not None:
        say(f"more: --after {following}")


@app.command("confirm")
def confirm(
    context: typer.Context,
    path: Path = None,
    everything: All = False,
    only: Only = "",
    stamp: Same = "",
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Let a held change pass: a remote one is written here, a local one is published, one from the future counts."""
    session = session_of(context)
    with session.views() as views:
        held = _chosen(views, path, stamp, everything=everything, only=only)
        agree(_target(held, path, views), f"{_many(held)} would pass the guards. {_LEAVE}", yes=yes)
        ask(views, [each.confirming for each in held], reason=reason, timeout_s=timeout, form=session.form)


@app.command("reject")
def reject(
    context: typer.Context,
    path: Path = None,
    everything: All = False,
    only: Only = "",
    stamp: Same = "",
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Refuse a held change: our value wins over a remote one, a local delete is taken back, an early one is dropped."""
    session = session_of(context)
    with session.views() as views:
        held = _chosen(views, path, stamp, everything=everything, only=only)
        consequences = []
        if any(each.waits == "write" for each in held):
            consequences.append(
                "OUR value would win EVERYWHERE: it would get a newer stamp and replace theirs in every region."
            )
        if any(each.waits == "publication" for each in held):
            consequences.append(
                "The local delete would be taken back: the value fetched from a peer, and written here again."
            )
        if any(each.waits == "event" for each in held):
            consequences.append(
                "The event from the future would be dropped here. A region that knows what it says would tell it "
                "again: correct that region's clock."
            )
        agree(_target(held, path, views), f"{_many(held)} would be rejected.", *consequences, _LEAVE, yes=yes)
        ask(views, [each.refusing for each in held], reason=reason, timeout_s=timeout, form=session.form)


def _chosen(views: Views, path: str | None, stamp: str, *, everything: bool, only: str) -> list[HeldChange]:
    if (path is None) != everything:
        raise typer.BadParameter("give either a PATH or --all")
    if only and not everything:
        raise typer.BadParameter("--only goes with --all")
    if stamp and everything:
        raise typer.BadParameter("--stamp goes with a PATH")
    if path is None:
        held = [each for each in in_order(every_hold(views), every_event(views)) if not only or each.reason == only]
        if held:
            return held
        what = f"with reason {only!r}" if only else "at all"
        raise NotFound(f"nothing is held {what}", hint="See 'syncer holds list'.")
    key = path_of(path, lambda each: held_at(views, each) is not None)
    found = held_at(views, key)
    if found is None:
        raise NotFound(f"nothing is held at {key}", hint="See 'syncer holds list'.")
    if stamp not in {"", str(found.stamp), stamped(found.stamp)}:
        raise PreconditionFailed(
            f"{key}: another change is held now ({stamped(found.stamp)}, {found.reason}) than {with_times(stamp)}",
            hint=HOLDS,
        )
    return [found]


def _target(held: list[HeldChange], path: str | None, views: Views) -> str:
    return held[0].path if path is not None else views.identity().region


def _many(held: list[HeldChange]) -> str:
    if len(held) > 1:
        return f"{len(held)} held changes"
    (each,) = held
    stored = "nothing" if each.shown.digest is None else stamped(each.shown.stored)
    return f"{each.path} ({stamped(each.stamp)}, {each.reason}; last known in the store here: {stored})"
