"""Scalable topics that a broker of Pulsar 5.0 has made: counted in its cluster's own store, and else as it tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.lab import rest
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, bring_up
from deploy.lab.region import LabRegion
from deploy.lab.releases.assembled import home_of
from deploy.lab.software import java, pulsar_home
from syncer.dispositions import ExitCode
from tests.conftest import require

pytestmark = pytest.mark.slow
NEW = "5.0.0-M1"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PulsarCluster]:
    """One with a configuration store of its own, and two scalable topics."""
    require(java, pulsar_home, lambda: home_of(NEW))
    settings = ClusterSettings(name="us-east", version=NEW, separate_configuration=True)
    cluster = PulsarCluster(tmp_path_factory.mktemp("scalable") / "us-east", settings, leashed=True)
    try:
        bring_up([cluster])
        admin = f"{cluster.admin_url}/admin/v2"
        rest.send("PUT", f"{admin}/tenants/acme", {"allowedClusters": ["us-east"], "adminRoles": []})
        for namespace in ("orders", "empty"):
            rest.send("PUT", f"{admin}/namespaces/acme/{namespace}", {"replication_clusters": ["us-east"]})
        for topic in ("a", "b"):
            rest.send("PUT", f"{admin}/scalable/acme/orders/{topic}")
        yield cluster
    finally:
        cluster.stop()


def told(cluster: PulsarCluster, place: Path, **tables: Any) -> dict[str, Any]:
    """What a comparison with a region without brokers says of the cluster's region."""
    east = LabRegion.beside(cluster, place / "east", **tables)
    bus = {"kind": "embedded", "path": str(place / "bus.db")}
    other = {"store": {"kind": "sqlite", "path": str(place / "west.db")}, "bus": bus}
    west = LabRegion(place / "west", name="west", clusters=("west",), tables=other)
    code, found = east.ask("diff", "--with", str(west.file))
    assert code in {ExitCode.DONE, ExitCode.DIFFERENT}, found
    (side,) = found["scalable_topics"]
    return dict(side)


def test_its_own_store_tells(cluster: PulsarCluster, tmp_path: Path) -> None:
    store = {"kind": "zookeeper", "hosts": cluster.store.endpoint}
    assert told(cluster, tmp_path, store=store) == {"side": "region us-east", "total": 2, "whole": True, "trouble": ""}


def test_beside_its_configuration_store_the_broker_tells(cluster: PulsarCluster, tmp_path: Path) -> None:
    assert told(cluster, tmp_path, admin={"url": cluster.admin_url})["total"] == 2
    nobody = told(cluster, tmp_path / "nobody")
    assert (nobody["total"], nobody["trouble"]) == (
        None,
        "the store is no cluster's own, and no [admin] is configured",
    )
