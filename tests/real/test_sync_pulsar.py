"""Two real Pulsar clusters, one on ZooKeeper and one on etcd, and a daemon process beside each.

Each test names a promise of the README, most of them one that Pulsar's own synchronizer does not keep.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import timedelta

import pytest

from deploy.lab import rest
from deploy.lab.pulsar import Part
from deploy.lab.pulsar_admin import pulsar_admin
from deploy.lab.region import LabRegion
from syncer.admin.client import AdminSettings
from syncer.admin.topics import ClustersProbe
from syncer.conflict.guards import Topics
from syncer.conflict.register import HoldReason
from syncer.errors import StateError
from syncer.model import MetaPath, Stamp
from syncer.paths import namespace_path, tenant_path
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.support.link import Link
from tests.support.synced import BOTH, Side, Synced, bus_topic, tenant

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

UPDATES = 50
BURST = 60


@pytest.fixture(scope="module")
def link(pulsar_pair: PulsarPair) -> Iterator[Link]:
    """What the daemon of us-east reaches its ZooKeeper through."""
    with Link(pulsar_pair.clusters["us-east"].ports.store[0]) as link:
        yield link


@pytest.fixture(scope="module")
def module_pair(pulsar_pair: PulsarPair, link: Link, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synced]:
    """Both clusters in sync, over a topic of this module, made as an operator makes it."""
    folder = tmp_path_factory.mktemp("regions")
    topic = bus_topic("sync")
    east, west = (pulsar_pair.clusters[name] for name in BOTH)
    through_link = {"kind": "zookeeper", "hosts": link.hosts, "session_timeout": "2s"}
    synced = Synced(
        Side(east, LabRegion.beside(east, folder / "us-east", topic=topic, store=through_link)),
        Side(west, LabRegion.beside(west, folder / "us-west", topic=topic)),
        topic,
    )
    with synced.over_its_topic():
        yield synced


@pytest.fixture
def pair(module_pair: Synced) -> Synced:
    """Both daemons running, whatever the test before did to them."""
    module_pair.start()
    return module_pair


def make_tenant(pair: Synced, name: str) -> MetaPath:
    """Make a tenant in us-east and wait until us-west's broker has it; its path."""
    pair.east.send("PUT", f"tenants/{name}", tenant("first"))
    wait_until(lambda: pair.west.roles(name) == ["first"], f"tenant {name} in us-west")
    return tenant_path(name)


def make_namespace(pair: Synced, name: str) -> MetaPath:
    """Make a namespace of a new tenant in us-east and wait until us-west's broker has it; its path."""
    make_tenant(pair, name.split("/", maxsplit=1)[0])
    pair.east.send("PUT", f"namespaces/{name}", {"replication_clusters": list(BOTH)})
    wait_until(lambda: pair.west.get(f"namespaces/{name}") is not None, f"namespace {name} in us-west")
    return namespace_path(*name.split("/"))


def known_stamp(side: Side, path: MetaPath) -> Stamp:
    with side.region.views() as views:
        register = views.register(path)
    assert register is not None
    assert register.known is not None
    return register.known.stamp


def arrive(pair: Synced, names: list[str]) -> None:
    """Wait until us-west's broker knows all of these tenants."""
    wait_until(lambda: set(names) <= set(pair.west.get("tenants")), f"{len(names)} tenants in us-west")


def test_what_pulsar_admin_makes_here_appears_there(pair: Synced) -> None:
    both, namespace = ",".join(BOTH), "made-by-admin/shop"
    url = pair.east.cluster.admin_url
    for words in (
        ("tenants", "create", "made-by-admin", "-r", "ops", "-c", both),
        ("namespaces", "create", namespace, "-c", both),
        ("topics", "create-partitioned-topic", f"persistent://{namespace}/carts", "-p", "4"),
    ):
        assert pulsar_admin(url, words, quiet=True) == 0
    partitions = f"persistent/{namespace}/carts/partitions"
    wait_until(lambda: (pair.west.get(partitions) or {}).get("partitions") == 4, "the partitioned topic in us-west")
    assert pair.west.roles("made-by-admin") == ["ops"]
    assert sorted(pair.west.policy(namespace, "replication_clusters")) == list(BOTH)


def test_namespace_is_born_with_its_authors_bundles(pair: Synced) -> None:
    make_tenant(pair, "split")
    boundaries = [f"0x{step * 0x2000_0000:08x}" for step in range(8)] + ["0xffffffff"]
    bundles = {"boundaries": boundaries, "numBundles": 8}
    pair.east.send("PUT", "namespaces/split/eight", {"replication_clusters": list(BOTH), "bundles": bundles})
    wait_until(lambda: pair.west.get("namespaces/split/eight") is not None, "the namespace in us-west")
    assert pair.west.get("namespaces/split/eight/bundles") == bundles


def test_partitions_grow_in_both_clusters(pair: Synced) -> None:
    make_namespace(pair, "growing/topics")
    partitions = "persistent/growing/topics/wide/partitions"
    pair.east.send("PUT", partitions, 2)
    wait_until(lambda: (pair.west.get(partitions) or {}).get("partitions") == 2, "two partitions in us-west")
    pair.west.send("POST", partitions, 5)
    wait_until(lambda: pair.east.get(partitions)["partitions"] == 5, "five partitions in us-east")


def test_deleting_a_replicated_namespace_as_pulsar_demands_it(pair: Synced) -> None:
    """Pulsar demands that it is replicated nowhere else before: that first step is held, the delete is not."""
    path = make_namespace(pair, "goes/away")
    pair.east.send("POST", "namespaces/goes/away/replication", ["us-east"])
    pair.east.send("DELETE", "namespaces/goes/away")
    wait_until(lambda: pair.west.get("namespaces/goes/away") is None, "the delete in us-west")
    wait_until(lambda: pair.west.hold(path) is None, "nothing is held of it")
    pair.east.send("DELETE", "tenants/goes")
    wait_until(lambda: pair.west.roles("goes") is None, "the delete of its tenant in us-west")


def test_write_past_the_broker_arrives(pair: Synced) -> None:
    path = make_namespace(pair, "outside/written")
    with pair.zookeeper() as zookeeper:
        zookeeper.create(tenant_path("outside-made"), json.dumps(tenant("script")).encode())
        policies = json.loads(zookeeper.get(path)[0])
        zookeeper.set(path, json.dumps({**policies, "max_producers_per_topic": 7}).encode())
    wait_until(lambda: pair.west.roles("outside-made") == ["script"], "the tenant in us-west")
    wait_until(lambda: pair.west.policy("outside/written", "max_producers_per_topic") == 7, "the policy in us-west")


def test_what_brokers_cannot_read_stays_in_the_store_where_it_was_written(pair: Synced) -> None:
    """Brokers answer nothing of such a namespace: carried, it would be so in every region."""
    path = make_namespace(pair, "unreadable/policies")
    before = pair.west.get("namespaces/unreadable/policies")
    with pair.zookeeper() as zookeeper:
        sound, _ = zookeeper.get(path)
        odd = json.dumps({**json.loads(sound), "retention_policies": 5}).encode()
        zookeeper.set(path, odd)
        wait_until(lambda: pair.east.hold(path) is not None, "it is held in us-east")
        row = pair.east.hold(path)
        assert row is not None
        assert (row.hold.reason, row.hold.detail) == (
            HoldReason.UNREADABLE,
            "brokers here cannot read it: retention_policies: an object is due, found a number 5",
        )
        pair.east.send("PUT", "tenants/unreadable-after", tenant("ops"))
        wait_until(lambda: pair.west.roles("unreadable-after") == ["ops"], "other changes go on")
        assert pair.west.get("namespaces/unreadable/policies") == before
        zookeeper.set(
            path, b"\xef\xbb\xbf" + json.dumps({**json.loads(sound), "max_producers_per_topic": "7"}).encode()
        )
    wait_until(
        lambda: pair.west.policy("unreadable/policies", "max_producers_per_topic") == 7,
        "what brokers can read arrives, as plain JSON",
    )
    wait_until(lambda: pair.east.hold(path) is None, "nothing is held any more")


def test_update_after_synced_create_is_not_lost(pair: Synced) -> None:
    make_tenant(pair, "updated")
    names = [f"updated/n{index:02}" for index in range(UPDATES)]
    for name in names:
        pair.east.send("PUT", f"namespaces/{name}", {"replication_clusters": list(BOTH)})
    wait_until(lambda: set(names) <= set(pair.west.get("namespaces/updated")), "the created namespaces in us-west")
    for index, name in enumerate(names):
        pair.east.send("POST", f"namespaces/{name}/messageTTL", 1000 + index)
    wanted = {name: 1000 + index for index, name in enumerate(names)}

    def lost() -> set[str]:
        return {name for name, ttl in wanted.items() if pair.west.policy(name, "message_ttl_in_seconds") != ttl}

    wait_until(lambda: not lost(), "no update is lost", shown=lost)


def test_quick_updates_of_one_namespace_end_in_the_last_one(pair: Synced) -> None:
    make_namespace(pair, "quick/updates")
    for ttl in range(1, UPDATES + 1):
        pair.east.send("POST", "namespaces/quick/updates/messageTTL", ttl)
    wait_until(
        lambda: pair.west.policy("quick/updates", "message_ttl_in_seconds") == UPDATES, "the last of the updates"
    )
    assert pair.east.policy("quick/updates", "message_ttl_in_seconds") == UPDATES


def test_delete_leaves_no_poison(pair: Synced) -> None:
    make_tenant(pair, "deleted")
    pair.east.send("DELETE", "tenants/deleted")
    wait_until(lambda: pair.west.roles("deleted") is None, "the delete in us-west")
    wait_until(lambda: pair.backlogs() == [0, 0], "everything acknowledged in both clusters")
    assert [side.region.status().counts.quarantine for side in pair.sides] == [0, 0]


def test_no_resurrection_after_delete(pair: Synced) -> None:
    """A put that is older than the delete, and comes after it, is kept as a conflict and not written."""
    path = make_tenant(pair, "risen")
    old = known_stamp(pair.west, path).updated_at_ms + 1
    pair.west.send("DELETE", "tenants/risen")
    wait_until(lambda: pair.east.roles("risen") is None, "the delete in us-east")

    pair.publish_natively(path, tenant("from-the-dead"), source="us-south", at_ms=old)

    for side in pair.sides:
        wait_until(lambda side=side: any(row.value for row in side.conflicts(path)), "the late put was folded")  # type: ignore[misc]
    assert [side.roles("risen") for side in pair.sides] == [None, None]
    pair.east.send("PUT", "tenants/risen", tenant("made-again"))
    wait_until(lambda: pair.west.roles("risen") == ["made-again"], "what is made again lives")


def test_equal_time_prefers_smaller_region(pair: Synced) -> None:
    path = make_tenant(pair, "tied")
    time = known_stamp(pair.west, path).updated_at_ms
    pair.publish_natively(path, tenant("larger"), source="zz-far", at_ms=time)
    for side in pair.sides:
        wait_until(lambda side=side: len(side.conflicts(path)) == 1, "the larger region's value lost")  # type: ignore[misc]
    assert [side.roles("tied") for side in pair.sides] == [["first"], ["first"]]

    pair.publish_natively(path, tenant("smaller"), source="aa-near", at_ms=time)
    for side in pair.sides:
        wait_until(lambda side=side: side.roles("tied") == ["smaller"], "the smaller region's value won")  # type: ignore[misc]
    lost = [sorted(row.loser.region for row in side.conflicts(path)) for side in pair.sides]
    assert lost == [["us-east", "zz-far"]] * 2


def test_concurrent_edit_keeps_the_loser(pair: Synced) -> None:
    """Both edit while they cannot hear each other: the later write holds, the earlier is restored by a command."""
    name = "edited/at-once"
    path = make_namespace(pair, name)
    pair.east.region.stop()
    pair.east.send("POST", f"namespaces/{name}/messageTTL", 60)
    pair.west.send("POST", f"namespaces/{name}/retention", {"retentionTimeInMinutes": 10, "retentionSizeInMB": 1})
    pair.east.region.start()

    def both(field: str) -> list[object]:
        return [side.policy(name, field) for side in pair.sides]

    kept = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 1}
    wait_until(lambda: both("retention_policies") == [kept, kept], "the later write in both")
    assert both("message_ttl_in_seconds") == [None, None]
    wait_until(lambda: bool(pair.east.conflicts(path)), "the loser in us-east's record")
    (row,) = pair.east.conflicts(path)
    assert json.loads(row.value or b"{}")["message_ttl_in_seconds"] == 60

    (answer,) = pair.east.region.command("conflicts", "restore", str(row.id), "--yes")["items"]

    assert answer["state"] == "done"
    wait_until(lambda: both("message_ttl_in_seconds") == [60, 60], "the restored value in both")
    assert both("retention_policies") == [None, None]


def test_killed_daemons_lose_nothing_of_a_burst(pair: Synced) -> None:
    names = [f"burst-{index:02}" for index in range(BURST)]
    with pair.zookeeper() as zookeeper:
        for index, name in enumerate(names):
            zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
            if index == BURST // 3:
                pair.east.region.kill()
            if index == BURST // 2:
                pair.west.region.kill()
    pair.start()
    arrive(pair, names)
    assert [side.conflicts(tenant_path(name)) for side in pair.sides for name in names] == [[]] * 2 * BURST


def test_standby_takes_over_from_a_killed_daemon(pair: Synced) -> None:
    """Both on one database: the second waits for the lock, and goes on where the first was when it was killed."""
    region = pair.east.region
    names = [f"handed-over-{index:02}" for index in range(BURST)]
    standby = region.start_standby()
    try:
        standby.wait_until(lambda: b"store_connection_changed" in standby.log_file.read_bytes(), what="has its store")
        before = region.status().identity.epoch
        with pair.zookeeper() as zookeeper:
            for index, name in enumerate(names):
                zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
                if index == BURST // 2:
                    assert region.status().identity.epoch == before  # it only waits
                    region.kill()
        arrive(pair, names)
        assert region.status().identity.epoch > before
        assert standby.pid() is not None
    finally:
        standby.stop()


def test_policies_without_our_cluster_are_held(pair: Synced) -> None:
    """Written, they would make us-west's brokers delete the topics of the namespace."""
    name = "left/out"
    path = make_namespace(pair, name)
    pair.west.send("PUT", f"persistent/{name}/kept")
    pair.east.send("POST", f"namespaces/{name}/replication", ["us-east"])
    wait_until(lambda: pair.west.hold(path) is not None, "the change is held in us-west")
    held = pair.west.hold(path)
    assert held is not None
    assert (held.hold.reason, held.hold.detail) == (
        "leaves-cluster-out",
        "brokers of us-west would delete its topics",
    )
    assert sorted(pair.west.policy(name, "replication_clusters")) == list(BOTH)

    pair.east.send("POST", f"namespaces/{name}/replication", list(BOTH))

    wait_until(lambda: pair.west.hold(path) is None, "nothing is held once us-west is named again")
    assert pair.west.get(f"persistent/{name}") == [f"persistent://{name}/kept"]


def test_delete_under_topics_is_held_until_confirmed(pair: Synced) -> None:
    name = "under/topics"
    path = make_namespace(pair, name)
    pair.west.send("PUT", f"persistent/{name}/kept")
    with pair.zookeeper() as zookeeper:
        zookeeper.delete(path)
    wait_until(lambda: pair.west.hold(path) is not None, "the delete is held in us-west")
    held = pair.west.hold(path)
    assert held is not None
    assert (held.hold.reason, held.hold.detail) == ("has-topics", "topics still exist here")
    assert pair.west.get(f"persistent/{name}") == [f"persistent://{name}/kept"]

    (answer,) = pair.west.region.command("holds", "confirm", path, "--yes")["items"]

    assert answer["state"] == "done"
    wait_until(lambda: pair.west.get(f"namespaces/{name}") is None, "the confirmed delete in us-west")


@pytest.mark.anyio
async def test_topics_of_any_cluster_of_a_region_count(module_pair: Synced) -> None:
    """A configuration store that serves both: asked by the addresses that they are declared with."""
    for side in module_pair.sides:
        side.region.stop()  # both brokers make the same tenant: a daemon could be quicker than the second one
    east, west = (side.cluster.admin_url for side in module_pair.sides)
    name = f"asked-{os.getpid()}/both"
    tenant_name = name.split("/", maxsplit=1)[0]
    for cluster, url in zip(BOTH, (east, west), strict=True):
        rest.send("PUT", f"{url}/admin/v2/tenants/{tenant_name}", tenant("ops"))
        rest.send("PUT", f"{url}/admin/v2/namespaces/{name}", {"replication_clusters": [cluster]})
    path = namespace_path(*name.split("/"))
    config = AdminSettings(url=east, retry_for=timedelta(0))
    async with ClustersProbe(config, BOTH) as both, ClustersProbe(config, ("us-east",)) as one:
        assert await both.ask(path) is Topics.NONE
        rest.send("PUT", f"{west}/admin/v2/persistent/{name}/only-in-west")
        assert await both.ask(path) is Topics.SOME
        assert await one.ask(path) is Topics.NONE
    async with ClustersProbe(config, ("us-east", "us-south")) as unknown:
        assert await unknown.ask(path) is Topics.CANNOT_ASK
    silent = config.model_copy(update={"url": "http://127.0.0.1:9"})
    async with ClustersProbe(silent, BOTH) as unreachable:
        assert await unreachable.ask(path) is Topics.CANNOT_ASK


def test_restarted_broker_costs_nothing_but_time(pair: Synced) -> None:
    """The bus is away, the store is not: what is written meanwhile waits in the outbox."""
    cluster = pair.east.cluster
    names = [f"broker-{index:02}" for index in range(30)]
    with pair.zookeeper() as zookeeper:
        for name in names[:10]:
            zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
        cluster.kill(Part.BROKER)
        try:
            for name in names[10:20]:
                zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
        finally:
            cluster.start(Part.BROKER)
        for name in names[20:]:
            zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
    arrive(pair, names)


def test_restarted_zookeeper_costs_nothing_but_time(pair: Synced) -> None:
    cluster = pair.east.cluster
    names = [f"keeper-{index:02}" for index in range(20)]
    with pair.zookeeper() as zookeeper:
        for name in names[:10]:
            zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
    cluster.kill(Part.STORE)
    cluster.start(Part.STORE)
    with pair.zookeeper() as zookeeper:
        for name in names[10:]:
            zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
    arrive(pair, names)
    wait_until(lambda: rest.answers(f"{cluster.admin_url}/admin/v2/tenants"), "the broker of us-east goes on")


def test_expired_session_is_healed_by_a_scan(pair: Synced, link: Link) -> None:
    """Neither what was made nor what was deleted while nobody watched is missed."""
    make_tenant(pair, "gone-unseen")
    store = pair.east.cluster.store
    names = [f"unseen-{index:02}" for index in range(10)]

    def sessions() -> int:
        (line,) = (line for line in store.ask("mntr").splitlines() if "global_sessions" in line)  # type: ignore[union-attr]
        return int(line.split()[1])

    before = sessions()
    link.cut()
    try:
        wait_until(lambda: sessions() < before, "the server has forgotten the daemon's session")
        with pair.zookeeper() as zookeeper:
            for name in names:
                zookeeper.create(tenant_path(name), json.dumps(tenant(name)).encode())
            zookeeper.delete(tenant_path("gone-unseen"))
    finally:
        link.mend()
    arrive(pair, names)
    wait_until(lambda: pair.west.roles("gone-unseen") is None, "the delete in us-west")


def test_what_the_bus_lives_on_is_never_held(pair: Synced) -> None:
    """Its tenant and namespace are alike in both clusters, and the namespaces of the locks take no part."""
    bus_tenant = pair.topic.split("/")[2]
    wait_until(lambda: all(side.region.quiet() for side in pair.sides), "both quiet")
    held = {path for side in pair.sides for path in side.region.holds() if f"/{bus_tenant}" in path}
    assert held == set()


def test_status_and_events_tell_about_both_regions(pair: Synced) -> None:
    def heard() -> bool:
        try:
            status = pair.east.region.status()
        except StateError:
            return False
        return status.document is not None and bool(pair.east.region.command("status")["peers"])

    wait_until(heard, "us-west's heartbeat in us-east")
    status = pair.east.region.command("status")
    assert (status["region"], status["daemon"], status["baseline_done"]) == ("us-east", "running", True)
    assert [(peer["region"], peer["same_rules"]) for peer in status["peers"]] == [("us-west", True)]
