"""How the pages are played that need ZooKeeper, etcd, PostgreSQL or Pulsar: for the long form."""

from __future__ import annotations

import json
import re
from typing import Final

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from tests.docs.playing import Play
from tests.docs.reading import DOCS, blocks
from tests.docs.stage import Stage


def _written(stage: Stage, page: str, *changes: tuple[str, str]) -> None:
    """Write the configuration that a page shows, with the servers that are here; a bus and a database are files."""
    text = next(
        block for block in blocks((DOCS / f"{page}.md").read_text(encoding="utf-8")) if block.language == "toml"
    )
    shown = "\n".join(text.lines)
    for pattern, here in changes:
        shown, found = re.subn(pattern, here.replace("\\", r"\\"), shown, flags=re.MULTILINE)
        assert found, pattern
    bus = f'[bus]\nkind = "embedded"\npath = "{stage.root}/bus.db"\n'
    rest = f'{"" if "[bus]" in shown else bus}\n[state]\npath = "{stage.root}/state.db"\n'
    (stage.root / "page.toml").write_text(f"{shown}\n{rest}", encoding="utf-8")
    stage.here("page")


def on_zookeeper(stage: Stage) -> None:
    """The page's configuration, on the ZooKeeper that is here."""
    server: ZooKeeperServer = stage.server
    _written(stage, "how-to/connect-zookeeper", (r"^hosts = .*$", f'hosts = "{server.hosts}"'))


def on_etcd(stage: Stage) -> None:
    """The page's configuration, on the etcd that is here."""
    server: EtcdNode = stage.server
    endpoint = server.url.removeprefix("http://")
    _written(stage, "how-to/connect-etcd", (r"^endpoints = .*$", f"endpoints = {json.dumps([endpoint])}"))


def on_postgresql(stage: Stage) -> None:
    """Two daemons that share a database."""
    east = stage.region("east", state={"url": stage.server})
    east.start()
    standby = east.start_standby()
    stage.ends(standby.stop)


def on_pulsar(stage: Stage) -> None:
    """The page's configuration, beside the brokers that are here."""
    east, west = stage.server.clusters.values()
    stage.names |= {"east": east.admin_url, "west": west.admin_url, "one": east.name, "other": west.name}
    store = f'region = "east"\n\n[store]\nkind = "sqlite"\npath = "{stage.root}/store.db"\n\n'
    _written(
        stage,
        "how-to/make-the-topic",
        (r"\A", store),
        (r"^service_url = .*$", f'service_url = "{east.service_url}"'),
        (r"^admin_url = .*$", f'admin_url = "{east.admin_url}"'),
    )


ON_SERVERS: Final = {
    "how-to/connect-zookeeper": ("zookeeper_server", Play(prepare=on_zookeeper)),
    "how-to/connect-etcd": ("etcd_server", Play(prepare=on_etcd)),
    "how-to/two-daemons": ("postgres_url", Play(prepare=on_postgresql)),
    "how-to/make-the-topic": (
        "pulsar_pair",
        Play(
            prepare=on_pulsar,
            places={
                "http://broker.east.example:8080": "{east}",
                "http://broker.west.example:8080": "{west}",
                "pulsar-east": "{one}",
                "pulsar-west": "{other}",
            },
        ),
    ),
}
"""Page → the fixture of its server, and how it is played."""
