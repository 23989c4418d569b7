"""``syncer regions``: let this region into the group, take it out, forget one that will never come back."""

from __future__ import annotations

from typing import Annotated

import typer

from syncer.cli.commands.status import regions
from syncer.cli.confirmation import Yes
from syncer.cli.operations import Timeout, Why, carry_out
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.documents.regions import FirstContactPlan
from syncer.documents.words import stamped

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
    """Show what first contact would change in this region's store; with --confirm let it happen.

    A new region whose 'peers.first_contact' is 'ask' has written and published nothing yet. The first --confirm lets it
    take part; values that differ are held then, and a second one lets these pass.
    """
    session = session_of(context)
    with session.region() as region:
        plan, decision = region.first_contact(limit)
        if session.form is Format.TABLE:
            _show(plan)
        elif not confirm:
            output.document(plan, session.form)
        if not confirm:
            would = "would let this region take part" if plan.waits else "would let all of it pass"
            say(f"nothing was changed; --confirm {would}; 'syncer holds' decides path by path")
            return
        carry_out(decision, yes=yes, reason=reason, timeout_s=timeout, form=session.form)


@regions.command("leave")
def leave(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Even if a member has not got all of its changes.")] = False,
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Take this region out of the group: it neither writes nor publishes, and nobody waits for it any more."""
    session = session_of(context)
    with session.region() as here:
        carry_out(here.leave(force=force), yes=yes, reason=reason, timeout_s=timeout, form=session.form)


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
    with session.region() as here:
        carry_out(here.forget(region, force=force), yes=yes, reason=reason, timeout_s=timeout, form=session.form)


@regions.command("admit")
def admit(
    context: typer.Context,
    region: Annotated[str, typer.Argument(metavar="REGION", help="Region that belongs to the group.")],
    yes: Yes = False,
    reason: Why = "",
    timeout: Timeout = 10.0,
) -> None:
    """Take a region for one of the group, though others say that it was forgotten, or it works by other rules.

    It also takes back that a region was forgotten, or has left; given this region's own id, that it stands still
    because others have forgotten it. What this region decides the others do not: repeat it in each that refuses it.
    """
    session = session_of(context)
    with session.region() as here:
        carry_out(here.admit(region), yes=yes, reason=reason, timeout_s=timeout, form=session.form)


def _show(plan: FirstContactPlan) -> None:
    output.table(
        ("path", "here", "would be", "by"),
        [(each.path, stamped(each.ours), each.becomes, stamped(each.theirs)) for each in plan.items],
        empty="first contact would change nothing here" if plan.waits else "first contact holds nothing here",
    )
    authors = ", ".join(f"{region} {count}" for region, count in plan.authors.items())
    here = f"here: {plan.created} created, {plan.replaced} replaced, {plan.deleted} deleted"
    say(here + (f" (by author: {authors})" if authors else ""))
    for region, databases in sorted(plan.refuses.items()):
        count = len(databases)
        say(f"forgotten: {region} ({count} of its databases refused); 'syncer regions admit {region}' takes it back")
    if plan.waits:
        say(f"there: {plan.sent} values of this region are sent; what differs in another region is held there")
    else:
        say("there: every other region shows what it would change by 'syncer regions join' of its own")
