"""Clients make topics at a steady pace while a wave is moved: it is begun when there is most time until the next."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.migration.phases import MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.running.looking import Looking
from syncer.migration.running.pace import AttemptPace
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.controllers import Control, nothing_left, says_go
from tests.migration.flips import calls_of
from tests.migration.plays import NAMESPACE, NamespacePlay, topic

pytestmark = pytest.mark.anyio
SEEDS: Final = 4
PACES_MS: Final = (5_000, 5_500, 6_000, 7_000, 9_000)
"""A flip of this play takes 3 to 4 s from its last list of topics to its mark."""
SOON_MS: Final = 500


class MakingPlay(NamespacePlay):
    """A namespace whose clients make a topic every so often, and publish and read it; nobody does at green.

    Attributes:
        made: How many they have made.
        made_at: When the last one was.
    """

    def __init__(self, seed: int, pace_ms: int) -> None:
        super().__init__(seed)
        self.made = 0
        self.made_at = 0
        self._pace_ms = pace_ms
        self._reading = self.process(Library.JAVA, "10.0.0.7")
        self.timeline.after(pace_ms, self._make)

    def _make(self) -> None:
        self.timeline.after(self._pace_ms, self._make)
        name = topic(f"made-{self.made}")
        if self.api.answer("PUT", f"/admin/v2/{name.replace('://', '/')}")[0] == 204:
            self.made += 1
            self.made_at = self.timeline.now
            self.add_consumer(self._reading, name, f"reader-{self.made}", SubscriptionWish(name="work"))


class WaveStopped(Exception):
    """The wave was given up."""


async def is_moved(seed: int, pace_ms: int) -> bool:
    """Whether the wave is moved without an operator's help; nobody is harmed then."""
    control = Control(MakingPlay(seed, pace_ms))

    async def operator(controller: Controller, state: MigrationState) -> None:
        if state.run.stop is not None:
            raise WaveStopped(state.run.stop.words)
        await says_go(controller, state)

    control.operator = operator
    try:
        await control.begin(await control.plan()).run()
    except WaveStopped:
        return False
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    assert control.play.end().harmless
    assert nothing_left(control)
    return True


@pytest.mark.parametrize("pace_ms", PACES_MS)
async def test_a_wave_is_moved_between_two_topics(pace_ms: int) -> None:
    assert [seed for seed in range(SEEDS) if not await is_moved(seed, pace_ms)] == []


def pace_of(play: NamespacePlay, in_vain: int) -> AttemptPace:
    clock = SimulatedClock(play.timeline)
    pace = AttemptPace(Looking(calls_of(play.blue), clock), clock)
    pace.in_vain = in_vain
    return pace


async def test_an_attempt_is_begun_when_a_topic_was_just_made() -> None:
    play = MakingPlay(0, pace_ms=5_000)
    pace, made = pace_of(play, in_vain=2), play.made
    await pace.begin([NAMESPACE])
    assert play.made == made + 1
    assert play.timeline.now - play.made_at <= SOON_MS
    began = play.timeline.now
    await pace.begin([NAMESPACE])
    assert play.timeline.now == began, "once green was given the topic it is begun at once"


async def test_it_is_not_waited_for_ever_for_a_topic() -> None:
    play = NamespacePlay(0)
    began = play.timeline.now
    await pace_of(play, in_vain=2).begin([NAMESPACE])
    assert 15_000 <= play.timeline.now - began < 16_000


async def test_later_attempts_are_begun_at_moments_of_their_own() -> None:
    play, waits = NamespacePlay(0), []
    for in_vain in (0, 1, 3, 4, 5, 6):
        began = play.timeline.now
        await pace_of(play, in_vain).begin([NAMESPACE])
        waits.append(play.timeline.now - began)
    assert waits == [0, 0, 1_700, 3_400, 100, 1_800]
