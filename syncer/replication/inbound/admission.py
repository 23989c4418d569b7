"""Admission of senders: the reason, as a code with its detail, why a message of a region's database is not taken.

What proves who has said it was looked at before (:mod:`syncer.replication.inbound.attribution`).
"""

from __future__ import annotations

from syncer.conflict.register import Register
from syncer.model import MetadataChangeEvent, Region
from syncer.replication.inbound import attribution
from syncer.replication.inbound.part import Inbound
from syncer.replication.membership import forget
from syncer.replication.recovery import rebuild


def unwelcome(
    inbound: Inbound, register: Register, event: MetadataChangeEvent, told_by: Region | None
) -> tuple[str, str] | None:
    """Why an event must not be folded: code and detail."""
    region, own = event.stamp.region, inbound.core.identity.region
    if region == own:
        if inbound.core.observing:
            return None  # the active daemon of the region
        if told_by is not None:
            return unexpected(inbound, told_by)  # a peer tells what it knows of our own change
        if event.sender and register.known is not None and event.stamp.updated_at_ms <= register.own:
            return None  # likewise, of a peer that was not heard yet: it cannot be newer than what is known here
        if rebuild.is_former(inbound.recovery, event.sender):
            return None  # what a lost database of this region had published was still under way
        note_double(inbound, event.sender or "a broker")
        detail = (
            f"an event under this region's own id {region!r}, sent from another database ({event.sender or 'native'}): "
            "two daemons use one region id"
        )
        return "region-id-in-use", detail
    teller = region if told_by is None else told_by  # who made it may be gone since
    return (
        forget.disputed(inbound.membership, event.sender)
        or _held(inbound, teller, event.sender)
        or _outsider(inbound, teller)
    )


def not_taken(inbound: Inbound, region: Region, sender: str) -> tuple[str, str] | None:
    """Why what a region says by this database is not taken: code and detail."""
    problem = forget.refused(inbound.membership, sender) or _outsider(inbound, region)
    problem = problem or misused(inbound, region, sender) or forget.disputed(inbound.membership, sender)
    return problem or _held(inbound, region, sender)


def misused(inbound: Inbound, region: Region, sender: str) -> tuple[str, str] | None:
    """Why a database cannot speak for a region, if it is, or first spoke for, another one's: code and detail."""
    own = inbound.core.identity
    proved = own.region if sender == own.database_id else attribution.owner(inbound, sender)
    owner = proved or inbound.group.peers.region_of(sender)
    if not sender or owner is None or owner == region:
        return None
    return "database-of-another-region", f"{region} speaks by database {sender}, which is that of {owner}: not believed"


def unexpected(inbound: Inbound, region: Region) -> tuple[str, str] | None:
    """Why a region that ``peers.expected`` does not name is not taken: code and detail."""
    if inbound.group.expected and region not in inbound.group.expected:
        return "unknown-region", f"region {region!r} is not among the expected peers"
    return None


def _outsider(inbound: Inbound, region: Region) -> tuple[str, str] | None:
    """Why a region does not belong to the group: code and detail."""
    return unexpected(inbound, region) or forget.gone(inbound.membership, region)


def _held(inbound: Inbound, region: Region, sender: str) -> tuple[str, str] | None:
    """Why what a newcomer says is kept aside: code and detail."""
    held = region if inbound.group.newcomers.of(region) is not None else inbound.group.newcomers.speaks_for(sender)
    newcomer = (
        inbound.group.newcomers.of(held) if held is not None and not inbound.group.peers.remembers(held) else None
    )
    return None if newcomer is None else (forget.HELD_ASIDE, f"{held} does not belong to the group: {newcomer.why}")


def note_double(inbound: Inbound, sender: str) -> None:
    """Show that another database speaks under this region's id."""
    inbound.telemetry.conditions["region-id-in-use"] = (
        f"another daemon ({sender}) uses this region's id {inbound.core.identity.region!r}: what it sends is "
        "quarantined; give one of the two an id of its own"
    )
