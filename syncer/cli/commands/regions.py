"""``syncer regions``: let this region into the group, take it out, forget one that will never come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from syncer.cli.commands.status import regions
from syncer.cli.confirmation import Yes, agree
from syncer.cli.operations import Timeout, Why, ask
from syncer.cli.render import output
from syncer.cli.render.output import Format, say
from syncer.cli.session import session_of
from syncer.conflict.register import Register
from syncer.documents.regions import FirstContact, FirstContactPlan
from syncer.documents.words import counted, stamped
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath, Millis
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.operations.decisions import joining, met_first, met_until
from syncer.state.contract.membership import COME_BACK, JOINING

if TYPE_CHECKING:
    from syncer.state.views.region import Views

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
    """Show what first contact would change in this region's store; with --confirm let it happen.

    A new region whose 'peers.first_contact' is 'ask' has written and published nothing yet. The first --confirm lets it
    take part; values that differ are held then, and a second one lets these pass.
    """
    session = session_of(context)
    with session.views() as views:
        identity = views.identity()
        if views.membership().left_at is not None:
            raise PreconditionFailed(f"{identity.region} has left the group, or was forgotten", hint=COME_BACK)
        if not identity.first_scan_done:
            raise PreconditionFailed(
                "the daemon has not read the whole store yet, so the plan is not known",
                hint="Look again when 'syncer status' shows the first scan as finished.",
            )
        waits = identity.paused == JOINING
        plan = first_contact_plan(views, limit, waits=waits)
        if session.form is Format.TABLE:
            _show(plan)
        elif not confirm:
            output.document(plan, session.form)
        if not confirm:
            would = "would let this region take part" if waits else "would let all of it pass"
            say(f"nothing was changed; --confirm {would}; 'syncer holds' decides path by path")
            return
        region = identity.region
        giving_way = plan.replaced + plan.deleted
        if waits:
            begins = (
                f"{region} would take part: write {counted(plan.created, 'value')} and send {plan.sent};"
                f" {giving_way} would be held."
            )
            agree(region, begins, yes=yes)
        else:
            agree(region, f"{counted(giving_way, 'value')} of {region} would give way to the group's.", yes=yes)
        until = Millis(plan.until_ms) if plan.until_ms is not None else None
        ask(views, [joining(until)], reason=reason, timeout_s=timeout, form=session.form)


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
    with session.views() as views:
        region = views.identity().region
        agree(
            region,
            f"{region} would stand still, and the group forget deletes without it. That cannot be taken back: it could "
            "only come back as a new member, with a new sidecar database under another region id.",
            yes=yes,
        )
        request = OperationRequest(OperationKind.REGIONS_LEAVE, {"force": str(force).lower()})
        ask(views, [request], reason=reason, timeout_s=timeout, form=session.form)


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
            f"Nobody would wait for {region} any more, and its database would be refused for ever: what only it holds "
            "would be lost to the group. It could come back as a new member, with a new sidecar database under another "
            "region id.",
            yes=yes,
        )
        request = OperationRequest(OperationKind.REGIONS_FORGET, {"region": region, "force": str(force).lower()})
        ask(views, [request], reason=reason, timeout_s=timeout, form=session.form)


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
    with session.views() as views:
        agree(
            region,
            f"{region} would be waited for again, and what it sends be taken. Deletes that were forgotten while it was "
            "refused might come back with it.",
            yes=yes,
        )
        ask(
            views,
            [OperationRequest(OperationKind.REGIONS_ADMIT, {"region": region})],
            reason=reason,
            timeout_s=timeout,
            form=session.form,
        )


def first_contact_plan(views: Views, limit: int, *, waits: bool) -> FirstContactPlan:
    """What first contact would change here.

    Args:
        views: Of the sidecar database.
        limit: Paths to list; all are counted.
        waits: The region does not take part yet: everything that is due counts, not only what is held.
    """
    until = met_until(views)
    items: list[FirstContact] = []
    authors: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for contact in _due(views) if waits else _held(views, until):
        authors[contact.theirs.rpartition("@")[2]] += 1
        outcomes[contact.becomes] += 1
        if len(items) < limit:
            items.append(contact)
    return FirstContactPlan(
        waits=waits,
        until_ms=None if waits else until,
        created=outcomes["created"],
        replaced=outcomes["replaced"],
        deleted=outcomes["deleted"],
        sent=views.outbox().depth,
        authors=dict(sorted(authors.items())),
        refuses={
            peer.region: [str(each) for each in refused]
            for peer in views.peers()
            if isinstance(refused := peer.document.get("refused"), list) and refused
        },
        items=items,
    )


def _held(views: Views, until: Millis) -> Iterator[FirstContact]:
    """What is held that began to be at that moment at the latest: nothing else passes, so nothing else is shown."""
    for row in met_first(views):
        register = views.register(row.path) if row.hold.since_ms <= until else None
        if register is not None and (contact := _contact(register)) is not None:
            yield contact


def _due(views: Views) -> Iterator[FirstContact]:
    after: MetaPath | None = None
    while page := views.due(PAGE, after):
        after = page[-1].path
        yield from (contact for register in page if (contact := _contact(register)) is not None)


def _contact(register: Register) -> FirstContact | None:
    """What the known version would change here; nothing where the store holds that value."""
    known, stored = register.known, register.stored
    if known is None or known.digest == register.stored_digest:
        return None
    here = stored is not None and stored.alive
    return FirstContact(
        path=register.path,
        ours=str(stored.stamp) if stored is not None and here else None,
        theirs=str(known.stamp),
        becomes="deleted" if not known.alive else "replaced" if here else "created",
    )


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
