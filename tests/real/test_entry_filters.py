"""Entry filters that travel by their names to a real broker that does not have them: told in the status, never held."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from deploy.lab.pulsar import ClusterSettings, PulsarCluster
from deploy.lab.software import java, pulsar_home
from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminClient, AdminSettings
from syncer.model import MetaPath
from syncer.replication.entry_filters import MISSING
from syncer.waiting import until
from tests.conftest import require
from tests.shell.region import Site, active

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow]

CLUSTER: Final = "us-east"
NAMESPACE: Final = MetaPath("/admin/policies/acme/orders")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PulsarCluster]:
    require(java, pulsar_home)
    cluster = PulsarCluster(tmp_path_factory.mktemp("filters") / CLUSTER, ClusterSettings(name=CLUSTER), leashed=True)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def policies(filters: str = "") -> bytes:
    named = {"entryFilters": {"entryFilterNames": filters}} if filters else {}
    return json.dumps({"replication_clusters": [CLUSTER], "message_ttl_in_seconds": 60, **named}).encode()


async def test_a_filter_that_came_from_elsewhere_and_that_the_brokers_lack_is_told(
    cluster: PulsarCluster, tmp_path: Path
) -> None:
    bus = tmp_path / "bus.db"
    store = {"kind": "zookeeper", "hosts": cluster.store.endpoint}
    overrides = {"store": store, "admin": {"url": cluster.admin_url}, "clusters": [CLUSTER]}
    east = Site(tmp_path / "east", bus, "east", overrides)
    west = Site(tmp_path / "west", bus, "west", clusters=(CLUSTER, "west"))
    async with AdminClient(AdminSettings(url=cluster.admin_url)) as admin, east.running(), west.running():
        await active(east, west)
        settings = await admin.configuration()
        assert {settings[name] for name in ("entryFilterNames", "entryFiltersDirectory")} == {"[]", ""}
        await admin.create_tenant("acme", {"adminRoles": [], "allowedClusters": [CLUSTER]})
        await admin.create_namespace("acme/orders", {"replication_clusters": [CLUSTER]})
        with pytest.raises(AdminRefused, match="Entry filter 'jms' not found"):
            await admin.set_namespace("acme/orders", "entryFilters", {"entryFilterNames": "jms"})
        await until(lambda: west.get(NAMESPACE) is not None, "west has the namespace", within_s=60)
        west.writer.put(NAMESPACE, policies("jms"))
        await until(lambda: MISSING in east.conditions(), "the status tells of the filter", within_s=90)
        carried = await admin.namespace("acme/orders")
        assert carried is not None
        assert carried["entryFilters"] == {"entryFilterNames": "jms"}
        told = east.conditions()[MISSING]
        assert f"'jms', named by '{NAMESPACE}'" in told
        assert "allowOverrideEntryFilters is false at" in told
        assert (east.holds(), MISSING in west.conditions()) == ({}, False)
        west.writer.put(NAMESPACE, policies())
        await until(lambda: MISSING not in east.conditions(), "the condition has ended", within_s=60)
    west.writer.close()
    east.writer.close()
