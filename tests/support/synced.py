"""Two real clusters with a daemon beside each, and the questions that tests ask of brokers, stores and daemons."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pulsar
from kazoo.client import KazooClient

from deploy.lab import rest
from deploy.lab.client import patient_client
from deploy.lab.pulsar import PulsarCluster
from deploy.lab.region import LabRegion
from syncer.bus.limits import MAX_MESSAGE_BYTES
from syncer.bus.pulsar.client import NativeSchema
from syncer.bus.wire.codec import decode
from syncer.bus.wire.messages import Message
from syncer.bus.wire.native import NativeEvent, NativeType, encode_native
from syncer.model import MetadataChangeEvent, MetaPath
from syncer.paths import tenant_path
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.views.summaries import HoldRow
from syncer.waiting import WAIT_S, wait_until

BOTH: Final = ("us-east", "us-west")
ROWS: Final = 1000

_numbers = itertools.count(1)


def bus_topic(name: str) -> str:
    """A topic that no other test, and no other run, has for its bus: ``name``, and numbers, is its tenant."""
    return f"persistent://{name}-{os.getpid()}-{next(_numbers)}/metadata/events"


def tenant(*roles: str) -> dict[str, object]:
    """A tenant's document."""
    return {"adminRoles": sorted(roles), "allowedClusters": list(BOTH)}


@dataclass(frozen=True, slots=True)
class Side:
    """One cluster and the region beside it."""

    cluster: PulsarCluster
    region: LabRegion

    def get(self, path: str) -> Any:
        """What the broker answers; ``None`` for what does not exist."""
        return rest.get(self._url(path))

    def send(self, method: str, path: str, body: object = None) -> None:
        """Have the broker change something."""
        rest.send(method, self._url(path), body)

    def roles(self, name: str) -> list[str] | None:
        """Roles of a tenant; ``None`` when there is no such tenant."""
        found = self.get(f"tenants/{name}")
        return None if found is None else sorted(found["adminRoles"])

    def policy(self, namespace: str, field: str) -> Any:
        """A field of a namespace's policies."""
        return (self.get(f"namespaces/{namespace}") or {}).get(field)

    def hold(self, path: MetaPath) -> HoldRow | None:
        """What is held of a path."""
        return self.region.holds().get(path)

    def conflicts(self, path: MetaPath) -> list[ConflictRow]:
        """Conflicts of a path, with their values."""
        with self.region.views() as views:
            numbers = [row.id for row in views.conflicts(ROWS) if row.path == path]
            return [row for number in numbers if (row := views.conflict(number)) is not None]

    def _url(self, path: str) -> str:
        return f"{self.cluster.admin_url}/admin/v2/{path}"


@dataclass(frozen=True, slots=True)
class Synced:
    """Both sides; ``east`` keeps its metadata in ZooKeeper, ``west`` in etcd. ``topic`` is the bus."""

    east: Side
    west: Side
    topic: str

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both."""
        return (self.east, self.west)

    @contextlib.contextmanager
    def over_its_topic(self) -> Iterator[Synced]:
        """Itself, with the topic made as an operator makes it; both daemons end with it."""
        self.east.region.init_topic(side.cluster for side in self.sides)
        try:
            yield self
        finally:
            for side in self.sides:
                side.region.stop()

    def start(self) -> None:
        """Have both daemons running."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda side: side.region.start(), self.sides))

    def make_tenants(self, number: int) -> list[str]:
        """Somebody makes tenants in ``east``; their names, which nobody else uses on these clusters.

        All daemons beside the same clusters see each other's tenants, in tests of other modules too.
        """
        names = [f"{self.topic.split('/')[2]}-made-{next(_numbers)}" for _ in range(number)]
        for name in names:
            self.east.send("PUT", f"tenants/{name}", tenant(name))
        return names

    def all_there(self, names: Sequence[str], *others: LabRegion) -> None:
        """Wait until ``west`` has these tenants; they are as they were made, and no region speaks of a conflict.

        Args:
            names: From :meth:`make_tenants`.
            others: Further regions that must not.
        """
        wait_until(lambda: set(names) <= set(self.west.get("tenants")), f"{len(names)} tenants in us-west")
        assert all(self.west.roles(name) == [name] for name in names)
        found = set[MetaPath]()
        for region in (self.east.region, self.west.region, *others):
            with region.views() as views:
                found |= {row.path for row in views.conflicts(ROWS)}
        assert found.isdisjoint(map(tenant_path, names)), "somebody speaks of a conflict"

    @contextlib.contextmanager
    def zookeeper(self) -> Iterator[KazooClient]:
        """An outside client of the store of ``east``."""
        client = KazooClient(hosts=self.east.cluster.store.endpoint)
        client.start(timeout=WAIT_S)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def publish_natively(self, path: MetaPath, value: dict[str, object], *, source: str, at_ms: int) -> None:
        """Put an event on the topic as the synchronizer of a third cluster's brokers would."""
        event = NativeEvent(path, json.dumps(value).encode(), source, NativeType.MODIFIED, at_ms)
        client = patient_client(self.east.cluster.service_url)
        try:
            producer = client.create_producer(self.topic, schema=NativeSchema(), batching_enabled=False)
            producer.send(encode_native(event))
        finally:
            client.close()

    def messages(self, side: Side) -> list[Message]:
        """All that a cluster keeps of the topic, acknowledged or not, in its order."""
        client = patient_client(side.cluster.service_url)
        try:
            reader, found = client.create_reader(self.topic, pulsar.MessageId.earliest), list[Message]()
            while reader.has_message_available():
                each = reader.read_next(timeout_millis=int(WAIT_S * 1000))
                found.append(decode(each.data(), each.properties(), max_bytes=MAX_MESSAGE_BYTES))
            return found
        finally:
            client.close()

    def changes(self, side: Side) -> list[MetadataChangeEvent]:
        """The changes among them."""
        return [each for each in self.messages(side) if isinstance(each, MetadataChangeEvent)]

    def backlogs(self) -> list[int]:
        """Messages of the topic that each side's daemon has not acknowledged."""
        name = self.topic.replace("://", "/")
        stats: Sequence[Any] = [side.get(f"{name}/stats") for side in self.sides]
        return [each["subscriptions"]["pulsar-syncer"]["msgBacklog"] for each in stats]
