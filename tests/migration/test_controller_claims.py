"""Two migrations of the same namespaces: at most one of them moves clients, and neither touches what the other set."""

from __future__ import annotations

from random import Random
from typing import Any

import anyio
import pytest

from syncer.errors import MigrationClaimed
from syncer.migration.course import MigrationCommand
from syncer.migration.evidence import CLAIM
from syncer.migration.phases import MigrationPhase
from syncer.migration.running.control.claiming import Claim
from syncer.migration.running.control.controller import Controller, MigrationState
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.controllers import Control, MemoryRecord, Operator, nothing_left, says_go
from tests.migration.flips import CountedCalls
from tests.migration.plays import LONG, NAMESPACE, NamespacePlay, SimTopic
from tests.migration.rest import AdminApi
from tests.migration.two_namespaces import SECOND, TwoNamespacesPlay

pytestmark = pytest.mark.anyio
IDLE = (SimTopic(name="idle", producers=(), kinds=(SubscriptionKind.EXCLUSIVE,)),)
SECONDS_WORTH = 200
"""Turns in which others make all the calls that they can make in a second."""


class AlternatingCalls(CountedCalls):
    """Calls of one of several who are at work at once: before each of them others may make some."""

    def __init__(self, cluster: Cluster, rng: Random) -> None:
        super().__init__(AdminApi(cluster))
        self.rng = rng

    async def get(self, path: str) -> Any:
        """Read."""
        await self._others()
        return await super().get(path)

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        await self._others()
        await super().send(method, path, body)

    async def _others(self) -> None:
        for _ in range(self.rng.randrange(4)):
            await anyio.lowlevel.checkpoint()


class SharedClock(SimulatedClock):
    """A clock of several who are at work at once: while one waits, the others go on."""

    async def sleep(self, seconds: float) -> None:
        """Let others go on, then time pass."""
        for _ in range(SECONDS_WORTH):
            await anyio.lowlevel.checkpoint()
        await super().sleep(seconds)


def owners(play: NamespacePlay) -> set[object]:
    """Who has claimed anything."""
    both = (play.blue, play.green)
    return {
        each.policies["properties"][CLAIM]
        for cluster in both
        for each in cluster.namespaces.values()
        if (each.policies.get("properties") or {}).get(CLAIM)
    }


@pytest.mark.parametrize("seed", range(300 if LONG else 15))
async def test_of_two_who_claim_in_the_same_second_at_most_one_has_it(seed: int) -> None:
    play, rng = TwoNamespacesPlay(seed), Random(seed)
    won: set[object] = set()

    async def claim(name: str) -> None:
        clusters = {"b": AlternatingCalls(play.blue, rng), "g": AlternatingCalls(play.green, rng)}
        try:
            await Claim(clusters, SharedClock(play.timeline), name).take((NAMESPACE, SECOND))
        except MigrationClaimed:
            return
        won.add(name)

    async with anyio.create_task_group() as tasks:
        for name in ("one", "two"):
            tasks.start_soon(claim, name)
    assert len(won) <= 1
    assert owners(play) == won


def gives_way(stops: list[str]) -> Operator:
    """An operator who aborts what another migration keeps from going on."""

    async def operator(controller: Controller, state: MigrationState) -> None:
        await anyio.lowlevel.checkpoint()
        stop = state.run.stop
        if stop is None:
            await says_go(controller, state)
        elif not state.run.asked:
            stops.append(stop.code)
            lost = stop.code == MigrationClaimed.code
            await controller.ask(MigrationCommand.ABORT if lost else MigrationCommand.RESUME, "bob", "another one")

    return operator


@pytest.mark.parametrize("seed", range(60 if LONG else 5))
async def test_of_two_controllers_that_begin_in_the_same_second_at_most_one_moves_clients(seed: int) -> None:
    play, rng = NamespacePlay(seed), Random(seed)
    both = Control(play), Control(play)
    plan = await both[0].plan()
    stops: list[str] = []
    for number, control in enumerate(both):
        control.record = MemoryRecord(f"number {number}")
        control.blue, control.green = AlternatingCalls(play.blue, rng), AlternatingCalls(play.green, rng)
        control.operator = gives_way(stops)
    async with anyio.create_task_group() as tasks:
        for control in both:
            tasks.start_soon(control.begin(plan).run)
    phases = sorted(control.status().run.standing.phase for control in both)
    assert phases in ([MigrationPhase.CLOSED, MigrationPhase.ROLLED_BACK], [MigrationPhase.ROLLED_BACK] * 2)
    assert MigrationClaimed.code in stops
    assert sum(bool(control.journal.noted("marked")) for control in both) <= 1
    assert play.end().harmless
    assert all(nothing_left(control) for control in both)


async def test_who_was_kept_away_and_is_aborted_leaves_the_other_s_marks_alone() -> None:
    play = NamespacePlay(2, IDLE)
    control, other = Control(play), Control(play)
    other.record = MemoryRecord("two")
    plan = await control.plan()
    stops: list[str] = []
    other.operator = gives_way(stops)

    async def at_draining(controller: Controller, state: MigrationState) -> None:
        if state.run.standing.phase is MigrationPhase.DRAINING and not stops:
            await other.begin(plan).run()
            assert play.blue.namespaces[NAMESPACE].marked
        await says_go(controller, controller.status())

    control.operator = at_draining
    await control.begin(plan).run()
    assert stops == [MigrationClaimed.code]
    assert other.status().run.standing.phase is MigrationPhase.ROLLED_BACK
    assert {method for method, _ in (*other.blue.made, *other.green.made)} == {"GET"}
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    assert nothing_left(control)
