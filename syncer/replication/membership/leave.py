"""Membership changes: a region leaves the group, stands still from then on, and says so in its heartbeats."""

from __future__ import annotations

from typing import Final

from syncer.errors import PreconditionFailed
from syncer.model import Millis
from syncer.replication.membership.part import MembershipChanges
from syncer.state.contract.membership import COME_BACK
from syncer.state.contract.transaction import Transaction

LEFT_REASON: Final = "this region has left the group"


def leave(membership: MembershipChanges, tx: Transaction, now: Millis, *, force: bool = False) -> None:
    """Take this region out of the group; its heartbeats say so from now on.

    Args:
        membership: What changes of the membership touch.
        tx: The transaction.
        now: Our clock.
        force: Even if a member has not consumed all that this region has published.

    Raises:
        PreconditionFailed: It has left already, or not everything is read, published, or consumed by all.
    """
    if membership.group.left_at is not None:
        raise PreconditionFailed("this region has left the group already", hint=COME_BACK)
    if not force and not (
        membership.local.watch.scanned and membership.local.watch.ledger.idle and not len(membership.local.dirty)
    ):
        raise PreconditionFailed(
            "not all of this region's store is read and decided: it may hold changes that the group would lose",
            hint="Try again in a moment; 'syncer status' shows whether the store is read. --force leaves all the same.",
        )
    if tx.outbox(1):
        raise PreconditionFailed(
            "changes of this region are not published yet; the group would lose them",
            hint="Wait until 'syncer status' shows an empty outbox, and try again.",
        )
    behind = _behind(membership, tx)
    if behind and not force:
        raise PreconditionFailed(
            f"not every member has said that it has all changes of this region: {'; '.join(behind)}",
            hint="Wait for the next heartbeats and try again, or let the others forget who is off by 'syncer regions "
            "forget'; --force leaves all the same.",
        )
    stand_still(membership, tx, now, LEFT_REASON)


def _behind(membership: MembershipChanges, tx: Transaction) -> list[str]:
    """Members that have not said that they have consumed all that this region has given out."""
    identity = tx.identity()
    found = []
    for region, report in membership.group.peers.members(membership.group.expected).items():
        had = report.consumed.get(identity.database_id, 0) if report is not None else 0
        if had < identity.last_sequence:
            found.append(f"{region} has {had} of {identity.last_sequence}")
    return found


def stand_still(membership: MembershipChanges, tx: Transaction, now: Millis, reason: str) -> None:
    """Neither write nor publish any more, and say so in heartbeats."""
    tx.set_left(now)
    membership.group.left_at, membership.group.paused = now, reason
    tx.set_identity(paused=reason)


def move_again(membership: MembershipChanges, tx: Transaction) -> None:
    """Stand still no longer."""
    tx.set_left(None)
    membership.group.left_at = membership.group.paused = None
    membership.core.identity = tx.set_identity(paused=None)
    membership.telemetry.conditions.pop("forgotten-here", None)
