"""Whole migrations on simulated clusters, with their clients at work: nobody is harmed, and nothing is left behind."""

from __future__ import annotations

import pytest

from syncer.migration.course import MigrationCommand
from syncer.migration.phases import MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from tests.migration.controllers import Control, says_go
from tests.migration.flips import left_behind
from tests.migration.plays import LONG, NAMESPACE, NamespacePlay

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", range(100 if LONG else 4))
async def test_a_migration_goes_from_planned_to_closed(seed: int) -> None:
    control = Control(NamespacePlay(seed))
    control.operator = says_go
    plan = await control.plan()
    controller = control.begin(plan)
    await controller.run()
    assert controller.status().run.standing.phase is MigrationPhase.CLOSED
    verdict = control.play.end()
    assert verdict.harmless, verdict
    assert left_behind(control.play) == {}
    assert control.journal.kept == {}
    for cluster in (control.play.blue, control.play.green):
        assert not cluster.namespaces[NAMESPACE].policies.get("properties")


async def test_a_green_that_has_never_heard_of_blue_is_told() -> None:
    control = Control(NamespacePlay(0))
    del control.play.green.known["blue"]
    control.operator = says_go
    controller = control.begin(await control.plan())
    await controller.run()
    assert controller.status().run.standing.phase is MigrationPhase.CLOSED
    assert "blue" in control.play.green.known


async def test_nobody_is_stopped_for_a_green_whose_brokers_do_not_serve() -> None:
    control = Control(NamespacePlay(0))
    went = False

    async def operator(controller: Controller, state: MigrationState) -> None:
        nonlocal went
        if MigrationCommand.GO in state.due.waits_for and state.run.stop is None and not went:
            went = True
            for broker in control.play.green.brokers:
                broker.stop()
            await controller.ask(MigrationCommand.GO, "ann", "it looks well")
        elif state.run.stop is not None and state.run.moved == 0:
            raise Seen(state.run.stop.code)

    control.operator = operator
    controller = control.begin(await control.plan())
    with pytest.raises(Seen, match="admin-unreachable"):
        await controller.run()
    assert not any(NAMESPACE in name or name == "encryption" for name in left_behind(control.play))
    assert not any(event["event"] == "still" for event in control.journal.events)


class Seen(Exception):
    """What was waited for was seen."""
