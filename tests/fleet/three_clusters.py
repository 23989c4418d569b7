"""Three real clusters in one group, none like another: one is known by another name, one takes part in half.

``us-east`` keeps its metadata in ZooKeeper. ``us-west`` keeps it in etcd, and the group calls it ``pacific``.
``eu-central`` keeps it in ZooKeeper, and carries tenants whose names begin with ``shared`` alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import anyio

from deploy.lab import rest
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.region import LabRegion
from syncer.config import Config
from syncer.conflict.projection import PROJECTIONS
from syncer.model import MetaPath, ResourceKind
from syncer.paths import kind_at, namespace_path, tenant_of, tenant_path
from syncer.stores.contract import Put
from syncer.waiting import wait_until
from tests.support.synced import Side, bus_topic

EAST, WEST, EUROPE = 0, 1, 2
BY_GROUP: Final = ("us-east", "pacific", "eu-central")
"""What the group calls the clusters, in the order of the sides."""
_KINDS: Final = (StoreKind.ZOOKEEPER, StoreKind.ETCD, StoreKind.ZOOKEEPER)
_NAMES: Final = ("us-east", "us-west", "eu-central")
_HALF: Final = [
    {"pattern": f"/admin/{folder}/shared*{below}", "direction": "both"}
    for folder, below in (
        ("policies", ""),
        ("policies", "/**"),
        ("partitioned-topics", "/**"),
        ("topic-policies/global", "/*/**"),
    )
]
SHARED, APART = "shared-sea", "apart"
"""A tenant that all three carry, and one that Europe does not."""
_CARRIED: Final = ([f"{SHARED}/*", f"{APART}/*"], [f"{SHARED}/*", f"{APART}/*"], [f"{SHARED}/*"])
"""Whose topic policies each side carries."""

_SHOWN: Final = 5
"""Paths and settings that are named where the regions do not become equal."""
_OF_PATH: Final = ("verdict", "due", "hold", "parked", "intent")
"""Fields of ``syncer explain`` that are shown of the first path that differs."""

Setting = tuple[MetaPath, str]
"""A field of what stands at a path."""


@dataclass(frozen=True, slots=True)
class PolicyCall:
    """How a policy of a topic is set by REST, and read back.

    Args:
        url: Below the topic, for setting it, up to its query.
        read: Below the topic, for reading it.
        body: Query and body that set a number.
        answer: What is answered for that number.
        told: What counts of an answer.
    """

    url: str
    read: str
    body: Callable[[int], tuple[str, object]]
    answer: Callable[[int], Any]
    told: Callable[[Any], Any] = lambda answer: answer


def _rate(number: int) -> dict[str, object]:
    return {"dispatchThrottlingRateInMsg": number, "dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1}


def _quota(number: int) -> dict[str, object]:
    return {"limitSize": number, "limitTime": -1, "policy": "producer_exception"}


def _retention(number: int) -> dict[str, object]:
    return {"retentionTimeInMinutes": number, "retentionSizeInMB": 100_000}


TOPIC_POLICIES: Final = {
    "retention": PolicyCall("retention?", "retention", lambda at: ("", _retention(at)), _retention),
    "ttl": PolicyCall("messageTTL?", "messageTTL", lambda at: (f"&messageTTL={at}", None), lambda at: at),
    "rate": PolicyCall(
        "dispatchRate?",
        "dispatchRate",
        lambda at: ("", _rate(at)),
        lambda at: at,
        lambda answer: (answer or {}).get("dispatchThrottlingRateInMsg"),
    ),
    "quota": PolicyCall(
        "backlogQuota?backlogQuotaType=destination_storage&",
        "backlogQuotaMap",
        lambda at: ("", _quota(at)),
        lambda at: at,
        lambda answer: ((answer or {}).get("destination_storage") or {}).get("limitSize"),
    ),
}
"""Policies of a topic that are edited, one of each form."""


@dataclass(slots=True)
class Fleet:
    """The clusters with a daemon beside each, and what edits have made of them.

    Args:
        sides: In the order of :data:`BY_GROUP`.
        topic: The bus.
        expected: What each setting was last made, by the only side that edits it; ``None``: nothing stands there.
        edits: How many were made of each kind.
        policies: Likewise what each global policy of a topic was last made.
    """

    sides: tuple[Side, ...]
    topic: str
    expected: dict[Setting, Any] = field(default_factory=dict)
    edits: dict[str, int] = field(default_factory=dict)
    policies: dict[tuple[str, str], Any] = field(default_factory=dict)

    def start(self) -> None:
        """Have all daemons running."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda side: side.region.start(), self.sides))

    def carriers(self, path: MetaPath) -> tuple[Side, ...]:
        """The sides that carry a path."""
        return tuple(side for side in self.sides if side.region.config.compiled_scope().contains(path))

    def named_at(self, side: int, *clusters: int) -> list[str]:
        """What the brokers of a side call clusters."""
        return [_NAMES[WEST] if side == WEST and each == WEST else BY_GROUP[each] for each in clusters]

    # -- edits

    def make_tenant(self, side: int, name: str, role: str) -> None:
        """Make a tenant, or give it another admin."""
        document = {"adminRoles": [role], "allowedClusters": self.named_at(side, EAST, WEST, EUROPE)}
        rest.put_or_update(self._url(side, f"tenants/{name}"), document)
        self._note("tenant", tenant_path(name), "adminRoles", [role])

    def make_namespace(self, side: int, name: str, *, everywhere: bool = True) -> None:
        """Make a namespace that none replicates: no broker carries its topic policies.

        Args:
            side: Whose broker makes it.
            name: Of the namespace.
            everywhere: All clusters may serve it; such a one no broker deletes.
        """
        body = {"replication_clusters": self.named_at(side, side)}
        if everywhere:
            body["allowed_clusters"] = self.named_at(side, EAST, WEST, EUROPE)
        self.sides[side].send("PUT", f"namespaces/{name}", body)
        self._note("namespace", _space(name), "replication_clusters", [BY_GROUP[side]])

    def drop_namespace(self, side: int, name: str) -> None:
        """Delete a namespace."""
        self.sides[side].send("DELETE", f"namespaces/{name}")
        path = _space(name)
        for setting in [each for each in self.expected if each[0] == path]:
            self.expected[setting] = None
        self.edits["namespace dropped"] = self.edits.get("namespace dropped", 0) + 1

    def set_ttl(self, side: int, name: str, seconds: int) -> None:
        """Have a broker set a namespace's time to live."""
        self.sides[side].send("POST", f"namespaces/{name}/messageTTL", seconds)
        self._note("ttl", _space(name), "message_ttl_in_seconds", seconds)

    def set_retention(self, side: int, name: str, minutes: int) -> None:
        """Have a broker set a namespace's retention."""
        body = {"retentionTimeInMinutes": minutes, "retentionSizeInMB": 100_000}
        self.sides[side].send("POST", f"namespaces/{name}/retention", body)
        self._note("retention", _space(name), "retention_policies", body)

    def set_past_broker(self, side: int, name: str, unacked: int) -> None:
        """Write a namespace's document into the store, as a script of an operator's does."""
        path = _space(name)
        anyio.run(_edit, self.sides[side].region.config, path, "max_unacked_messages_per_consumer", unacked)
        self._note("past the broker", path, "max_unacked_messages_per_consumer", unacked)

    def set_partitions(self, side: int, topic: str, count: int, *, grows: bool) -> None:
        """Make a partitioned topic, or have it grow; ``topic`` is ``tenant/namespace/name``."""
        url = f"persistent/{topic}/partitions"
        self.sides[side].send("POST" if grows else "PUT", url, count)
        tenant, namespace, name = topic.split("/")
        path = MetaPath(f"/admin/partitioned-topics/{tenant}/{namespace}/persistent/{name}")
        self._note("partitions", path, "partitions", count)

    def set_topic_policy(self, side: int, topic: str, named: str, number: int) -> None:
        """Have a broker set a global policy of a topic, or remove it where the number is 0."""
        call = TOPIC_POLICIES[named]
        url = f"persistent/{topic}/{call.url}isGlobal=true"
        if number:
            query, body = call.body(number)
            self.sides[side].send("POST", f"{url}{query}", body)
        else:
            self.sides[side].send("DELETE", url)
        self.policies[topic, named] = call.answer(number) if number else None
        self.edits["topic policy"] = self.edits.get("topic policy", 0) + 1

    def topic_policy(self, side: Side, topic: str, named: str, *, everywhere: bool = True) -> Any:
        """What the brokers of a side answer for a topic's policy; ``None``: it is not set."""
        call = TOPIC_POLICIES[named]
        answer = side.get(f"persistent/{topic}/{call.read}{'?isGlobal=true' if everywhere else ''}")
        return None if answer is None else call.told(answer)

    def skip_bus(self, side: int) -> None:
        """Have a side's subscription lose whatever of the bus it has not consumed."""
        name = self.topic.replace("://", "/")
        self.sides[side].send("POST", f"{name}/subscription/pulsar-syncer/skip_all")

    def _note(self, kind: str, path: MetaPath, named: str, value: object) -> None:
        self.expected[path, named] = value
        self.edits[kind] = self.edits.get(kind, 0) + 1

    def _url(self, side: int, path: str) -> str:
        return f"{self.sides[side].cluster.admin_url}/admin/v2/{path}"

    # -- judgements

    def settle(self, what: str) -> None:
        """Wait until all regions are quiet, and each pair holds alike what both of them carry."""
        wait_until(self._equal, f"equal: {what}", shown=self._apart)

    def _apart(self) -> list[object]:
        """Describe each difference, how each region stands, and its register of the first path that differs."""
        differing, regions = self.differing(), [side.region for side in self.sides]
        found: list[object] = [*[*differing, *self.lost()][:_SHOWN]]
        for region in regions:
            told = region.command("status")
            peers = {each["region"]: each["compared"] for each in told["peers"]}
            found.append((region.name, peers, told["waiting"], [each["code"] for each in told["conditions"]]))
            if differing:
                _, explained = region.ask("explain", differing[0].split()[0])
                found.append({each: explained[each] for each in _OF_PATH} if explained else "nothing was seen of it")
        return found

    def _equal(self) -> bool:
        if not all(side.region.quiet() for side in self.sides):
            return False
        return not self.differing() and not self.lost()

    def differing(self) -> list[str]:
        """Paths of the tenants that two regions carry and do not hold alike."""
        pictures = {side.region.name: side.region.picture() for side in self.sides}
        scopes = {side.region.name: side.region.config.compiled_scope() for side in self.sides}
        return [
            f"{path} in {one} and {other}"
            for one, other in combinations(pictures, 2)
            for path in sorted({*pictures[one], *pictures[other]})
            if tenant_of(path) in {SHARED, APART} and scopes[one].contains(path) and scopes[other].contains(path)
            if pictures[one].get(path) != pictures[other].get(path)
        ]

    def lost(self) -> list[str]:
        """Settings that are not as they were made last, in words."""
        found = []
        for side in self.sides:
            scope, entries = side.region.config.compiled_scope(), side.region.entries()
            for (path, named), value in self.expected.items():
                if scope.contains(path):
                    present = _project(kind_at(path), entries[path]).get(named) if path in entries else None
                    if present != value:
                        found.append(f"{side.region.name}: {named} of {path} is {present}, was made {value}")
        for (topic, named), value in self.policies.items():
            tenant, namespace, _ = topic.split("/")
            told = {
                side.region.name: self.topic_policy(side, topic, named)
                for side in self.carriers(namespace_path(tenant, namespace))
            }
            found += [
                f"{at}: {named} of {topic} is {one}, was made {value}" for at, one in told.items() if one != value
            ]
        return found

    def strayed(self, name: str) -> list[str]:
        """Paths of a tenant that stand where nobody carries them."""
        below = tenant_path(name)
        return [
            path
            for side in self.sides
            for path in side.region.entries()
            if path.startswith(below) and not side.region.config.compiled_scope().contains(path)
        ]


@contextmanager
def fleet_of(place: Path) -> Iterator[Fleet]:
    """Have the three clusters, and a daemon beside each, for as long as this lasts."""
    clusters = [
        PulsarCluster(place / name, ClusterSettings(name=name, store=kind), leashed=True)
        for name, kind in zip(_NAMES, _KINDS, strict=True)
    ]
    topic = bus_topic("fleet")
    tables: tuple[dict[str, Any], ...] = ({}, {"cluster_names": {"us-west": "pacific"}}, {"scope": {"rules": _HALF}})
    sides: tuple[Side, ...] = ()
    try:
        bring_up(clusters)
        for cluster in (clusters[EAST], clusters[EUROPE]):
            declared = rest.get(f"{cluster.admin_url}/admin/v2/clusters/us-west")
            rest.put_or_update(f"{cluster.admin_url}/admin/v2/clusters/pacific", declared)
        sides = tuple(
            Side(
                cluster,
                LabRegion.beside(
                    cluster,
                    place / f"{cluster.name}-syncer",
                    topic=topic,
                    admin={"url": cluster.admin_url},
                    topic_policies={"system_topics": carried, "look_every": "2s"},
                    **more,
                ),
            )
            for cluster, more, carried in zip(clusters, tables, _CARRIED, strict=True)
        )
        sides[EAST].region.init_topic(clusters)
        fleet = Fleet(sides, topic)
        fleet.start()
        yield fleet
    finally:
        for side in sides:
            side.region.stop()
        for cluster in clusters:
            cluster.stop()


def _space(name: str) -> MetaPath:
    tenant, _, namespace = name.partition("/")
    return namespace_path(tenant, namespace)


def _project(kind: ResourceKind, value: bytes) -> dict[str, Any]:
    return PROJECTIONS[kind].project(value)


async def _edit(config: Config, path: MetaPath, named: str, value: object) -> None:
    store = config.make_store()
    await store.open()
    try:
        entry = (await store.read([path]))[path]
        assert entry is not None, f"{path} is not there"
        document = json.loads(entry.value)
        document[named] = value
        await store.apply([Put(path=path, value=json.dumps(document).encode(), expected=entry.revision)])
    finally:
        await store.close()
