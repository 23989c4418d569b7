"""Rehearsals: all that a migration would do is said beforehand, and not one write is asked of either cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.errors import InvariantBroken, PlanStale
from syncer.migration.checks.finding import FindingSeverity
from syncer.migration.course import StopCode
from syncer.migration.cure import Cure, CureRefusal
from syncer.migration.draining import HeldUp
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import MigrationPhase
from syncer.migration.preparing.step import PreparationKind
from syncer.migration.reading.pair import MigrationSide
from syncer.migration.running.control.calls import ReadOnlyCalls
from syncer.migration.running.control.rehearsing import Rehearsal, rehearse
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.controllers import QUICK, Control, nobody_dead, patient, urls_of
from tests.migration.flips import untouched
from tests.migration.plays import CROWD, NAMESPACE, NamespacePlay, SimTopic, topic
from tests.migration.two_namespaces import SECOND, TwoNamespacesPlay

pytestmark = pytest.mark.anyio
EARLIEST = {"ledgerId": -1, "entryId": -1}
IDLE = (SimTopic(name="idle", producers=(), kinds=(SubscriptionKind.EXCLUSIVE,)),)


async def rehearsed(control: Control, plan: MigrationPlan) -> Rehearsal:
    """What is said of a plan; nothing was written."""
    play = control.play
    green = {name: dict(each.policies) for name, each in play.green.namespaces.items()}
    found = await rehearse(
        plan,
        MigrationSide(table="b", calls=control.blue, urls=urls_of(play.blue)),
        MigrationSide(table="g", calls=control.green, urls=urls_of(play.green)),
        SimulatedClock(play.timeline),
        probe=nobody_dead,
    )
    assert {method for method, _ in (*control.blue.made, *control.green.made)} == {"GET"}
    assert untouched(play)
    assert green == {name: dict(each.policies) for name, each in play.green.namespaces.items()}
    assert control.journal.events == []
    return found


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_said_of_a_wave_is_what_its_flip_does(seed: int) -> None:
    control = Control(NamespacePlay(seed, CROWD))
    plan = await control.plan()
    found = await rehearsed(control, plan)
    assert found.may_begin
    (canary,) = found.waves
    assert (canary.refused, canary.stops) == ({}, {})
    assert {each.cure for each in canary.foreseen.cures} == {Cure.GATE_AND_BRAKE}
    assert canary.foreseen.shared
    control.operator = patient()
    await control.begin(plan).run()
    assert control.status().run.standing.phase is MigrationPhase.CLOSED
    verdict = control.play.end()
    assert verdict.harmless
    rarest_s = max(each.every_ms for each in CROWD[0].producers) / 1000
    assert max(verdict.gaps_ms.values()) / 1000 <= canary.foreseen.longest_gap_s + rarest_s


async def test_each_wave_is_rehearsed_by_itself_and_what_green_lacks_is_listed() -> None:
    play = TwoNamespacesPlay(1)
    play.call("PUT", f"/admin/v2/{topic('new').replace('://', '/')}")
    play.timeline.run(3_000)
    control = Control(play)
    found = await rehearsed(control, await control.plan((NAMESPACE,), (SECOND,)))
    assert [(each.wave, each.namespaces) for each in found.waves] == [(0, (NAMESPACE,)), (1, (SECOND,))]
    cured = [
        {each.topic.partition("://")[2].rpartition("/")[0] for each in wave.foreseen.cures} for wave in found.waves
    ]
    assert cured == [{NAMESPACE}, {SECOND}]
    assert (PreparationKind.TOPIC, topic("new")) in {(each.kind, each.subject) for each in found.preparation.steps}
    assert topic("new") not in play.green.ledgers


async def test_the_time_until_a_backlog_is_read_is_what_it_takes_when_nobody_writes_any_more() -> None:
    play = NamespacePlay(2, IDLE)
    name = topic("idle")
    play.call("PUT", f"/admin/v2/{name.replace('://', '/')}/subscription/audit", EARLIEST)
    play.call("PUT", f"/admin/v2/{name.replace('://', '/')}/subscription/nobody", EARLIEST)
    for number in range(4):
        play.add_producer(play.process(Library.JAVA), name, f"writer-{number}", CROWD[0].producers[0])
    play.timeline.run(10_000)
    play.add_consumer(play.process(Library.JAVA), name, "slow", SubscriptionWish(name="audit"), work_ms=7)
    play.timeline.run(1_000)
    control = Control(play)
    found = await rehearsed(control, await control.plan())
    drains = {each.subscription: each for each in found.waves[0].drains}
    assert drains["nobody"].held_up is HeldUp.NOBODY
    assert drains["nobody"].eta_s is None
    assert found.waves[0].drained_s is None
    foreseen_s, began = drains["audit"].eta_s, play.timeline.now
    assert foreseen_s is not None
    for producer in play.producers:
        producer.stop()
    loaded = play.blue.topic(name)
    assert loaded is not None
    assert play.timeline.until(lambda: loaded.subscriptions["audit"].backlog == 0, within_ms=60_000)
    assert (play.timeline.now - began) / 1000 == pytest.approx(foreseen_s, rel=0.2, abs=0.5)


async def test_what_has_yet_to_be_replicated_is_told_with_the_time_that_takes() -> None:
    play = NamespacePlay(3, IDLE)
    play.blue.namespaces[NAMESPACE].policies["replication_clusters"] = ["blue", "north"]
    play.blue.known["north"] = {"serviceUrl": "http://north:8080", "brokerServiceUrl": "pulsar://north:6650"}
    play.blue.tenants["acme"]["allowedClusters"] = ["blue", "green", "north"]
    loaded = play.blue.topic(topic("idle"))
    assert loaded is not None
    loaded.replicators = {"north": 3_000}

    def send() -> None:
        loaded.replicators = {"north": max(0, loaded.replicators["north"] - 5)}
        play.timeline.after(100, send)

    send()
    control = Control(play)
    found = await rehearsed(control, await control.plan())
    (wave,) = found.waves
    (sending,) = wave.sending
    assert (sending.topic, sending.remote) == (topic("idle"), "north")
    assert sending.eta_s == pytest.approx(sending.left / 50, rel=0.1)
    assert wave.drained_s == sending.eta_s
    assert wave.stops.keys() == {StopCode.REPLICATION}


async def test_what_would_stop_or_refuse_a_wave_is_said() -> None:
    play = NamespacePlay(4, CROWD)
    control = Control(play)
    plan = await control.plan(bounds=replace(QUICK, longest_gap_s=1))
    assert (await rehearsed(control, plan)).waves[0].stops.keys() == {StopCode.GAP}
    play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/encryptionRequired", True)
    found = await rehearsed(control, plan)
    assert found.waves[0].refused == {topic("crowd"): CureRefusal.NO_KICK}


async def test_a_mark_of_the_cluster_that_would_take_others_along_is_warned_of_and_a_stale_plan_is_refused() -> None:
    play = NamespacePlay(5, IDLE)
    play.add_namespace("acme/forgotten")
    play.add_namespace("acme/empty")
    play.add_topic("persistent://acme/forgotten/one")
    control = Control(play)
    plan = await control.plan(whole_cluster=True)
    (whole,) = [each for each in (await rehearsed(control, plan)).results if each.check.name == "whole-cluster"]
    assert [(each.subject, each.severity) for each in whole.findings] == [("acme/forgotten", FindingSeverity.WARN)]
    play.call("PUT", f"/admin/v2/{topic('new').replace('://', '/')}")
    with pytest.raises(PlanStale):
        await rehearsed(control, plan)


async def test_calls_that_only_read_refuse_to_write_at_every_broker() -> None:
    control = Control(NamespacePlay(6, IDLE))
    calls = ReadOnlyCalls(control.blue)
    for each in (calls, calls.at(control.play.blue.brokers[0].address)):
        with pytest.raises(InvariantBroken, match="nothing may be set"):
            await each.mark_namespace(NAMESPACE, migrated=True)
    assert {method for method, _ in control.blue.made} == {"GET"}
