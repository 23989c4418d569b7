"""A bookie in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from deploy.lab.jvm import Jvm
from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command
from deploy.lab.pulsar import BOOKIE_SETTINGS, laid_over, pulsar_environment
from deploy.lab.server import Server
from deploy.lab.software import pulsar_home
from deploy.lab.zookeeper import ZooKeeperServer

# Small, for three brokers on one machine; beside what every bookie of the lab has.
_OWN: Final = {
    "advertisedAddress": HOST,
    "allowLoopback": "true",
    "listeningInterface": "lo",
    "autoRecoveryDaemonEnabled": "false",
    "statsProviderClass": "org.apache.bookkeeper.stats.NullStatsProvider",  # the other one listens everywhere
    "httpServerEnabled": "false",
    "numReadWorkerThreads": "2",
    "numHighPriorityWorkerThreads": "2",
    "numJournalCallbackThreads": "1",
    "dbStorage_rocksDB_writeBufferSizeMB": "8",
}


class Bookie(Server):
    """One bookie of a cluster.

    Args:
        directory: Holds configuration, data, log and pid file.
        name: Name of the process and of its files.
        store: The ZooKeeper of its cluster.
        jvm: Flags of its Java machine.
        leashed: End it when this program ends.
    """

    def __init__(self, directory: Path, *, name: str, store: ZooKeeperServer, jvm: Jvm, leashed: bool) -> None:
        port = free_ports(1)[0]
        super().__init__(directory, name=name, port=port, data_directory=directory / "data" / name, leashed=leashed)
        self._store = store
        self._jvm = jvm

    @property
    def registration(self) -> str:
        """Its path in the store, for as long as it lives."""
        return f"/ledgers/available/{self.endpoint}"

    def _serves(self) -> bool:
        return self._store.has_ephemeral(self.registration)

    def _command(self) -> Command:
        configuration = self.directory / "conf" / f"{self.process.name}.conf"
        configuration.parent.mkdir(parents=True, exist_ok=True)
        values = {
            **BOOKIE_SETTINGS,
            **_OWN,
            "bookiePort": str(self.port),
            "metadataServiceUri": f"metadata-store:{self._store.metadata_url}",
            "journalDirectory": str(self.data_directory / "journal"),
            "ledgerDirectories": str(self.data_directory / "ledgers"),
        }
        configuration.write_text(laid_over(pulsar_home() / "conf" / "bookkeeper.conf", values))
        environment = pulsar_environment(self.directory, self._jvm)
        return Command(
            words=(str(pulsar_home() / "bin" / "pulsar"), "bookie"),
            directory=self.directory,
            environment={**environment, "PULSAR_BOOKKEEPER_CONF": str(configuration)},
        )
