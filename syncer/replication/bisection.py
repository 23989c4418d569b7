"""Bisection: of many items that fail together the ones at fault are found, and given up alone.

Things are taken together in one transaction. When that fails for a reason that may lie in one of them, nothing of it is
stored, and halves of them are taken alone, and halves of these, until what fails is a single one. So whoever sends one
message that breaks something, or names a topic as no database can keep it, costs the others a few transactions more and
nothing else. Whoever sends thousands of them does not have the daemon to himself: after some the rest is left for the
next call, and heartbeats, ticks and whatever else waits have their turn. What cannot be the doing of one (the database
is away, another daemon has become active, no memory is left) is raised.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from syncer.errors import Fenced, StateError, SyncerError
from syncer.replication.group.participation import Participation

GIVEN_UP_AT_ONCE: Final = 50
"""Things at fault; then the others have their turn. Each costs about 20 ms."""
TRIED_AT_ONCE: Final = 5_000
"""Things in attempts that failed, each counted once for each; likewise: this many take about a second."""
_PLACES: Final = 4
_CAUSE_CHARACTERS: Final = 1000

_Item = TypeVar("_Item")

Settle = Callable[[], None]
"""What memory takes over once a transaction is committed; it cannot fail because of what was taken."""


def may_lie_in_one(exc: Exception) -> bool:
    """Whether an error may be what a message, a path or a value has caused."""
    if isinstance(exc, Fenced | StateError | MemoryError):
        return False
    return not (isinstance(exc, SyncerError) and exc.retryable)


def narrowed(
    group: Participation,
    items: Sequence[_Item],
    attempt: Callable[[Sequence[_Item]], Settle],
    give_up: Callable[[_Item, Exception], Settle],
) -> Sequence[_Item]:
    """Take items in their order, as many at once as can be.

    Args:
        group: The group, as this region remembers it.
        items: At least one.
        attempt: Takes some in one transaction; what memory takes over is done by what it returns.
        give_up: Sets one aside that fails alone.

    Returns:
        The last of the items, in order, that were not looked at: so much went wrong that they are left for another
        call. Never all of them.
    """
    runs, given_up, tried, settled = [items], 0, 0, False
    while runs:
        if given_up >= GIVEN_UP_AT_ONCE or (settled and tried >= TRIED_AT_ONCE):
            return [item for run in reversed(runs) for item in run]
        run = runs.pop()
        group.peers.begin()
        try:
            settle = attempt(run)
        except Exception as exc:
            if not may_lie_in_one(exc):
                raise
            _take_back(group)
            if len(run) > 1:
                middle = len(run) // 2
                runs += (run[middle:], run[:middle])
                tried += len(run)
                continue
            settle = give_up(run[0], exc)
            given_up += 1
        settle()
        settled = True
    return ()


def _take_back(group: Participation) -> None:
    """Take back what an attempt has changed in memory of what stands in the database: it was not stored.

    All else in memory may be lost or wrong at any time: heartbeats tell it again, and what is due is found again.
    """
    with group.core.state.transaction() as tx:
        group.take_back(tx)


def why(exc: BaseException) -> str:
    """An error in a line."""
    return f"{type(exc).__name__}: {exc}"[:_CAUSE_CHARACTERS]


def place_of(exc: BaseException) -> str:
    """Where in the program an error was raised: the last lines of it that it came through, the innermost first."""
    frames = traceback.extract_tb(exc.__traceback__)[-_PLACES:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
