"""A real broker that deletes declarations of topics that nobody uses: held in its region, and kept by the peer."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from deploy.lab.pulsar import ClusterSettings, PulsarCluster
from deploy.lab.software import java, pulsar_home
from syncer.admin.client import AdminClient, AdminSettings
from syncer.conflict.register import HoldReason
from syncer.model import MetaPath
from syncer.replication.local.deletes.questions import COLLECTED
from syncer.waiting import until
from tests.conftest import require
from tests.shell.region import Site, active

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow]

CLUSTER: Final = "us-east"
COLLECTS: Final = {
    "brokerDeleteInactivePartitionedTopicMetadataEnabled": "true",
    "brokerDeleteInactiveTopicsFrequencySeconds": "1",
}
COLLECTED_NAMESPACE, KEPT_NAMESPACE = "acme/orders", "acme/kept"


def path_of(namespace: str) -> MetaPath:
    return MetaPath(f"/admin/partitioned-topics/{namespace}/persistent/created")


def topic_of(namespace: str) -> str:
    return f"persistent://{namespace}/created"


def inactive(*, deleted: bool) -> dict[str, object]:
    mode = "delete_when_no_subscriptions"
    return {"inactiveTopicDeleteMode": mode, "maxInactiveDurationSeconds": 1, "deleteWhileInactive": deleted}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PulsarCluster]:
    require(java, pulsar_home)
    settings = ClusterSettings(name=CLUSTER, broker=COLLECTS)
    cluster = PulsarCluster(tmp_path_factory.mktemp("collecting") / CLUSTER, settings, leashed=True)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


async def test_what_a_broker_collects_is_held_and_what_a_namespace_keeps_is_carried(
    cluster: PulsarCluster, tmp_path: Path
) -> None:
    bus = tmp_path / "bus.db"
    store = {"kind": "zookeeper", "hosts": cluster.store.endpoint}
    overrides = {"store": store, "admin": {"url": cluster.admin_url}, "clusters": [CLUSTER]}
    east = Site(tmp_path / "east", bus, "east", overrides)
    west = Site(tmp_path / "west", bus, "west", clusters=(CLUSTER, "west"))
    collected, kept = path_of(COLLECTED_NAMESPACE), path_of(KEPT_NAMESPACE)
    patient = AdminSettings(url=cluster.admin_url, retry_for=timedelta(seconds=20))
    async with AdminClient(patient) as admin, east.running(), west.running():
        await active(east, west)
        await admin.create_tenant("acme", {"adminRoles": [], "allowedClusters": [CLUSTER]})
        for namespace in (COLLECTED_NAMESPACE, KEPT_NAMESPACE):
            await admin.create_namespace(namespace, {"replication_clusters": [CLUSTER]})
            await admin.set_namespace(namespace, "inactiveTopicPolicies", inactive(deleted=False))
            await admin.create_partitions(topic_of(namespace), 2)
        await until(lambda: None not in (west.get(collected), west.get(kept)), "west has both", within_s=60)
        await until(lambda: COLLECTED in east.conditions(), "the setting is told", within_s=60)
        await admin.set_namespace(COLLECTED_NAMESPACE, "inactiveTopicPolicies", inactive(deleted=True))
        for number in range(2):
            await admin.stats(f"{topic_of(COLLECTED_NAMESPACE)}-partition-{number}")  # a broker collects what it serves
        await until(lambda: collected in east.holds(), "what the broker has deleted is held", within_s=90)
        assert east.holds()[collected].hold.reason is HoldReason.COLLECTED_TOPIC
        await admin.send("DELETE", f"/admin/v2/persistent/{KEPT_NAMESPACE}/created/partitions")
        await until(lambda: west.get(kept) is None, "what an operator has deleted is carried", within_s=60)
        assert west.get(collected) is not None
        assert list(east.holds()) == [collected]
        answer = await east.decide("undo", collected)
        assert answer.code == ""
        await until(lambda: east.holds() == {}, "the hold has ended", within_s=60)
    west.writer.close()
    east.writer.close()
