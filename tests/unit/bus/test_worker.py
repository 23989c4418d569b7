"""The thread of a blocking client: deadlines, bounds, its end, and the role as others see it."""

from __future__ import annotations

import threading

import anyio
import pytest

from syncer.bus.contract import Role
from syncer.bus.feed import RoleFeed
from syncer.bus.worker import MAX_JOBS, ClientThread
from syncer.errors import BusUnavailable
from syncer.waiting import WAIT_S, until

pytestmark = pytest.mark.anyio


async def test_jobs_run_in_order_on_one_thread_and_answer() -> None:
    thread = ClientThread("worker under test")
    thread.start()
    seen: list[int] = []
    for number in range(5):
        await thread.call(lambda number=number: seen.append(number), timeout_s=WAIT_S)  # type: ignore[misc]  # bound now
    assert seen == list(range(5))
    assert await thread.call(lambda: threading.current_thread().name, timeout_s=WAIT_S) == "worker under test"
    with pytest.raises(ZeroDivisionError):
        await thread.call(lambda: 1 // 0, timeout_s=WAIT_S)
    await thread.stop(lambda: seen.append(99))
    assert seen[-1] == 99
    assert not thread.alive
    with pytest.raises(BusUnavailable, match="is closed"):
        await thread.call(lambda: None, timeout_s=WAIT_S)
    await thread.stop()


async def test_deadline_bound_and_end_refuse_clearly() -> None:
    thread = ClientThread("worker under test")
    thread.start()
    gate = threading.Event()
    refused: list[str] = []

    async def call(timeout_s: float) -> None:
        with pytest.raises(BusUnavailable) as caught:
            await thread.call(lambda: gate.wait(WAIT_S), timeout_s=timeout_s)
        refused.append(caught.value.message)

    await call(0.05)
    assert refused.pop() == "worker under test did not answer within 0.05 s"
    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_JOBS):
            tasks.start_soon(call, WAIT_S)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(BusUnavailable, match=f"has {MAX_JOBS} calls waiting"):
            await thread.call(lambda: None, timeout_s=WAIT_S)
        tasks.start_soon(thread.stop)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    assert set(refused) == {"worker under test is closed"}
    assert not thread.alive


async def test_rounds_go_on_after_an_error() -> None:
    rounds: list[int] = []
    third = threading.Event()

    def one() -> float:
        rounds.append(1)
        if len(rounds) == 2:
            raise BusUnavailable("for a moment")
        if len(rounds) >= 3:
            third.set()
        return 0.01

    thread = ClientThread("worker under test", one)
    thread.start()
    await until(third.is_set, "a third round")
    await thread.stop()


async def test_a_role_is_told_at_once_then_each_change_and_a_quick_turn_as_both_steps() -> None:
    feed = RoleFeed()
    feed.attach()
    roles = feed.stream()
    assert await anext(roles) is Role.STANDBY
    feed.set(Role.ACTIVE)
    feed.set(Role.ACTIVE)
    assert await anext(roles) is Role.ACTIVE
    feed.set(Role.STANDBY)
    feed.set(Role.ACTIVE)
    assert [await anext(roles), await anext(roles)] == [Role.STANDBY, Role.ACTIVE]
    feed.close()
    assert [role async for role in roles] == []
    assert feed.current is Role.STANDBY


async def test_no_round_follows_the_last_job() -> None:
    for _ in range(50):
        seen: list[str] = []
        began = threading.Event()

        def round_(seen: list[str] = seen, began: threading.Event = began) -> float:
            seen.append("round")
            began.set()
            return 0.0

        thread = ClientThread("worker under test", round_)
        thread.start()
        assert await anyio.to_thread.run_sync(began.wait, WAIT_S)
        await thread.stop(lambda seen=seen: seen.append("last"))  # type: ignore[misc]  # bound now
        assert seen[-1] == "last", "what it closed would be used again"
