"""The gate of publication: the only module that puts events into the outbox.

    core      Publish ──▶ UnitOfWork.take ──▶ admitted?  no: the path stays as it was
    operator  confirm, retry  ──▶ require     no: the operation fails, and what waits goes on waiting
    group     retold registers ──▶ retell     no: left out
    start     rows of the outbox ──▶ leaves?  no: :func:`syncer.replication.recovery.rescoping.retract`

Two rules. A change of this region leaves it only where the scope publishes the path. A register that the group has
already (a delete told again, the answer to a peer's question) leaves it wherever the scope carries the path: it is no
change of this region, and a peer may miss it.

Both ask the scope of this very moment. The scope changes at a start alone, so all rows of the outbox are judged again
at a start, before any of them is sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from syncer.conflict.acts import Publish
from syncer.conflict.scope import Scope
from syncer.errors import PreconditionFailed
from syncer.model import MetadataChangeEvent, MetaPath, Region
from syncer.state.contract.transaction import Transaction


def admits(scope: Scope, act: object) -> bool:
    """Return whether the scope lets an act of the core be performed: a change of this region is published by it."""
    return not isinstance(act, Publish) or scope.direction(act.event.path).publishes


def require(scope: Scope, path: MetaPath, waits: str) -> None:
    """Refuse an operator's publication of a path that may not leave this region.

    Args:
        scope: The rules of this region.
        path: The path.
        waits: What stays as it is, and how else it is dealt with.

    Raises:
        PreconditionFailed: The scope does not publish the path.
    """
    if not scope.direction(path).publishes:
        raise PreconditionFailed(f"{path} may not leave this region by its scope, so nothing is published", hint=waits)


def enqueue(scope: Scope, tx: Transaction, events: Sequence[MetadataChangeEvent]) -> None:
    """Put changes of this region into the outbox, but for those that may not leave it."""
    tx.enqueue([event for event in events if scope.direction(event.path).publishes])


def retell(scope: Scope, tx: Transaction, events: Sequence[MetadataChangeEvent]) -> None:
    """Put registers into the outbox that the group has already, but for those of paths out of scope."""
    tx.enqueue([event for event in events if scope.contains(event.path)])


def leaves(scope: Scope, region: Region, event: MetadataChangeEvent) -> bool:
    """Return whether a row of the outbox may be sent: a change of this region by the one rule, others by the other."""
    return scope.direction(event.path).publishes if event.stamp.region == region else scope.contains(event.path)
