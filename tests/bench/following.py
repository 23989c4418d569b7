"""One measured start of following topics of policies: ``python -m tests.bench.following WHAT PLACE``; a line of JSON.

``ours`` finds the namespaces of a tenant in the store, and reads and follows the topic of each, decoded; ``bare`` is
told the topics and reads each to its end by a reader of Pulsar's client, as many at once, and decodes nothing. Both
hold all topics open at the end.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import anyio
import pulsar

from deploy.lab.client import OPERATION_S
from deploy.lab.process import resident_bytes
from syncer.admin.client import AdminSettings
from syncer.bus.pulsar.client import PulsarBusConfig, make_client
from syncer.log import configure
from syncer.model import MetaPath, Region
from syncer.running import YOUNG_OBJECTS
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from syncer.system_topics.assembling import SourceBounds, beside
from syncer.system_topics.pulsar import THREADS

TENANT: Final = "followed"
BASE: Final = MetaPath(f"/admin/topic-policies/global/{TENANT}")
_ESTABLISHED: Final = "01"


def topic_of(number: int) -> str:
    """The topic of policies of a namespace."""
    return f"persistent://{TENANT}/n{number:04d}/__change_events"


def bus_of(place: dict[str, Any]) -> PulsarBusConfig:
    """How the brokers are reached."""
    return PulsarBusConfig(region="bench", service_url=place["service"], topic="persistent://public/default/bus")


async def ours(place: dict[str, Any], done: Callable[[], None]) -> int:
    """The product's source, by a scan of all policies."""
    store = beside(
        ZooKeeperStore(ZooKeeperConfig(hosts=place["store"])),
        [f"{TENANT}/*"],
        Region("bench"),
        bus_of(place),
        AdminSettings(url=place["admin"]),
        bounds=SourceBounds(),
        alone=True,
        writes=False,
    )
    await store.open()
    try:
        found = 0
        async for page in store.scan(BASE):
            found += len(page)
        done()
        return found
    finally:
        await store.close()


def _read(client: pulsar.Client, topic: str) -> tuple[pulsar.Reader, int]:
    reader = client.create_reader(topic, pulsar.MessageId.earliest, is_read_compacted=True)
    found = 0
    while reader.has_message_available():
        reader.read_next(timeout_millis=10_000)
        found += 1
    return reader, found


async def bare(place: dict[str, Any], done: Callable[[], None]) -> int:
    """Readers alone."""
    client = make_client(bus_of(place), operation_timeout_s=OPERATION_S)
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(THREADS) as threads:
        topics = [topic_of(number) for number in range(place["namespaces"])]
        read = await asyncio.gather(*(loop.run_in_executor(threads, _read, client, each) for each in topics))
    done()
    client.close()
    return sum(found for _, found in read)


def connections() -> int:
    """Connections that this process has established."""
    sockets = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            sockets.add(str(each.readlink()))
        except OSError:
            continue
    rows = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines()
    ]
    return sum(row[3] == _ESTABLISHED and f"socket:[{row[9]}]" in sockets for row in rows if len(row) > 9)


def main() -> None:
    """Measure one."""
    what, place = sys.argv[1], json.loads(sys.argv[2])
    configure(level="warning", form="console")
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])  # as the daemon does
    before, measured = resident_bytes(os.getpid()), dict[str, float]()
    began, used = time.monotonic(), time.process_time()

    def done() -> None:
        measured["wall_s"] = time.monotonic() - began
        measured["cpu_s"] = time.process_time() - used
        measured["grown_bytes"] = resident_bytes(os.getpid()) - before
        measured["connections"] = connections()

    measured["found"] = anyio.run(ours if what == "ours" else bare, place, done)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
