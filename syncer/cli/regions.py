"""``syncer regions``: let this region into the group, take it out, forget one that will never come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli import output
from syncer.cli.asking import Request, Timeout, Why, Yes, agree, ask
from syncer.cli.documents import FirstContact, FirstContactPlan
from syncer.cli.output import Format, say
from syncer.cli.overview import regions
from syncer.cli.session import session_of
from syncer.conflict.register import HoldReason
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath

if TYPE_CHECKING:
    from syncer.state.views import Views

PAGE: Final = 500

Force = Annotated[bool, typer.Option("--force", help="Even if it spoke within the last minutes.")]
Confirm = Annotated[bool, typer.Option("--confirm/--dry-run", help="Let all of it pass; the plan alone by default.")]


@regions.command("join")
def join(
    context: typer.Context,
    confirm: Confirm = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Paths to list; all are counted.")] = 100,
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Show what first contact would change in this region's store; with --confirm let it happen."""
    session = session_of(context)
    with session.views() as views:
        if not views.status().identity.genesis:
            raise PreconditionFailed(
                "the daemon has not read the whole store yet, so the plan is not known",
                hint="Look again when 'syncer status' shows the first scan as finished.",
            )
        plan = _plan(views, limit)
        if session.form is Format.TABLE:
            _show(plan)
        elif not confirm:
            output.document(plan, session.form)
        if not confirm:
            say("nothing was changed; --confirm lets all of it pass, 'syncer holds' decides path by path")
            return
        region = views.identity().region
        agree(region, f"{plan.replaced + plan.deleted} values of {region} give way to the group's.", yes=yes)
        ask(views, [Request("regions-join", {})], reason=reason, timeout_s=timeout, form=session.form)


@regions.command("leave")
def leave(context: typer.Context, yes: Yes = False, reason: Why = "", timeout: Timeout = 10.0) -> None:
    """Take this region out of the group: it neither writes nor publishes, and nobody waits for it any more."""
    session = session_of(context)
    with session.views() as views:
        region = views.identity().region
        agree(
            region,
            f"{region} stands still and the group forgets deletes without it. It can only come back with a new sidecar "
            "database, as at first contact.",
            yes=yes,
        )
        ask(views, [Request("regions-leave", {})], reason=reason, timeout_s=timeout, form=session.form)


@regions.command("forget")
def forget(
    context: typer.Context,
    region: Annotated[str, typer.Argument(metavar="REGION", help="Region that will not come back.")],
    force: Force = False,
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Wait no longer for a region; what its database ever sends is refused by all regions."""
    session = session_of(context)
    with session.views() as views:
        agree(
            region,
            f"Nobody waits for {region} any more, and its database is refused for ever: what only it holds is lost to "
            "the group. It can come back with a new sidecar database, as at first contact.",
            yes=yes,
        )
        request = Request("regions-forget", {"region": region, "force": str(force).lower()})
        ask(views, [request], reason=reason, timeout_s=timeout, form=session.form)


def _plan(views: Views, limit: int) -> FirstContactPlan:
    items: list[FirstContact] = []
    authors: Counter[str] = Counter()
    deleted = replaced = 0
    for contact in _contacts(views):
        authors[contact.theirs.rpartition("@")[2]] += 1
        deleted += contact.becomes == "deleted"
        replaced += contact.becomes == "replaced"
        if len(items) < limit:
            items.append(contact)
    return FirstContactPlan(replaced=replaced, deleted=deleted, authors=dict(sorted(authors.items())), items=items)


def _contacts(views: Views) -> Iterator[FirstContact]:
    after: MetaPath | None = None
    while page := views.holds(PAGE, after):
        after = page[-1].path
        for row in page:
            if row.hold.reason is not HoldReason.FIRST_CONTACT:
                continue
            register = views.register(row.path)
            if register is None or register.seated is None:
                continue
            yield FirstContact(
                path=row.path,
                ours=str(register.seated.stamp),
                theirs=str(row.hold.stamp),
                becomes="deleted" if row.digest is None else "replaced",
            )


def _show(plan: FirstContactPlan) -> None:
    output.table(
        ("path", "here, found by", "would be", "by"),
        [(each.path, each.ours, each.becomes, each.theirs) for each in plan.items],
        empty="first contact holds nothing here",
    )
    authors = ", ".join(f"{region} {count}" for region, count in plan.authors.items())
    say(f"here: {plan.replaced} replaced, {plan.deleted} deleted" + (f" (by author: {authors})" if authors else ""))
    say("there: every other region shows what it would change by 'syncer regions join' of its own")
