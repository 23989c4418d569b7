"""Where the bench runs: two real Pulsar clusters, each with a configuration store of its own, and what acts on them."""

from __future__ import annotations

import hashlib
import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import anyio

from deploy.lab import rest
from deploy.lab.process import resident_bytes
from deploy.lab.pulsar import ClusterSettings, Part, PulsarCluster, bring_up, share_namespace
from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.pulsar.topic import WantedTopic, apply_topic, plan_topic
from syncer.model import MetaPath
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from syncer.waiting import WAIT_S, WaitTimedOut, wait_until
from tests.bench.child import Child
from tests.bench.cpu import Used

EAST: Final = "us-east"
WEST: Final = "us-west"
POLICIES: Final = "/admin/policies"
OUR_TOPIC: Final = "persistent://pulsar-syncer/metadata/events"
NATIVE_TOPIC: Final = "persistent://geo/shared/config-sync"
NATIVE_SETTING: Final = "configurationMetadataSyncEventTopic"
REPLICATED: Final = {"replication_clusters": [EAST, WEST]}
START_TIMEOUT_S: Final = 90.0
QUIET_TIMEOUT_S: Final = 120.0
AT_REST_S: Final = 8.0
"""How long is looked at what processes use while nothing changes."""

_QUIET_S: Final = 2.0
_DERIVED: Final = ("bundles",)
"""Fields of the policies that each cluster keeps for itself."""


class Rest:
    """One kept connection to a broker's admin API: what a request costs beside the broker's work is small."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._link = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=WAIT_S)

    def send(self, method: str, path: str, body: object) -> int:
        """Make a call and read the whole answer; its status."""
        self._link.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        with self._link.getresponse() as answer:
            answer.read()
            return answer.status

    def must(self, method: str, path: str, body: object) -> None:
        """Make a call that has to succeed.

        Raises:
            RuntimeError: It did not.
        """
        status = self.send(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status}")

    def close(self) -> None:
        """Close the connection."""
        self._link.close()


@dataclass(slots=True)
class DaemonProcess:
    """One region's daemon as a process.

    Args:
        cluster: Its region's.
        directory: Of its files.
        api: The table ``[api]`` of its configuration.
    """

    cluster: PulsarCluster
    directory: Path
    api: str = "enabled = false\n"
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start it."""
        name = self.cluster.name
        config = self.directory / f"{name}.toml"
        bus = {"service_url": self.cluster.service_url, "admin_url": self.cluster.admin_url, "topic": OUR_TOPIC}
        config.write_text(
            f'region = "{name}"\nclusters = ["{name}"]\n\n[store]\n{_toml(self.cluster.store_config)}\n'
            f'[bus]\nkind = "pulsar"\n{_toml(bus)}\n'
            f'[state]\npath = "{self.directory / f"{name}-state.db"}"\n\n[api]\n{self.api}'
        )
        with (self.directory / f"{name}-daemon.log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).with_name("syncer")), "-c", str(config), "run"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        if self.process is None or self.process.poll() is not None:
            log = self.directory / f"{self.cluster.name}-daemon.log"
            raise RuntimeError(f"the daemon of {self.cluster.name} does not run:\n{log.read_text()[-3000:]}")
        return self.process.pid

    def used(self) -> Used:
        """CPU time that it has used so far, with all that it has started."""
        return Used.by([self.pid])

    @property
    def resident_mb(self) -> int:
        """Memory that it holds now."""
        return resident_bytes(self.pid) >> 20

    def stop(self) -> None:
        """End it in order."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(WAIT_S)


class Place:
    """Two clusters, an observer of the far configuration store and an outside writer into the near one.

    Args:
        directory: Holds everything; removed with the clusters.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.template = directory / "policies.json"
        self.east, self.west = self.clusters = [
            PulsarCluster(
                directory / name,
                ClusterSettings(name=name, separate_configuration=True, quick_start=False),
                leashed=True,
            )
            for name in (EAST, WEST)
        ]
        self.daemons = [DaemonProcess(cluster, directory) for cluster in self.clusters]

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._tear_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.observer.close()
        self.writer.close()
        self._tear_down()

    def _build(self) -> None:
        bring_up(self.clusters)
        share_namespace(self.clusters, "geo/shared")
        anyio.run(self._make_topic)
        self.template.write_bytes(self.entries(self.east, f"{POLICIES}/geo/shared")[f"{POLICIES}/geo/shared"])
        self.writer = Child(
            "tests.bench.writer", hosts(self.east), str(self.template), log=self.directory / "writer.log"
        )
        self.observer = Child("tests.bench.observer", hosts(self.west), POLICIES, log=self.directory / "observer.log")
        if self.observer.hear() != ["armed"]:
            raise RuntimeError("the observer does not watch")

    def _tear_down(self) -> None:
        for daemon in self.daemons:
            daemon.stop()
        for cluster in self.clusters:
            cluster.remove()

    async def _make_topic(self) -> None:
        wanted = WantedTopic(topic=OUR_TOPIC, regions={cluster.name: (cluster.name,) for cluster in self.clusters})
        admins = {cluster.name: AdminClient(AdminSettings(url=cluster.admin_url)) for cluster in self.clusters}
        try:
            await apply_topic(await plan_topic(wanted, admins), admins)
        finally:
            for admin in admins.values():
                await admin.close()

    def make_tenant(self, name: str) -> None:
        """Make a tenant in both clusters by hand."""
        for cluster in self.clusters:
            rest.put_or_update(
                f"{cluster.admin_url}/admin/v2/tenants/{name}", {"adminRoles": [], "allowedClusters": [EAST, WEST]}
            )

    def make_namespaces(self, cluster: PulsarCluster, names: Sequence[str]) -> None:
        """Make namespaces in one cluster by REST."""
        link = Rest(cluster.admin_url)
        try:
            for name in names:
                link.must("PUT", f"/admin/v2/namespaces/{name}", REPLICATED)
        finally:
            link.close()

    def native(self, *, on: bool) -> None:
        """Switch Pulsar's own synchronizer; the brokers start anew."""
        for cluster in self.clusters:
            cluster.set_broker({NATIVE_SETTING: NATIVE_TOPIC if on else ""})
            cluster.stop(Part.BROKER)
        for cluster in self.clusters:
            cluster.launch(Part.BROKER)
        for cluster in self.clusters:
            cluster.wait_ready(Part.BROKER)

    def entries(self, cluster: PulsarCluster, prefix: str) -> dict[str, bytes]:
        """All values at and below a path of a cluster's configuration store, read anew."""
        return anyio.run(partial(_entries, hosts(cluster), prefix))

    def differences(self, prefix: str) -> tuple[int, int]:
        """Namespaces below a path in the near store, and how many of them the far one lacks or holds differently."""
        near, far = (
            {path: digest(value) for path, value in self.entries(cluster, prefix).items() if path != prefix}
            for cluster in self.clusters
        )
        return len(near), sum(far.get(path) != wanted for path, wanted in near.items())

    def servers_used(self) -> Used:
        """CPU time that both brokers and all stores have used so far, with all that they have started.

        Raises:
            RuntimeError: One of them does not run.
        """
        pids = [process.pid() for cluster in self.clusters for process in cluster.processes().values()]
        roots = [pid for pid in pids if pid is not None]
        if len(roots) < len(pids):
            raise RuntimeError("a server has ended: this run does not count")
        return Used.by(roots)

    def wait_quiet(self) -> None:
        """Wait until the far store changes no more: what follows a change is a part of what it costs.

        Raises:
            RuntimeError: It does not come to rest.
        """
        before, since_s = -1, time.monotonic()

        def quiet() -> bool:
            nonlocal before, since_s
            now = sum(map(len, self.seen().values()))
            if now != before:
                before, since_s = now, time.monotonic()
            return time.monotonic() - since_s >= _QUIET_S

        if not poll(quiet, timeout_s=QUIET_TIMEOUT_S):
            raise RuntimeError("the far store does not come to rest")

    def check_daemons(self) -> None:
        """Raise RuntimeError with the end of its log when a daemon has ended."""
        for daemon in self.daemons:
            _ = daemon.pid

    def observe_until(self, count: int, *, timeout_s: float, meanwhile: Callable[[], None] = lambda: None) -> int:
        """Wait until that many paths have changed in the far store since the last reset; how many have in time.

        ``meanwhile`` is called with each look; it ends the wait by raising.
        """
        seen = 0

        def enough() -> bool:
            nonlocal seen
            meanwhile()
            seen = int(self.observer.ask("count")[0])
            return seen >= count

        poll(enough, timeout_s=timeout_s)
        return seen

    def reset(self) -> None:
        """Let the observer forget what it has seen."""
        self.observer.ask("reset")

    def seen(self) -> dict[str, list[float]]:
        """When each path was seen to change.

        Raises:
            RuntimeError: The watch had a gap: times are missing.
        """
        file = self.directory / "seen.json"
        self.observer.ask("report", file)
        report = json.loads(file.read_text())
        if report["gaps"]:
            raise RuntimeError("the observer's watch had a gap: this run does not count")
        times: dict[str, list[float]] = report["seen"]
        return times

    def arrivals(self, asked: Mapping[str, float]) -> dict[str, float]:
        """When each requested change was first seen after its request; those never seen are left out."""
        seen = self.seen()
        first = {path: next((at for at in seen.get(path, ()) if at >= since), None) for path, since in asked.items()}
        return {path: at for path, at in first.items() if at is not None}


def _toml(table: Mapping[str, object]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())


def hosts(cluster: PulsarCluster) -> str:
    """Address of a cluster's configuration store."""
    return cluster.configuration_store.endpoint


def digest(value: bytes) -> str:
    """Digest of what is replicated of namespace policies, made apart from the product's own."""
    policies: dict[str, Any] = json.loads(value)
    kept = {name: part for name, part in policies.items() if name not in _DERIVED}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def poll(done: Callable[[], bool], *, timeout_s: float) -> bool:
    """Wait for a state that a measurement may miss; return whether it came in time."""
    try:
        return wait_until(done, "a state of the measurement", within_s=timeout_s)
    except WaitTimedOut:
        return False


async def _entries(where: str, prefix: str) -> dict[str, bytes]:
    store = ZooKeeperStore(ZooKeeperConfig(hosts=where))
    await store.open()
    try:
        return {str(entry.path): entry.value async for page in store.scan(MetaPath(prefix)) for entry in page}
    finally:
        await store.close()
