"""What the tests of the sources put into real stores, and what a reader has to find of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import orjson
from kazoo.client import KazooClient

from spark_snapshot.sources.found import Found, ResourceBatch
from syncer.model import MetaPath
from syncer.waiting import WAIT_S


def _tenant(*clusters: str) -> bytes:
    return orjson.dumps({"adminRoles": ["admin"], "allowedClusters": clusters})


def _policies(number: int) -> bytes:
    return orjson.dumps({"replication_clusters": ["east", "west"], "message_ttl_in_seconds": number})


RESOURCES: Final[dict[MetaPath, bytes]] = {
    MetaPath(path): value
    for path, value in {
        **{f"/admin/policies/t{tenant}": _tenant("east", "west") for tenant in range(4)},
        **{
            f"/admin/policies/t{tenant}/n{number:02d}": _policies(number) for tenant in range(4) for number in range(20)
        },
        **{
            f"/admin/partitioned-topics/t{tenant}/n{number:02d}/persistent/topic-{number}": b'{"partitions":4}'
            for tenant in range(2)
            for number in range(10)
        },
        "/admin/policies/t0-b": _tenant("east"),
        "/admin/policies/t0-b/n": _policies(1),
        "/admin/policies/große/Straße": _policies(2),
        "/admin/policies/große": _tenant(),
        "/admin/resourcegroups/group": b'{"publishRateInMsgs":10}',
        "/admin/policies/t1/unreadable": b"no JSON",
        "/admin/policies/t2/large": orjson.dumps({"properties": {"text": "x" * 900_000}}),
    }.items()
}
"""In the default scope."""

OTHERS: Final[dict[str, bytes]] = {
    "/admin/policies/pulsar": _tenant(),
    "/admin/policies/pulsar/system": _policies(0),
    "/admin/policies/t0/n00/deeper": b"{}",
    "/admin/clusters/east": b"{}",
    "/admin/partitioned-topics/t0/n00/persistent/__change_events": b'{"partitions":1}',
    "/ledgers/LAYOUT": b"1",
    "/pulsar-syncer/here/fence": orjson.dumps(
        {"number": 1, "database": "d", "generation": 1, "store": "the-store", "epoch": 1, "landed": [], "mark": 0}
    ),
}
"""Not in it."""

FIRST_FORM: Final = {MetaPath("/admin/policies/t0/n00/deeper"): b"{}"}
"""Among them: a namespace of the first form, which a reader tells of where it is asked to."""

EVERYTHING: Final[dict[str, bytes]] = {str(path): value for path, value in RESOURCES.items()} | OTHERS


def collected(batches: Iterable[ResourceBatch]) -> dict[MetaPath, Found]:
    """What was found by path; a path that comes twice is a fault."""
    found: dict[MetaPath, Found] = {}
    for batch in batches:
        assert batch
        for each in batch:
            assert each.path not in found, f"twice: {each.path}"
            found[each.path] = each
    return found


def values(batches: Iterable[ResourceBatch]) -> dict[MetaPath, bytes]:
    """The values by path."""
    return {path: each.value for path, each in collected(batches).items()}


@contextmanager
def kazoo(hosts: str) -> Iterator[KazooClient]:
    """A client of its own."""
    client = KazooClient(hosts=hosts, timeout=10)
    client.start(timeout=WAIT_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def fill_zookeeper(client: KazooClient, chroot: str = "") -> None:
    """Put all of it into a ZooKeeper, and nodes that are no resources where resources would be."""
    for path, value in sorted(EVERYTHING.items()):
        client.create(chroot + path, value, makepath=True)
    client.create(f"{chroot}/admin/policies/t3/session", b"{}", ephemeral=True)
    client.ensure_path(f"{chroot}/admin/policies/inner/node")


def once(action: Callable[[], None]) -> Callable[[], None]:
    """An action that is done at the first call only."""
    left = [action]

    def call() -> None:
        while left:
            left.pop()()

    return call
