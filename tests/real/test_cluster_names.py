"""Two real clusters, one of which the other knows by another name: what brokers write, each under its own names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.lab.region import LabRegion
from syncer.paths import namespace_path
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.support.synced import BOTH, Side, Synced, bus_topic

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.slow]

TENANT, SPACE = "ocean", "ocean/ships"
BY_GROUP = ["pacific", "us-east"]
"""What the east, and the group, call both clusters."""


@pytest.fixture(scope="module")
def pair(pulsar_pair: PulsarPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synced]:
    """Both clusters in sync in one tenant; the east calls us-west pacific."""
    folder, topic = tmp_path_factory.mktemp("regions"), bus_topic("names")
    east, west = (pulsar_pair.clusters[name] for name in BOTH)
    rules = [{"pattern": f"/admin/policies/{TENANT}{below}", "direction": "both"} for below in ("", "/**")]
    scope, names = {"rules": rules}, {"us-west": "pacific"}
    synced = Synced(
        Side(east, LabRegion.beside(east, folder / "us-east", topic=topic, scope=scope)),
        Side(west, LabRegion.beside(west, folder / "us-west", topic=topic, scope=scope, cluster_names=names)),
        topic,
    )
    with synced.over_its_topic():
        synced.start()
        yield synced


def clusters_of(side: Side) -> list[str]:
    return sorted(side.policy(SPACE, "replication_clusters") or [])


def test_what_brokers_write_names_clusters_as_each_side_knows_them(pair: Synced) -> None:
    east, west = pair.east, pair.west
    declared = west.get("clusters/us-west")
    east.send("PUT", "clusters/pacific", declared)
    east.send("PUT", f"tenants/{TENANT}", {"adminRoles": ["first"], "allowedClusters": BY_GROUP})
    wait_until(lambda: west.roles(TENANT) == ["first"], "the tenant in us-west")
    assert sorted(west.get(f"tenants/{TENANT}")["allowedClusters"]) == list(BOTH)
    east.send("PUT", f"namespaces/{SPACE}", {"replication_clusters": BY_GROUP})
    wait_until(lambda: clusters_of(west) == list(BOTH), "the namespace in us-west, by its brokers' names")
    west.send("POST", f"namespaces/{SPACE}/messageTTL", 77)
    wait_until(lambda: east.policy(SPACE, "message_ttl_in_seconds") == 77, "an edit by us-west's broker")
    assert clusters_of(east) == BY_GROUP
    west.send("POST", f"namespaces/{SPACE}/dispatchRate", {"dispatchThrottlingRateInMsg": 9, "ratePeriodInSecond": 1})
    path = namespace_path(*SPACE.split("/"))
    wait_until(
        lambda: set(east.policy(SPACE, "topicDispatchRate")) == {"pacific"}, "a rate of the cluster that wrote it"
    )
    assert set(west.policy(SPACE, "topicDispatchRate")) == {"us-west"}
    for side in (east, west):
        assert side.hold(path) is None
        assert side.get(f"namespaces/{SPACE}")["message_ttl_in_seconds"] == 77
