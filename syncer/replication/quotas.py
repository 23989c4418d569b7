"""Quotas, in bytes, of what members may make this region keep: losers of conflicts, and values that are not written.

Whoever is believed can make conflicts, and changes that the store refuses or a guard holds, with values of megabytes.
Each kind has a room of its own. What finds none is not folded: nothing that is known or stored gives way to it, nothing
of it is lost where it was made, its number does not count as consumed, and it comes by anti-entropy once there is room.
Local changes always find room: what stands in the own store is bounded by the store.

Of conflicts the oldest whose losers were restored are forgotten first, without being asked: each of these values is a
later change since. The rest is for an operator, who restores or discards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from syncer.conflict.acts import RecordConflict
from syncer.model import Millis
from syncer.state.contract.conflicts import Amount

if TYPE_CHECKING:
    from syncer.conflict.acts import Outcome
    from syncer.conflict.register import Register
    from syncer.replication.core import Core
    from syncer.replication.telemetry import Telemetry
    from syncer.state.contract.transaction import Transaction

log = structlog.get_logger()

CONFLICTS: Final = Amount(200_000, 1 << 30)
"""Losers of conflicts."""
VALUES: Final = Amount(200_000, 1 << 30)
"""Values of more than :data:`LARGE_BYTES` that are due here: on their way, refused by the store, or held."""
LARGE_BYTES: Final = 4096
"""Smaller values are as the registers themselves are: one for each path."""
CONFLICTS_FULL: Final = "conflicts-full"
VALUES_FULL: Final = "values-full"
WEIGHED_EACH_MS: Final = 5_000
_DROPPED: Final = 100
_NOTHING: Final = Amount(0, 0)


@dataclass(slots=True)
class Rooms:
    """What is taken of the rooms, as of the last look; the gauges show it.

    Args:
        core: The region's own replica.
        telemetry: Counts and alarms.
        conflicts: Losers that are kept.
        values: Values that are due.
        looked_at_ms: When the values were last counted; until then what came since is added up.
    """

    core: Core
    telemetry: Telemetry
    conflicts: Amount = _NOTHING
    values: Amount = _NOTHING
    looked_at_ms: Millis = Millis(0)


def weigh(rooms: Rooms, now: Millis) -> None:
    """Count from time to time what is taken; an alarm ends as soon as a quarter of its room is free."""
    if 0 <= now - rooms.looked_at_ms < WEIGHED_EACH_MS:
        return
    with rooms.core.state.transaction() as tx:
        rooms.conflicts, rooms.values, rooms.looked_at_ms = tx.kept_conflicts(), tx.kept_values(LARGE_BYTES), now
    for code, taken, room in (
        (CONFLICTS_FULL, rooms.conflicts, CONFLICTS),
        (VALUES_FULL, rooms.values, VALUES),
    ):
        if 4 * taken.things <= 3 * room.things and 4 * taken.size_bytes <= 3 * room.size_bytes:
            rooms.telemetry.conditions.pop(code, None)


def exceeded(rooms: Rooms, tx: Transaction, before: Register, outcome: Outcome) -> str | None:
    """Take the room that a change from the bus needs; the code of the room that it does not find.

    Args:
        rooms: What is taken of the room.
        tx: The transaction that it is to be folded in.
        before: The path's register before.
        outcome: What folding it would do.
    """
    lost = [act for act in outcome.acts if isinstance(act, RecordConflict)]
    if lost and not _room_for(rooms, tx, Amount(len(lost), sum(len(act.value or b"") for act in lost))):
        return _refused(rooms, CONFLICTS_FULL, CONFLICTS)
    known = outcome.register.known
    if known is None or known.value is None or before.known is known or len(known.value) <= LARGE_BYTES:
        return None
    if _over(rooms.values, Amount(1, len(known.value)), VALUES):
        return _refused(rooms, VALUES_FULL, VALUES)
    rooms.values = Amount(rooms.values.things + 1, rooms.values.size_bytes + len(known.value))
    return None


def _room_for(rooms: Rooms, tx: Transaction, more: Amount) -> bool:
    while _over(tx.kept_conflicts(), more, CONFLICTS):
        if not tx.drop_conflicts(_DROPPED, restored=True):
            return False
    rooms.conflicts = tx.kept_conflicts()
    return True


def _over(taken: Amount, more: Amount, room: Amount) -> bool:
    return taken.things + more.things > room.things or taken.size_bytes + more.size_bytes > room.size_bytes


_CURES: Final = {
    CONFLICTS_FULL: (
        "losers of conflicts",
        "see 'syncer conflicts list': restore what is right, and 'syncer conflicts discard' the rest",
    ),
    VALUES_FULL: (
        "large values that are not written here",
        "see 'syncer holds list': what the store refuses or a guard holds keeps its value until it is decided",
    ),
}


def _refused(rooms: Rooms, code: str, room: Amount) -> str:
    rooms.telemetry.tally["refused", code] += 1
    count = rooms.telemetry.tally["refused", code]
    what, cure = _CURES[code]
    rooms.telemetry.conditions[code] = (
        f"no room for {what}: they are kept up to {room.things}, or {room.size_bytes >> 20} MiB. {count} changes were "
        f"not taken for that since the start; they come by anti-entropy once there is room. To make some, {cure}"
    )
    if count & (count - 1) == 0:  # the first, and then ever more seldom
        log.error("no_room", code=code, count=count)
    return code
