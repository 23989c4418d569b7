"""Rollbacks after a mark, between real clusters: what green holds stays there, and everything else is blue's again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import pulsar
import pytest

from deploy.lab.client import WAIT_MS, patient_client
from deploy.lab.pulsar import Part
from deploy.lab.traffic.account import TrafficAccount
from deploy.lab.traffic.loads import PublisherLoad, TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.errors import PreconditionFailed
from syncer.migration.course import MigrationCommand, MigrationStop
from syncer.migration.phases import MigrationPhase
from syncer.migration.topics import Rollback
from syncer.waiting import WAIT_S, starvation, until
from tests.conftest import PulsarPair
from tests.real.migrations import BLUE, Make, RealMigration

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar"), pytest.mark.slow]

STEADY: Final = PublisherLoad(per_s=20)
EXCLUSIVE: Final = (pulsar.ConsumerType.Exclusive,)
FAILOVER: Final = (pulsar.ConsumerType.Failover,)


async def roll_back(migration: RealMigration, traffic: ClusterTraffic) -> dict[str, Rollback]:
    """Roll back until it is done, or go on where nothing can be taken back; what could be undone of each namespace.

    A topic that is moved again after all, and whose consumers are at green already, needs somebody to read it at blue.
    """

    async def somebody_reads(stop: MigrationStop) -> None:
        if "start them again" in stop.words:
            await anyio.to_thread.run_sync(traffic.come_again)

    try:
        await migration.ask(MigrationCommand.ROLLBACK, "it looks odd")
    except PreconditionFailed as refused:
        if "green holds messages of every namespace" not in refused.message:
            raise
        await migration.past_stops(lambda state: MigrationCommand.CLOSE in state.due.waits_for, somebody_reads)
        await migration.close()
        return dict.fromkeys(migration.namespaces, Rollback.NO)
    state = await migration.past_stops(
        lambda state: state.run.standing.phase is MigrationPhase.ROLLED_BACK, somebody_reads
    )
    return {each.namespace: each.rollback for each in state.undoable}


async def played(
    migration: RealMigration,
    loads: Sequence[TopicLoad],
    operator: Callable[[ClusterTraffic], Awaitable[None]],
    folder: Path,
) -> TrafficAccount:
    """Carry a migration under load, as far as its operator has it; the account of all messages."""
    with ClusterTraffic(migration.service_url, loads, folder) as traffic:
        await anyio.sleep(2)
        await migration.carry(await migration.plan(), partial(operator, traffic))
        await anyio.sleep(3)
        return await anyio.to_thread.run_sync(traffic.settle, WAIT_S)


async def test_a_wave_that_was_moved_stays_and_the_next_one_never_goes(migration_of: Make, tmp_path: Path) -> None:
    migration = migration_of("back", ["moved", "unused"], ["waits"])
    moved, unused, waits = migration.namespaces
    loads = [
        TopicLoad(topic=f"persistent://{at}", publishers=(STEADY,), kinds=EXCLUSIVE)
        for at in (f"{moved}/gone", f"{waits}/kept")
    ]
    nobodys = TopicLoad(topic=f"persistent://{unused}/t", publishers=(), kinds=())
    await migration.make([*loads, nobodys])
    undone: dict[str, Rollback] = {}

    async def operator(traffic: ClusterTraffic) -> None:
        await migration.go()
        await migration.waiting_for(MigrationCommand.GO)
        undone.update(await roll_back(migration, traffic))

    account = await played(migration, loads, operator, tmp_path)
    migration.see_unharmed(account)
    assert undone == {moved: Rollback.NO, unused: Rollback.PARTLY, waits: Rollback.YES}
    assert await marked(migration) == {moved}
    (gap_s,) = [gap_s for name, gap_s in account.gap_s.items() if name.startswith("kept")]
    assert gap_s < 3 * starvation.patience(), "nobody was stopped who was not moved"
    await migration.left_nothing()
    await migration.blue.calls.send("DELETE", f"/admin/v2/persistent/{unused}/t")
    assert await anyio.to_thread.run_sync(written_and_read, migration.service_url, nobodys.topic) == b"again"


async def test_nobody_is_lost_where_a_broker_was_started_anew_under_the_mark(
    migration_of: Make, pulsar_pair: PulsarPair, tmp_path: Path
) -> None:
    """Where it has sent producers to green they stay, and what was marked is moved; else the mark is taken off."""
    migration = migration_of("window")
    (namespace,) = migration.namespaces
    loads = [TopicLoad(topic=f"persistent://{namespace}/t", publishers=(STEADY,), kinds=FAILOVER)]
    await migration.make(loads)
    here = pulsar_pair.clusters[BLUE]
    undone: dict[str, Rollback] = {}

    async def operator(traffic: ClusterTraffic) -> None:
        await migration.go()
        await until(lambda: marked(migration), "the namespace is marked")
        await anyio.to_thread.run_sync(here.kill, Part.BROKER)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, here.start, Part.BROKER)
            undone.update(await roll_back(migration, traffic))

    account = await played(migration, loads, operator, tmp_path)
    print(account, undone)
    assert (account.lost, account.disordered, account.dead, account.unanswered) == ({}, {}, (), {}), f"{account!r}"
    assert await marked(migration) == {name for name, can in undone.items() if can is Rollback.NO}
    await migration.left_nothing()


async def marked(migration: RealMigration) -> set[str]:
    """Namespaces of blue that are marked."""
    told = {name: await migration.blue.calls.namespace(name) or {} for name in migration.namespaces}
    return {name for name, policies in told.items() if policies.get("migrated")}


def written_and_read(service_url: str, topic: str) -> bytes:
    """Publish a message to a topic of blue, and read it there."""
    client = patient_client(service_url)
    try:
        consumer = client.subscribe(topic, "reader")
        client.create_producer(topic).send(b"again")
        return consumer.receive(WAIT_MS).data()
    finally:
        client.close()
