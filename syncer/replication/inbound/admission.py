"""Admission of senders: the reason, as a code with its detail, why a message of a region's database is not taken.

What proves who has said it was looked at before (:mod:`syncer.replication.inbound.attribution`).
"""

from __future__ import annotations

from syncer.conflict.register import Register
from syncer.model import MetadataChangeEvent, Region
from syncer.replication.context import Context
from syncer.replication.inbound import attribution
from syncer.replication.membership import forget
from syncer.replication.recovery import rebuild


def unwelcome(
    context: Context, register: Register, event: MetadataChangeEvent, told_by: Region | None
) -> tuple[str, str] | None:
    """Why an event must not be folded: code and detail."""
    region, own = event.stamp.region, context.identity.region
    if region == own:
        if context.observing:
            return None  # the active daemon of the region
        if told_by is not None:
            return unexpected(context, told_by)  # a peer tells what it knows of our own change
        if event.sender and register.known is not None and event.stamp.updated_at_ms <= register.own:
            return None  # likewise, of a peer that was not heard yet: it cannot be newer than what is known here
        if rebuild.is_former(context, event.sender):
            return None  # what a lost database of this region had published was still under way
        note_double(context, event.sender or "a broker")
        detail = (
            f"an event under this region's own id {region!r}, sent from another database ({event.sender or 'native'}): "
            "two daemons use one region id"
        )
        return "region-id-in-use", detail
    teller = region if told_by is None else told_by  # who made it may be gone since
    return forget.doubted(context, event.sender) or _held(context, teller, event.sender) or _outsider(context, teller)


def not_taken(context: Context, region: Region, sender: str) -> tuple[str, str] | None:
    """Why what a region says by this database is not taken: code and detail."""
    problem = forget.refused(context, sender) or _outsider(context, region)
    problem = problem or misused(context, region, sender) or forget.doubted(context, sender)
    return problem or _held(context, region, sender)


def misused(context: Context, region: Region, sender: str) -> tuple[str, str] | None:
    """Why a database cannot speak for a region, if it is, or first spoke for, another one's: code and detail."""
    own = context.identity
    proved = own.region if sender == own.database_id else attribution.owner(context, sender)
    owner = proved or context.peers.region_of(sender)
    if not sender or owner is None or owner == region:
        return None
    return "database-of-another-region", f"{region} speaks by database {sender}, which is that of {owner}: not believed"


def unexpected(context: Context, region: Region) -> tuple[str, str] | None:
    """Why a region that ``peers.expected`` does not name is not taken: code and detail."""
    if context.expected and region not in context.expected:
        return "unknown-region", f"region {region!r} is not among the expected peers"
    return None


def _outsider(context: Context, region: Region) -> tuple[str, str] | None:
    """Why a region does not belong to the group: code and detail."""
    return unexpected(context, region) or forget.gone(context, region)


def _held(context: Context, region: Region, sender: str) -> tuple[str, str] | None:
    """Why what a newcomer says is kept aside: code and detail."""
    held = region if context.newcomers.of(region) is not None else context.newcomers.speaks_for(sender)
    newcomer = context.newcomers.of(held) if held is not None and not context.peers.remembers(held) else None
    return None if newcomer is None else (forget.HELD_ASIDE, f"{held} does not belong to the group: {newcomer.why}")


def note_double(context: Context, sender: str) -> None:
    """Show that another database speaks under this region's id."""
    context.conditions["region-id-in-use"] = (
        f"another daemon ({sender}) uses this region's id {context.identity.region!r}: what it sends is quarantined; "
        "give one of the two an id of its own"
    )
