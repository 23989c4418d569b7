"""What strangers and tenants can do on real Pulsar: messages that nobody can read, names that nobody thinks of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

import pytest

from deploy.lab.pulsar_admin import pulsar_admin
from deploy.lab.region import LabRegion, differing
from syncer.bus.wire.codec import encode
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.shell.on_bus import change, heartbeat
from tests.shell.region import path_of
from tests.support.scrawling import publish_on_topic, scrawl_on_topic
from tests.support.synced import BOTH, Side, Synced, bus_topic

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

LONG = "é" * 700
VARIED = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
ODD = ("gold\u202esilver", "gold\u00a0silver")


@pytest.fixture(scope="module")
def pair(pulsar_pair: PulsarPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synced]:
    """Both clusters in sync."""
    folder, topic = tmp_path_factory.mktemp("hostile"), bus_topic("hostile")
    east, west = (pulsar_pair.clusters[name] for name in BOTH)
    synced = Synced(
        Side(east, LabRegion.beside(east, folder / "us-east", name="hostile-east", topic=topic)),
        Side(west, LabRegion.beside(west, folder / "us-west", name="hostile-west", topic=topic)),
        topic,
    )
    with synced.over_its_topic():
        synced.start()
        yield synced


def codes(side: Side) -> set[str]:
    """Codes of what stands in a region's quarantine."""
    with side.region.views() as views:
        return {row.code for row in views.quarantine(1000)}


def same(pair: Synced) -> bool:
    """Whether both regions sum the same, and hold the same of what is made here."""
    trees = []
    for side in pair.sides:
        with side.region.views() as views:
            trees.append((views.status().document or {}).get("tree"))
    mine = [path for path in differing((pair.east.region, pair.west.region)) if "hostile" in path or "groups" in path]
    return trees[0] is not None and trees[0] == trees[1] and not mine


def test_messages_that_nobody_can_read_or_store_end_no_daemon(pair: Synced) -> None:
    service_url = pair.east.cluster.service_url
    pids = [side.region.daemon.pid() for side in pair.sides]
    evil = partial(change, path_of("evil"), b'{"adminRoles":[],"allowedClusters":[]}', region="evil")
    scrawl_on_topic(service_url, pair.topic, b"scrawled")
    sound = encode(evil())
    raw = {name: text.encode() for name, text in sound.properties.items()}
    scrawl_on_topic(service_url, pair.topic, sound.payload, **raw)
    for sender in ("e\0", "\u202ee", "e\x1b[2J"):
        publish_on_topic(service_url, pair.topic, encode(evil(sender=sender)))
        publish_on_topic(service_url, pair.topic, encode(heartbeat("evil", sender=sender)))
    names = pair.make_tenants(5)
    wait_until(lambda: set(names) <= set(pair.west.get("tenants")), "what is honest arrives")
    wanted = {"message-unreadable", "payload-invalid"}
    wait_until(lambda: all(codes(side) >= wanted for side in pair.sides), "each is set aside")
    assert [side.region.daemon.pid() for side in pair.sides] == pids, "no daemon was started again"
    assert pair.west.roles("evil") is None
    wait_until(lambda: same(pair), "both are equal")


def test_whatever_a_tenant_names_travels_and_both_are_equal(pair: Synced) -> None:
    (tenant,) = pair.make_tenants(1)
    namespace = f"{tenant}/orders"
    wait_until(lambda: pair.west.roles(tenant) is not None, "the tenant is there")
    pair.east.send("PUT", f"namespaces/{namespace}", {"replication_clusters": list(BOTH)})
    topic = f"persistent://{namespace}/{LONG}"
    made = pulsar_admin(pair.east.cluster.admin_url, ["topics", "create-partitioned-topic", topic, "-p", "3"])
    assert made == 0
    pair.east.send("PUT", f"persistent/{namespace}/{quote(VARIED)}/partitions", 2)
    for name in ODD:
        pair.east.send("PUT", f"resourcegroups/{quote(name)}", {})
    pair.west.send("PUT", f"resourcegroups/{quote('😀')}", {})  # which etcd takes, and ZooKeeper does not

    def partitions(side: Side, name: str) -> object:
        return (side.get(f"persistent/{namespace}/{quote(name)}/partitions") or {}).get("partitions")

    wait_until(lambda: partitions(pair.west, LONG) == 3, "700 times é arrive")
    wait_until(lambda: partitions(pair.west, VARIED) == 2, "400 signs arrive")
    wait_until(lambda: set(ODD) <= set(pair.west.get("resourcegroups")), "the resource groups arrive")
    names = pair.make_tenants(3)
    wait_until(lambda: set(names) <= set(pair.west.get("tenants")), "the others go on")
    emoji = "/admin/resourcegroups/😀"
    wait_until(lambda: emoji in set(pair.east.region.holds()), "the one that ZooKeeper refuses is held")
    pair.west.send("DELETE", f"resourcegroups/{quote('😀')}")
    wait_until(lambda: emoji not in set(pair.east.region.holds()), "and let go when it is gone")
    wait_until(lambda: same(pair), "both are equal")
