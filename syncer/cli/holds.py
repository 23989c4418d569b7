"""``syncer holds``: changes that wait for a person, who may let them pass, refuse them, or leave them waiting."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli import output
from syncer.cli.asking import Request, Timeout, Why, Yes, agree, ask
from syncer.cli.documents import HoldDocument, HoldList
from syncer.cli.output import Format, moment, say
from syncer.cli.session import session_of
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import MetaPath

if TYPE_CHECKING:
    from syncer.conflict.register import Hold
    from syncer.state.views import Views

PAGE: Final = 500
MAX_FUTURE: Final = 10_000
FUTURE: Final = "from-the-future"
_LEAVE: Final = "The third choice is to leave it: it goes on waiting, everything else goes on without it."

app = typer.Typer(no_args_is_help=True, help="Changes that wait for a person: confirm, reject, or leave them.")

Path = Annotated[str | None, typer.Argument(metavar="[PATH]", help="Path of the held change.")]
All = Annotated[bool, typer.Option("--all", help="Every held change (that --only selects).")]
Only = Annotated[str, typer.Option("--only", metavar="REASON", help="With --all: only holds of this reason.")]


@app.command("list")
def list_holds(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    after: Annotated[str, typer.Option("--after", metavar="PATH", help="Go on behind this path.")] = "",
) -> None:
    """List what waits, in path order."""
    session = session_of(context)
    with session.views() as views:
        held = itertools.islice(_registers(views, after), limit + 1)
        items = _in_order(held, (each for each in _future(views) if each.path > after))
    shown = items[:limit]
    following = shown[-1].path if len(items) > limit else None
    if session.form is not Format.TABLE:
        output.document(HoldList(items=shown, next=following), session.form)
        return
    output.table(
        ("path", "waits", "reason", "stamp", "since", "detail"),
        [(each.path, each.waits, each.reason, each.stamp, moment(each.since_ms), each.detail) for each in shown],
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
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Let a held change pass: a remote one is written here, a local one is published, one from the future counts."""
    session = session_of(context)
    with session.views() as views:
        held = _chosen(views, path, everything=everything, only=only)
        agree(_target(held, path, views), f"{_many(held)} will pass the guards. {_LEAVE}", yes=yes)
        requests = [
            Request("release" if each.waits == "event" else "confirm", {"path": each.path, "stamp": each.stamp})
            for each in held
        ]
        ask(views, requests, reason=reason, timeout_s=timeout, form=session.form)


@app.command("reject")
def reject(
    context: typer.Context,
    path: Path = None,
    everything: All = False,
    only: Only = "",
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Refuse a held change: against a remote one this region's value wins everywhere, a local delete is taken back."""
    session = session_of(context)
    with session.views() as views:
        held = _chosen(views, path, everything=everything, only=only)
        if any(each.waits == "event" for each in held):
            raise PreconditionFailed(
                "an event from the future cannot be rejected: its author's region holds that value already",
                hint="Correct the clock there; confirm it here, or leave it until its time has come.",
            )
        consequences = []
        if any(each.waits == "write" for each in held):
            consequences.append(
                "OUR value will win EVERYWHERE: it gets a newer stamp and replaces theirs in every region."
            )
        if any(each.waits == "publication" for each in held):
            consequences.append(
                "The local delete is taken back: the value is fetched from a peer and written here again."
            )
        agree(_target(held, path, views), f"Rejecting {_many(held)}.", *consequences, _LEAVE, yes=yes)
        requests = [Request("undo" if each.waits == "publication" else "reject", {"path": each.path}) for each in held]
        ask(views, requests, reason=reason, timeout_s=timeout, form=session.form)


def _chosen(views: Views, path: str | None, *, everything: bool, only: str) -> list[HoldDocument]:
    if (path is None) != everything:
        raise typer.BadParameter("give either a PATH or --all")
    if only and not everything:
        raise typer.BadParameter("--only goes with --all")
    if everything:
        held = [each for each in _in_order(_registers(views), _future(views)) if not only or each.reason == only]
    else:
        held = _at(views, path or "")
    if not held:
        what = path if path is not None else f"with reason {only!r}" if only else "at all"
        raise NotFound(
            f"nothing is held {what}" if everything else f"nothing is held at {what}", hint="See 'syncer holds list'."
        )
    return held


def _target(held: list[HoldDocument], path: str | None, views: Views) -> str:
    return held[0].path if path is not None else views.identity().region


def _many(held: list[HoldDocument]) -> str:
    return f"{held[0].path} ({held[0].reason})" if len(held) == 1 else f"{len(held)} held changes"


def _in_order(*some: Iterable[HoldDocument]) -> list[HoldDocument]:
    return sorted(itertools.chain(*some), key=lambda each: (each.path, each.waits == "event", each.stamp))


def _at(views: Views, path: str) -> list[HoldDocument]:
    """What is held at a path: the register's hold, else the oldest event from the future."""
    register = views.register(MetaPath(path))
    if register is not None and register.hold is not None:
        return [document(register.path, register.hold)]
    return [each for each in _future(views) if each.path == path][:1]


def document(path: str, hold: Hold) -> HoldDocument:
    """A hold as the contract has it."""
    return HoldDocument(
        path=path,
        waits="publication" if hold.local else "write",
        reason=hold.reason.value,
        stamp=str(hold.stamp),
        since_ms=hold.since_ms,
        detail=hold.detail,
    )


def _registers(views: Views, after: str = "") -> Iterator[HoldDocument]:
    while page := views.holds(PAGE, MetaPath(after) if after else None):
        yield from (document(row.path, row.hold) for row in page)
        after = page[-1].path


def _future(views: Views) -> Iterator[HoldDocument]:
    for event in views.future_events(MAX_FUTURE):
        yield HoldDocument(
            path=event.path,
            waits="event",
            reason=FUTURE,
            stamp=str(event.stamp),
            since_ms=event.held_at_ms or 0,
            detail=f"{event.type.value}, stamped {moment(event.stamp.updated_at_ms)}: beyond the allowed clock skew",
        )
