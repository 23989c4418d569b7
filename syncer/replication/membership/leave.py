"""Membership changes: a region leaves the group, stands still from then on, and says so in its heartbeats."""

from __future__ import annotations

from typing import Final

from syncer.errors import PreconditionFailed
from syncer.model import Millis
from syncer.replication.context import Context
from syncer.state.contract.membership import COME_BACK
from syncer.state.contract.transaction import Transaction

LEFT_REASON: Final = "this region has left the group"


def leave(context: Context, tx: Transaction, now: Millis, *, force: bool = False) -> None:
    """Take this region out of the group; its heartbeats say so from now on.

    Args:
        context: The daemon's context.
        tx: The transaction.
        now: Our clock.
        force: Even if a member has not consumed all that this region has published.

    Raises:
        PreconditionFailed: It has left already, or not everything is read, published, or consumed by all.
    """
    if context.left_at is not None:
        raise PreconditionFailed("this region has left the group already", hint=COME_BACK)
    if not force and not (context.scanned and context.ledger.idle and not len(context.dirty)):
        raise PreconditionFailed(
            "not all of this region's store is read and decided: it may hold changes that the group would lose",
            hint="Try again in a moment; 'syncer status' shows whether the store is read. --force leaves all the same.",
        )
    if tx.outbox(1):
        raise PreconditionFailed(
            "changes of this region are not published yet; the group would lose them",
            hint="Wait until 'syncer status' shows an empty outbox, and try again.",
        )
    behind = _behind(context, tx)
    if behind and not force:
        raise PreconditionFailed(
            f"not every member has said that it has all changes of this region: {'; '.join(behind)}",
            hint="Wait for the next heartbeats and try again, or let the others forget who is off by 'syncer regions "
            "forget'; --force leaves all the same.",
        )
    stand_still(context, tx, now, LEFT_REASON)


def _behind(context: Context, tx: Transaction) -> list[str]:
    """Members that have not said that they have consumed all that this region has given out."""
    identity = tx.identity()
    found = []
    for region, report in context.peers.members(context.expected).items():
        had = report.consumed.get(identity.database_id, 0) if report is not None else 0
        if had < identity.last_sequence:
            found.append(f"{region} has {had} of {identity.last_sequence}")
    return found


def stand_still(context: Context, tx: Transaction, now: Millis, reason: str) -> None:
    """Neither write nor publish any more, and say so in heartbeats."""
    tx.set_left(now)
    context.left_at, context.paused = now, reason
    tx.set_identity(paused=reason)


def move_again(context: Context, tx: Transaction) -> None:
    """Stand still no longer."""
    tx.set_left(None)
    context.left_at = context.paused = None
    context.identity = tx.set_identity(paused=None)
    context.conditions.pop("forgotten-here", None)
