"""How fast a cluster's load is read from a real ZooKeeper: by our scan, and by kazoo's ``get_async`` of each path.

Both read the same entries of the same server in turns: the reports of all brokers, and the owner of every bundle. kazoo
lists directories as it must, one at a time, and has many values on their way at once; it reads a part of the owners,
and its time counts for all of them. The picture that is made of what was read is timed beside it, and has no peer.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

import anyio
from kazoo.client import KazooClient

from deploy.lab.jvm import Jvm
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from syncer.balancer.decoding.entries import BROKERS, OWNERSHIP
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.ranges import default_boundaries, range_text
from syncer.balancer.reading.stores import read_load
from syncer.model import MetaPath
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from tests.bench import kazoo_peer
from tests.bench.filling import fill
from tests.bench.result import ratio_in_turns
from tests.support.load_documents import local_broker, owner, stats

BUNDLES_OF_A_NAMESPACE: Final = 100
NAMESPACES_OF_A_TENANT: Final = 50
ROUNDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingTimes:
    """Entries a second of both sides, of each round, and the seconds of a whole picture's parts."""

    ours: list[float]
    kazoo: list[float]
    parts_s: float
    entries: int

    @property
    def times(self) -> float:
        """How many times as fast ours is."""
        return ratio_in_turns(self.ours, self.kazoo)


def measure(directory: Path, brokers: int, bundles: int) -> ReadingTimes:
    """Fill a server and read it in turns.

    Args:
        directory: Of the server.
        brokers: How many report.
        bundles: How many have an owner.
    """
    server = ZooKeeperServer(directory / "zookeeper", settings=ZooKeeperSettings(jvm=Jvm(heap_mb=2_048)), leashed=True)
    try:
        server.start()
        config = ZooKeeperConfig(hosts=server.hosts)
        fill(config, _entries(brokers, bundles))
        ours, kazoo = list[float](), list[float]()
        anyio.run(_scanned, config)  # a server that has just started is slow for whoever comes first
        for _ in range(ROUNDS):
            began = time.perf_counter()
            count = anyio.run(_scanned, config)
            ours.append(count / (time.perf_counter() - began))
            if count != brokers + bundles:
                raise RuntimeError(f"{count} of {brokers + bundles} entries were found: this run does not count")
            kazoo.append(kazoo_peer.rate(server.hosts, _directories))
        began = time.perf_counter()
        anyio.run(_parts, config)
        return ReadingTimes(ours=ours, kazoo=kazoo, parts_s=time.perf_counter() - began, entries=brokers + bundles)
    finally:
        server.remove()


def _bundles(count: int) -> Iterator[str]:
    cuts = default_boundaries(BUNDLES_OF_A_NAMESPACE)
    for number in range(count // BUNDLES_OF_A_NAMESPACE):
        tenant, place = divmod(number, NAMESPACES_OF_A_TENANT)
        yield from (f"t{tenant}/n{place}/{range_text(low, high)}" for low, high in pairwise(cuts))


def _entries(brokers: int, bundles: int) -> Iterator[tuple[str, bytes]]:
    each, names = bundles // brokers, _bundles(bundles)
    for number in range(brokers):
        broker = f"broker-{number}.example:8080"
        own = list(islice(names, each))
        report = local_broker(broker, lastStats={bundle: stats() for bundle in own}, bundles=own)
        yield f"{BROKERS}/{broker}", json.dumps(report).encode()
        held = json.dumps(owner(broker)).encode()
        yield from ((f"{OWNERSHIP}/{bundle}", held) for bundle in own)


async def _scanned(config: ZooKeeperConfig) -> int:
    store, count = ZooKeeperStore(config), 0
    await store.open()
    try:
        for prefix in (BROKERS, OWNERSHIP):
            async for page in store.scan(MetaPath(prefix)):
                count += sum(1 for entry in page if entry.value)
    finally:
        await store.close()
    return count


async def _parts(config: ZooKeeperConfig) -> PictureParts:
    store, parts = ZooKeeperStore(config), PictureParts()
    await store.open()
    try:
        trouble = await read_load(store, parts)
        if trouble is not None:
            raise trouble
    finally:
        await store.close()
    return parts


def _directories(client: KazooClient) -> Iterator[list[str]]:
    yield [f"{BROKERS}/{name}" for name in client.get_children(BROKERS)]
    for tenant in (f"{OWNERSHIP}/{name}" for name in client.get_children(OWNERSHIP)):
        for namespace in (f"{tenant}/{name}" for name in client.get_children(tenant)):
            yield [f"{namespace}/{name}" for name in client.get_children(namespace)]
