"""A lane of the SQLite store: calls take turns, each has a deadline of its own, an answer that is there is given."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from syncer.errors import StoreUnavailable
from syncer.stores.sqlite import SqliteConfig
from syncer.stores.sqlite.lane import Lane

TIMEOUT = timedelta(seconds=1)


@pytest.fixture
async def lane(tmp_path: Path) -> AsyncIterator[Lane]:
    lane = Lane(SqliteConfig(path=tmp_path / "store.db", timeout=TIMEOUT), "test")
    yield lane
    await lane.close()


async def test_an_answer_that_is_there_is_given_by_a_loop_that_was_blocked_past_the_deadline(lane: Lane) -> None:
    begun, loop = asyncio.Event(), asyncio.get_running_loop()

    def answer(_: object) -> str:
        loop.call_soon_threadsafe(begun.set)
        return "the answer"

    call = asyncio.create_task(lane.run(answer))
    await begun.wait()
    time.sleep(1.5 * TIMEOUT.total_seconds())  # noqa: ASYNC251 - a loop that is blocked is what is tested
    assert await call == "the answer"


async def test_a_call_is_not_charged_for_the_calls_of_others_before_it(lane: Lane) -> None:
    pause_s = 0.4 * TIMEOUT.total_seconds()

    def call(_: object, number: int) -> int:
        time.sleep(pause_s)
        return number

    assert await asyncio.gather(*(lane.run(call, number) for number in range(4))) == [0, 1, 2, 3]


async def test_a_call_that_hangs_is_told_and_so_is_one_behind_it(lane: Lane) -> None:
    let_go = threading.Event()
    calls = [lane.run(lambda _: let_go.wait()) for _ in range(2)]
    try:
        errors = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        let_go.set()
    assert [type(error) for error in errors] == [StoreUnavailable] * 2
    assert "did not answer in 1 s" in str(errors[0])
