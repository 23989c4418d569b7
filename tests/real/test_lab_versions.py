"""The versions of Pulsar that the lab can run: each serves, and outlives an end in order and a power loss."""

from __future__ import annotations

import urllib.request
from functools import partial
from pathlib import Path

import pytest

from deploy.lab import rest
from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind
from deploy.lab.releases.assembled import home_of
from deploy.lab.releases.versions import RELEASES
from deploy.lab.software import etcd_binary, java
from syncer.waiting import WAIT_S, wait_until
from tests.conftest import require

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.slow]

KINDS = [
    (version, kind)
    for version, found in RELEASES.items()
    for kind in StoreKind
    if kind is StoreKind.ZOOKEEPER or found.etcd
]


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_a_cluster_keeps_its_namespaces_through_a_kill_and_a_restart(
    version: str, kind: StoreKind, tmp_path: Path
) -> None:
    require(java, etcd_binary, partial(home_of, version))
    cluster = PulsarCluster(tmp_path, ClusterSettings(name="one", version=version, store=kind), leashed=True)
    try:
        cluster.start()
        with urllib.request.urlopen(f"{cluster.admin_url}/admin/v2/brokers/version", timeout=WAIT_S) as answer:
            assert answer.read().decode() == version
        rest.share_namespace([cluster.admin_url], [cluster.name], "sales/orders")
        for end in (cluster.kill, cluster.stop):
            end()
            with pytest.raises(ServerFailed):
                rest.get(cluster.admin_url)
            cluster.start()
            assert rest.get(f"{cluster.admin_url}/admin/v2/namespaces/sales") == ["sales/orders"]
            wait_until(cluster.healthy, "it can produce and consume")
    finally:
        cluster.stop()
