"""What operators ask of a migration, in every phase: pauses, aborts, rollbacks, and bounds of an automatic run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import IllegalTransition, MigrationClaimed, PreconditionFailed
from syncer.migration.course import MigrationCommand, StopCode
from syncer.migration.phases import ENDED, MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.topics import Rollback
from tests.migration.controllers import QUICK, Control, MemoryRecord, nothing_left, says_go
from tests.migration.plays import NAMESPACE, NamespacePlay, topic
from tests.migration.rest_faults import CALM, FaultyApi, RestFaults
from tests.migration.two_namespaces import SECOND, TwoNamespacesPlay

pytestmark = pytest.mark.anyio
BEFORE_MARKS = [MigrationPhase.PLANNED, MigrationPhase.PREFLIGHT, MigrationPhase.PREPARED, MigrationPhase.GUARDED]
ON_THE_WAY = [*BEFORE_MARKS, MigrationPhase.CANARY, MigrationPhase.DRAINING, MigrationPhase.SOAKING]


class Asks:
    """An operator who asks something once in one phase, and lets everything go otherwise."""

    def __init__(self, command: MigrationCommand, phase: MigrationPhase) -> None:
        self.command = command
        self.phase = phase
        self.stopped: list[str] = []
        self._asked = False

    async def __call__(self, controller: Controller, state: MigrationState) -> None:
        if not self._asked and state.run.standing.phase is self.phase:
            self._asked = True
            await controller.ask(self.command, "bob", "wait")
        elif state.run.stop is not None and not state.run.asked:
            self.stopped.append(state.run.stop.code)
            await controller.ask(MigrationCommand.RESUME, "bob", "go on")
        else:
            await says_go(controller, state)


@pytest.mark.parametrize("phase", ON_THE_WAY)
async def test_it_is_paused_in_any_phase_and_goes_on_there(phase: MigrationPhase) -> None:
    control = Control(NamespacePlay(3))
    control.operator = operator = Asks(MigrationCommand.PAUSE, phase)
    await control.begin(await control.plan()).run()
    assert operator.stopped == [StopCode.ASKED]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    assert control.play.end().harmless
    assert nothing_left(control)


@pytest.mark.parametrize("phase", BEFORE_MARKS)
async def test_an_abort_puts_everything_back(phase: MigrationPhase) -> None:
    control = Control(NamespacePlay(4))
    control.operator = Asks(MigrationCommand.ABORT, phase)
    await control.begin(await control.plan()).run()
    assert control.status().run.standing.phase is MigrationPhase.ROLLED_BACK
    assert nothing_left(control)
    assert not control.play.blue.namespaces[NAMESPACE].marked
    assert all(each.process.service is control.play.blue for each in control.play.producers)
    assert control.play.end().harmless


async def test_after_a_mark_it_is_no_abort_and_nothing_can_be_taken_back_where_green_was_written() -> None:
    control = Control(NamespacePlay(5))
    met: list[str] = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        if state.run.standing.phase is MigrationPhase.SOAKING and not met:
            for command in (MigrationCommand.ABORT, MigrationCommand.ROLLBACK):
                with pytest.raises(PreconditionFailed) as caught:
                    await controller.ask(command, "bob", "back")
                met.append(caught.value.message)
        await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan()).run()
    assert ["marked" in met[0], "nothing can be taken back" in met[1]] == [True, True]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED


async def test_a_rollback_between_waves_leaves_the_first_at_green_and_the_second_at_blue() -> None:
    control = Control(TwoNamespacesPlay(6))

    async def operator(controller: Controller, state: MigrationState) -> None:
        run = state.run
        if run.moved == 1 and not run.asked and run.standing.phase is MigrationPhase.CANARY:
            found = await controller.ask(MigrationCommand.ROLLBACK, "bob", "not tonight")
            assert {each.namespace: each.rollback for each in found} == {
                NAMESPACE: Rollback.NO,
                SECOND: Rollback.YES,
            }
        elif run.standing.phase not in {*ENDED, MigrationPhase.ABORTING} and not run.moved:
            await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan((NAMESPACE,), (SECOND,))).run()
    assert control.status().run.standing.phase is MigrationPhase.ROLLED_BACK
    assert nothing_left(control)
    assert [control.play.blue.namespaces[each].marked for each in (NAMESPACE, SECOND)] == [True, False]
    assert control.play.end().harmless


async def test_two_waves_are_moved_one_after_the_other() -> None:
    control = Control(TwoNamespacesPlay(7))
    control.operator = says_go
    await control.begin(await control.plan((NAMESPACE,), (SECOND,))).run()
    run = control.status().run
    assert (run.standing.phase, run.standing.wave) == (MigrationPhase.CLOSED, 1)
    assert [each.outcome for each in run.verdicts] == ["migrated", "migrated"]
    assert control.play.end().harmless
    assert nothing_left(control)


async def test_an_automatic_run_needs_nobody() -> None:
    control = Control(TwoNamespacesPlay(8))

    async def operator(controller: Controller, state: MigrationState) -> None:
        if not state.run.auto:
            await controller.ask(MigrationCommand.AUTO, "ann", "tonight")

    control.operator = operator
    await control.begin(await control.plan((NAMESPACE,), (SECOND,), whole_cluster=True)).run()
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    assert control.play.blue.marks["blue"].migrated
    assert control.play.end().harmless


async def test_an_automatic_run_pauses_past_a_bound_and_a_resume_accepts_it() -> None:
    control = Control(NamespacePlay(9))
    asks = Asks(MigrationCommand.AUTO, MigrationPhase.PLANNED)
    control.operator = asks
    await control.begin(await control.plan(bounds=replace(QUICK, longest_gap_s=1))).run()
    assert asks.stopped == [StopCode.GAP]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    assert control.play.end().harmless


async def test_another_migration_of_the_same_namespaces_is_refused() -> None:
    control = Control(NamespacePlay(10))
    plan = await control.plan()
    first: list[MigrationState] = []
    other = Control(control.play)
    other.record = MemoryRecord("two")

    async def operator(_: Controller, state: MigrationState) -> None:
        if state.run.stop is not None:
            first.append(state)
            raise AdminRefused("enough", status=400, reason="enough")

    other.operator = operator
    control.operator = Asks(MigrationCommand.ABORT, MigrationPhase.GUARDED)
    controller = control.begin(plan)

    async def at_guarded(each: Controller, state: MigrationState) -> None:
        if state.run.standing.phase is MigrationPhase.GUARDED and not first:
            with pytest.raises(AdminRefused, match="enough"):
                await other.begin(plan).run()
        await says_go(each, state)

    control.operator = at_guarded
    await controller.run()
    (state,) = first
    assert state.run.stop is not None
    assert state.run.stop.code == MigrationClaimed.code
    assert state.run.standing.phase is MigrationPhase.PLANNED
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    assert control.play.end().harmless


async def test_credentials_that_are_not_taken_pause_it_at_once() -> None:
    control = Control(NamespacePlay(11), faults=replace(CALM, sent_on=0.01))
    api = control.blue._api
    assert isinstance(api, FaultyApi)
    codes: list[str] = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        run = state.run
        if run.standing.phase is MigrationPhase.CANARY and not codes and run.moved == 0:
            api.faults = RestFaults(forbidden=1.0)
        if run.stop is not None and not run.asked:
            codes.append(run.stop.code)
            api.faults = CALM
            await controller.ask(MigrationCommand.RESUME, "bob", "the role may now")
        await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan()).run()
    assert codes == ["admin-access-denied"]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    assert control.play.end().harmless


async def test_a_check_that_does_not_hold_keeps_it_where_it_is_until_a_go() -> None:
    play = NamespacePlay(14)  # no broker is deadlocked in it
    control = Control(play)
    plan = await control.plan()
    play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/migration", True)
    stops = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        if state.run.stop is not None and not state.run.asked:
            stops.append((state.run.standing.phase, state.run.stop.code, state.blocking[0].check.name))
            play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/migration", False)
            await controller.ask(MigrationCommand.GO, "bob", "taken off")
        else:
            await says_go(controller, state)

    control.operator = operator
    await control.begin(plan).run()
    assert stops == [(MigrationPhase.PLANNED, StopCode.BLOCKED, "not-marked-yet")]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED


async def test_a_stale_plan_is_refused() -> None:
    control = Control(NamespacePlay(13))
    plan = await control.plan()
    control.play.call("PUT", f"/admin/v2/{topic('new').replace('://', '/')}")
    codes: list[str] = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        if state.run.stop is not None and not codes:
            codes.append(state.run.stop.code)
            with pytest.raises(IllegalTransition):
                await controller.ask(MigrationCommand.CLOSE, "bob", "no")
            await controller.ask(MigrationCommand.ABORT, "bob", "another plan")

    control.operator = operator
    await control.begin(plan).run()
    assert codes == ["plan-stale"]
    assert control.status().run.standing.phase is MigrationPhase.ROLLED_BACK
    assert nothing_left(control)
