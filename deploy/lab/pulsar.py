"""Independent Pulsar clusters, each with a store of its own, and bookie and broker in one process."""

from __future__ import annotations

import base64
import json
import shutil
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from deploy.lab import rest
from deploy.lab.etcd import EtcdNode
from deploy.lab.jvm import Jvm
from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command, ServerFailed, ServerProcess, resident_bytes
from deploy.lab.releases.assembled import home_of
from deploy.lab.releases.versions import release
from deploy.lab.software import PULSAR_VERSION, java
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from syncer.waiting import LIVING

_BOOKIES: Final = "/ledgers/available"
BROKER_HEAP_MB: Final = 384
"""Enough for some hundreds of topics."""
_BROKER_DIRECT_MB: Final = 256
STORE_SESSION_MS: Final = 6_000
"""Longest session in a cluster's own ZooKeeper: how long a killed bookie seems to be alive."""

# Small and quick; whatever is not here is as the distribution has it.
BROKER_SETTINGS: Final[Mapping[str, str]] = {
    "bindAddress": HOST,
    "advertisedAddress": HOST,
    "numIOThreads": "2",
    "numOrderedExecutorThreads": "2",
    "numHttpServerThreads": "16",
    "numExecutorThreadPoolSize": "2",
    "managedLedgerCacheSizeMB": "16",
    "managedLedgerNumWorkerThreads": "2",
    "managedLedgerNumSchedulerThreads": "2",
    "managedLedgerDefaultEnsembleSize": "1",
    "managedLedgerDefaultWriteQuorum": "1",
    "managedLedgerDefaultAckQuorum": "1",
    "webSocketServiceEnabled": "false",
    "functionsWorkerEnabled": "false",
    "clusterMigrationCheckDurationSeconds": "2",  # the default never looks at a cluster's migration flag
    "forceDeleteNamespaceAllowed": "true",
    "forceDeleteTenantAllowed": "true",
}
BOOKIE_SETTINGS: Final[Mapping[str, str]] = {
    "allowEphemeralPorts": "true",  # without it the standalone process ignores the bookie port that it is given
    "dbStorage_writeCacheMaxSizeMb": "16",
    "dbStorage_readAheadCacheMaxSizeMb": "16",
    "dbStorage_rocksDB_blockCacheSize": str(8 << 20),
    "journalSyncData": "false",
    "journalMaxSizeMB": "64",
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.98",
    "minUsableSizeForIndexFileCreation": str(1 << 20),
    "minUsableSizeForEntryLogCreation": str(1 << 20),
}


class StoreKind(StrEnum):
    """What a cluster keeps its metadata in."""

    ZOOKEEPER = "zookeeper"
    ETCD = "etcd"

    @property
    def label(self) -> str:
        """Its name in a sentence."""
        return "ZooKeeper" if self is StoreKind.ZOOKEEPER else "etcd"


class Part(StrEnum):
    """A process of a cluster, in starting order."""

    STORE = "store"
    CONFIGURATION_STORE = "configuration-store"
    BROKER = "broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Ports of one cluster; kept for its life, so that a restart is found where it was."""

    store: tuple[int, int]
    configuration_store: tuple[int, int]
    bookie: int
    broker: int
    web: int

    @classmethod
    def choose(cls) -> Ports:
        """Take free ones."""
        a, b, c, d, bookie, broker, web = free_ports(7)
        return cls(store=(a, b), configuration_store=(c, d), bookie=bookie, broker=broker, web=web)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How a cluster is set up.

    Args:
        name: Name of the cluster in Pulsar.
        store: What it keeps its metadata in.
        separate_configuration: Whether tenants, namespaces and the like have a store process of their own.
        broker: Broker settings over the lab's own, as in ``broker.conf``.
        quick_start: See :class:`Jvm`; off for measurements.
        token: What the lab shows to the brokers, where they ask who is there.
        session_ms: Longest session in its own ZooKeeper. Where nobody is killed a long one is better: a broker that
            gets no turn for longer loses all its topics.
        version: Version of Pulsar that its broker and bookie run; its store does not follow it.
        broker_heap_mb: Java heap of each broker, in MiB.

    Raises:
        VersionRefused: The lab does not have the version, or the version cannot use such a store.
    """

    name: str
    store: StoreKind = StoreKind.ZOOKEEPER
    separate_configuration: bool = False
    broker: Mapping[str, str] = field(default_factory=dict)
    quick_start: bool = True
    token: str = field(default="", repr=False)
    session_ms: int = STORE_SESSION_MS
    version: str = PULSAR_VERSION
    broker_heap_mb: int = BROKER_HEAP_MB

    def __post_init__(self) -> None:
        release(self.version, etcd=self.store is StoreKind.ETCD)


class PulsarCluster:
    """One cluster in a directory of its own; what must outlive this program is in its ``cluster.json``.

    Args:
        directory: Holds settings, configuration, data, logs and pid files.
        settings: How it is set up; ``None`` reads what an earlier program set up here.
        leashed: End its processes when this program ends.
    """

    def __init__(self, directory: Path, settings: ClusterSettings | None = None, *, leashed: bool = False) -> None:
        self.directory = directory
        self._file = directory / "cluster.json"
        if settings is None:
            self.settings, self.ports = _load(self._file)
        else:
            self.settings, self.ports = settings, Ports.choose()
            self._save()
        self._leashed = leashed
        self.store = self._store(Part.STORE, self.ports.store)
        self.configuration_store = (
            self._store(Part.CONFIGURATION_STORE, self.ports.configuration_store)
            if self.settings.separate_configuration
            else self.store
        )
        self.broker = ServerProcess(name=Part.BROKER, directory=directory, leashed=leashed)

    @property
    def name(self) -> str:
        """Name of the cluster in Pulsar."""
        return self.settings.name

    @property
    def service_url(self) -> str:
        """Where clients connect."""
        return f"pulsar://{HOST}:{self.ports.broker}"

    @property
    def admin_url(self) -> str:
        """Where the admin REST API is."""
        return f"http://{HOST}:{self.ports.web}"

    @property
    def store_config(self) -> dict[str, object]:
        """The configuration store as the daemon's configuration names it."""
        if self.settings.store is StoreKind.ZOOKEEPER:
            return {"kind": "zookeeper", "hosts": self.configuration_store.endpoint}
        return {"kind": "etcd", "endpoints": [self.configuration_store.endpoint]}

    def processes(self) -> dict[Part, ServerProcess]:
        """Its processes, in starting order."""
        stores = {Part.STORE: self.store.process}
        if self.configuration_store is not self.store:
            stores[Part.CONFIGURATION_STORE] = self.configuration_store.process
        return {**stores, Part.BROKER: self.broker}

    def broker_settings(self) -> dict[str, str]:
        """Settings of a broker of this cluster but for its ports, as in ``broker.conf``."""
        own = {
            "clusterName": self.name,
            "metadataStoreUrl": self.store.metadata_url,
            "configurationMetadataStoreUrl": self.configuration_store.metadata_url,
        }
        return {**BROKER_SETTINGS, **own, **self.settings.broker}

    def broker_environment(self) -> dict[str, str]:
        """What every process with a broker of this cluster finds in its environment."""
        heap_mb = self.settings.broker_heap_mb
        jvm = Jvm(heap_mb=heap_mb, direct_mb=_BROKER_DIRECT_MB, quick_start=self.settings.quick_start)
        return pulsar_environment(self.directory, jvm)

    def set_broker(self, values: Mapping[str, str]) -> None:
        """Change broker settings; they count from the broker's next start."""
        self.settings = replace(self.settings, broker={**self.settings.broker, **values})
        self._save()

    def set_version(self, version: str) -> None:
        """Have its broker and bookie run another version of Pulsar from their next start on.

        Raises:
            VersionRefused: The lab does not have it, or it cannot use the cluster's store.
        """
        self.settings = replace(self.settings, version=version)
        self._save()

    def launch(self, part: Part) -> None:
        """Start one process without waiting for it; nothing when it runs already."""
        match part:
            case Part.STORE:
                self.store.launch()
            case Part.CONFIGURATION_STORE:
                self.configuration_store.launch()
            case Part.BROKER:
                if self.broker.pid() is None:
                    self._wait_bookie_forgotten()
                    self.broker.start(self._broker_command())
                LIVING.add(self.broker)

    def wait_ready(self, part: Part) -> None:
        """Wait until a part serves.

        Raises:
            ServerFailed: It ended.
            WaitFailed: It was not ready in time, or another process ended.
        """
        match part:
            case Part.STORE:
                self.store.wait_ready()
            case Part.CONFIGURATION_STORE:
                self.configuration_store.wait_ready()
            case Part.BROKER:
                made_last = f"{self.admin_url}/admin/v2/namespaces/public/default"
                self.broker.wait_until(lambda: rest.answers(made_last, self.settings.token))

    def start(self, part: Part | None = None) -> None:
        """Start one part, or all, and wait until it serves."""
        for each in [part] if part is not None else list(self.processes()):
            self.launch(each)
            self.wait_ready(each)

    def stop(self, part: Part | None = None) -> None:
        """End one part, or all, in order; the data stays."""
        self._let_broker_go(part)
        for each, process in reversed(self.processes().items()):
            if part in {None, each}:
                process.stop()

    def stop_own(self) -> None:
        """End in order what this program has started; what another one started goes on."""
        for process in reversed(self.processes().values()):
            if process.own:
                process.stop()

    def kill(self, part: Part | None = None) -> None:
        """End one part, or all, as a power loss would; the data stays."""
        self._let_broker_go(part)
        for each, process in reversed(self.processes().items()):
            if part in {None, each}:
                process.kill()

    def _let_broker_go(self, part: Part | None) -> None:
        """Let the broker end by itself when the store that it works with is ended."""
        if part in {Part.STORE, Part.CONFIGURATION_STORE}:
            LIVING.let_go(self.broker)

    def remove(self) -> None:
        """End it and delete everything of it."""
        self.stop()
        shutil.rmtree(self.directory)

    def healthy(self) -> bool:
        """Whether the broker says that it can produce and consume."""
        return rest.answers(f"{self.admin_url}/admin/v2/brokers/health", self.settings.token)

    def status(self) -> dict[str, object]:
        """What an operator wants to see of it."""
        pids = {part: process.pid() for part, process in self.processes().items()}
        return {
            "version": self.settings.version,
            "store": self.store.metadata_url,
            "configuration_store": self.configuration_store.metadata_url,
            "service_url": self.service_url,
            "admin_url": self.admin_url,
            "healthy": pids[Part.BROKER] is not None and self.healthy(),
            "pids": pids,
            "resident_mb": {part: resident_bytes(pid) >> 20 for part, pid in pids.items() if pid is not None},
            "directory": str(self.directory),
        }

    def _store(self, part: Part, ports: tuple[int, int]) -> ZooKeeperServer | EtcdNode:
        if self.settings.store is StoreKind.ETCD:
            return EtcdNode(self.directory, name=part, ports=ports, leashed=self._leashed)
        settings = ZooKeeperSettings(
            port=ports[0],
            jvm=Jvm(heap_mb=512, quick_start=self.settings.quick_start),
            max_session_ms=self.settings.session_ms,
        )
        return ZooKeeperServer(self.directory, name=part, settings=settings, leashed=self._leashed)

    def _save(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps({"settings": asdict(self.settings), "ports": asdict(self.ports)}, indent=1))

    def _broker_command(self) -> Command:
        version = self.settings.version
        home, data = home_of(version), self.directory / "data"
        configuration = self.directory / "conf" / "standalone.conf"
        configuration.parent.mkdir(parents=True, exist_ok=True)
        ports = {"brokerServicePort": str(self.ports.broker), "webServicePort": str(self.ports.web)}
        values = {**BOOKIE_SETTINGS, **self.broker_settings(), **ports}
        configuration.write_text(laid_over(home / "conf" / "standalone.conf", values))
        return Command(
            words=(
                str(home / "bin" / "pulsar"),
                "standalone",
                *("-c", str(configuration)),
                *("--metadata-url", self.store.metadata_url),
                *("--bookkeeper-dir", str(data / "bookkeeper")),
                *(("--bookkeeper-port", str(self.ports.bookie)) if release(version).bookie_port else ()),
                *("-a", HOST),
                "-nfw",  # no functions worker
                "-nss",  # no stream storage
            ),
            directory=self.directory,
            environment={
                **self.broker_environment(),
                "PULSAR_STANDALONE_CONF": str(configuration),
                "PULSAR_EXTRA_OPTS": "-Dio.netty.recycler.maxCapacityPerThread=256",
            },
            favoured=True,
        )

    def _wait_bookie_forgotten(self) -> None:
        """Wait until the store has forgotten a killed bookie: one that finds its own old entry gives itself up."""
        self.store.process.wait_until(lambda: not self._has_bookie(), what="has forgotten the bookie")

    def _has_bookie(self) -> bool:
        if isinstance(self.store, ZooKeeperServer) and not release(self.settings.version).bookie_port:
            return self.store.has_ephemeral_like(f"{_BOOKIES}/bk-")  # an id, since the port is another each time
        return self._has_ephemeral(f"{_BOOKIES}/{HOST}:{self.ports.bookie}")

    def _has_ephemeral(self, path: str) -> bool:
        if isinstance(self.store, ZooKeeperServer):
            return self.store.has_ephemeral(path)
        key = base64.b64encode(path.encode()).decode()
        request = urllib.request.Request(  # noqa: S310 - our own http URL
            f"{self.store.url}/v3/kv/range", data=json.dumps({"key": key, "count_only": True}).encode(), method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=rest.TIMEOUT_S) as answer:  # noqa: S310 - our own http URL
                return int(json.load(answer).get("count", 0)) > 0
        except rest.NO_ANSWER as exc:
            raise ServerFailed(f"{self.name}: etcd did not answer: {exc}") from exc


def bring_up(clusters: Sequence[PulsarCluster], *, peers: bool = True) -> None:
    """Start clusters side by side and, with ``peers``, make each known to every other. Repeating it is safe.

    Raises:
        ServerFailed: A process ended.
        WaitFailed: One was not ready in time, or another process ended.
    """
    for part in Part:
        with_it = [cluster for cluster in clusters if part in cluster.processes()]
        for cluster in with_it:
            cluster.launch(part)
        for cluster in with_it:
            cluster.wait_ready(part)
    if peers:
        for cluster in clusters:
            for peer in clusters:
                urls = {"serviceUrl": peer.admin_url, "brokerServiceUrl": peer.service_url}
                rest.put_or_update(f"{cluster.admin_url}/admin/v2/clusters/{peer.name}", urls)


def share_namespace(clusters: Sequence[PulsarCluster], namespace: str) -> None:
    """Have ``tenant/namespace`` in every cluster, replicated between all of them."""
    rest.share_namespace([cluster.admin_url for cluster in clusters], [cluster.name for cluster in clusters], namespace)


def _load(file: Path) -> tuple[ClusterSettings, Ports]:
    kept = json.loads(file.read_text())
    ports = kept["ports"]
    for key in ("store", "configuration_store"):
        ports[key] = tuple(ports[key])
    settings = {**kept["settings"], "store": StoreKind(kept["settings"]["store"])}
    return ClusterSettings(**settings), Ports(**ports)


def pulsar_environment(directory: Path, jvm: Jvm) -> dict[str, str]:
    """What every Java process of a cluster in ``directory`` finds in its environment."""
    return {
        "PULSAR_HOME": "",
        "JAVA_HOME": str(java().resolve().parents[1]),
        "PULSAR_LOG_DIR": str(directory / "logs"),
        "PULSAR_MEM": " ".join(jvm.flags()),
        "PULSAR_GC": "-XX:+UseSerialGC",
        "PULSAR_GC_LOG": "-Xlog:disable",
    }


def laid_over(template: Path, values: Mapping[str, str]) -> str:
    """The template's settings with ``values`` in their place; what it does not have is added at the end."""
    settings: dict[str, str] = {}
    for line in template.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            settings[key.strip()] = value
    return "".join(f"{key}={value}\n" for key, value in {**settings, **values}.items())
