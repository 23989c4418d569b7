"""The story of the two clusters, act by act, and what has to be true after each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

from kazoo.client import KazooClient

from deploy.lab import rest
from deploy.lab.pulsar import PulsarCluster
from deploy.lab.pulsar_admin import pulsar_admin
from deploy.lab.region import LabRegion, differing
from deploy.lab.waiting import wait_for
from syncer.demo.screen import Screen
from syncer.model import MetaPath
from syncer.paths import namespace_path, tenant_path

EAST: Final = "us-east"
WEST: Final = "us-west"
BOTH: Final = [EAST, WEST]
UPDATES: Final = 50
BURST: Final = 100
ORDERS: Final = "sales/orders"
SHOP: Final = "sales/shop"


class Story:
    """Plays the acts in order and remembers what did not hold.

    Args:
        clusters: Both clusters, up.
        regions: Their regions, daemons not yet started.
        screen: Where it is told.
    """

    def __init__(self, clusters: Mapping[str, PulsarCluster], regions: Mapping[str, LabRegion], screen: Screen) -> None:
        self.clusters = clusters
        self.regions = regions
        self.screen = screen
        self.failed: list[str] = []
        self.equal = 0
        self.held = 0

    def passed(self, elapsed_s: float) -> str:
        """What it has shown."""
        return (
            f". {self.equal} resources the same in both clusters, {self.held} held for a person,"
            f" 0 lost, in {elapsed_s:.0f} s"
        )

    def play(self) -> bool:
        """Play everything; whether all of it held."""
        acts: tuple[Callable[[int], None], ...] = (
            self.meet,
            self.create,
            self.past_the_broker,
            self.conflict,
            self.update_after_create,
            self.crash,
            self.leave_out,
            self.delete_under_topics,
            self.prove,
        )
        for number, act in enumerate(acts, start=1):
            act(number)
        return not self.failed

    # -- the acts

    def meet(self, number: int) -> None:
        """First contact of two clusters that were never one."""
        self.screen.act(number, "First contact: what differs between two grown clusters is nobody's to overwrite")
        for name, role in ((EAST, "east-ops"), (WEST, "west-ops")):
            self._put(name, "tenants/acme", {"adminRoles": [role], "allowedClusters": BOTH})
        self.screen.say("tenant 'acme' was made by hand in both, with different roles; 'public/default' came with each")
        steps = self.regions[EAST].init_topic(self.clusters[name] for name in BOTH)
        done = sum(step["state"] == "done" for step in steps)
        self.screen.say(f"syncer topic init: {done} steps done in both clusters, the replicated topic among them")
        with ThreadPoolExecutor() as pool:
            list(pool.map(LabRegion.start, self.regions.values()))
        self.screen.say("syncer run: one daemon beside each cluster, a process of its own")
        own = {tenant_path("public"), namespace_path("public", "default"), tenant_path("acme")}
        wait_for(lambda: own <= {*self._holds(EAST), *self._holds(WEST)})
        rows = [
            (name, held["path"], held["reason"], held["detail"])
            for name in BOTH
            for held in self.regions[name].command("holds", "list")["items"]
        ]
        self.screen.table("   syncer holds list", ("region", "path", "reason", "detail"), rows)
        self.check("what differed before is held, and nothing else is", {row[1] for row in rows} == own)
        kept = [self._get(name, "namespaces/public/default")["replication_clusters"] for name in BOTH]
        self.check(f"'public/default' is as it was: {kept[0]} and {kept[1]}", kept == [[EAST], [WEST]])
        where = next((row[0] for row in rows if row[1] == tenant_path("acme")), EAST)
        self.regions[where].command("holds", "confirm", tenant_path("acme"), "--yes")
        took_s = wait_for(lambda: self._roles(EAST, "acme") == self._roles(WEST, "acme"))
        self.arrived(f"'syncer holds confirm' in {where}: 'acme' has {self._roles(EAST, 'acme')} in both", took_s)

    def create(self, number: int) -> None:
        """A tenant, a namespace and a partitioned topic, made as an operator makes them."""
        self.screen.act(number, "pulsar-admin in us-east; asked in us-west")
        both = ",".join(BOTH)
        topic = f"persistent://{ORDERS}/invoices"
        self._create(("tenants", "create", "sales", "-r", "sales-admin", "-c", both), "tenants/sales")
        self._create(("namespaces", "create", ORDERS, "-c", both), f"namespaces/{ORDERS}")
        partitioned = ("topics", "create-partitioned-topic", topic, "-p", "8")
        self._create(partitioned, f"persistent/{ORDERS}/invoices/partitions")
        partitions = self._get(WEST, f"persistent/{ORDERS}/invoices/partitions")["partitions"]
        self.check(f"us-west's broker answers with {partitions} partitions", partitions == 8)

    def _create(self, words: tuple[str, ...], url: str) -> None:
        """Have pulsar-admin make something in us-east, and time how long after that us-west's broker has it."""
        with ThreadPoolExecutor() as pool:
            running = pool.submit(pulsar_admin, self.clusters[EAST].admin_url, words, quiet=True)
            here_s = wait_for(lambda: bool(self._present(EAST, url)))
            took_s = wait_for(lambda: bool(self._present(WEST, url)))
            worked = here_s is not None and running.result() == 0
        self.screen.say(f"pulsar-admin {' '.join(words)}")
        self.arrived("us-east's broker has it; us-west's has it too", took_s if worked else None)

    def past_the_broker(self, number: int) -> None:
        """A write that no broker sees."""
        self.screen.act(number, "A write past the broker, straight into us-east's ZooKeeper")
        with self._zookeeper() as zookeeper:
            zookeeper.create(tenant_path("past-the-broker"), _tenant("script"))
            made_s = wait_for(lambda: self._present(WEST, "tenants/past-the-broker"))
            self.arrived("a tenant created there by a script: us-west's broker has it", made_s)
            path = namespace_path(*ORDERS.split("/"))
            field = "max_producers_per_topic"
            policies = json.loads(zookeeper.get(path)[0])
            zookeeper.set(path, json.dumps({**policies, field: 7}).encode())
            took_s = wait_for(lambda: self._get(WEST, f"namespaces/{ORDERS}").get("max_producers_per_topic") == 7)
            self.arrived(f"a policy of '{ORDERS}' set there: us-west's broker has it", took_s)
        self.screen.say("Pulsar's own synchronizer publishes what its brokers write, so it sees none of these")

    def conflict(self, number: int) -> None:
        """Both edit one namespace while they cannot hear each other."""
        self.screen.act(number, "A real conflict: both sides edit one namespace while us-east's daemon is down")
        self.regions[EAST].stop()
        self._post(EAST, f"namespaces/{ORDERS}/messageTTL", 60)
        self._post(WEST, f"namespaces/{ORDERS}/retention", {"retentionTimeInMinutes": 10, "retentionSizeInMB": 1})
        self.screen.say("by REST: us-east sets a TTL of 60 s; after it us-west sets a retention of 10 minutes")
        self.regions[EAST].start()
        took_s = wait_for(lambda: all(self._policies(name) == (None, 10) for name in BOTH))
        self.arrived("us-east's daemon is back: the later write, us-west's, holds in both", took_s)
        path = namespace_path(*ORDERS.split("/"))
        lost = [each for each in self.regions[EAST].command("conflicts", "list")["items"] if each["path"] == path]
        whole = self.regions[EAST].command("conflicts", "show", str(lost[-1]["id"])) if lost else {}
        value = json.loads(whole.get("value") or "{}")
        self.check(
            "syncer conflicts show: the loser is kept whole, its TTL inside", value.get("message_ttl_in_seconds") == 60
        )
        if lost:
            self.regions[EAST].command("conflicts", "restore", str(lost[-1]["id"]), "--yes")
            took_s = wait_for(lambda: all(self._policies(name)[0] == 60 for name in BOTH))
            self.arrived("syncer conflicts restore: both brokers answer with a TTL of 60 s", took_s)

    def update_after_create(self, number: int) -> None:
        """The pattern in which Pulsar's own synchronizer loses most."""
        self.screen.act(number, f"{UPDATES} namespaces created, synced, then updated")
        names = [f"sales/run-{index:02}" for index in range(UPDATES)]
        for name in names:
            self._put(EAST, f"namespaces/{name}", {"replication_clusters": BOTH})
        took_s = wait_for(lambda: set(names) <= set(self._get(WEST, "namespaces/sales")))
        self.arrived(f"{UPDATES} namespaces made in us-east are known in us-west", took_s)
        for index, name in enumerate(names):
            self._post(EAST, f"namespaces/{name}/messageTTL", 1000 + index)
        missing = set(names)

        def all_there() -> bool:
            for name in sorted(missing):
                if self._get(WEST, f"namespaces/{name}").get("message_ttl_in_seconds") != 1000 + names.index(name):
                    return False
                missing.discard(name)
            return True

        took_s = wait_for(all_there)
        self.arrived(f"{UPDATES} updates in us-east: {len(missing)} lost in us-west", took_s)
        self.screen.say("Pulsar's own synchronizer loses 39 to 45 of 50 here: it demands the other cluster's version")

    def crash(self, number: int) -> None:
        """Kill -9 in the middle."""
        self.screen.act(number, f"kill -9 of both daemons in a burst of {BURST} tenants")
        names = [f"burst-{index:03}" for index in range(BURST)]
        with self._zookeeper() as zookeeper:
            for index, name in enumerate(names):
                zookeeper.create(tenant_path(name), _tenant(name))
                if index == BURST // 3:
                    self.regions[EAST].kill()
                if index == 2 * BURST // 3:
                    self.regions[WEST].kill()
        self.screen.say("written into us-east's ZooKeeper; its daemon was killed after a third, us-west's after two")
        with ThreadPoolExecutor() as pool:
            list(pool.map(LabRegion.start, self.regions.values()))
        took_s = wait_for(lambda: set(names) <= set(self._get(WEST, "tenants")))
        lost = len(set(names) - set(self._get(WEST, "tenants")))
        self.arrived(f"both daemons run again: {lost} of {BURST} lost in us-west", took_s)

    def leave_out(self, number: int) -> None:
        """A policy that would make the target's brokers delete topics."""
        self.screen.act(number, "A change that would destroy topics: 'remove us-west' arriving in us-west")
        self._put(EAST, f"namespaces/{SHOP}", {"replication_clusters": BOTH})
        wait_for(lambda: self._present(WEST, f"namespaces/{SHOP}"))
        self._put(WEST, f"persistent/{SHOP}/carts", None)
        self._post(EAST, f"namespaces/{SHOP}/replication", [EAST])
        self.screen.say(f"us-west has a topic in '{SHOP}'; us-east takes us-west out of its replication clusters")
        self._expect_hold("leaves-cluster-out")
        there = self._get(WEST, f"namespaces/{SHOP}")["replication_clusters"]
        self.check(f"in us-west the namespace is as it was: {sorted(there)}", sorted(there) == BOTH)

    def delete_under_topics(self, number: int) -> None:
        """A delete that would orphan topics."""
        self.screen.act(number, "A delete that would orphan topics")
        self._delete(EAST, f"namespaces/{SHOP}?force=true")
        self.screen.say(f"us-east deletes '{SHOP}' by REST, with force")
        self.check("it is gone in us-east", self._present(EAST, f"namespaces/{SHOP}") is None)
        self._expect_hold("has-topics")
        topics = self._get(WEST, f"persistent/{SHOP}")
        self.check(f"in us-west the topic still stands: {', '.join(topics)}", topics == [f"persistent://{SHOP}/carts"])

    def prove(self, number: int) -> None:
        """The proof."""
        self.screen.act(number, "Proof, from both stores and both sidecar databases")
        east, west = (self.regions[name] for name in BOTH)
        wait_for(lambda: east.quiet() and west.quiet())
        held = {*east.holds(), *west.holds()}
        different = differing((east, west))
        pictures = {name: self.regions[name].picture() for name in BOTH}
        self.equal, self.held = len({*pictures[EAST], *pictures[WEST]} - different), len(held)
        rows = []
        for name in BOTH:
            status = self.regions[name].command("status")
            waiting = status["waiting"]
            figures = (
                len(pictures[name]),
                status["outbox"]["depth"],
                waiting["conflicts"],
                waiting["holds"],
                waiting["quarantine"],
            )
            rows.append((name, status["daemon"], *map(str, figures)))
        columns = ("region", "daemon", "resources", "still to send", "conflicts kept", "held", "quarantine")
        self.screen.table("   syncer status", columns, rows)
        for path in sorted(different):
            self.screen.say(f"not the same: {path} ({'held' if path in held else 'NOT HELD'})")
        for name in BOTH:
            if kept := len(self.regions[name].kept_fields()):
                self.screen.say(f"{name}: {kept} are whole only with fields that its brokers drop and its daemon keeps")
        stores = " and ".join(self.clusters[name].settings.store.label for name in BOTH)
        self.check(f"{self.equal} resources are the same, digest by digest, in {stores}", different <= held)
        self.check("nothing is left to be sent, written or decided", east.quiet() and west.quiet())
        self.check("nothing is in quarantine", all(row[-1] == "0" for row in rows))

    # -- telling

    def check(self, text: str, holds: bool) -> None:  # noqa: FBT001 - reads as a sentence
        """Tell something that must be true."""
        self.screen.proof(text, holds=holds)
        if not holds:
            self.failed.append(text)

    def arrived(self, text: str, took_s: float | None) -> None:
        """Tell something that must have happened in time."""
        when = (
            "not in time"
            if took_s is None
            else f"after {took_s * 1000:.0f} ms"
            if took_s < 1
            else f"after {took_s:.1f} s"
        )
        self.check(f"{text} [dim]({when})[/]", took_s is not None)

    # -- asking the clusters

    def _url(self, name: str, path: str) -> str:
        return f"{self.clusters[name].admin_url}/admin/v2/{path}"

    def _get(self, name: str, path: str) -> Any:  # noqa: ANN401 - JSON of the broker
        return rest.get(self._url(name, path)) or {}

    def _present(self, name: str, path: str) -> Any:  # noqa: ANN401 - JSON of the broker
        found = rest.get(self._url(name, path))
        return None if isinstance(found, dict) and found.get("partitions") == 0 else found

    def _put(self, name: str, path: str, body: object) -> None:
        rest.send("PUT", self._url(name, path), body)

    def _post(self, name: str, path: str, body: object) -> None:
        rest.send("POST", self._url(name, path), body)

    def _delete(self, name: str, path: str) -> None:
        rest.send("DELETE", self._url(name, path))

    def _roles(self, name: str, tenant: str) -> list[str]:
        return sorted(self._get(name, f"tenants/{tenant}").get("adminRoles", []))

    def _policies(self, name: str) -> tuple[int | None, int | None]:
        policies = self._get(name, f"namespaces/{ORDERS}")
        retention = policies.get("retention_policies") or {}
        return policies.get("message_ttl_in_seconds"), retention.get("retentionTimeInMinutes")

    # -- asking the daemons

    def _holds(self, name: str) -> set[MetaPath]:
        return set(self.regions[name].holds())

    def _expect_hold(self, reason: str) -> None:
        path = namespace_path(*SHOP.split("/"))

        def held() -> bool:
            row = self.regions[WEST].holds().get(path)
            return row is not None and row.hold.reason == reason

        took_s = wait_for(held)
        row = self.regions[WEST].holds().get(path)
        self.arrived(f"held in us-west, {reason}: {row.hold.detail if row else 'nothing is held'}", took_s)

    @contextmanager
    def _zookeeper(self) -> Iterator[KazooClient]:
        client = KazooClient(hosts=self.clusters[EAST].store.endpoint)
        client.start()
        try:
            yield client
        finally:
            client.stop()
            client.close()


def _tenant(role: str) -> bytes:
    return json.dumps({"adminRoles": [role], "allowedClusters": BOTH}).encode()
