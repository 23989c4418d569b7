"""Backup, restore, plan and undo on real stores: what the servers alone can refuse, and batches that they can take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.backup.reading import Backup
from syncer.backup.side import BackupSide
from syncer.backup.taking import take_backup
from syncer.conflict.scope import Scope
from syncer.errors import PlanStale
from syncer.model import MetaPath, Region
from syncer.plan.operations import Action, Operation
from syncer.planning.apply import perform
from syncer.planning.sources import LiveSide
from syncer.stores.contract import MetadataStore, Put, Write, Written
from syncer.stores.etcd import EtcdConfig, EtcdStore
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from tests.support.opening import opened
from tests.support.planning import NOW, contents, fill, judged, plan_between, resources, tenant_rules, value

pytestmark = pytest.mark.anyio

TOPICS = 150
"""More than one batch of ZooKeeper takes."""


@pytest.mark.real("zookeeper")
async def test_a_restored_zookeeper(zookeeper_server: ZooKeeperServer, tmp_path: Path) -> None:
    store = ZooKeeperStore(ZooKeeperConfig(hosts=zookeeper_server.hosts))
    async with opened(store):
        await there_and_back(store, tmp_path, f"plans-zk-{os.getpid()}")


@pytest.mark.real("etcd")
async def test_a_restored_etcd(etcd_server: EtcdNode, tmp_path: Path) -> None:
    async with opened(EtcdStore(EtcdConfig(endpoints=(etcd_server.endpoint,)))) as store:
        await there_and_back(store, tmp_path, f"plans-etcd-{os.getpid()}")


async def there_and_back(store: MetadataStore, folder: Path, tenant: str) -> None:
    """Restore a tenant into a store that never had it, take it back, and meet a store that changes meanwhile."""
    scope = tenant_rules(tenant)
    side = LiveSide(store, Region("east"), scope)
    values = resources(tenant, topics=TOPICS)
    async with opened(SqliteStore(SqliteConfig(path=folder / "source.db"))) as source:
        await fill(source, values)
        await take_backup(
            LiveSide(source, Region("east"), scope), folder / "backup", clusters=(), now=NOW, made_by="test"
        )
    saved = BackupSide(Backup(folder / "backup"))

    plan = await plan_between(side, saved)
    assert {each.action for each in plan.operations} == {Action.CREATE}
    review = await judged(plan, store, scope)
    assert review.refused == {}
    steps: list[tuple[int, int]] = []
    outcome = await perform(review.accepted, store, scope, report=lambda done, total: steps.append((done, total)))
    assert outcome.error is None
    assert len(outcome.applied) == len(values)
    assert len(steps) > 1
    assert steps[-1] == (len(values), len(values))
    assert (await plan_between(side, saved, deletes=True)).operations == ()
    assert len((await perform(review.accepted, store, scope)).already) == len(values), "nothing is done twice"

    undo = plan.reversed()
    await a_change_meanwhile(store, scope, plan.operations[-1].path)
    undone = await perform((await judged(undo, store, scope)).accepted, store, scope)
    assert undone.error is None
    assert await contents(side) == {}


async def a_change_meanwhile(store: MetadataStore, scope: Scope, path: MetaPath) -> None:
    """Somebody writes between our read and our write: the store refuses the batch, and we say which path it was."""
    before = (await store.read([path]))[path]
    assert before is not None
    operation = Operation(path=path, before=before.value, after=value(partitions=99))

    async def overtaken(writes: Sequence[Write]) -> tuple[Written, ...]:
        await store.apply([Put(path=path, value=before.value + b" ", expected=before.revision)])
        return await store.apply(writes)

    outcome = await perform([operation], store, scope, send=overtaken)
    assert isinstance(outcome.error, PlanStale)
    assert path in outcome.error.message
    assert outcome.unreached == [operation]
    entry = (await store.read([path]))[path]
    assert entry is not None
    assert entry.value == before.value + b" ", "theirs stays"
    await store.apply([Put(path=path, value=before.value, expected=entry.revision)])
