"""Controllers that are killed at any call, and begun anew with what they have kept: nothing else comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from syncer.migration.course import MigrationCommand
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from tests.migration.controllers import Control, Operator, nothing_left, patient
from tests.migration.flips import Killed
from tests.migration.plays import LONG, NAMESPACE, NamespacePlay
from tests.migration.two_namespaces import SECOND, TwoNamespacesPlay

pytestmark = pytest.mark.anyio
DOWN_MS = 2_000
TTL_S = 3_600
PARTS = 4 if LONG else 1
"""In so many tests each play is killed, that none of them takes too long."""


async def goes_back_after_the_first_wave(controller: Controller, state: MigrationState) -> None:
    run = state.run
    if run.standing.phase is MigrationPhase.CANARY and run.moved == 1:
        if not run.asked:
            await controller.ask(MigrationCommand.ROLLBACK, "bob", "not tonight")
    else:
        await patient()(controller, state)


async def goes_back_before_the_first_wave(controller: Controller, state: MigrationState) -> None:
    if state.run.standing.phase is MigrationPhase.GUARDED and MigrationCommand.GO in state.due.waits_for:
        if not state.run.asked:
            await controller.ask(MigrationCommand.ABORT, "bob", "not tonight")
    else:
        await patient()(controller, state)


def one_store_play() -> NamespacePlay:
    """A namespace whose messages expire; both clusters have the same policies of it."""
    play = NamespacePlay(0, one_store=True)
    play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/messageTTL", TTL_S)
    return play


def with_the_policies_of_before(listed: str) -> Callable[[Control], bool]:
    """Nothing is left, and the namespace has its policies again; both are allowed, and one is listed."""

    def left(control: Control) -> bool:
        policies = control.play.blue.namespaces[NAMESPACE].policies
        told = {name: value for name, value in policies.items() if value}
        assert told == {
            "replication_clusters": [listed],
            "allowed_clusters": ["blue", "green"],
            "message_ttl_in_seconds": TTL_S,
        }
        return nothing_left(control)

    return left


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledPlay:
    """A migration that is killed at every so many calls."""

    play: Callable[[], NamespacePlay]
    waves: tuple[tuple[str, ...], ...]
    operator: Operator
    ends: MigrationPhase
    every: int
    left: Callable[[Control], bool] = nothing_left

    async def control(self) -> tuple[Control, MigrationPlan]:
        """The play, and its plan."""
        control = Control(self.play())
        control.operator = self.operator
        return control, await control.plan(*self.waves)


PLAYS = {
    "one wave": KilledPlay(
        play=lambda: NamespacePlay(0),
        waves=((NAMESPACE,),),
        operator=patient(),
        ends=MigrationPhase.CLOSED,
        every=1 if LONG else 53,
    ),
    "two waves": KilledPlay(
        play=lambda: TwoNamespacesPlay(0),
        waves=((NAMESPACE,), (SECOND,)),
        operator=patient(),
        ends=MigrationPhase.CLOSED,
        every=11 if LONG else 307,
    ),
    "one configuration store": KilledPlay(
        play=one_store_play,
        waves=((NAMESPACE,),),
        operator=patient(),
        ends=MigrationPhase.CLOSED,
        every=3 if LONG else 97,
        left=with_the_policies_of_before("green"),
    ),
    "one configuration store, aborted": KilledPlay(
        play=one_store_play,
        waves=((NAMESPACE,),),
        operator=goes_back_before_the_first_wave,
        ends=MigrationPhase.ROLLED_BACK,
        every=3 if LONG else 61,
        left=with_the_policies_of_before("blue"),
    ),
    "rolled back": KilledPlay(
        play=lambda: TwoNamespacesPlay(6),
        waves=((NAMESPACE,), (SECOND,)),
        operator=goes_back_after_the_first_wave,
        ends=MigrationPhase.ROLLED_BACK,
        every=7 if LONG else 211,
    ),
}


async def carried_on(control: Control, plan: MigrationPlan, kill_at: int, *, at_green: bool) -> bool:
    """Whether a controller was killed; another one has carried on then."""
    try:
        await control.begin(plan, kill_at=kill_at, at_green=at_green).run()
    except (Killed, BaseExceptionGroup):
        control.controller = None
        control.play.timeline.run(DOWN_MS)
        await control.begin(plan).run()
        return True
    return False


@pytest.mark.parametrize("name", PLAYS)
@pytest.mark.parametrize("at_green", [False, True], ids=["blue", "green"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("part", range(PARTS))
async def test_killed_at_any_call_it_is_carried_on(name: str, part: int, *, after: bool, at_green: bool) -> None:
    given = PLAYS[name]
    whole, plan = await given.control()
    await whole.begin(plan).run()
    calls = len((whole.green if at_green else whole.blue).made)
    killed = []
    for kill_at in range(1 + 7 * after + part * given.every, calls, PARTS * given.every):
        control, plan = await given.control()
        control.blue.after = control.green.after = after
        killed.append(await carried_on(control, plan, kill_at, at_green=at_green))
        run = control.status().run
        assert run.standing.phase is given.ends, (kill_at, run.stop)
        verdict = control.play.end()
        assert verdict.harmless, (kill_at, verdict)
        assert given.left(control), kill_at
    assert all(killed)
