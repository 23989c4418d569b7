"""One etcd server alone."""

from __future__ import annotations

import base64
import json
import urllib.request
from pathlib import Path
from typing import Final

from deploy.lab import rest
from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command
from deploy.lab.server import Server
from deploy.lab.software import etcd_binary

MAX_REQUEST_BYTES: Final = 10 << 20


class EtcdNode(Server):
    """A server with a data directory and ports of its own; both survive a restart.

    Args:
        directory: Holds data, log and pid file.
        name: Name of the process and of its files.
        ports: Client port and peer port; ``None`` takes free ones.
        leashed: End it when this program ends.
    """

    def __init__(
        self, directory: Path, *, name: str = "etcd", ports: tuple[int, int] | None = None, leashed: bool = False
    ) -> None:
        client, peer = ports or free_ports(2)
        super().__init__(directory, name=name, port=client, data_directory=directory / "data" / name, leashed=leashed)
        self._name = name
        self._peer_port = peer

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"http://{HOST}:{self.port}"

    @property
    def metadata_url(self) -> str:
        """The server as Pulsar's settings name it."""
        return f"etcd:{self.url}"

    def has_ephemeral(self, path: str) -> bool:
        """Whether a key is there that lives as long as somebody's lease."""
        asked = json.dumps({"key": base64.b64encode(path.encode()).decode()}).encode()
        try:
            with urllib.request.urlopen(f"{self.url}/v3/kv/range", asked, timeout=2.0) as answer:  # noqa: S310 - our own
                found = json.load(answer).get("kvs", [])
        except rest.NO_ANSWER:
            return False
        return any(each.get("lease", "0") != "0" for each in found)

    def _command(self) -> Command:
        self.data_directory.parent.mkdir(parents=True, exist_ok=True)
        peer = f"http://{HOST}:{self._peer_port}"
        words = (
            str(etcd_binary()),
            *("--name", self._name),
            *("--data-dir", str(self.data_directory)),
            *("--listen-client-urls", self.url),
            *("--advertise-client-urls", self.url),
            *("--listen-peer-urls", peer),
            *("--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"{self._name}={peer}"),
            *("--max-request-bytes", str(MAX_REQUEST_BYTES)),
            "--unsafe-no-fsync",
        )
        return Command(words=words, directory=self.directory, favoured=True)

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2.0) as answer:  # noqa: S310 - our own http URL
                return b'"true"' in answer.read()
        except rest.NO_ANSWER:
            return False
