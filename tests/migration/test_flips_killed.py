"""A flip that ends at any call is begun anew with the same journal: it ends well, and nothing is left behind."""

from __future__ import annotations

from typing import Any, Final

import anyio
import pytest

from syncer.migration.running.report import FlipOutcome, FlipReport
from tests.migration.flips import CountedCalls, Killed, MemoryJournal, flip_of, left_behind, unlucky
from tests.migration.plays import CROWD, LOAD, LONG, NAMESPACE, ONE_EVEN, NamespacePlay, SimTopic, topic
from tests.migration.rest import AdminApi

pytestmark = pytest.mark.anyio
EVERY: Final = 1 if LONG else 6
DOWN_MS: Final = (200, 4_000, 40_000)
OWN_RATE: Final = {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 50_000_000}
OWN_QUOTA: Final = {"limitSize": 10**12, "limitTime": -1, "policy": "producer_exception"}
LOADS: Final = {"load": LOAD, "even": ONE_EVEN, "crowd": CROWD}


def begun(seed: int, load: tuple[SimTopic, ...]) -> NamespacePlay:
    """A namespace of which one topic has a rate and a quota of its own."""
    play = NamespacePlay(seed, load)
    name = topic(load[0].name)
    play.set(name, "publishRate", OWN_RATE)
    play.set(name, "backlogQuota", OWN_QUOTA)
    return play


class CancellingCalls(CountedCalls):
    """Calls of a task that is cancelled while one of them is under way."""

    def __init__(self, api: AdminApi, cancel_at: int, scope: anyio.CancelScope) -> None:
        super().__init__(api)
        self.cancel_at = cancel_at
        self.scope = scope

    async def get(self, path: str) -> Any:
        """Read."""
        answer = await super().get(path)
        await self._cancel()
        return answer

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        await super().send(method, path, body)
        await self._cancel()

    async def _cancel(self) -> None:
        if len(self.made) >= self.cancel_at:
            self.scope.cancel()
        await anyio.lowlevel.checkpoint()


async def again(play: NamespacePlay, journal: MemoryJournal) -> FlipReport:
    """Begin anew until everybody stands at green; who was held for long comes late."""
    for _ in range(4):
        report = await flip_of(play, journal, CountedCalls(AdminApi(play.blue))).flip([NAMESPACE])
        if report.answered is not None and report.answered.complete:
            break
    return report


async def end(play: NamespacePlay, journal: MemoryJournal, before: dict[str, object], at: int) -> None:
    report = await again(play, journal)
    assert report.outcome is FlipOutcome.MIGRATED, (at, report)
    assert left_behind(play) == before, at
    assert journal.unfinished == {}, at
    verdict = play.end()
    harms = (verdict.lost, verdict.disordered, verdict.dead, verdict.stuck)
    assert harms == (0, 0, (), ()), (at, verdict)
    assert not verdict.doubled or unlucky(play), (at, verdict)


async def is_killed(play: NamespacePlay, journal: MemoryJournal, calls: CountedCalls) -> bool:
    """Whether a flip has ended before it was over."""
    killed = False
    try:
        await flip_of(play, journal, calls).flip([NAMESPACE])
    except* Killed:
        killed = True
    return killed


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_killed_at_a_call_and_begun_anew(load: tuple[SimTopic, ...], *, after: bool) -> None:
    kill_at = 0
    while True:
        kill_at += EVERY
        play, journal = begun(kill_at, load), MemoryJournal()
        before = left_behind(play)
        calls = CountedCalls(AdminApi(play.blue), kill_at, after=after)
        if not await is_killed(play, journal, calls):
            break
        play.timeline.run(DOWN_MS[kill_at // EVERY % len(DOWN_MS)])
        await end(play, journal, before, kill_at)
    assert kill_at > 30


@pytest.mark.parametrize("load", [CROWD, ONE_EVEN], ids=["crowd", "even"])
async def test_cancelled_at_a_call_it_puts_everything_back_itself(load: tuple[SimTopic, ...]) -> None:
    cancel_at = 1
    while True:
        play, journal = begun(cancel_at, load), MemoryJournal()
        before = left_behind(play)
        with anyio.CancelScope() as scope:
            await flip_of(play, journal, CancellingCalls(AdminApi(play.blue), cancel_at, scope)).flip([NAMESPACE])
        if not scope.cancelled_caught:
            break
        assert left_behind(play) == before, cancel_at
        assert not [key for key in journal.kept if key.startswith("former/")], cancel_at
        await end(play, journal, before, cancel_at)
        cancel_at += 2 * EVERY
    assert cancel_at > 30
