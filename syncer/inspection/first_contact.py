"""First contact as it is planned: what the group's values would change in this region's store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from syncer.documents.regions import FirstContact, FirstContactPlan
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath, Millis
from syncer.operations.decisions import met_first, met_until
from syncer.state.contract.membership import COME_BACK, JOINING

if TYPE_CHECKING:
    from syncer.conflict.register import Register
    from syncer.state.views.region import Views

PAGE: Final = 500


def first_contact(views: Views, limit: int) -> FirstContactPlan:
    """What first contact would change here.

    Args:
        views: Of the sidecar database.
        limit: Paths to list; all are counted.

    Raises:
        PreconditionFailed: The region has left, or has not read its store yet.
    """
    identity = views.identity()
    if views.membership().left_at is not None:
        raise PreconditionFailed(f"{identity.region} has left the group, or was forgotten", hint=COME_BACK)
    if not identity.first_scan_done:
        raise PreconditionFailed(
            "the daemon has not read the whole store yet, so the plan is not known",
            hint="Look again when 'syncer status' shows the first scan as finished.",
        )
    return plan_of_contact(views, limit, waits=identity.paused == JOINING)


def plan_of_contact(views: Views, limit: int, *, waits: bool) -> FirstContactPlan:
    """The plan: before it takes part (``waits``) all that is due counts, else what first contact holds."""
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
