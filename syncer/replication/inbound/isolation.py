"""Poison messages are isolated: those at fault are found by bisection and set aside, so that none hurts the others.

Whoever may publish on the topic decides what stands in a message. The codec and the rules refuse what they know to be
wrong; this is for what they do not (:mod:`syncer.replication.bisection`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog

from syncer.model import MetadataChangeEvent, Millis
from syncer.replication.bisection import Settle, may_lie_in_one, narrowed, place_of, why
from syncer.replication.inbound import receive
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.part import Inbound
from syncer.replication.inbound.prefetch import Prefetch, Prefetched, prefetch
from syncer.replication.inbound.quarantine import Quota, set_aside
from syncer.state.contract.quarantine import DeadLetter

log = structlog.get_logger()

UNTAKEN: Final = "message-untaken"
"""Code, in the quarantine, of a message that was understood and could not be taken."""
FUTURE: Final = "future"
"""Origin, in the quarantine, of an event that has waited for its time."""


def consume(
    inbound: Inbound, arrived: Sequence[Arrived], now: Millis, seen: Prefetched | None = None
) -> Sequence[Arrived]:
    """Fold a delivery; what of it cannot be taken is set aside.

    Args:
        inbound: What receiving messages is made of.
        arrived: The messages, in the order of the topic.
        now: The daemon's clock.
        seen: What was read ahead of it; its read is over with this call, whatever becomes of it.

    Returns:
        The last of the messages, where so many had to be set aside that these are left for the next call; none: the
        delivery may be acknowledged.

    Raises:
        StateUnavailable: Not all of it was stored: do not acknowledge.
    """
    reads = [seen]  # those of the whole delivery serve its first attempt alone: its ticket is closed by that

    def attempt(items: Sequence[Arrived]) -> Settle:
        return receive.consume(inbound, items, now, reads.pop() if reads else None)

    return narrowed(inbound.group, arrived, attempt, partial(_put_aside, inbound, now))


def plan_reads(inbound: Inbound, arrived: Sequence[Arrived]) -> Prefetch | None:
    """Paths to read before a delivery is folded; none, where looking for them fails: it is folded without."""
    try:
        return prefetch(inbound, arrived)
    except Exception as exc:
        if not may_lie_in_one(exc):
            raise
        return None


def release_future(inbound: Inbound, now: Millis, limit: int) -> None:
    """Fold events that were ahead of this clock, and are not any more; one that cannot be is set aside.

    What is left after many of those stands where it stood, and has its turn with the next tick.
    """
    with inbound.core.state.transaction() as tx:
        events = tx.future_events(now, limit)
    attempt = partial(receive.release_future, inbound, now)
    if events:
        narrowed(inbound.group, events, attempt, partial(_drop_future, inbound, now))


def _put_aside(inbound: Inbound, now: Millis, item: Arrived, cause: Exception) -> Settle:
    """Put one message into the quarantine.

    The number of a change that says what lives counts as consumed: it was refused for good, and what is forgotten never
    rests on it (see :mod:`syncer.conflict.tombstones`). That of a delete does not: it is told again.
    """
    event = item.message
    again = isinstance(event, MetadataChangeEvent) and inbound.local.misfits.untaken(event.path, str(event.stamp))
    detail = "" if again else _told(item.position, cause)
    with inbound.core.state.transaction() as tx:
        unit = inbound.units.begin(tx, now)
        kept = again or set_aside(inbound, unit, Quota(tx), item, UNTAKEN, detail)
        if kept and isinstance(event, MetadataChangeEvent) and event.value is not None:
            receive.count(inbound, tx, event)
        unit.store()
    if (region := getattr(item.message, "region", None)) is not None:
        inbound.antientropy.exchanges.part(region)  # of which half may have been changed
    return unit.settle


def _drop_future(inbound: Inbound, now: Millis, event: MetadataChangeEvent, cause: Exception) -> Settle:
    position = f"{event.path} {event.stamp}"
    detail = _told(position, cause)
    with inbound.core.state.transaction() as tx:
        unit = inbound.units.begin(tx, now)
        tx.drop_future(event.path, event.stamp)
        unit.quarantine(
            DeadLetter(
                origin=FUTURE,
                code=UNTAKEN,
                detail=detail,
                position=position,
                path=event.path,
                payload=event.value or b"",
            )
        )
        unit.store()
    return unit.settle


def _told(position: str, cause: Exception) -> str:
    """Why, for the quarantine; the log tells where in the program, so that it can be mended, and no part of values."""
    log.error("message_untaken", position=position, cause=why(cause), where=place_of(cause))
    return f"it cannot be taken: {why(cause)}"
