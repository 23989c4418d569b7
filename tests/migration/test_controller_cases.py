"""Cases of a migration: backlog that nobody reads, replication, what blue gets meanwhile, and what others do to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.migration.course import MigrationCommand, StopCode
from syncer.migration.draining import HeldUp
from syncer.migration.phases import MigrationPhase
from syncer.migration.running.control.controller import Controller, MigrationState
from syncer.migration.running.healing import UNMARKED
from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.consumer import Consumer, SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.controllers import QUICK, Control, Operator, nothing_left, patient, says_go
from tests.migration.plays import CROWD, LONG, NAMESPACE, ONE_EVEN, NamespacePlay, topic
from tests.migration.rest_faults import ROUGH

pytestmark = pytest.mark.anyio
LOADS = {"even": ONE_EVEN, "crowd": CROWD}
EARLIEST = {"ledgerId": -1, "entryId": -1}
PLAIN = topic("plain").replace("://", "/")


def once(phase: MigrationPhase, does: Operator, then: Operator = says_go) -> Operator:
    """An operator who does something once in a phase, and lets everything go otherwise."""
    done: list[bool] = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        if state.run.standing.phase is phase and not done:
            done.append(True)
            await does(controller, state)
        await then(controller, controller.status())

    return operator


async def closed(control: Control) -> None:
    run = control.status().run
    assert run.standing.phase is MigrationPhase.CLOSED, run.stop
    verdict = control.play.end()
    assert verdict.harmless, verdict
    assert nothing_left(control)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("seed", range(60 if LONG else 3))
async def test_any_load_is_moved(seed: int, load: str) -> None:
    control = Control(NamespacePlay(seed, LOADS[load]))
    control.operator = patient()
    await control.begin(await control.plan()).run()
    await closed(control)


@pytest.mark.parametrize("seed", range(300 if LONG else 8))
async def test_on_a_rough_day_it_is_closed_in_the_end(seed: int) -> None:
    control = Control(NamespacePlay(seed), faults=ROUGH, seed=seed)
    control.operator = patient()
    plan = await control.plan(bounds=replace(QUICK, soak_s=60))
    await control.begin(plan).run()
    await closed(control)


@pytest.mark.parametrize("makes_resources", [True, False])
async def test_blue_makes_what_green_lacks_or_does_not(*, makes_resources: bool) -> None:
    control = Control(NamespacePlay(1, settings=BrokerSettings(makes_resources=makes_resources)))
    control.operator = patient()
    await control.begin(await control.plan()).run()
    await closed(control)


async def test_an_idle_topic_and_a_backlog_that_nobody_reads_are_waited_for() -> None:
    play = NamespacePlay(2)
    play.call("PUT", f"/admin/v2/{topic('idle').replace('://', '/')}")
    play.call("PUT", f"/admin/v2/{PLAIN}/subscription/audit", EARLIEST)
    play.timeline.run(3_000)
    control = Control(play)
    codes: list[str] = []
    held: set[HeldUp | None] = set()

    async def operator(controller: Controller, state: MigrationState) -> None:
        run = state.run
        held.update(each.held_up for each in state.watched.drains if each.subscription == "audit")
        if run.stop is not None and not run.asked:
            codes.append(run.stop.code)
            play.add_consumer(play.process(Library.JAVA), topic("plain"), "late", SubscriptionWish(name="audit"))
            await controller.ask(MigrationCommand.RESUME, "bob", "its consumer is here")
        elif not run.auto and not codes:
            await controller.ask(MigrationCommand.AUTO, "bob", "tonight")
        else:
            await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan(bounds=replace(QUICK, drain_s=30))).run()
    assert codes == [StopCode.DRAIN]
    assert HeldUp.NOBODY in held
    assert topic("idle") in play.green.ledgers
    await closed(control)


async def test_what_blue_gets_before_its_wave_green_gets_too() -> None:
    play = NamespacePlay(3)
    control = Control(play)

    async def makes(_: Controller, __: MigrationState) -> None:
        play.call("PUT", f"/admin/v2/{topic('late').replace('://', '/')}")
        play.call("PUT", f"/admin/v2/{PLAIN}/subscription/late", EARLIEST)
        play.add_consumer(play.process(Library.JAVA), topic("plain"), "late", SubscriptionWish(name="late"))

    control.operator = once(MigrationPhase.GUARDED, makes, patient())
    await control.begin(await control.plan()).run()
    assert topic("late") in play.green.ledgers
    assert "late" in play.green.ledgers[topic("plain")].cursors
    await closed(control)


async def test_what_blue_gets_while_it_is_guarded_stops_nothing() -> None:
    """The check behind the guard finds that green lacks it: green is given it, not only checked again and again."""
    play = NamespacePlay(3)
    control = Control(play)

    async def makes(_: Controller, __: MigrationState) -> None:
        play.call("PUT", f"/admin/v2/{PLAIN}/subscription/late", EARLIEST)
        play.add_consumer(play.process(Library.JAVA), topic("plain"), "late", SubscriptionWish(name="late"))

    control.operator = once(MigrationPhase.PREPARED, makes, says_go)
    await control.begin(await control.plan()).run()
    assert [each["blocking"] for each in control.journal.noted("checked")][-2:] == [["subscriptions"], []]
    await closed(control)


async def test_a_topic_that_is_unloaded_after_the_mark_is_read_all_the_same() -> None:
    play = NamespacePlay(4)
    play.call("PUT", f"/admin/v2/{PLAIN}/subscription/audit", EARLIEST)
    play.timeline.run(2_000)
    control = Control(play)

    async def unloads(_: Controller, __: MigrationState) -> None:
        play.call("PUT", f"/admin/v2/{PLAIN}/unload")

    readers: list[Consumer] = []

    async def reads(controller: Controller, state: MigrationState) -> None:
        if control.journal.noted("unmarked") and not readers:
            wish = SubscriptionWish(name="audit")
            readers.append(play.add_consumer(play.process(Library.JAVA), topic("plain"), "late", wish))
        await says_go(controller, state)

    control.operator = once(MigrationPhase.DRAINING, unloads, reads)
    await control.begin(await control.plan()).run()
    assert control.journal.noted("unmarked")
    assert control.journal.noted("marked-again")
    await closed(control)


async def test_a_mark_that_somebody_takes_off_is_set_again() -> None:
    play = NamespacePlay(5)
    play.call("PUT", f"/admin/v2/{PLAIN}/subscription/audit", EARLIEST)
    play.timeline.run(2_000)
    control = Control(play)

    async def unmarks(_: Controller, __: MigrationState) -> None:
        play.mark(marked=False)
        play.add_consumer(play.process(Library.JAVA), topic("plain"), "late", SubscriptionWish(name="audit"))

    control.operator = once(MigrationPhase.DRAINING, unmarks, patient())
    await control.begin(await control.plan()).run()
    assert control.journal.noted("mark-missing")
    assert play.blue.namespaces[NAMESPACE].marked
    await closed(control)


@pytest.mark.parametrize("phase", [MigrationPhase.VERIFIED, MigrationPhase.SOAKING])
async def test_a_mark_that_is_taken_off_when_all_is_verified_is_set_again(phase: MigrationPhase) -> None:
    """Whoever still comes with blue's address would stay there, and nobody would read what he writes."""
    play = NamespacePlay(5)
    control = Control(play)

    async def unmarks(_: Controller, __: MigrationState) -> None:
        play.mark(marked=False)

    control.operator = once(phase, unmarks)
    await control.begin(await control.plan()).run()
    assert play.blue.namespaces[NAMESPACE].marked
    await closed(control)


async def test_a_topic_that_is_open_in_a_namespace_without_its_mark_is_moved_as_well() -> None:
    """Being healed opens a topic of which the store has not heard that it was closed."""
    play = NamespacePlay(5)
    play.call("PUT", f"/admin/v2/{PLAIN}/subscription/audit", EARLIEST)
    play.timeline.run(2_000)
    control = Control(play)

    async def opens(_: Controller, __: MigrationState) -> None:
        await control.journal.remember(f"{UNMARKED}{NAMESPACE}", {})
        play.mark(marked=False)
        play.add_topic(topic("open"))
        play.add_consumer(play.process(Library.JAVA), topic("plain"), "late", SubscriptionWish(name="audit"))

    control.operator = once(MigrationPhase.DRAINING, opens, patient())
    await control.begin(await control.plan()).run()
    assert play.blue.namespaces[NAMESPACE].marked
    assert play.blue.ledgers[topic("open")].marked
    await closed(control)


async def test_a_subscription_that_green_has_lost_is_named_before_it_is_accepted() -> None:
    play = NamespacePlay(6)
    play.call("PUT", f"/admin/v2/{PLAIN}/subscription/audit", EARLIEST)
    control = Control(play)
    stops = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        run = state.run
        if run.standing.phase is MigrationPhase.DRAINING and "audit" in play.green.ledgers[topic("plain")].cursors:
            green = play.green.topic(topic("plain"))
            assert green is not None
            green.broker.unsubscribe(green, "audit")
            play.call("POST", f"/admin/v2/{PLAIN}/subscription/audit/skip_all")
        if run.stop is not None and not run.asked:
            stops.append((run.stop.code, "audit" in run.stop.words))
            await controller.ask(MigrationCommand.RESUME, "bob", "nobody needs it")
        await says_go(controller, state)

    control.operator = operator
    await control.begin(await control.plan()).run()
    assert stops == [(StopCode.INCOMPLETE, True)]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED


async def test_the_cluster_s_own_mark_waits_until_nothing_is_left_that_it_would_take_along() -> None:
    play = NamespacePlay(7)
    play.add_namespace("acme/forgotten")
    play.add_topic("persistent://acme/forgotten/one")
    control = Control(play)
    codes: list[str] = []

    async def operator(controller: Controller, state: MigrationState) -> None:
        if state.run.stop is not None and not state.run.asked:
            codes.append(state.run.stop.code)
            play.call("DELETE", "/admin/v2/persistent/acme/forgotten/one")
            await controller.ask(MigrationCommand.RESUME, "bob", "it was empty")
        await says_go(controller, controller.status())

    control.operator = operator
    await control.begin(await control.plan(whole_cluster=True)).run()
    assert codes == [StopCode.NOT_ALL]
    assert play.blue.marks["blue"].migrated
    await closed(control)


async def test_a_replicated_topic_waits_until_all_is_sent() -> None:
    play = NamespacePlay(8, ONE_EVEN)
    play.blue.namespaces[NAMESPACE].policies["replication_clusters"] = ["blue", "north"]
    play.blue.known["north"] = {"serviceUrl": "http://north:8080", "brokerServiceUrl": "pulsar://north:6650"}
    play.blue.tenants["acme"]["allowedClusters"] = ["blue", "green", "north"]
    for name in play.topics:
        found = play.blue.topic(name)
        assert found is not None
        found.replicators = {"north": 0}

    def send() -> None:
        for name in play.topics:
            found = play.blue.topic(name)
            if found is not None:
                found.replicators = {remote: max(0, left - 20) for remote, left in found.replicators.items()}
        play.timeline.after(500, send)

    send()
    control = Control(play)
    control.operator = patient()
    await control.begin(await control.plan()).run()
    assert play.green.namespaces[NAMESPACE].policies["replication_clusters"] == ["green", "north"]
    await closed(control)


@pytest.mark.parametrize("healed", [True, False])
async def test_a_subscription_that_stands_still_at_green_is_told_before_it_is_closed(*, healed: bool) -> None:
    """Its consumer is connected and has room, and is given nothing: no error tells so."""
    play = NamespacePlay(8)  # in which messages are still sent then
    control = Control(play)
    name, by = topic("plain"), SubscriptionKind.KEY_SHARED.value
    stops: list[str] = []

    def stall(*, stalled: bool) -> None:
        loaded = play.green.topic(name)
        assert loaded is not None
        loaded.subscriptions[by].stalled = stalled
        loaded.subscriptions[by].dispatch()

    async def stalls(_: Controller, __: MigrationState) -> None:
        stall(stalled=True)

    async def operator(controller: Controller, state: MigrationState) -> None:
        stop = state.run.stop
        if stop is None or state.run.asked:
            await says_go(controller, state)
            return
        assert f"{by} of {name}" in stop.words
        stops.append(stop.code)
        if healed:
            stall(stalled=False)
        await controller.ask(MigrationCommand.RESUME, "bob", "seen")

    control.operator = once(MigrationPhase.SOAKING, stalls, operator)
    await control.begin(await control.plan()).run()
    assert stops == [StopCode.NOT_READ]
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    (soaked,) = control.journal.noted("soaked")
    assert soaked["not_read"] == [f"{by} of {name}"]
    stall(stalled=False)
    await closed(control)
