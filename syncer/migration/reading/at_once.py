"""Many calls of one kind, a few of them at once, so that no broker has much to do for us."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

import anyio

from syncer.errors import SyncerError

AT_ONCE: Final = 8
"""Calls that are under way at the same time."""

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")


async def all_of(ask: Callable[[Asked], Awaitable[Answered]], items: Iterable[Asked]) -> list[Answered]:
    """Ask for each of many items; the answers stand in the order of the items.

    Raises:
        SyncerError: The first that one of the calls has raised; the others are given up.
    """
    waiting = list(enumerate(items))
    answers: dict[int, Answered] = {}
    failures: list[SyncerError] = []
    waiting.reverse()

    async def work() -> None:
        while waiting and not failures:
            number, item = waiting.pop()
            try:
                answers[number] = await ask(item)
            except SyncerError as error:
                failures.append(error)
                tasks.cancel_scope.cancel()
                return

    async with anyio.create_task_group() as tasks:
        for _ in range(min(AT_ONCE, len(waiting))):
            tasks.start_soon(work)
    if failures:
        raise failures[0]
    return [answers[number] for number in range(len(answers))]
