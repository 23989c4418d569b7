"""Whole migrations between real clusters while something happens that nobody has planned."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import pulsar
import pytest
from pulsar.exceptions import PulsarException

from deploy.lab.client import patient_client
from deploy.lab.pulsar import Part
from deploy.lab.region import LabRegion
from deploy.lab.traffic.loads import PublisherLoad, TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.admin.calls import AdminRefused
from syncer.migration.course import MigrationCommand, MigrationStop, StopCode
from syncer.migration.phases import MigrationPhase
from syncer.migration.running.former import Setting
from syncer.waiting import WAIT_S, until
from tests.conftest import PulsarPair
from tests.real.migrations import BLUE, GREEN, Make, MortalClient

# Some minutes each; in the short form tests/migration/test_topics_made.py and the schedules show the same.
pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar"), pytest.mark.slow]

STEADY: Final = PublisherLoad(per_s=20)
EXCLUSIVE: Final = (pulsar.ConsumerType.Exclusive,)
STOPPED: Final = {Setting.RATE.value, Setting.QUOTA.value}
MESSAGES: Final = 5
_TOPIC_EVERY_S: Final = 5.0
_CALL_MS: Final = 30_000


class TopicMaker(threading.Thread):
    """Makes topics as clients do, by using them: subscribes, publishes and reads.

    Attributes:
        ending: Set to make it end.
        every_s: How long it rests between two topics.
        refused: What it was told where it could not go on, by topic.
    """

    def __init__(self, service_url: str, namespace: str) -> None:
        super().__init__(daemon=True)
        self.ending = threading.Event()
        self.every_s = _TOPIC_EVERY_S
        self.refused: dict[str, str] = {}
        self._client = patient_client(service_url)
        self._namespace = namespace
        self._stored: dict[str, int] = {}
        self._came: dict[str, Counter[int]] = {}
        self._consumers: dict[str, pulsar.Consumer] = {}

    def run(self) -> None:
        """Make topics until it is told to end."""
        number = 0
        while not self.ending.wait(self.every_s):
            topic, number = f"persistent://{self._namespace}/made-{number}", number + 1
            try:
                self._consumers[topic] = self._client.subscribe(topic, "reader")
                self._came[topic], self._stored[topic] = Counter(), 0
                producer = self._client.create_producer(topic, send_timeout_millis=_CALL_MS)
                for each in range(MESSAGES):
                    producer.send(b"%d" % each)
                    self._stored[topic] = each + 1
                producer.close()
                self.read(topic, _CALL_MS)
            except PulsarException as error:
                self.refused[topic] = repr(error)

    def read(self, topic: str, patience_ms: int) -> None:
        """Read what is left of a topic."""
        while len(self._came[topic]) < self._stored[topic]:
            message = self._consumers[topic].receive(patience_ms)
            self._came[topic][int(message.data())] += 1
            self._consumers[topic].acknowledge(message)

    def account(self) -> dict[str, str]:
        """Read all that is left; topics of which not every message came exactly once."""
        self.ending.set()
        self.join()
        for topic in self._stored:
            try:
                self.read(topic, _CALL_MS)
            except PulsarException as error:
                self.refused[topic] = repr(error)
        wrong = {
            topic: f"{self._stored[topic]} stored, came {dict(came)}"
            for topic, came in self._came.items()
            if came != Counter(range(self._stored[topic]))
        }
        self._client.close()
        return wrong

    @property
    def topics(self) -> int:
        """How many it has made."""
        return len(self._stored)


@pytest.mark.parametrize("created", [True, False], ids=["auto-creation", "no-auto-creation"])
async def test_topics_that_are_made_all_the_while_are_moved_too(
    migration_of: Make, tmp_path: Path, *, created: bool
) -> None:
    migration = migration_of(f"made-{created}")
    namespace = migration.namespaces[0]
    loads = [TopicLoad(topic=f"persistent://{namespace}/t", publishers=(STEADY,), kinds=EXCLUSIVE)]
    await migration.make(loads)
    override = {"allowAutoTopicCreation": created, "topicType": "non-partitioned"}
    await migration.blue.calls.send("POST", f"/admin/v2/namespaces/{namespace}/autoTopicCreation", override)

    async def made_meanwhile(stop: MigrationStop) -> None:
        assert stop.code is StopCode.NOT_MOVED, stop
        maker.every_s *= 2  # where each attempt takes longer than a topic, the namespace would never be moved

    async def operator() -> None:
        await migration.go()
        await migration.past_stops(lambda state: MigrationCommand.CLOSE in state.due.waits_for, made_meanwhile)
        await anyio.sleep(3)
        wrong.append(await anyio.to_thread.run_sync(maker.account))
        await migration.close()

    wrong: list[dict[str, str]] = []
    maker = TopicMaker(migration.service_url, namespace)
    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        maker.start()
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, WAIT_S)
    print(account, maker.topics, "topics made,", len(maker.refused), "refused")
    migration.see_unharmed(account)
    assert wrong == [{}]
    assert bool(maker.topics) is created
    assert bool(maker.refused) is not created, maker.refused
    there = await migration.green.calls.namespace(namespace) or {}
    assert there["autoTopicCreationOverride"]["allowAutoTopicCreation"] is created
    await migration.left_nothing()


async def test_a_broker_that_dies_in_a_wave_is_waited_for_and_nobody_is_lost(
    migration_of: Make, pulsar_pair: PulsarPair, tmp_path: Path
) -> None:
    """What was on its way when it died is sent again, and what it had no time to note as read comes again."""
    migration = migration_of("died")
    topic = f"persistent://{migration.namespaces[0]}/t"
    loads = [TopicLoad(topic=topic, publishers=(STEADY,), kinds=EXCLUSIVE)]
    await migration.make(loads)
    here = pulsar_pair.clusters[BLUE]
    stops: list[str] = []

    async def noted(stop: MigrationStop) -> None:
        stops.append(stop.code)

    async def operator() -> None:
        await migration.go()
        await migration.until(lambda _: any(STOPPED & set(key.split("/")) for key in migration.journal.kept), "stopped")
        await anyio.to_thread.run_sync(here.kill, Part.BROKER)
        await anyio.to_thread.run_sync(here.start, Part.BROKER)
        await migration.past_stops(lambda state: MigrationCommand.CLOSE in state.due.waits_for, noted)
        await migration.close()

    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await anyio.sleep(2)
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, WAIT_S)
    print(account, stops)
    assert (account.lost, account.disordered, account.dead, account.unanswered) == ({}, {}, (), {}), f"{account!r}"
    await migration.left_nothing()


async def test_a_broker_that_says_that_it_is_deadlocked_is_restarted_and_nobody_is_lost(
    migration_of: Make, pulsar_pair: PulsarPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadlock is made up, since no client can force it: the broker's health says so until it is restarted."""
    migration = migration_of("deadlocked")
    topic = f"persistent://{migration.namespaces[0]}/t"
    loads = [TopicLoad(topic=topic, publishers=(STEADY,), kinds=EXCLUSIVE, late=("away",))]
    await migration.make(loads)
    here = pulsar_pair.clusters[BLUE]
    sick: list[int | None] = []
    healthy = MortalClient.check_health

    async def check_health(calls: MortalClient) -> None:
        if calls.url == here.admin_url and here.broker.pid() in sick:
            raise AdminRefused("500", status=500, reason="Message: Deadlocked threads detected. a(tid=1)")
        await healthy(calls)

    async def operator() -> None:
        await migration.go()
        await migration.until(lambda state: state.run.standing.phase is MigrationPhase.DRAINING, "it drains")
        monkeypatch.setattr(MortalClient, "check_health", check_health)
        sick.append(here.broker.pid())
        await migration.until(lambda _: bool(migration.deadlocks), "it is named")
        traffic.attend()
        await migration.close()

    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, WAIT_S)
    print(account, migration.deadlocks)
    assert ["a(tid=1)" in each for each in migration.deadlocks] == [True]
    assert (account.lost, account.disordered, account.dead, account.unanswered) == ({}, {}, (), {}), f"{account!r}"
    await migration.left_nothing()


async def test_a_daemon_that_is_killed_in_a_wave_goes_on_where_it_was(
    migration_of: Make, pulsar_pair: PulsarPair, tmp_path: Path
) -> None:
    migration = migration_of("daemon")
    namespace = migration.namespaces[0]
    topic = f"persistent://{namespace}/t"
    loads = [TopicLoad(topic=topic, publishers=(STEADY,), kinds=EXCLUSIVE)]
    await migration.make(loads)
    region = region_of(pulsar_pair, tmp_path / "syncer", f"persistent://case-{os.getpid()}/bus/events")
    plan = tmp_path / "plan.json"

    def ask(*words: str) -> Any:
        return region.command("migration", *words)

    async def comes(holds: Callable[[Any], bool], what: str) -> None:
        await until(lambda: anyio.to_thread.run_sync(lambda: holds(ask("status"))), what)

    with ExitStack() as stack, ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        region.start()
        stack.callback(region.stop)
        ask("plan", "--from", BLUE, "--to", GREEN, "--canary", namespace, "--bound", "soak_s=3", "--save", str(plan))
        ask("start", str(plan), "--reason", "tonight")
        await comes(lambda told: "go" in told["waits_for"], "a go is waited for")
        ask("go", "--yes", "--reason", "it looks well")
        await until(lambda: migration.blue.calls.topic_policy(topic, "publishRate"), "publishers are stopped")
        region.kill()
        await anyio.sleep(1)
        await anyio.to_thread.run_sync(region.start)
        await comes(lambda told: "close" in told["waits_for"], "it may be closed")
        ask("close", "--yes", "--reason", "done")
        await comes(lambda told: told["phase"] == "closed", "it is closed")
        account = await anyio.to_thread.run_sync(traffic.settle, WAIT_S)
    print(account)
    migration.see_unharmed(account)
    assert (await migration.blue.calls.namespace(namespace) or {})["migrated"]
    await migration.left_nothing()


def region_of(pair: PulsarPair, folder: Path, bus: str) -> LabRegion:
    """A region beside green whose configuration names both clusters."""
    tables: dict[str, Any] = {}
    for name, cluster in pair.clusters.items():
        tables[f"cluster.{name}"] = {"service_url": cluster.admin_url, "broker_service_url": cluster.service_url}
        tables[f"cluster.{name}.admin"] = {"url": cluster.admin_url}
    region = LabRegion.beside(pair.clusters[GREEN], folder, name="mover", topic=bus, **tables)
    region.init_topic([pair.clusters[GREEN]])
    return region
