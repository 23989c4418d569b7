"""The back-off between repeats: bounded, by chance a little longer, short again after a success, and safe to cancel."""

from __future__ import annotations

import asyncio
from typing import Final

import anyio
import pytest
import structlog
from stamina.instrumentation import get_on_retry_hooks

from syncer import log
from syncer.replication.runtime.backoff import FIRST_PAUSE_S, JITTER_S, LONGEST_PAUSE_S, Backoff
from tests.support.logs import logging_restored

pytestmark = pytest.mark.anyio

PAUSES: Final = 12


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were asked for; none is made."""
    asked: list[float] = []

    async def sleep(delay: float) -> None:
        asked.append(delay)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return asked


async def test_pauses_double_up_to_a_limit_each_a_little_longer_by_chance(slept: list[float]) -> None:
    several = [Backoff() for _ in range(3)]
    for backoff in several:
        for _ in range(PAUSES):
            await backoff.pause()
    for start in range(0, len(slept), PAUSES):
        for number, pause_s in enumerate(slept[start : start + PAUSES]):
            least = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**number)
            assert least <= pause_s <= min(LONGEST_PAUSE_S, least + JITTER_S)
    assert len({slept[0], slept[PAUSES], slept[2 * PAUSES]}) == 3, "what failed together does not come back together"


async def test_after_a_success_they_are_short_again(slept: list[float]) -> None:
    backoff = Backoff()
    for _ in range(PAUSES):
        await backoff.pause()
    backoff.reset()
    await backoff.pause()
    assert slept[-2] == LONGEST_PAUSE_S
    assert slept[-1] <= FIRST_PAUSE_S + JITTER_S


async def test_one_that_was_cancelled_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    backoff, asked = Backoff(), list[float]()

    async def sleep(delay: float) -> None:
        asked.append(delay)
        if len(asked) == 5:
            await anyio.sleep_forever()

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for _ in range(4):
        await backoff.pause()
    with anyio.move_on_after(0.05) as scope:
        await backoff.pause()
    assert scope.cancelled_caught
    await backoff.pause()
    assert len(asked) == 6
    assert asked[5] >= FIRST_PAUSE_S * 2**5


async def test_the_pauses_themselves_are_not_told(slept: list[float]) -> None:
    with logging_restored():
        log.configure(level="info", form="json")
        assert len(get_on_retry_hooks()) == 1
        with structlog.testing.capture_logs() as told:
            await Backoff().pause()
    assert slept
    assert told == []
