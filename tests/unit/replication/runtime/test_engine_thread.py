"""A call of the driver's thread is never half observed: who is cancelled leaves when it has ended."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator

import anyio
import pytest

from syncer.errors import Fenced
from syncer.replication.runtime.engine_thread import DriverThread
from syncer.waiting import WAIT_S

pytestmark = pytest.mark.anyio


@pytest.fixture
def thread() -> Iterator[DriverThread]:
    made = DriverThread()
    yield made
    made.close()


async def test_a_cancelled_call_is_waited_for(thread: DriverThread) -> None:
    begun, go_on, ended = anyio.Event(), threading.Event(), []
    loop = asyncio.get_running_loop()

    def step() -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(WAIT_S)
        ended.append(True)

    async def caller() -> None:
        try:
            await thread.call(step)
        finally:
            assert ended == [True]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(caller)
        await begun.wait()
        tasks.cancel_scope.cancel()
        loop.call_later(0.05, go_on.set)
    assert ended == [True]


async def test_the_failure_of_a_cancelled_call_is_nobody_s(thread: DriverThread) -> None:
    begun, go_on = anyio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    unheard: list[object] = []
    loop.set_exception_handler(lambda _, context: unheard.append(context))

    def step() -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(WAIT_S)
        raise Fenced("another one")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(thread.call, step)
        await begun.wait()
        tasks.cancel_scope.cancel()
        loop.call_later(0.05, go_on.set)
    await thread.call(int)  # it has ended
    gc.collect()
    await anyio.wait_all_tasks_blocked()
    assert unheard == []
