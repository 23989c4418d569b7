"""One message cannot hurt the others: what cannot be taken is narrowed down to the messages at fault, and set aside.

Whoever may publish on the topic decides what stands in a message. The codec and the rules refuse what they know to be
wrong; this is for what they do not. Messages are taken together in one transaction. When that fails for a reason that
may lie in one of them, nothing of it is stored, and halves of them are taken alone, and halves of these, until what
fails is a single message; so whoever sends one costs the others a few transactions more, and nothing else. What cannot
be the doing of a message (the database is away, another daemon has become active, no memory is left) is raised.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import structlog

from syncer.errors import Fenced, StateError, SyncerError
from syncer.model import MetadataChangeEvent, Millis
from syncer.replication import consuming
from syncer.replication.ahead import Ahead, Seen, look_ahead
from syncer.replication.consuming import Arrived, Settle
from syncer.replication.context import Context
from syncer.replication.setting_aside import Shelves, set_aside
from syncer.replication.unit import Unit
from syncer.state.contract import Poison

log = structlog.get_logger()

UNTAKEN: Final = "message-untaken"
"""Code, in the quarantine, of a message that was understood and could not be taken."""
FUTURE: Final = "future"
"""Origin, in the quarantine, of an event that has waited for its time."""
_CAUSE_CHARACTERS: Final = 1000
_PLACES: Final = 4

_Item = TypeVar("_Item")


def may_lie_in_a_message(exc: Exception) -> bool:
    """Whether an error may be what a message, or an entry of one, has caused."""
    if isinstance(exc, Fenced | StateError | MemoryError):
        return False
    return not (isinstance(exc, SyncerError) and exc.retryable)


def consume(context: Context, arrived: Sequence[Arrived], now: Millis, seen: Seen | None = None) -> None:
    """Fold a delivery; afterwards it may be acknowledged. What of it cannot be taken is set aside.

    Args:
        context: The daemon's context.
        arrived: The messages, in the order of the topic.
        now: The daemon's clock.
        seen: What was read ahead of it; its read is over with this call, whatever becomes of it.

    Raises:
        StateUnavailable: Not all of it was stored: do not acknowledge.
    """
    reads = [seen]  # those of the whole delivery serve its first attempt alone: its ticket is closed by that

    def attempt(items: Sequence[Arrived]) -> Settle:
        return consuming.consume(context, items, now, reads.pop() if reads else None)

    _narrowed(context, arrived, attempt, partial(_put_aside, context, now))


def plan_reads(context: Context, arrived: Sequence[Arrived]) -> Ahead | None:
    """Paths to read before a delivery is folded; none, where looking for them fails: it is folded without."""
    try:
        return look_ahead(context, arrived)
    except Exception as exc:
        if not may_lie_in_a_message(exc):
            raise
        return None


def release_future(context: Context, now: Millis, limit: int) -> None:
    """Fold events that were ahead of this clock, and are not any more; one that cannot be is set aside."""
    with context.state.transaction() as tx:
        events = tx.future_events(now, limit)
    attempt = partial(consuming.release_future, context, now)
    if events:
        _narrowed(context, events, attempt, partial(_drop_future, context, now))


def _narrowed(
    context: Context,
    items: Sequence[_Item],
    attempt: Callable[[Sequence[_Item]], Settle],
    give_up: Callable[[_Item, Exception], Settle],
) -> None:
    """Take items in their order, as many at once as can be.

    Args:
        context: The daemon's context.
        items: At least one.
        attempt: Takes some in one transaction; what memory takes over is done by what it returns.
        give_up: Sets one aside that fails alone.
    """
    try:
        settle = attempt(items)
    except Exception as exc:
        if not may_lie_in_a_message(exc):
            raise
        recall(context)
        if len(items) > 1:
            middle = len(items) // 2
            _narrowed(context, items[:middle], attempt, give_up)
            _narrowed(context, items[middle:], attempt, give_up)
            return
        settle = give_up(items[0], exc)
    settle()


def recall(context: Context) -> None:
    """Take back what an attempt has changed in memory of what stands in the database: it was not stored.

    All else in memory may be lost or wrong at any time: heartbeats tell it again, and what is due is found again.
    """
    with context.state.transaction() as tx:
        context.recall(tx)


def _put_aside(context: Context, now: Millis, item: Arrived, cause: Exception) -> Settle:
    """Put one message into the quarantine.

    The number of a change that says what lives counts as consumed: it was refused for good, and what is forgotten never
    rests on it (see :mod:`syncer.conflict.tombstones`). That of a delete does not: it is told again.
    """
    detail = _told(item.position, cause)
    with context.state.transaction() as tx:
        unit = Unit(context, tx, now)
        kept = set_aside(context, unit, Shelves(tx), item, UNTAKEN, detail)
        event = item.message
        if kept and isinstance(event, MetadataChangeEvent) and event.value is not None:
            consuming.count(context, tx, event)
        unit.store()
    if (region := getattr(item.message, "region", None)) is not None:
        context.comparisons.part(region)  # of which half may have been changed
    return unit.settle


def _drop_future(context: Context, now: Millis, event: MetadataChangeEvent, cause: Exception) -> Settle:
    position = f"{event.path} {event.stamp}"
    detail = _told(position, cause)
    with context.state.transaction() as tx:
        unit = Unit(context, tx, now)
        tx.drop_future(event.path, event.stamp)
        unit.quarantine(
            Poison(
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
    why = f"{type(cause).__name__}: {cause}"[:_CAUSE_CHARACTERS]
    log.error("message_untaken", position=position, cause=why, where=place_of(cause))
    return f"it cannot be taken: {why}"


def place_of(exc: BaseException) -> str:
    """Where in the program an error was raised: the last lines of it that it came through, the innermost first."""
    frames = traceback.extract_tb(exc.__traceback__)[-_PLACES:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
