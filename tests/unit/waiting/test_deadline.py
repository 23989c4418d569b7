"""Deadlines of answers: one that has come is given, lateness of this process is not charged, a hung one is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from syncer.waiting import starvation
from syncer.waiting.deadline import LOOK_S, Deadline, answered_within, longest_s

SHORT_S = 0.25
LOOKS = 8
"""The share of a deadline that a look takes goes so often into the bound."""


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=1) as made:
        yield made


@pytest.fixture
def starved(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have this process wait for a processor all the time; the list has one entry for each look at that."""
    looks: list[float] = []

    def delayed_s() -> float:
        looks.append(time.monotonic())
        return looks[-1]

    monkeypatch.setattr(starvation, "delayed_s", delayed_s)
    return looks


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no thread of this process wait for a processor."""
    monkeypatch.setattr(starvation, "delayed_s", lambda: 0.0)


@pytest.mark.usefixtures("idle")
async def test_a_loop_that_was_blocked_past_the_deadline_gives_the_answer_that_is_there(
    pool: ThreadPoolExecutor,
) -> None:
    async with answered_within(SHORT_S):
        answer = pool.submit(lambda: "the answer")
        waiting = asyncio.wrap_future(answer)
        answer.result()  # the loop is blocked, as by a caller that computes
        time.sleep(2 * SHORT_S)  # noqa: ASYNC251 - likewise
        assert await waiting == "the answer"


@pytest.mark.usefixtures("idle")
async def test_an_answer_in_a_socket_is_given_after_the_loop_was_blocked() -> None:
    there = b"the answer\n"

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(there)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        here, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        async with answered_within(SHORT_S):
            time.sleep(2 * SHORT_S)  # noqa: ASYNC251 - a loop that is blocked is what is tested
            assert await here.readline() == there
        writer.close()


@pytest.mark.usefixtures("idle")
async def test_what_never_comes_is_told() -> None:
    with pytest.raises(TimeoutError):
        async with answered_within(SHORT_S):
            await asyncio.get_running_loop().create_future()


async def test_what_never_comes_is_told_within_the_bound_however_starved_this_process_is(starved: list[float]) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with answered_within(SHORT_S):
            await asyncio.get_running_loop().create_future()
    assert time.monotonic() - began >= longest_s(SHORT_S)
    assert len(starved) == 2 * LOOKS + 2, "each look reads once at its beginning and once at its end"


async def test_what_comes_while_this_process_is_starved_is_given(starved: list[float]) -> None:
    loop = asyncio.get_running_loop()
    async with answered_within(SHORT_S):
        answer: asyncio.Future[str] = loop.create_future()
        loop.call_later(2 * SHORT_S, answer.set_result, "the answer")
        assert await answer == "the answer"
    assert starved


async def test_nothing_is_read_before_the_deadline_has_fired(starved: list[float]) -> None:
    async with answered_within(60):
        await asyncio.sleep(LOOK_S)
    assert not starved


@pytest.mark.usefixtures("idle")
async def test_a_deadline_that_was_cancelled_calls_nobody() -> None:
    called: list[str] = []
    later = asyncio.Event()
    Deadline(SHORT_S, lambda: called.append("cancelled")).cancel()
    half_way = Deadline(SHORT_S, lambda: called.append("in its look"))
    asyncio.get_running_loop().call_later(SHORT_S + LOOK_S / 2, half_way.cancel)
    Deadline(2 * SHORT_S, later.set)
    await later.wait()
    assert called == []


@pytest.mark.usefixtures("idle")
async def test_a_cancelled_caller_is_cancelled_and_no_deadline_is_told() -> None:
    async def wait() -> None:
        async with answered_within(60):
            await asyncio.get_running_loop().create_future()

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_delay_of_all_threads_is_at_least_that_of_one() -> None:
    before = starvation.read().delayed_s
    if before is None:
        assert starvation.delayed_s() == 0.0
    else:
        assert starvation.delayed_s() >= before
