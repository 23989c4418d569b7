"""The scene: real clusters with links between them, a region beside each, and outside writers at all of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from deploy.lab import rest
from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.region import LabRegion
from syncer.errors import SyncerError
from syncer.inspection.status import collect
from syncer.model import MetaPath
from syncer.paths import PARTITIONED_TOPICS, POLICIES, namespace_path, tenant_path
from syncer.state.contract.peers import PeerRow
from syncer.state.views.summaries import Status
from syncer.waiting import WAIT_S, wait_until
from tests.faults.disk import SmallDisk
from tests.faults.record import ROOT, TOPICS, Record
from tests.faults.stores import Away, OutsideStore, outside_store
from tests.faults.wan import Way
from tests.faults.writer import Bursts, Caller, Load, Outsider, Writer

CLUSTERS: Final = (
    ("us-east", StoreKind.ZOOKEEPER),
    ("us-west", StoreKind.ETCD),
    ("us-north", StoreKind.ZOOKEEPER),
)
TOPIC: Final = "persistent://pulsar-syncer/metadata/events"
SUBSCRIPTION: Final = "pulsar-syncer"
SESSION_S: Final = 2.0
"""Session of a daemon in its ZooKeeper."""
_RULES: Final = [
    {"pattern": f"{tree}/{name}", "direction": "both"}
    for tree in (POLICIES, PARTITIONED_TOPICS)
    for name in (f"{ROOT}*", f"{ROOT}*/**")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How large the scene is.

    Args:
        clusters: Two or three.
        writers: To each store.
        pace_s: Rest of each between two writes.
        disk_mb: Room for each sidecar database.
        mounted: Whether mounts of our own are allowed.
        seed: Of everything that is drawn.
    """

    clusters: int = 2
    writers: int = 2
    pace_s: float = 0.1
    disk_mb: int = 256
    mounted: bool = True
    seed: int = 1


class Scene:
    """Everything that runs. ``open`` starts it, ``close`` ends it.

    Args:
        directory: Holds all of it.
        settings: How large it is.
    """

    def __init__(self, directory: Path, settings: Settings) -> None:
        self.directory = directory
        self.settings = settings
        self.clusters = {
            name: PulsarCluster(directory / name, ClusterSettings(name=name, store=store), leashed=True)
            for name, store in CLUSTERS[: settings.clusters]
        }
        self.names = tuple(self.clusters)
        self.ways = {
            (one, other): Way(self.clusters[other]) for one in self.names for other in self.names if one != other
        }
        self.disks = {
            name: SmallDisk(directory / f"disk-{name}", size_mb=settings.disk_mb, mounted=settings.mounted)
            for name in self.names
        }
        self.regions = {name: self._region(name) for name in self.names}
        self.record = Record(directory / "writes.jsonl")
        self.load = Load(self.record, self.names)
        self.threads: list[Outsider] = []
        self._bursts = 0

    def _region(self, name: str) -> LabRegion:
        cluster = self.clusters[name]
        store = dict(cluster.store_config)
        if cluster.settings.store is StoreKind.ZOOKEEPER:
            store["session_timeout"] = f"{SESSION_S:g}s"
        tables: dict[str, Mapping[str, object]] = {
            "store": store,
            "bus": {
                "kind": "pulsar",
                "service_url": cluster.service_url,
                "admin_url": cluster.admin_url,
                "topic": TOPIC,
                "subscription": SUBSCRIPTION,
            },
            "state": {"path": str(self.disks[name].directory / "state.db")},
            "scope": {"rules": _RULES},
            "limits": {"min_deletes": 10_000_000, "max_deletes": 10_000_000},  # what is deleted here is meant
            "peers": {"expected": [other for other in self.names if other != name]},
        }
        return LabRegion(self.directory / f"region-{name}", name=name, clusters=(name,), tables=tables, heartbeat="1s")

    # -- beginning and end

    def open(self) -> None:
        """Start clusters, daemons and writers; everything is equal, and the load goes on, when this returns."""
        bring_up(list(self.clusters.values()), peers=False)
        for name, cluster in self.clusters.items():
            for other, peer in self.clusters.items():
                itself = {"serviceUrl": peer.admin_url, "brokerServiceUrl": peer.service_url}
                urls = itself if other == name else self.ways[name, other].urls
                rest.put_or_update(f"{cluster.admin_url}/admin/v2/clusters/{other}", urls)
        first = self.names[0]
        words = [word for each in self.clusters.values() for word in ("--cluster", f"{each.name}={each.admin_url}")]
        self.until(partial(self._makes_topic, first, words), "the topic is made")
        with ThreadPoolExecutor() as pool:
            list(pool.map(LabRegion.start, self.regions.values()))
        self._lay_ground(first)
        for name, cluster in self.clusters.items():
            for number in range(self.settings.writers):
                writer = f"{name}-{number + 1}"
                connect = _Connect(cluster)
                seed = f"{self.settings.seed}/{writer}"
                pace = self.settings.pace_s
                self.threads.append(Writer(name, writer, self.load, connect, seed=seed, pace_s=pace))
            self.threads.append(Caller(name, cluster.admin_url, self.load, pace_s=10 * self.settings.pace_s))
        for thread in self.threads:
            thread.start()
        self.load.go_on()

    def _makes_topic(self, name: str, words: list[str]) -> bool:
        """Make the bus topic; what a busy broker did not answer in time is done the next time."""
        code, _ = self.regions[name].ask("topic", "init", *words, "--yes")
        return code == 0

    def _lay_ground(self, first: str) -> None:
        """Parents of all that is written later; nobody deletes them."""
        paths = [tenant_path(ROOT), namespace_path(ROOT, "topics"), MetaPath(f"{TOPICS}/ground")]
        connect = _Connect(self.clusters[first])
        writer = Writer(first, f"{first}-ground", self.load, connect, seed="", pace_s=0)
        with contextlib.closing(connect()) as store:
            self.until(partial(_connected, store), "the store answers")
            for path in paths:
                writer.put(store, path)
        self.until(
            lambda: all(set(paths) <= region.entries().keys() for region in self.regions.values()),
            "the parents are everywhere",
        )

    def still(self) -> None:
        """Let no writer write; none is in the middle of a write when this returns."""
        self.load.pause()
        self.until(lambda: all(thread.idle.is_set() for thread in self.threads), "all writers rest")

    def heal(self) -> None:
        """Have everything run again, whatever a step that failed has left behind."""
        for way in self.ways.values():
            way.mend()
        for name, region in self.regions.items():
            region.daemon.resume()
            self.disks[name].empty(region.daemon.pid())
        for cluster in self.clusters.values():
            cluster.start()
        for region in self.regions.values():
            region.start()

    def close(self) -> None:
        """End everything; what fails to end keeps nothing else from it."""
        self.load.end()
        with contextlib.ExitStack() as last_first:
            last_first.callback(self.record.close)
            for disk in self.disks.values():
                last_first.callback(disk.close)
            for way in self.ways.values():
                last_first.callback(way.close)
            for cluster in self.clusters.values():
                last_first.callback(cluster.kill)
            for region in self.regions.values():
                last_first.callback(region.stop)
            for thread in self.threads:
                if thread.ident is not None:  # it was started
                    last_first.callback(thread.join, 30)

    # -- questions

    def until(self, condition: Callable[[], bool], what: str, within_s: float = WAIT_S) -> float:
        """Wait until something is so; seconds that it took.

        Raises:
            WaitFailed: It was not so in time, or a process has ended by itself.
        """
        began = time.monotonic()
        # A sidecar database that is just made, or changes hands, is read again.
        wait_until(condition, what, within_s=within_s, passing=SyncerError)
        return time.monotonic() - began

    def status(self, name: str) -> Status:
        """How a region is, by its sidecar database."""
        return self.regions[name].status()

    def report(self, name: str) -> Mapping[str, Any]:
        """What a region's daemon told last."""
        return self.status(name).document or {}

    def roles(self, name: str) -> dict[str, int]:
        """Process ids of a region's daemons, by role."""
        region = self.regions[name]
        with region.views() as views:
            return {each.role: each.pid for each in collect(views, region.config).daemons}

    def heard(self, name: str, of: str) -> PeerRow | None:
        """What a region heard last of another one."""
        with self.regions[name].views() as views:
            return next((row for row in views.peers() if row.region == of), None)

    def topic(self, name: str) -> Mapping[str, Any]:
        """Statistics of the bus topic, by a region's broker; empty while it does not answer."""
        place = TOPIC.replace("://", "/")
        try:
            found = rest.get(f"{self.clusters[name].admin_url}/admin/v2/{place}/stats")
        except ServerFailed:
            return {}
        return found or {}

    def replication_backlog(self, name: str, to: str) -> int:
        """Messages that a region's broker still has to bring to another cluster; 0 where it does not say."""
        return int((self.topic(name).get("replication", {}).get(to) or {}).get("replicationBacklog", 0))

    def backlog(self, name: str) -> int:
        """Entries of the bus that a region has not acknowledged; an entry is one message, or many sent together."""
        return int((self.topic(name).get("subscriptions", {}).get(SUBSCRIPTION) or {}).get("msgBacklog", 0))

    def arrived(self, name: str) -> int:
        """Messages that have come to a region's topic since its broker began to count."""
        return int(self.topic(name).get("msgInCounter", 0))

    @staticmethod
    def now_ms() -> int:
        """The clock that writers, daemons and this scene share."""
        return time.time_ns() // 1_000_000

    def others(self, name: str) -> tuple[str, ...]:
        """The other regions."""
        return tuple(other for other in self.names if other != name)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Every two different regions, both ways."""
        return iter(self.ways)

    @contextlib.contextmanager
    def bursts(self, name: str) -> Iterator[Bursts]:
        """A writer of very many topics at a region."""
        self._bursts += 1
        with contextlib.closing(_Connect(self.clusters[name])()) as store:
            self.until(partial(_connected, store), "the store of the burst answers")
            yield Bursts(name, store, self.load, name=f"{name}-burst{self._bursts}n")


def _connected(store: OutsideStore) -> bool:
    try:
        store.read(tenant_path(ROOT))
    except Away:
        return False
    return True


class _Connect:
    """Makes clients of a cluster's configuration store."""

    def __init__(self, cluster: PulsarCluster) -> None:
        self._cluster = cluster

    def __call__(self) -> OutsideStore:
        return outside_store(self._cluster.configuration_store)
