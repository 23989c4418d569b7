"""One configuration store that serves two clusters and is the local store of neither: a real ZooKeeper and the daemon.

The other region is an embedded one, so that the test writes what comes from afar.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from deploy.lab.region import LabRegion
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.model import MetaPath
from syncer.paths import CLUSTERS, namespace_path, tenant_path
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import wait_until

pytestmark = pytest.mark.real("zookeeper")

SHARED = ("blue", "green")
EVERYONE = (*SHARED, "solo")


@dataclass(frozen=True, slots=True)
class Group:
    """The region of both clusters, with an outside client of its store, and the region that changes come from."""

    shared: LabRegion
    zookeeper: KazooClient
    writer: OutsideWriter

    def put(self, path: MetaPath, clusters: tuple[str, ...]) -> None:
        """Write a namespace's policies in the other region."""
        document = {"replication_clusters": list(clusters), "bundles": {"boundaries": [], "numBundles": 4}}
        self.writer.put(path, json.dumps(document).encode())

    def make(self, name: str) -> MetaPath:
        """Have a namespace of all clusters in both stores; its path."""
        path = namespace_path("sales", name)
        self.put(path, EVERYONE)
        wait_until(lambda: self.clusters(path) == set(EVERYONE), f"{path} in the shared store")
        return path

    def clusters(self, path: MetaPath) -> set[str] | None:
        """The replication clusters in the shared store; ``None`` without such a namespace."""
        try:
            return set(json.loads(self.zookeeper.get(path)[0])["replication_clusters"])
        except NoNodeError:
            return None

    def held(self, path: MetaPath) -> tuple[str, str]:
        """Wait until something is held of a path; reason and detail."""
        wait_until(lambda: path in self.shared.holds(), f"a change of {path} is held")
        hold = self.shared.holds()[path].hold
        return hold.reason.value, hold.detail


@pytest.fixture(scope="module")
def group(zookeeper_server: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    folder = tmp_path_factory.mktemp("shared")
    chroot = "/shared-configuration"
    bus = {"kind": "embedded", "path": str(folder / "bus.db")}
    store = {"kind": "zookeeper", "hosts": zookeeper_server.hosts, "chroot": chroot}
    shared = LabRegion(folder / "shared", name="shared", clusters=SHARED, tables={"store": store, "bus": bus})
    sqlite = {"kind": "sqlite", "path": str(folder / "store.db")}
    solo = LabRegion(folder / "solo", name="solo", clusters=("solo",), tables={"store": sqlite, "bus": bus})
    writer = OutsideWriter(folder / "store.db")
    root = KazooClient(hosts=zookeeper_server.hosts)
    root.start()
    root.ensure_path(chroot)
    root.stop()
    root.close()
    zookeeper = KazooClient(hosts=f"{zookeeper_server.hosts}{chroot}")
    zookeeper.start()
    try:
        zookeeper.ensure_path(CLUSTERS)
        for cluster in EVERYONE:
            zookeeper.create(f"{CLUSTERS}/{cluster}", b"{}")
            writer.put(f"{CLUSTERS}/{cluster}", b"{}")
        writer.put(tenant_path("sales"), json.dumps({"adminRoles": [], "allowedClusters": list(EVERYONE)}).encode())
        with ThreadPoolExecutor() as pool:
            list(pool.map(LabRegion.start, (shared, solo)))
        yield Group(shared, zookeeper, writer)
    finally:
        shared.stop()
        solo.stop()
        zookeeper.stop()
        zookeeper.close()
        writer.close()


@pytest.mark.parametrize("left_out", SHARED)
def test_policies_without_either_of_our_clusters_are_held(group: Group, left_out: str) -> None:
    path = group.make(f"without-{left_out}")
    group.put(path, tuple(cluster for cluster in EVERYONE if cluster != left_out))
    assert group.held(path) == ("leaves-cluster-out", f"brokers of {left_out} would delete its topics")
    assert group.clusters(path) == set(EVERYONE)


def test_policies_with_both_of_our_clusters_pass(group: Group) -> None:
    path = group.make("without-solo")
    group.put(path, SHARED)
    wait_until(lambda: group.clusters(path) == set(SHARED), "the change in the shared store")
    assert path not in group.shared.holds()


def test_no_topics_here_says_nothing_about_the_topics_of_two_clusters(group: Group) -> None:
    """Neither where no cluster keeps its topics in the store, nor where one does: the other's cannot be seen."""
    cannot = ("has-topics", "it cannot be asked here whether topics exist")
    first, second, third = (group.make(name) for name in ("nobody", "one-of-two", "with-topics"))
    group.writer.delete(first)
    assert group.held(first) == cannot

    group.zookeeper.create("/ledgers/LAYOUT", b"1", makepath=True)
    group.zookeeper.create("/managed-ledgers/sales/with-topics/persistent/t", b"1", makepath=True)
    group.writer.delete(second)
    group.writer.delete(third)
    assert group.held(second) == cannot
    assert group.held(third) == ("has-topics", "topics still exist here")

    (answer,) = group.shared.command("holds", "confirm", first, "--yes")["items"]

    assert answer["state"] == "done"
    wait_until(lambda: group.clusters(first) is None, "the confirmed delete in the shared store")
    assert group.clusters(second) == set(EVERYONE)
