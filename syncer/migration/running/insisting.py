"""Calls that are made again until they are answered, and many of them of which each is seen to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminError, AdminUnreachable
from syncer.migration.reading.at_once import all_of
from syncer.migration.running.clock import Clock

ATTEMPTS: Final = 5
MANY_ATTEMPTS: Final = 30
"""For what must not be left as it is."""
_PAUSE_S: Final = 0.2
SERVER_ERROR: Final = 500
"""HTTP statuses from here on are the broker's own trouble, which may pass; those below are the caller's."""

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")


async def insist(clock: Clock, call: Callable[[], Awaitable[Answered]], attempts: int = ATTEMPTS) -> Answered:
    """Make a call that does no harm when it is made twice, until it is answered.

    Raises:
        AdminError: It was refused, or not answered so many times.
    """
    for _ in range(attempts - 1):
        try:
            return await call()
        except AdminUnreachable:
            pass
        except AdminRefused as refused:
            if refused.status < SERVER_ERROR:
                raise
        await clock.sleep(_PAUSE_S)
    return await call()


async def each_of(act: Callable[[Asked], Awaitable[None]], items: Iterable[Asked]) -> None:
    """Do something with each of many items; what fails keeps nothing else from being done.

    Raises:
        AdminError: The first of those that were raised, when all is done.
    """

    async def done(item: Asked) -> AdminError | None:
        try:
            await act(item)
        except AdminError as error:
            return error
        return None

    for failure in await all_of(done, items):
        if failure is not None:
            raise failure
