"""A bookie in a process of its own."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

from deploy.lab import rest
from deploy.lab.etcd import EtcdNode
from deploy.lab.jvm import Jvm
from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command, ServerFailed
from deploy.lab.pulsar import BOOKIE_SETTINGS, laid_over, pulsar_environment
from deploy.lab.releases.assembled import home_of
from deploy.lab.server import Server
from deploy.lab.software import PULSAR_VERSION
from deploy.lab.zookeeper import ZooKeeperServer

# Small, for three brokers on one machine; beside what every bookie of the lab has.
_OWN: Final = {
    "allowLoopback": "true",
    "listeningInterface": "lo",
    "httpServerEnabled": "false",
    "numReadWorkerThreads": "2",
    "numHighPriorityWorkerThreads": "2",
    "numJournalCallbackThreads": "1",
    "dbStorage_rocksDB_writeBufferSizeMB": "8",
}


class MetadataDriver(StrEnum):
    """Whose code a bookie keeps its metadata by; the brokers' is always Pulsar's."""

    PULSAR = "pulsar"
    BOOKKEEPER = "bookkeeper"


_SCHEMES: Final[Mapping[MetadataDriver, str]] = {
    MetadataDriver.PULSAR: "metadata-store:{store.metadata_url}",
    MetadataDriver.BOOKKEEPER: "zk+hierarchical://{store.endpoint}/ledgers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BookieSettings:
    """How the bookies of a cluster are set up.

    Args:
        recovery: They run auto-recovery: one of them audits, all of them copy.
        driver: Whose code they keep their metadata by; BookKeeper's own knows ZooKeeper alone.
        metrics: They serve their figures.
        hosts: Each has a loopback address of its own, since Pulsar's racks are by host.
        further: Settings over the lab's own, as in ``bookkeeper.conf``.
    """

    recovery: bool = False
    driver: MetadataDriver = MetadataDriver.PULSAR
    metrics: bool = False
    hosts: bool = False
    further: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


class Bookie(Server):
    """One bookie of a cluster.

    Attributes:
        configuration: Its file of settings, once it was started.

    Args:
        directory: Holds configuration, data, log and pid file.
        name: Name of the process and of its files.
        store: The metadata store of its cluster.
        settings: How it is set up.
        jvm: Flags of its Java machine.
        host: Its address, a loopback one.
        leashed: End it when this program ends.
        version: Version of Pulsar.
    """

    def __init__(
        self,
        directory: Path,
        *,
        name: str,
        store: ZooKeeperServer | EtcdNode,
        settings: BookieSettings,
        jvm: Jvm,
        host: str = HOST,
        leashed: bool,
        version: str = PULSAR_VERSION,
    ) -> None:
        port, self._metrics_port = free_ports(2)
        super().__init__(directory, name=name, port=port, data_directory=directory / "data" / name, leashed=leashed)
        self.configuration = directory / "conf" / f"{name}.conf"
        self._store = store
        self._settings = settings
        self._jvm = jvm
        self._host = host
        self._version = version

    @property
    def endpoint(self) -> str:
        """``host:port`` of the client port."""
        return f"{self._host}:{self.port}"

    @property
    def registration(self) -> str:
        """Its path in the store, for as long as it lives."""
        return f"/ledgers/available/{self.endpoint}"

    def figures(self) -> dict[str, float]:
        """Its metrics: name with labels, as Prometheus writes it → value.

        Raises:
            ServerFailed: It does not tell them.
        """
        url = f"http://{HOST}:{self._metrics_port}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=rest.TIMEOUT_S) as answer:
                lines = answer.read().decode().splitlines()
        except rest.NO_ANSWER as exc:
            raise ServerFailed(f"{self.process.name} does not tell its figures: {exc}") from exc
        pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def _serves(self) -> bool:
        return self._store.has_ephemeral(self.registration)

    def _command(self) -> Command:
        home = home_of(self._version)
        self.configuration.parent.mkdir(parents=True, exist_ok=True)
        values = {**BOOKIE_SETTINGS, **_OWN, **self._chosen(), **self._settings.further}
        self.configuration.write_text(laid_over(home / "conf" / "bookkeeper.conf", values))
        environment = pulsar_environment(self.directory, self._jvm)
        return Command(
            words=(str(home / "bin" / "pulsar"), "bookie"),
            directory=self.directory,
            environment={**environment, "PULSAR_BOOKKEEPER_CONF": str(self.configuration)},
            favoured=True,
        )

    def _chosen(self) -> dict[str, str]:
        provider = "prometheus.PrometheusMetricsProvider" if self._settings.metrics else "NullStatsProvider"
        return {
            "advertisedAddress": self._host,
            "bookiePort": str(self.port),
            "metadataServiceUri": _SCHEMES[self._settings.driver].format(store=self._store),
            "journalDirectory": str(self.data_directory / "journal"),
            "ledgerDirectories": str(self.data_directory / "ledgers"),
            "autoRecoveryDaemonEnabled": str(self._settings.recovery).lower(),
            "statsProviderClass": f"org.apache.bookkeeper.stats.{provider}",
            "prometheusStatsHttpAddress": HOST,  # else it listens everywhere
            "prometheusStatsHttpPort": str(self._metrics_port),
        }
