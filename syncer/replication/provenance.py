"""What the fence tells of the database and the store: which of them is not what it was when they last met."""

from __future__ import annotations

from syncer.errors import PreconditionFailed
from syncer.replication.context import Context
from syncer.replication.fence import Fence
from syncer.replication.talk import Phase, Rebuild
from syncer.stores.contract import Entry


def loss(context: Context, entry: Entry | None) -> str | None:
    """Why the fence says that this database is not the one that was last the writer's; ``None``: it is.

    Three signals: the fence names another database; its epoch is not behind ours, although ours was just raised; its
    newest receipt is of a batch that our database has never decided.

    Raises:
        PreconditionFailed: It is the store that is old: the fence knows nothing of what this database saw landing.
    """
    identity = context.identity
    if entry is None:
        return None
    fence = Fence.decode(entry.value)
    if identity.store_id is not None and fence.store_id != identity.store_id:
        return None  # another store: that is for a person
    if fence.database_id != identity.database_id:
        begun = _hearing(context) and fence.generation < identity.generation
        return None if begun else f"the region's fence names another database ({fence.database_id})"
    if fence.epoch >= identity.epoch and fence.number not in context.talk.tried:
        return f"an old copy: the fence was raised in epoch {fence.epoch}, this copy is of an earlier one"
    _check_store(context, fence)
    if not fence.landed:
        return None
    if identity.landed is None:  # it never held the fence; but one of before this fact was kept did not note it either
        fresh = identity.store_id is None or identity.rebuild is not None
        return f"an old copy: batch {fence.landed[-1]} has landed, this copy never wrote" if fresh else None
    with context.state.transaction() as tx:
        decided = [register.intent.batch for register in tx.intents() if register.intent is not None]
    newest = max([identity.landed, *decided], key=order_of)
    if order_of(fence.landed[-1]) > order_of(newest):
        return f"an old copy: batch {fence.landed[-1]} has landed, this copy knows none after {newest}"
    return None


def _check_store(context: Context, fence: Fence) -> None:
    """A receipt is in the fence before this database hears of it; a store that lacks the newest was put back.

    Its old values would be taken for changes that somebody made just now, and win everywhere.
    """
    landed = context.identity.landed
    if landed is None or landed in fence.landed:
        return
    if order_of(landed) > max(map(order_of, fence.landed), default=(0, 0)):
        raise PreconditionFailed(
            f"the store is older than the sidecar database: batch {landed} has landed, and the fence does not know it",
            hint="The store was put back from a backup; nothing was read or published. To bring the group back, "
            "move the sidecar database away and start again: the region is rebuilt from its peers, and what the store "
            "holds differently is kept as conflicts.",
        )


def order_of(batch: str) -> tuple[int, int]:
    """Batches in the order in which they were decided."""
    incarnation, _, number = batch.partition(".")
    return int(incarnation or 0), int(number or 0)


def _hearing(context: Context) -> bool:
    kept = context.identity.rebuild
    return bool(kept) and Rebuild.decode(kept).phase is Phase.HEARING
