"""The steps of docs/how-to/leave-etcd.md, against a real etcd, a real ZooKeeper and a peer that works on."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.waiting import until
from tests.real.moved_store import (
    BUNDLES,
    FENCE,
    begin,
    compared,
    declare,
    etcd_at,
    fence_of,
    flows,
    held,
    opened,
    published_by,
    put,
    settled,
    sites,
    syncer,
    zookeeper_at,
)
from tests.shell.region import NAMESPACE, Site, heard

pytestmark = [pytest.mark.real("etcd", "zookeeper"), pytest.mark.slow]


async def test_a_region_leaves_etcd_and_its_peers_notice_nothing(
    etcd_server: EtcdNode, zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    store, new_store = etcd_at(etcd_server.url, "leave"), zookeeper_at(zookeeper_server.hosts, "leave")
    with sites(tmp_path) as make:
        before, after = make("east", "east", store=store), make("east", "east", store=new_store)
        await leave(before, after, make("west", "west"), str(tmp_path / "backup"))


async def leave(before: Site, after: Site, west: Site, backup: str) -> None:
    old, new = before.folder / "old.yaml", before.folder / "new.yaml"
    await anyio.Path(old).write_text(before.dumped(), encoding="utf-8")
    await anyio.Path(new).write_text(after.dumped(), encoding="utf-8")
    async with west.running():
        async with before.running(), opened(before.config()) as etcd:
            await begin(before, west, etcd)
            await until(lambda: compared(before, "west") == "equal", "nothing is on its way")
            await syncer(before, old, "status")
        await syncer(before, old, "backup", "create", backup)
        async with opened(before.config()) as etcd, opened(after.config()) as zookeeper:
            await declare(zookeeper)  # as 'pulsar initialize-cluster-metadata' does
            await syncer(after, new, "backup", "restore", backup, "--yes")
            await syncer(after, new, "backup", "diff", backup)
            await put(zookeeper, FENCE, await fence_of(etcd, "east"))
            published, stood = published_by("east", west.bus_file), await held(zookeeper)
            bundles = json.loads(stood[NAMESPACE])["bundles"]
            assert bundles == json.loads(BUNDLES), "bundles of the cluster that was backed up come along"
            sent = before.status().identity

            async with after.running() as daemon:
                await until(lambda: daemon.pumps is not None and daemon.pumps.driver.watch_whole, "it works")
                await until(lambda: after.status().identity.epoch > sent.epoch, "it is active")
                await until(lambda: "west" in heard(after), "it is heard")
                await until(lambda: compared(after, "west") == "equal", "both know the same")
                await settled(zookeeper, "east", stood[FENCE])
                now = after.status().identity
                assert (now.database_id, now.generation) == (sent.database_id, sent.generation), "no rebuild"
                assert after.holds() == {}
                assert published_by("east", west.bus_file) == published, "nothing is told anew"
                found = await held(zookeeper)
                assert found | {FENCE: b""} == stood | {FENCE: b""}, "nothing is written either"
                await flows(zookeeper, west)
