"""The steps of docs/how-to/follow-a-store-migration.md: a store is copied from one ZooKeeper to another one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from kazoo.client import KazooClient

from deploy.lab.zookeeper import ZooKeeperServer
from syncer.replication.local.store_migration import FLAG, IN_MIGRATION, MIGRATED
from syncer.waiting import WAIT_S, until
from tests.real.moved_store import (
    FENCE,
    TOPIC,
    begin,
    compared,
    fence_of,
    flows,
    held,
    opened,
    published_by,
    put,
    settled,
    sites,
    zookeeper_at,
)
from tests.shell.region import NAMESPACE, TENANT, Site, heard, tenant

pytestmark = [pytest.mark.real("zookeeper"), pytest.mark.slow]


@pytest.fixture
def second_server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    """Another server than the one of the whole run."""
    server = ZooKeeperServer(tmp_path / "second", leashed=True)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def copy(source: dict[str, Any], target: dict[str, Any], *, but: str = "") -> None:
    """Copy every node, as an operator's tool does: values alone, no times, versions or numbers of the server's."""
    clients = [KazooClient(f"{each['hosts']}{each['chroot']}") for each in (source, target)]
    for each in clients:
        each.start(timeout=WAIT_S)
    here, there = clients
    todo = ["/"]
    try:
        while todo:
            path = todo.pop()
            value, stat = here.get(path)
            if path == but or stat.ephemeralOwner:
                continue
            if path != "/":
                there.create(path, value)
            todo += [f"{path.rstrip('/')}/{name}" for name in here.get_children(path)]
    finally:
        for each in clients:
            each.stop()
            each.close()


@asynccontextmanager
async def two_places(
    folder: Path, store: dict[str, Any], copied: dict[str, Any]
) -> AsyncIterator[tuple[Site, Site, Site]]:
    """A region at its store and, with the same database, at the copy of that; and a peer that runs."""
    with sites(folder) as make:
        before, after = make("east", "east", store=store), make("east", "east", store=copied)
        west = make("west", "west")
        async with west.running():
            yield before, after, west


async def test_a_daemon_goes_on_at_the_copy_of_its_store(
    zookeeper_server: ZooKeeperServer, second_server: ZooKeeperServer, tmp_path: Path
) -> None:
    store, copied = (zookeeper_at(each.hosts, "moved") for each in (zookeeper_server, second_server))
    async with two_places(tmp_path, store, copied) as (before, after, west):
        async with before.running(), opened(before.config()) as old:
            await begin(before, west, old)
            await until(lambda: compared(before, "west") == "equal", "nothing is on its way")
        await anyio.to_thread.run_sync(copy, store, copied)
        async with opened(after.config()) as new:
            await goes_on(after, west, new)


async def goes_on(after: Site, west: Site, new: Any) -> None:
    published, stood, sent = published_by("east", west.bus_file), await held(new), after.status().identity
    async with after.running():
        await until(lambda: after.status().identity.epoch > sent.epoch and "west" in heard(after), "it is heard")
        await settled(new, "east", stood[FENCE])
        await until(lambda: compared(after, "west") == "equal", "both know the same")
        now = after.status().identity
        assert (now.database_id, now.generation) == (sent.database_id, sent.generation), "no rebuild"
        assert published_by("east", west.bus_file) == published, "nothing is told anew"
        assert await held(new) | {FENCE: b""} == stood | {FENCE: b""}, "nothing is written but the fence"
        assert after.holds() == {}
        await flows(new, west)


async def test_what_the_copy_lacks_is_no_delete_before_an_operator_says_so(
    zookeeper_server: ZooKeeperServer, second_server: ZooKeeperServer, tmp_path: Path
) -> None:
    store, copied = (zookeeper_at(each.hosts, "short") for each in (zookeeper_server, second_server))
    async with two_places(tmp_path, store, copied) as (before, after, west):
        async with before.running(), opened(before.config()) as old:
            await begin(before, west, old)
        await anyio.to_thread.run_sync(lambda: copy(store, copied, but=TOPIC))
        async with opened(after.config()) as new, after.running():
            await until(lambda: TOPIC in after.holds(), "it is held")
            assert "in place of its former one" in (after.holds()[TOPIC].hold.detail or "")
            await put(new, TENANT, tenant("ops", "night"))
            await until(lambda: west.get(TENANT) == tenant("ops", "night"), "the rest goes on")
            assert west.get(TOPIC) is not None


async def test_nothing_is_written_to_a_store_that_pulsar_copies_away(
    zookeeper_server: ZooKeeperServer, second_server: ZooKeeperServer, tmp_path: Path
) -> None:
    store, copied = (zookeeper_at(each.hosts, "copying") for each in (zookeeper_server, second_server))
    target = f"zk:{second_server.hosts}"
    async with two_places(tmp_path, store, copied) as (before, after, west):
        async with before.running(), opened(before.config()) as old:
            await begin(before, west, old)
            await until(lambda: compared(before, "west") == "equal", "nothing is on its way")
            for phase in ("PREPARATION", "COPYING"):
                await put(old, FLAG, b'{"phase":"%s","targetUrl":"%s"}' % (phase.encode(), target.encode()))
                await until(partial(_says, before, phase), phase)
            fence = await fence_of(old, "east")
            west.writer.put(TOPIC, b'{"partitions":9}')
            await put(old, NAMESPACE, b'{"replication_clusters":["east","west"],"message_ttl_in_seconds":7}')
            await until(lambda: b"message_ttl_in_seconds" in (west.get(NAMESPACE) or b""), "changes are told")
            await until(lambda: "1 write waits" in before.conditions()[IN_MIGRATION], "what waits is counted")
            assert (await held(old))[TOPIC] == b'{"partitions":4}'
            assert await fence_of(old, "east") == fence, "not even the fence was written"
            await put(old, FLAG, b'{"phase":"COMPLETED","targetUrl":"%s"}' % target.encode())
            await until(lambda: target in before.conditions().get(MIGRATED, ""), "it says what to do")
        async with before.running():  # started again by mistake, at the former store
            await until(lambda: target in before.conditions().get(MIGRATED, ""), "it says so again")
            assert fence_at(zookeeper_server, store) == fence, "no fence is raised"
        await anyio.to_thread.run_sync(lambda: copy(store, copied, but="/pulsar"))
        async with opened(after.config()) as new, after.running():

            async def written() -> bool:
                return (await held(new))[TOPIC] == b'{"partitions":9}'

            await until(written, "what waited is written")
            await until(lambda: not {IN_MIGRATION, MIGRATED} & after.conditions().keys(), "all is well")
            await flows(new, west)


def _says(site: Site, phase: str) -> bool:
    return phase in site.conditions().get(IN_MIGRATION, "")


def fence_at(server: ZooKeeperServer, store: dict[str, Any]) -> bytes:
    """The fence as a client sees it that shares nothing with the daemon."""
    client = KazooClient(f"{server.hosts}{store['chroot']}")
    client.start(timeout=WAIT_S)
    try:
        return bytes(client.get(FENCE)[0])
    finally:
        client.stop()
        client.close()
