"""One ZooKeeper server alone, run from the jars of the Pulsar distribution whatever version brokers have."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deploy.lab.jvm import Jvm
from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command
from deploy.lab.server import Server
from deploy.lab.software import java, pulsar_home

# What the server needs of the distribution's 300 jars; the fewer, the sooner it is up.
_JARS: Final = (
    "org.apache.zookeeper-zookeeper-3*",
    "org.apache.zookeeper-zookeeper-jute-*",
    "org.apache.yetus-*",
    "org.slf4j-slf4j-api-*",
    "org.apache.logging.log4j-log4j-*",
    "io.netty-netty-*",
    "io.dropwizard.metrics-metrics-core-*",
    "org.xerial.snappy-*",
    "commons-cli-*",
    "commons-io-*",
)
_LOGGING: Final = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} - %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSettings:
    """How a server is set up.

    Args:
        port: Client port; ``None`` takes a free one.
        jvm: A heap below 512 MB is at risk: the server keeps its last 500 transactions, large batches included.
        min_session_ms: Shortest session that a client may ask for.
        max_session_ms: Longest session that a client is given.
        properties: Further lines of the configuration file.
        system_properties: Java system properties (``zookeeper.…``).
    """

    port: int | None = None
    jvm: Jvm = field(default_factory=lambda: Jvm(heap_mb=512))
    min_session_ms: int = 1_000
    max_session_ms: int = 60_000
    properties: Mapping[str, str] = field(default_factory=dict)
    system_properties: Mapping[str, str] = field(default_factory=dict)


class ZooKeeperServer(Server):
    """A server with a data directory and a port of its own; both survive a restart.

    Args:
        directory: Holds configuration, data, log and pid file.
        name: Name of the process and of its files.
        settings: How it is set up.
        leashed: End it when this program ends.
    """

    def __init__(
        self,
        directory: Path,
        *,
        name: str = "zookeeper",
        settings: ZooKeeperSettings | None = None,
        leashed: bool = False,
    ) -> None:
        self._settings = settings or ZooKeeperSettings()
        self._configuration = directory / "conf" / f"{name}.cfg"
        port = self._settings.port or free_ports(1)[0]
        super().__init__(directory, name=name, port=port, data_directory=directory / "data" / name, leashed=leashed)

    @property
    def hosts(self) -> str:
        """Where clients connect, as a connect string."""
        return self.endpoint

    @property
    def metadata_url(self) -> str:
        """The server as Pulsar's settings name it."""
        return f"zk:{self.hosts}"

    def ask(self, word: str) -> str:
        """Answer of the server to a four-letter word (``ruok``, ``mntr``, ``cons``); empty when it does not answer."""
        try:
            with socket.create_connection((HOST, self.port), timeout=2.0) as link:
                link.sendall(word.encode())
                parts = []
                while part := link.recv(65_536):
                    parts.append(part)
        except OSError:
            return ""
        return b"".join(parts).decode(errors="replace")

    def has_ephemeral(self, path: str) -> bool:
        """Whether a node is there that lives as long as somebody's session."""
        return path in self.ask("dump").split()

    def has_ephemeral_like(self, prefix: str) -> bool:
        """Whether a node is there whose path begins so, and that lives as long as somebody's session."""
        return any(word.startswith(prefix) for word in self.ask("dump").split())

    def _serves(self) -> bool:
        return self.ask("srvr").startswith("Zookeeper version")

    def _write_configuration(self) -> None:
        values = {
            "tickTime": "500",
            "dataDir": str(self.data_directory),
            "clientPort": str(self.port),
            "clientPortAddress": HOST,
            "admin.enableServer": "false",
            "maxClientCnxns": "0",
            "minSessionTimeout": str(self._settings.min_session_ms),
            "maxSessionTimeout": str(self._settings.max_session_ms),
            "4lw.commands.whitelist": "*",
            "forceSync": "no",
            **self._settings.properties,
        }
        self._configuration.parent.mkdir(parents=True, exist_ok=True)
        self.data_directory.mkdir(parents=True, exist_ok=True)
        self._configuration.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        (self._configuration.parent / "log4j2.properties").write_text(_LOGGING)

    def _command(self) -> Command:
        self._write_configuration()
        lib = pulsar_home() / "lib"
        jars = [str(jar) for pattern in _JARS for jar in sorted(lib.glob(f"{pattern}.jar"))]
        properties = {
            "log4j2.configurationFile": str(self._configuration.parent / "log4j2.properties"),
            "zookeeper.snapshot.trust.empty": "true",
            "jute.maxbuffer": "10485760",  # what Pulsar runs its own with
            **self._settings.system_properties,
        }
        return Command(
            words=(
                str(java()),
                *self._settings.jvm.flags(),
                *(f"-D{key}={value}" for key, value in properties.items()),
                "-cp",
                ":".join(jars),
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                str(self._configuration),
            ),
            directory=self.directory,
            favoured=True,
        )
