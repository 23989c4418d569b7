"""Whole migrations between real clusters, each of its own kind, with clients at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pulsar
import pytest

from deploy.lab.pulsar import Part
from deploy.lab.traffic.loads import PublisherLoad, Sending, TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.migration.course import MigrationCommand
from syncer.migration.phases import MigrationPhase
from syncer.migration.running.former import Setting
from syncer.replacing import replace
from tests.conftest import PulsarPair
from tests.real.migrations import GREEN, Make

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar")]

STEADY = PublisherLoad(per_s=20)
PIPELINED = PublisherLoad(per_s=50, sending=Sending.PIPELINED)
EXCLUSIVE = (pulsar.ConsumerType.Exclusive,)
SHARED = (pulsar.ConsumerType.Shared,)
MOST_AGAIN = 5
STOPPED = {Setting.RATE.value, Setting.QUOTA.value}


async def test_clients_of_every_kind_are_moved_in_two_waves(migration_of: Make, tmp_path: Path) -> None:
    migration = migration_of("kinds", ["many"], ["schema", "refused", "delayed", "idle"])
    many, schema, refused, delayed, idle = migration.namespaces
    loads = [
        TopicLoad(
            topic=f"persistent://{many}/batched",
            publishers=(PublisherLoad(per_s=1_000, sending=Sending.BATCHED), PIPELINED),
            java_per_s=100,
        ),
        TopicLoad(topic=f"persistent://{many}/parts", publishers=(STEADY, STEADY), partitions=2),
        TopicLoad(topic=f"persistent://{schema}/text", publishers=(STEADY,), text=True),
        TopicLoad(topic=f"persistent://{refused}/again", publishers=(STEADY,), kinds=SHARED, nacked_every=7),
        TopicLoad(
            topic=f"persistent://{delayed}/later",
            publishers=(PublisherLoad(per_s=20, delay_s=1.0),),
            kinds=SHARED,
        ),
        TopicLoad(topic=f"persistent://{idle}/written", publishers=(STEADY,), kinds=EXCLUSIVE, late=("away",)),
        TopicLoad(
            topic=f"persistent://{idle}/old",
            publishers=(PublisherLoad(per_s=200, most=50),),
            kinds=(),
            late=("away", "other"),
        ),
    ]
    await migration.make(loads)
    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await anyio.sleep(3)

        async def operator() -> None:
            await migration.go()
            await migration.go()
            await migration.until(
                lambda state: state.run.standing.phase is MigrationPhase.DRAINING, "the idle ones are waited for"
            )
            await migration.until(lambda state: bool(state.watched.drains), "it says what is left")
            traffic.attend()
            await migration.close()

        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, 45)
    again = account.doubled.get("again Shared", 0)
    account = replace(account, doubled={at: count for at, count in account.doubled.items() if at != "again Shared"})
    migration.see_unharmed(account)
    assert again <= MOST_AGAIN, (
        "what was refused may come twice while another consumer takes it, without a migration too"
    )
    await migration.left_nothing()


async def test_a_controller_that_is_killed_goes_on_where_it_was(migration_of: Make, tmp_path: Path) -> None:
    migration = migration_of("killed")
    topic = f"persistent://{migration.namespaces[0]}/t"
    loads = [TopicLoad(topic=topic, publishers=(STEADY,), kinds=EXCLUSIVE, late=("away",))]
    await migration.make(loads)

    def in_phase(phase: MigrationPhase) -> Callable[[], Awaitable[None]]:
        async def operator() -> None:
            await migration.until(lambda state: state.run.standing.phase is phase, phase)

        return operator

    async def in_the_wave() -> None:
        await migration.go()
        await migration.until(lambda _: any(STOPPED & set(key.split("/")) for key in migration.journal.kept), "stopped")

    async def to_the_end() -> None:
        traffic.attend()
        await migration.close()

    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        plan = await migration.plan()
        await migration.carry(plan, in_phase(MigrationPhase.PREPARED), killed=True)
        await migration.carry(plan, in_the_wave, killed=True)
        await migration.carry(plan, in_phase(MigrationPhase.DRAINING), killed=True)
        await migration.carry(plan, to_the_end)
        account = await anyio.to_thread.run_sync(traffic.settle, 45)
    migration.see_unharmed(account)
    await migration.left_nothing()


async def test_an_abort_before_the_first_mark_puts_everything_back(migration_of: Make, tmp_path: Path) -> None:
    migration = migration_of("aborted")
    namespace = migration.namespaces[0]
    loads = [TopicLoad(topic=f"persistent://{namespace}/t", publishers=(STEADY,))]
    await migration.make(loads)

    async def operator() -> None:
        await migration.waiting_for(MigrationCommand.GO)
        assert migration.journal.kept
        await migration.ask(MigrationCommand.ABORT, "not tonight")
        await migration.until(lambda state: state.run.standing.phase is MigrationPhase.ROLLED_BACK, "it is taken back")

    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, 20)
    migration.see_unharmed(account)
    assert max(account.gap_s.values()) < 2, "nobody was stopped"
    assert not (await migration.blue.calls.namespace(namespace) or {})["migrated"]
    await migration.left_nothing()


async def test_a_topic_that_is_unloaded_after_the_mark_is_healed_and_nothing_is_lost(
    migration_of: Make, tmp_path: Path
) -> None:
    migration = migration_of("stranded")
    topic = f"persistent://{migration.namespaces[0]}/t"
    loads = [TopicLoad(topic=topic, publishers=(STEADY,), kinds=EXCLUSIVE, late=("away",))]
    await migration.make(loads)

    async def operator() -> None:
        await migration.go()
        await migration.until(lambda state: state.run.standing.phase is MigrationPhase.DRAINING, "it drains")
        await migration.blue.calls.unload_namespace(migration.namespaces[0])
        await migration.until(lambda state: bool(state.watched.healing), "it is seen, and read without its mark")
        traffic.attend()
        await migration.close()

    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await anyio.sleep(2)
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, 45)
    migration.see_unharmed(account)
    await migration.left_nothing()


@pytest.mark.slow
async def test_green_away_stops_the_migration_with_a_code_before_anybody_is_stopped(
    migration_of: Make, pulsar_pair: PulsarPair, tmp_path: Path
) -> None:
    migration = migration_of("away")
    loads = [TopicLoad(topic=f"persistent://{migration.namespaces[0]}/t", publishers=(STEADY,), kinds=EXCLUSIVE)]
    await migration.make(loads)
    there = pulsar_pair.clusters[GREEN]

    async def operator() -> None:
        await migration.waiting_for(MigrationCommand.GO)
        await anyio.to_thread.run_sync(there.kill, Part.BROKER)
        try:
            await migration.ask(MigrationCommand.GO)
            state = await migration.until(lambda state: state.run.stop is not None, "it stops")
        finally:
            await anyio.to_thread.run_sync(there.start, Part.BROKER)
        assert state.run.stop is not None
        assert state.run.stop.code == "admin-unreachable", state.run.stop
        assert not (await migration.blue.calls.namespace(migration.namespaces[0]) or {})["migrated"]
        await migration.resume("green is back")
        await migration.close()

    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, 45)
    migration.see_unharmed(account)
    await migration.left_nothing()
