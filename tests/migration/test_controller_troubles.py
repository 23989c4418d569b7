"""Troubles of a migration: a broker whose threads wait for each other, and clients that can be taken back in part."""

from __future__ import annotations

import contextlib

import pytest

from syncer.migration.course import MigrationCommand, StopCode
from syncer.migration.phases import ENDED, MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.running.healing import UNMARKED
from syncer.migration.topics import Rollback
from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.controllers import Control, nothing_left, patient, says_go
from tests.migration.flips import Killed
from tests.migration.plays import EVEN, NAMESPACE, NamespacePlay, topic
from tests.migration.two_namespaces import INVOICES, SECOND

pytestmark = pytest.mark.anyio
EARLIEST = {"ledgerId": -1, "entryId": -1}


async def test_a_deadlocked_broker_is_named_and_its_restart_lets_the_migration_go_on() -> None:
    play = NamespacePlay(1, settings=BrokerSettings(deadlocks=1.0))
    name = topic("plain")
    play.call("PUT", f"/admin/v2/{name.replace('://', '/')}/subscription/audit", EARLIEST)
    play.timeline.run(2_000)
    control = Control(play)
    stops: list[tuple[str, str]] = []
    late = False

    async def operator(controller: Controller, state: MigrationState) -> None:
        nonlocal late
        run = state.run
        if run.stop is not None and not run.asked:
            stops.append((run.stop.code, run.stop.words))
            for broker in play.blue.brokers:
                broker.restart(500)
            play.timeline.run(1_000)
            await controller.ask(MigrationCommand.RESUME, "bob", "restarted")
        elif not run.auto and not stops:
            await controller.ask(MigrationCommand.AUTO, "bob", "tonight")
        elif run.standing.phase is MigrationPhase.DRAINING and not late:
            late = True
            wish = SubscriptionWish(name="audit", kind=SubscriptionKind.SHARED)
            play.add_consumer(play.process(Library.JAVA), name, "late", wish)
        elif not run.auto:
            await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan()).run()
    assert [code for code, _ in stops] == [StopCode.DEADLOCKED]
    assert play.blue.brokers[0].address in stops[0][1]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    verdict = play.end()
    assert (verdict.lost, verdict.dead, verdict.stuck) == (0, (), ())
    assert nothing_left(control)


@pytest.mark.parametrize("phase", [MigrationPhase.DRAINING, MigrationPhase.SOAKING])
async def test_a_fresh_controller_judges_nothing_by_a_deadlocked_broker_that_it_has_never_looked_past(
    phase: MigrationPhase,
) -> None:
    """While it drains a namespace is being healed too: it is not moved again before that is over."""
    play = NamespacePlay(1)
    name = topic("plain")
    play.call("PUT", f"/admin/v2/{name.replace('://', '/')}/subscription/audit", EARLIEST)
    play.timeline.run(2_000)
    control = Control(play)
    late, seen = SubscriptionWish(name="audit"), ("mark-missing", "foreseen", "soaked", "tallied")
    stops: list[str] = []
    begun = 0

    async def until_then(controller: Controller, state: MigrationState) -> None:
        if not state.run.auto:
            await controller.ask(MigrationCommand.AUTO, "bob", "tonight")
        elif state.run.standing.phase is phase:
            raise Killed
        elif state.run.standing.phase is MigrationPhase.DRAINING and len(play.consumers) == clients:
            play.add_consumer(play.process(Library.JAVA), name, "late", late)

    async def from_then_on(controller: Controller, state: MigrationState) -> None:
        if state.run.stop is None or state.run.asked:
            return
        stops.append(state.run.stop.code)
        assert [each["event"] for each in control.journal.events[begun:] if each["event"] in seen] == []
        for broker in play.blue.brokers:
            broker.restart(500)
        play.timeline.run(1_000)
        if len(play.consumers) == clients:
            play.add_consumer(play.process(Library.JAVA), name, "late", late)
        await controller.ask(MigrationCommand.RESUME, "bob", "restarted")
        await controller.ask(MigrationCommand.AUTO, "bob", "restarted")

    clients, plan = len(play.consumers), await control.plan()
    control.operator = until_then
    with contextlib.suppress(Killed, BaseExceptionGroup):
        await control.begin(plan).run()
    if phase is MigrationPhase.DRAINING:
        play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/migration", False)
        await control.journal.remember(f"{UNMARKED}{NAMESPACE}", {})
    play.blue.brokers[0].deadlocked = True
    control.operator, begun = from_then_on, len(control.journal.events)
    await control.begin(plan).run()
    assert stops == [StopCode.DEADLOCKED]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    verdict = play.end()
    assert (verdict.lost, verdict.dead, verdict.stuck) == (0, (), ())
    assert nothing_left(control)


async def test_what_green_has_not_written_is_taken_back_and_can_be_read_at_blue() -> None:
    play = NamespacePlay(2)
    play.add_namespace(SECOND)
    play.add_topic(INVOICES, "books")
    writer = play.add_producer(play.process(Library.JAVA, "10.0.0.4"), INVOICES, "writer", EVEN)
    play.timeline.run(3_000)
    writer.stop()
    play.timeline.run(1_000)
    writer.leave()
    control = Control(play)
    found: dict[str, Rollback] = {}

    async def operator(controller: Controller, state: MigrationState) -> None:
        phase = state.run.standing.phase
        if phase is MigrationPhase.DRAINING and not found:
            undoable = await controller.ask(MigrationCommand.ROLLBACK, "bob", "not tonight")
            found.update({each.namespace: each.rollback for each in undoable})
            assert "closed for good" in undoable[1].words
        elif phase not in ENDED:
            await patient()(controller, state)

    control.operator = operator
    await control.begin(await control.plan((NAMESPACE,), (SECOND,))).run()
    assert found == {NAMESPACE: Rollback.NO, SECOND: Rollback.PARTLY}
    assert control.status().run.standing.phase is MigrationPhase.ROLLED_BACK
    assert [play.blue.namespaces[each].marked for each in (NAMESPACE, SECOND)] == [True, False]
    reader = play.process(Library.JAVA, "10.0.0.5")
    play.add_consumer(reader, INVOICES, "reader", SubscriptionWish(name="books"))
    verdict = play.end()
    assert verdict.harmless, verdict
    assert verdict.subscriptions[INVOICES, "books"].delivered > 0
    assert nothing_left(control)
