"""Two regions whose bus lives on the cluster that is migrated: the daemons move first, while both sides change."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pulsar
import pytest

from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.region import LabRegion, differing
from deploy.lab.software import etcd_binary, java, pulsar_home
from deploy.lab.traffic.loads import PublisherLoad, TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.bus.pulsar.names import local_namespace_of, namespace_of
from syncer.conflict.acts import Decision
from syncer.conflict.scope import DEFAULT_RULES
from syncer.dispositions import ExitCode
from syncer.log import configure
from syncer.paths import POLICIES
from syncer.waiting import wait_until
from tests.conftest import PulsarPair, require
from tests.support.logs import logging_restored
from tests.support.synced import BOTH, Side, Synced, bus_topic, tenant

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

BLUE, GREEN = BOTH
CLIENTS: Final = "clients/orders"
SCOPE: Final = {
    "rules": [
        *(
            {"pattern": f"{POLICIES}/{name}{below}", "direction": "ignore"}
            for name in ("clients", "public")
            for below in ("", "/**")
        ),
        *({"pattern": rule.pattern, "direction": rule.direction.value} for rule in DEFAULT_RULES),
    ]
}
"""The rest of the default: what a wave moves has other clusters at blue than at green."""
SETTLE_S: Final = 45.0
ROWS: Final = 100_000


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[dict[str, PulsarCluster]]:
    """Two of this test's own: no other test's clients are there when all of blue is marked."""
    require(java, pulsar_home, etcd_binary)
    kinds = {BLUE: StoreKind.ZOOKEEPER, GREEN: StoreKind.ETCD}
    made = {
        name: PulsarCluster(tmp_path / name, ClusterSettings(name=name, store=kind), leashed=True)
        for name, kind in kinds.items()
    }
    try:
        bring_up(list(made.values()))
        yield made
    finally:
        for cluster in made.values():
            cluster.stop()


@pytest.fixture(autouse=True)
def _quiet_log() -> Iterator[None]:
    """Looking into a store opens it; no need to tell every time."""
    with logging_restored():
        configure(level="error", form="console")
        yield


@dataclass(slots=True)
class Changing:
    """Somebody changes tenants and their namespaces at both clusters all the while, each of them at one cluster only.

    Attributes:
        wanted: Tenant → its role and the message TTL of its namespace ``one``, as they were set last.
        failed: What a broker has refused.
    """

    pair: Synced
    every_s: float = 0.4
    kept: int = 8
    wanted: dict[str, tuple[str, int]] = field(default_factory=dict)
    failed: list[ServerFailed] = field(default_factory=list)
    _ending: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Begin."""
        self._threads = [threading.Thread(target=self._change, args=(side,)) for side in self.pair.sides]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self.end()

    def end(self) -> None:
        """End after the changes that are being made."""
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _change(self, side: Side) -> None:
        turn = 0
        while not self._ending.wait(self.every_s):
            turn += 1
            name, role = f"by-{side.cluster.name}-{turn % self.kept}", f"role-{turn}"
            try:
                side.send("POST" if name in self.wanted else "PUT", f"tenants/{name}", tenant(role))
                if name not in self.wanted:
                    side.send("PUT", f"namespaces/{name}/one", {"replication_clusters": list(BOTH)})
                side.send("POST", f"namespaces/{name}/one/messageTTL", turn)
            except ServerFailed as error:
                self.failed.append(error)
            else:
                self.wanted[name] = (role, turn)

    def there(self, side: Side) -> bool:
        """Whether a cluster has everything as it was set last."""
        return all(
            side.roles(name) == [role] and side.policy(f"{name}/one", "message_ttl_in_seconds") == ttl
            for name, (role, ttl) in self.wanted.items()
        )


@pytest.mark.slow
def test_the_daemons_move_first_and_then_all_of_blue(clusters: dict[str, PulsarCluster], tmp_path: Path) -> None:
    blue, green = clusters[BLUE], clusters[GREEN]
    topic = "persistent://pulsar/sync/metadata"
    tables: dict[str, Any] = {name: table for each in clusters.values() for name, table in table_of(each).items()}
    east = LabRegion.beside(blue, tmp_path / "east", topic=topic, scope=SCOPE)
    west = LabRegion.beside(green, tmp_path / "west", topic=topic, scope=SCOPE, **tables)
    pair = Synced(Side(blue, east), Side(green, west), topic)
    load = TopicLoad(
        topic=f"persistent://{CLIENTS}/t",
        publishers=(PublisherLoad(per_s=20),),
        kinds=(pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Failover),
    )
    make_clients(pair, load)
    with pair.over_its_topic(), ClusterTraffic(blue.service_url, [load], tmp_path) as traffic:
        pair.start()
        with Changing(pair) as changing:
            wait_until(lambda: len(changing.wanted) == 2 * changing.kept, "something of everything was changed")
            plan = planned(west, tmp_path / "plan.json")
            assert blocking(west, plan) == {"own-bus"}
            moved = moved_to_green(pair, tmp_path)
            pair = Synced(Side(blue, moved), pair.west, topic)
            try:
                delete_what_is_left_at_blue(pair)
                assert blocking(west, plan) == set()
                migrate(west, plan)
                assert pair.east.get(f"clusters/{BLUE}/migrate")["migrated"]
                seen = dict(changing.wanted)
                wait_until(lambda: all(changing.wanted[name] != seen[name] for name in seen), "both are changed on")
                changing.end()
                wait_until(lambda: all(map(changing.there, pair.sides)), "every change is at both clusters")
                wait_until(lambda: settled(pair), "both daemons have found both regions equal")
            finally:
                moved.stop()
        account = traffic.settle(SETTLE_S)
    assert not changing.failed
    assert account.unharmed, f"{account}: {account!r}"
    assert_once(pair)
    assert left_at_blue(pair) == {}


def shared(side: Side) -> bool:
    """Whether a daemon says that another region reads by its subscription."""
    told: Mapping[str, Any] = side.region.status().document or {}
    return "subscription-shared" in {each["code"] for each in told.get("conditions", ())}


def table_of(cluster: PulsarCluster) -> dict[str, Any]:
    """The tables of a cluster in the configuration."""
    addresses: dict[str, object] = {"service_url": cluster.admin_url, "broker_service_url": cluster.service_url}
    return {f"cluster.{cluster.name}": addresses, f"cluster.{cluster.name}.admin": {"url": cluster.admin_url}}


def make_clients(pair: Synced, load: TopicLoad) -> None:
    """A namespace of blue alone, with its topic."""
    name = CLIENTS.partition("/")[0]
    for side in pair.sides:
        side.send("PUT", f"tenants/{name}", {"adminRoles": [], "allowedClusters": [side.cluster.name]})
    pair.east.send("PUT", f"namespaces/{CLIENTS}", {"replication_clusters": [BLUE]})
    pair.east.send("PUT", load.topic.replace("://", "/"))


def planned(region: LabRegion, file: Path) -> Path:
    """A plan to move all of blue, once its clients are gone."""
    words = ("--from", BLUE, "--to", GREEN, "--canary", CLIENTS, "--whole-cluster")
    region.command("migration", "plan", *words, "--bound", "soak_s=3", "--save", str(file))
    return file


def blocking(region: LabRegion, plan: Path) -> set[str]:
    """The checks that say that it may not begin."""
    _, told = region.ask("migration", "preflight", str(plan))
    return {check["name"] for check in told["checks"] if check["blocks"]}


def moved_to_green(pair: Synced, folder: Path) -> LabRegion:
    """Give the daemon of blue's region the bus of green, as the page of it says; its new configuration."""
    east, west = pair.east.region, pair.west.region
    green = pair.west.cluster
    bus: dict[str, object] = {
        "kind": "pulsar",
        "service_url": green.service_url,
        "admin_url": green.admin_url,
        "topic": pair.topic,
    }

    def region(name: str, **more: object) -> LabRegion:
        tables: dict[str, dict[str, object]] = {
            "store": pair.east.cluster.store_config,
            "state": {"path": str(east.directory / "state.db")},
            "bus": {**bus, **more},
            "scope": dict(SCOPE),
        }
        return LabRegion(folder / name, name=east.name, clusters=(BLUE,), tables=tables)

    forgetful = region("forgetful")
    code, told = forgetful.ask("config", "check", "--connect")
    assert code, told
    assert f"{west.name} also reads by subscription" in str(told)
    moved = region("moved", subscription="pulsar-syncer-east")
    serves = f"{GREEN}={west.name},{east.name}"
    moved.command("topic", "init", "--cluster", f"{GREEN}={green.admin_url}", "--region", serves, "--yes")
    code, told = moved.ask("config", "check", "--connect")
    assert not code, told
    east.stop()
    moved.start()
    return moved


def delete_what_is_left_at_blue(pair: Synced) -> None:
    """Blue sends what it has, the others send it nothing any more, and its part of the bus goes."""
    name = pair.topic.replace("://", "/")

    def sent() -> bool:
        told = pair.east.get(f"{name}/stats")
        backlogs = [each["replicationBacklog"] for each in told["replication"].values()]
        return not told["publishers"] and backlogs == [0]

    wait_until(sent, "blue has sent everything to green")
    namespace, local = namespace_of(pair.topic), local_namespace_of(pair.topic)
    pair.west.send("POST", f"namespaces/{namespace}/replication", [GREEN])
    pair.east.send("POST", f"namespaces/{namespace}/replication", [BLUE])
    for each in (namespace, local):
        for topic in pair.east.get(f"persistent/{each}"):
            pair.east.send("DELETE", f"{topic.replace('://', '/')}?force=true")
        pair.east.send("DELETE", f"namespaces/{each}")


def migrate(region: LabRegion, plan: Path) -> None:
    """Move the clients, then set the cluster's own mark, then close."""

    def until(holds: Callable[[Any], bool], what: str) -> None:
        def look() -> bool:
            told = region.command("migration", "status")
            assert not told["stop"], (told["stop"], told["ill"])
            assert not told["trouble"], told["trouble"]
            return holds(told)

        wait_until(look, what, shown=lambda: region.command("migration", "status")["ill"])

    region.command("migration", "start", str(plan), "--reason", "a test")
    for what in ("the canary", "the cluster's own mark"):
        until(lambda told: "go" in told["waits_for"], f"a go for {what} is waited for")
        region.command("migration", "go", "--yes", "--reason", what)
        until(lambda told: "go" not in told["waits_for"], f"{what} is let go")
    until(lambda told: "close" in told["waits_for"], "it may be closed")
    region.command("migration", "close", "--yes", "--reason", "a test")
    until(lambda told: told["phase"] == "closed", "it is closed")


def settled(pair: Synced) -> bool:
    """Whether nothing waits, both stores hold the same, and both daemons say so of each other."""
    for side in pair.sides:
        told: Mapping[str, Any] = side.region.status().document or {}
        if [each["state"] for each in told.get("comparisons", {}).values()] != ["equal"]:
            return False
    quiet = all(side.region.quiet() and not side.region.holds() for side in pair.sides)
    return quiet and not differing((pair.east.region, pair.west.region))


def assert_once(pair: Synced) -> None:
    """Each change is one message, and was taken by the other region once."""
    told = Counter((event.sender, event.sequence) for event in pair.changes(pair.west))
    assert [each for each, times in told.items() if times > 1] == []
    for side in pair.sides:
        with side.region.views() as views:
            rows = [row.entry for row in views.journal_after(0, ROWS)]
            assert [row.path for row in views.conflicts(ROWS)] == []
        taken = Counter((row.path, row.stamp) for row in rows if row.decision is Decision.ADOPTED)
        assert taken
        assert [each for each, times in taken.items() if times > 1] == []


def left_at_blue(pair: Synced) -> dict[str, list[str]]:
    """Subscriptions of blue's topics."""
    found = {}
    for tenant_name in pair.east.get("tenants"):
        for namespace in pair.east.get(f"namespaces/{tenant_name}"):
            for topic in pair.east.get(f"persistent/{namespace}"):
                if names := pair.east.get(f"{topic.replace('://', '/')}/subscriptions"):
                    found[topic] = names
    return found


def test_a_mark_that_nobody_prepared_is_noticed_by_both_daemons(pulsar_pair: PulsarPair, tmp_path: Path) -> None:
    """Blue's daemon is sent to green like any client; it stops reading there, and green's goes on."""
    topic = bus_topic("forgotten")
    rules = [{"pattern": f"{POLICIES}/{topic.split('/')[2]}-made-*", "direction": "both"}]
    east, west = (
        Side(
            pulsar_pair.clusters[name],
            LabRegion.beside(
                pulsar_pair.clusters[name],
                tmp_path / name,
                name=f"forgotten-{name}",
                topic=topic,
                subscription="forgotten",
                scope={"rules": rules},
            ),
        )
        for name in BOTH
    )
    pair = Synced(east, west, topic)
    urls = {"serviceUrl": west.cluster.admin_url, "brokerServiceUrl": west.cluster.service_url}
    marks = f"namespaces/{namespace_of(topic)}/migration"
    told: set[str] = set()

    def both_have_told() -> bool:
        """One after the other: green's daemon has nothing to tell any more once blue's reads there no more."""
        told.update(side.cluster.name for side in pair.sides if shared(side))
        return told == set(BOTH)

    with pair.over_its_topic():
        pair.start()
        pair.all_there(pair.make_tenants(2))
        east.send("POST", f"clusters/{BLUE}/migrate?migrated=false", urls)
        east.send("POST", marks, True)
        try:
            wait_until(both_have_told, "both say that they share a subscription")
            names = pair.make_tenants(3)
            wait_until(lambda: not shared(west), "blue's daemon reads there no more")
            pair.all_there(names)
            assert shared(east)
            assert east.region.ask("status", "--check")[0] == ExitCode.FAILED
        finally:
            east.send("POST", marks, False)
