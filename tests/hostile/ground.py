"""Where a group stands: on files, or on real servers."""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import orjson

from deploy.lab.postgres import PostgresServer
from deploy.lab.pulsar import PulsarCluster
from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.contract import Outgoing
from syncer.bus.embedded import EmbeddedBus, EmbeddedConfig
from syncer.bus.pulsar.bus import PulsarBus, PulsarBusConfig
from syncer.bus.pulsar.topic import WantedTopic, apply_topic, plan_topic
from tests.hostile.attacker import ORIGIN, PATIENCE, Attacker, Signer
from tests.shell.on_bus import MAX_BYTES
from tests.support.scrawling import scrawl, scrawl_on_topic

_numbers: Final = itertools.count(1)


class Ground(Protocol):
    """What the regions of a group share, and what each has of its own beside its store."""

    loses: bool
    """Whether a test can have the bus lose a message."""

    async def prepare(self) -> None:
        """Make what has to be there before the daemons are started."""
        ...

    def bus(self, region: str) -> dict[str, Any]:
        """The table ``bus`` of a region's configuration."""
        ...

    def database(self, region: str) -> str:
        """URL of a new sidecar database; empty: a file of the region's."""
        ...

    def let_go(self, region: str) -> None:
        """A region's daemon was killed: whoever comes after it need not wait until its time is over."""
        ...

    def attacker(self, signers: Sequence[Signer], own: str) -> Attacker:
        """Somebody who can publish."""
        ...

    def scrawl(self, properties: bytes, payload: bytes) -> None:
        """Publish a message whose properties are no text."""
        ...

    def said(self) -> list[Outgoing]:
        """Return what still stands on the bus, in order, as it was published; empty where a test cannot read it."""
        ...


@dataclass(slots=True)
class Files:
    """The embedded bus, and SQLite; or databases on a PostgreSQL server.

    Args:
        bus_file: The bus.
        server: Of the sidecar databases; ``None``: files.
    """

    bus_file: Path
    server: PostgresServer | None = None
    loses: bool = True

    async def prepare(self) -> None:
        """Nothing has to be there."""

    def bus(self, region: str) -> dict[str, Any]:
        """A lease so long that on a machine that is busy with something else nobody loses his role."""
        del region
        return {"lease": "20s"}

    def database(self, region: str) -> str:
        """A database of the server, if there is one."""
        return self.server.create(f"hostile_{os.getpid()}_{next(_numbers)}_{region}") if self.server else ""

    def let_go(self, region: str) -> None:
        """End the lease."""
        with closing(sqlite3.connect(self.bus_file, timeout=PATIENCE.total_seconds())) as db, db:
            db.execute("UPDATE region SET owner = NULL, lease_until_ms = 0 WHERE name = ?", (region,))

    def attacker(self, signers: Sequence[Signer], own: str) -> Attacker:
        """On the file."""
        config = EmbeddedConfig(path=self.bus_file, region=ORIGIN, max_message_bytes=MAX_BYTES, busy_timeout=PATIENCE)
        return Attacker(EmbeddedBus(config), signers, own)

    def scrawl(self, properties: bytes, payload: bytes) -> None:
        """Into the file, beside the program."""
        scrawl(self.bus_file, ORIGIN, payload, properties)

    def said(self) -> list[Outgoing]:
        """Read the file; a message whose properties are no text is left out."""
        with closing(sqlite3.connect(self.bus_file, timeout=PATIENCE.total_seconds())) as db:
            rows = db.execute("SELECT payload, properties FROM message ORDER BY id").fetchall()
        return [Outgoing(payload, found) for payload, text in rows if (found := _properties(bytes(text))) is not None]


def _properties(text: bytes) -> dict[str, str] | None:
    """Return a message's properties; ``None`` where somebody has written what is none."""
    try:
        found = orjson.loads(text)
    except ValueError:
        return None
    whole = isinstance(found, dict) and all(isinstance(each, str) for each in found.values())
    return found if whole else None


@dataclass(slots=True)
class Topic:
    """A topic of a real Pulsar cluster; a subscription for each region."""

    cluster: PulsarCluster
    topic: str = field(default_factory=lambda: f"persistent://hostile-{os.getpid()}-{next(_numbers)}/sync/events")
    loses: bool = False

    async def prepare(self) -> None:
        """Make the topic as an operator makes it."""
        async with AdminClient(AdminSettings(url=self.cluster.admin_url)) as admin:
            wanted = WantedTopic(topic=self.topic, regions={self.cluster.name: ("east", "north", "west", ORIGIN)})
            admins = {self.cluster.name: admin}
            await apply_topic(await plan_topic(wanted, admins), admins)

    def bus(self, region: str) -> dict[str, Any]:
        """The topic, by a subscription of the region's own."""
        return {"kind": "pulsar", **self._settings(region)}

    def database(self, region: str) -> str:
        """A file."""
        del region
        return ""

    def let_go(self, region: str) -> None:
        """The broker sees that the connection is gone."""

    def attacker(self, signers: Sequence[Signer], own: str) -> Attacker:
        """A client that publishes."""
        return Attacker(PulsarBus(PulsarBusConfig(region=ORIGIN, **self._settings(ORIGIN))), signers, own)

    def scrawl(self, properties: bytes, payload: bytes) -> None:
        """The client has no way to send properties that are none: some that are no text stand for them."""
        scrawl_on_topic(self.cluster.service_url, self.topic, payload, **{f"p{len(properties)}": properties})

    def said(self) -> list[Outgoing]:
        """Return nothing: a subscription of the attacker's own would keep all messages of the topic."""
        return []

    def _settings(self, region: str) -> dict[str, Any]:
        return {
            "service_url": self.cluster.service_url,
            "admin_url": self.cluster.admin_url,
            "topic": self.topic,
            "subscription": region,
        }
