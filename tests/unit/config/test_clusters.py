"""Clusters by name: each has a store of its own, or the region's, and mistakes in it are told with field and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_snapshot.sources.place import StorePlace
from syncer.config import Config, ConfigInvalid, load
from syncer.config.clusters import (
    cluster_store,
    cluster_store_settings,
    cluster_table,
    raw_stores,
    store_settings_by_cluster,
)
from syncer.config.showing import schema, shown
from syncer.errors import ConfigError, NotFound
from syncer.stores.sqlite import SqliteStore
from syncer.stores.zookeeper.store import ZooKeeperStore

MINIMAL = """region = "east"
[store]
kind = "sqlite"
path = "{directory}/region.db"
[bus]
kind = "embedded"
path = "{directory}/bus.db"
[cluster.green]
service_url = "http://green:8080"
broker_service_url = "pulsar://green:6650"
admin = {{ url = "http://green:8080" }}
"""


def loaded(directory: Path, text: str = "") -> Config:
    file = directory / "config.toml"
    file.write_text(MINIMAL.format(directory=directory) + text, encoding="utf-8")
    return load(file)


def refused(directory: Path, text: str) -> str:
    with pytest.raises(ConfigInvalid) as caught:
        loaded(directory, text)
    return str(caught.value).replace(str(directory / "config.toml"), "FILE")


def test_a_cluster_without_a_store_has_the_regions(tmp_path: Path) -> None:
    assert isinstance(cluster_store(loaded(tmp_path), "green"), SqliteStore)


def test_a_cluster_has_a_store_of_its_own(tmp_path: Path) -> None:
    config = loaded(
        tmp_path, '[cluster.green.store]\nkind = "zookeeper"\nhosts = "green:2181"\nrequest_timeout = "3s"\n'
    )
    assert isinstance(cluster_store(config, "green"), ZooKeeperStore)
    assert shown(config)["cluster"]["green"]["store"]["request_timeout"] == "3s"
    assert [kind for kind, _ in store_settings_by_cluster(config).values()] == ["zookeeper"]


def test_readers_take_the_store_of_a_cluster_from_where_its_adapter_does(tmp_path: Path) -> None:
    own = loaded(tmp_path, '[cluster.green.store]\nkind = "zookeeper"\nhosts = "green:2181"\n')
    place = StorePlace.of_cluster(own, "green")
    assert (place.kind, json.loads(place.settings)["hosts"]) == ("zookeeper", "green:2181")

    regions = StorePlace.of_cluster(loaded(tmp_path), "green")
    assert (regions.kind, regions.settings) == ("sqlite", StorePlace.of(loaded(tmp_path)).settings)


def test_a_cluster_that_has_no_table_is_not_found(tmp_path: Path) -> None:
    config = loaded(tmp_path)
    assert cluster_table(config, "green").service_url == "http://green:8080"
    for look in (cluster_table, cluster_store, cluster_store_settings, StorePlace.of_cluster):
        with pytest.raises(NotFound, match=r"no table \[cluster\.blue\]") as caught:
            look(config, "blue")
        assert "green" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'kind = "zookeper"',
            "FILE:13: cluster.green.store.kind: there is no store 'zookeper'. Did you mean 'zookeeper'?",
        ),
        ('kind = "zookeeper"\nhosts = ""', "FILE:14: cluster.green.store.hosts: "),
        ('kind = "zookeeper"\nhosts = "a"\nhost = "b"', "FILE:15: cluster.green.store.host: is no setting."),
        ('hosts = "a"', "FILE:12: cluster.green.store.kind: is missing."),
    ],
)
def test_mistakes_are_told_with_field_and_line(tmp_path: Path, text: str, told: str) -> None:
    assert told in refused(tmp_path, f"[cluster.green.store]\n{text}\n")


@pytest.mark.parametrize("values", [{}, {"cluster": 3}, {"cluster": {"green": 3}}, {"cluster": {"green": {}}}])
def test_a_configuration_may_be_wrong_in_any_way_when_it_is_looked_through(values: dict[str, Any]) -> None:
    assert raw_stores(values) == {}


def test_the_schema_knows_the_stores_of_a_cluster() -> None:
    found = schema()
    assert found["$defs"]["ClusterConfig"]["properties"]["store"]["oneOf"] == found["properties"]["store"]["oneOf"]
    assert "StoreAdapter" not in str(found)


@pytest.mark.parametrize("table", ["cluster.green.store", "store"])
def test_a_store_that_was_not_checked_is_told_by_its_field_when_it_is_needed(tmp_path: Path, table: str) -> None:
    wrong = 'kind = "etcd"\nendpoints = ["http://127.0.0.1:2379"]\n'
    well = f'kind = "sqlite"\npath = "{tmp_path}/s.db"\n'
    own = f"[cluster.green.store]\n{wrong}" if table != "store" else ""
    file = tmp_path / "config.toml"
    file.write_text(
        f'region = "east"\n[bus]\nkind = "embedded"\npath = "b.db"\n[store]\n{well if own else wrong}'
        '[cluster.green]\nservice_url = "http://g:8080"\nbroker_service_url = "pulsar://g:6650"\n'
        f'[cluster.green.admin]\nurl = "http://g:8080"\n{own}'
    )
    with pytest.raises(ConfigError, match=rf"^{table}\.endpoints: .* is not host:port") as found:
        cluster_store_settings(load(file, check_adapters=False), "green")
    assert found.value.hint == "See 'syncer config check'."
