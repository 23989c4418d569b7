"""A region whose store is moved from one real server to another, beside a peer that notices nothing of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

import anyio
from kazoo.client import KazooClient

from syncer.config.model import Config
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Revision
from syncer.paths import classify
from syncer.stores.contract import MetadataStore, Put
from syncer.waiting import WAIT_S, until
from tests.shell.on_bus import changes_on
from tests.shell.region import NAMESPACE, TENANT, Site, active, tenant

FENCE: Final = MetaPath("/pulsar-syncer/east/fence")
TOPIC: Final = MetaPath("/admin/partitioned-topics/acme/orders/persistent/created")
BUNDLES: Final = b'{"boundaries":["0x0","0x8","0xf"],"numBundles":2}'
POLICIES: Final = b'{"replication_clusters":["east","west"],"bundles":%s}' % BUNDLES
CLUSTERS: Final = [MetaPath(f"/admin/clusters/{name}") for name in ("east", "north", "west")]


def etcd_at(url: str, name: str) -> dict[str, Any]:
    """A part of an etcd server for one test."""
    return {"kind": "etcd", "endpoints": [url.removeprefix("http://")], "namespace": f"/{name}-{os.getpid()}"}


def zookeeper_at(hosts: str, name: str) -> dict[str, Any]:
    """A part of a ZooKeeper server for one test; its root is made."""
    root = f"/{name}-{os.getpid()}"
    client = KazooClient(hosts)
    client.start(timeout=WAIT_S)
    try:
        client.ensure_path(root)
    finally:
        client.stop()
        client.close()
    return {"kind": "zookeeper", "hosts": hosts, "chroot": root}


@contextmanager
def sites(folder: Path) -> Iterator[Callable[..., Site]]:
    """Make regions on one bus: a name, the folder, and configuration by section."""
    made: list[Site] = []

    def make(name: str, at: str, **overrides: Any) -> Site:
        made.append(Site(folder / at, folder / "bus.db", name, overrides))
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            each.writer.close()


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[MetadataStore]:
    """A region's store, for whoever writes past its daemon."""
    store = config.make_store()
    try:
        await store.open()
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


async def put(store: MetadataStore, path: MetaPath, value: bytes) -> None:
    """Write a value, as brokers do."""
    entry = (await store.read([path]))[path]
    expected: Revision | None = entry.revision if entry is not None else None
    parents = [MetaPath(path[:at]) for at in range(1, len(path)) if path[at] == "/"]
    missing = [each for each, found in (await store.read(parents)).items() if found is None]
    await store.apply([Put(path=path, value=value, expected=expected, scaffold=tuple(missing))])


async def held(store: MetadataStore) -> dict[str, bytes]:
    """All that a store holds, by path, below what belongs to Pulsar and to the daemon."""
    found: dict[str, bytes] = {}
    for prefix in ("/admin", "/pulsar-syncer"):
        async for page in store.scan(MetaPath(prefix)):
            found.update({entry.path: entry.value for entry in page})
    return found


def picture(values: Mapping[str, bytes]) -> dict[str, bytes | str]:
    """What of it is in scope, as digests; see :meth:`tests.shell.region.Site.picture`."""
    told = dict[str, bytes | str]()
    for path, value in values.items():
        resource = classify(MetaPath(path))
        if resource is not None and Scope().contains(MetaPath(path)):
            told[path] = PROJECTIONS[resource.kind].digest(value)
    return told


async def begin(east: Site, west: Site, store: MetadataStore) -> None:
    """Both work, and hold the same three resources, made in east."""
    await active(east, west)
    await declare(store)
    for path, value in ((TENANT, tenant("ops")), (NAMESPACE, POLICIES), (TOPIC, b'{"partitions":4}')):
        await put(store, path, value)
    await until(lambda: len(west.picture()) == 3, "all arrives in west")


async def declare(store: MetadataStore) -> None:
    """The clusters, as Pulsar's own initialisation declares them."""
    for path in CLUSTERS:
        await put(store, path, b'{"serviceUrl":"http://%s.example:8080"}' % path.rpartition("/")[2].encode())


async def fence_of(store: MetadataStore, region: str) -> bytes:
    """The fence that a region's daemon has left in its store."""
    path = MetaPath(f"/pulsar-syncer/{region}/fence")
    entry = (await store.read([path]))[path]
    assert entry is not None
    return entry.value


async def settled(store: MetadataStore, region: str, former: bytes) -> None:
    """Wait until the fence says that all of this store was compared.

    Args:
        store: That the region was moved to.
        region: Whose.
        former: The fence as it was brought there.
    """

    async def compared_all() -> bool:
        return bool(json.loads(await fence_of(store, region)).get("at") != json.loads(former)["at"])

    await until(compared_all, f"{region} has compared all of the store")


async def flows(moved: MetadataStore, west: Site) -> None:
    """An edit in either region reaches the other one."""
    await put(moved, TENANT, tenant("ops", "night"))
    await until(lambda: west.get(TENANT) == tenant("ops", "night"), "an edit flows from the new store")
    west.writer.put(TOPIC, b'{"partitions":16}')

    async def alike() -> bool:
        return picture(await held(moved)) == west.picture()

    await until(alike, "an edit flows to the new store")


def published_by(region: str, bus_file: Path) -> int:
    """How many changes a region has stamped that stand on the bus."""
    return sum(1 for event in changes_on(bus_file) if event.stamp.region == region)


async def syncer(site: Site, file: Path, *words: str, accept: Collection[int] = (0,)) -> CompletedProcess[bytes]:
    """Run the command line as an operator does, with a configuration of his."""
    command = [sys.executable, "-c", "from syncer.cli.main import main; main()", *words, "-c", str(file)]
    with anyio.fail_after(WAIT_S):
        done = await anyio.run_process(command, check=False, cwd=site.folder)
    assert done.returncode in accept, (words, done.stdout, done.stderr)
    return done


def compared(site: Site, peer: str) -> str:
    """How a region's comparison with a peer stands."""
    found = site.report().get("comparisons", {}).get(peer, {})
    return "equal" if found.get("equal_at_ms") and not found.get("differing") else str(found)
