"""Rollback detection: fence and database show which of database and store is older than when they last met."""

from __future__ import annotations

from syncer.errors import PreconditionFailed
from syncer.replication.fence import Fence, HeldFence, order_of
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.progress import Phase
from syncer.stores.contract import Entry


def loss(recovery: Recovery, entry: Entry | None) -> str | None:
    """Why the fence says that this database is not the one that was last the writer's; ``None``: it is.

    Four signals: the fence names another database; its epoch is not behind ours, although ours was just raised; it
    holds a mark that our database has never given out; its newest receipt is of a batch that it has never decided.

    Raises:
        PreconditionFailed: It is the store that is old: the fence knows nothing of what this database saw in it.
    """
    identity = recovery.core.identity
    if entry is None:
        return None
    fence = Fence.decode(entry.value)
    if identity.store_id is not None and fence.store_id != identity.store_id:
        return None  # another store: that is for a person
    if fence.database_id != identity.database_id:
        return _another(recovery, fence)
    if fence.epoch >= identity.epoch and fence.number not in recovery.progress.tried:
        return f"an old copy: the fence was raised in epoch {fence.epoch}, this copy is of an earlier one"
    if fence.mark > identity.mark:
        return f"an old copy: the fence holds mark {fence.mark}, this copy has given out {identity.mark}"
    if fence.precedes(identity.landed, identity.marked):
        raise _older(f"it has seen mark {identity.marked} and batch {identity.landed or 'none'} there")
    if not fence.landed:
        return None
    if identity.landed is None:  # it never held the fence; but one of before this fact was kept did not note it either
        fresh = identity.store_id is None or identity.rebuild is not None
        return f"an old copy: batch {fence.landed[-1]} has landed, this copy never wrote" if fresh else None
    with recovery.core.state.transaction() as tx:
        decided = [register.intent.batch for register in tx.intents() if register.intent is not None]
    newest = max([identity.landed, *decided], key=order_of)
    if order_of(fence.landed[-1]) > order_of(newest):
        return f"an old copy: batch {fence.landed[-1]} has landed, this copy knows none after {newest}"
    return None


def _another(recovery: Recovery, fence: Fence) -> str | None:
    """What it means that the fence names another database: it took over, ours begins anew, or the store is old."""
    identity, begun = recovery.core.identity, rebuild.of(recovery)
    if begun is not None and fence.database_id in begun.former:
        if begun.phase is Phase.HEARING:
            return None  # what was begun goes on: nothing of the store was taken yet
        if identity.marked:
            raise _older(f"the fence names {fence.database_id}, which this database has taken the place of")
    return f"the region's fence names another database ({fence.database_id})"


def check_store(seen: Fence, asked: HeldFence) -> None:
    """Refuse what was read from a store together with a fence that is older than one that was known before.

    Args:
        seen: The fence as read after the values, written by this daemon.
        asked: The fence as it was known when the values were asked for.

    Raises:
        PreconditionFailed: The store was put back while this daemon ran.
    """
    fence = asked.fence
    landed = fence.landed[-1] if fence.landed else None
    if seen.precedes(landed, fence.mark):
        raise _older(f"mark {fence.mark} and batch {landed or 'none'} were there")


def _older(evidence: str) -> PreconditionFailed:
    """A store that was put back: its old values would be taken for changes made just now, and win everywhere."""
    return PreconditionFailed(
        f"the store is older than the sidecar database: {evidence}, and the fence does not know it",
        hint="The store was put back from a backup; nothing of it was taken or published. To bring the group back, "
        "move the sidecar database away and start again: the region is rebuilt from its peers, and what the store "
        "holds differently is kept as conflicts.",
    )
