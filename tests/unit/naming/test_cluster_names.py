"""Names of clusters: one permutation, both ways, wherever a path or a value names one."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.conflict.cluster_names.telling import RegionNames
from syncer.conflict.projection import PROJECTIONS
from syncer.model import MetaPath, ResourceKind
from syncer.naming.cluster_names import ClusterNames, closed
from syncer.paths import namespace_path, tenant_path

SPACE: Final = namespace_path("acme", "orders")
TENANT: Final = tenant_path("acme")
NAMES: Final = ClusterNames({"pulsar-eu": "eu-west"})

some = st.sampled_from(["a", "b", "c", "d", "e"])
mappings = st.dictionaries(some, some, max_size=5).filter(lambda given: len(set(given.values())) == len(given))


def encoded(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


@given(given=mappings)
def test_what_is_closed_is_a_permutation_that_gives_the_names(given: dict[str, str]) -> None:
    found = closed(given)
    assert sorted(found) == sorted(found.values())
    assert {here: found.get(here, here) for here in given} == given
    assert all(here != there for here, there in found.items())


@given(given=mappings, named=st.lists(some, unique=True))
def test_what_names_no_moved_cluster_is_the_same_by_every_table(given: dict[str, str], named: list[str]) -> None:
    """So nothing of it is in dispute, although what it replaces may name one."""
    stays = [name for name in named if name not in RegionNames(table=given).moved]
    value = encoded(replication_clusters=stays, topicDispatchRate=dict.fromkeys(stays, 1))
    names = ClusterNames(given)
    assert names.value_in_group(SPACE, value) == value == names.value_here(SPACE, value)


def test_who_is_left_without_a_name_closes_its_chain() -> None:
    assert closed({"a": "b"}) == {"a": "b", "b": "a"}
    assert closed({"a": "b", "b": "c"}) == {"a": "b", "b": "c", "c": "a"}
    assert closed({"a": "a"}) == {}
    assert not ClusterNames({"a": "a"})
    assert NAMES
    assert NAMES.in_group("pulsar-eu") == "eu-west"
    assert NAMES.in_group("us") == "us"


VALUES: Final = {
    TENANT: {"adminRoles": ["pulsar-eu"], "allowedClusters": ["us", "pulsar-eu"]},
    SPACE: {
        "replication_clusters": ["pulsar-eu", "us"],
        "allowed_clusters": ["pulsar-eu"],
        "replicatorDispatchRate": {"pulsar-eu": {"x": 1}, "pulsar-eu->us": {"x": 2}},
        "topicDispatchRate": {"pulsar-eu": {"y": 1}},
        "publishMaxMessageRate": {"us": {"z": 1}},
        "properties": {"pulsar-eu": "pulsar-eu"},
        "resource_group_name": "pulsar-eu",
    },
    MetaPath("/admin/clusters/pulsar-eu"): {"peerClusterNames": ["us", "pulsar-eu"], "serviceUrl": "http://pulsar-eu"},
    MetaPath("/admin/topic-policies/global/acme/orders/persistent/t"): {"replicationClusters": ["pulsar-eu"]},
}
IN_GROUP: Final = {
    TENANT: {"adminRoles": ["pulsar-eu"], "allowedClusters": ["us", "eu-west"]},
    SPACE: {
        "replication_clusters": ["eu-west", "us"],
        "allowed_clusters": ["eu-west"],
        "replicatorDispatchRate": {"eu-west": {"x": 1}, "eu-west->us": {"x": 2}},
        "topicDispatchRate": {"eu-west": {"y": 1}},
        "publishMaxMessageRate": {"us": {"z": 1}},
        "properties": {"pulsar-eu": "pulsar-eu"},
        "resource_group_name": "pulsar-eu",
    },
    MetaPath("/admin/clusters/eu-west"): {"peerClusterNames": ["us", "eu-west"], "serviceUrl": "http://pulsar-eu"},
    MetaPath("/admin/topic-policies/global/acme/orders/persistent/t"): {"replicationClusters": ["eu-west"]},
}


def test_every_place_that_names_a_cluster_is_mapped_and_no_other() -> None:
    found = {
        NAMES.path_in_group(path): json.loads(NAMES.value_in_group(path, json.dumps(value).encode()))
        for path, value in VALUES.items()
    }
    assert found == IN_GROUP
    back = {
        NAMES.path_here(path): json.loads(NAMES.value_here(path, json.dumps(value).encode()))
        for path, value in found.items()
    }
    assert back == VALUES


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (SPACE, b"no JSON of pulsar-eu"),
        (SPACE, b'{"replication_clusters":"pulsar-eu"}'),
        (SPACE, b'{ "replication_clusters": ["us"] }'),
        (SPACE, b'{ "replication_clusters": ["us"], "properties": {"pulsar-eu": "1"} }'),
        (SPACE, b'{ "replicatorDispatchRate": ["pulsar-eu"] }'),
        (SPACE, b""),
        (MetaPath("/admin/resourcegroups/pulsar-eu"), b'{"pulsar-eu": 1}'),
        (MetaPath("/pulsar-syncer/fence/pulsar-eu"), b'{"pulsar-eu": 1}'),
    ],
)
def test_what_names_no_cluster_stays_byte_for_byte(path: MetaPath, value: bytes) -> None:
    assert NAMES.value_in_group(path, value) == value
    assert NAMES.path_in_group(path) == path


def test_what_is_below_a_cluster_moves_with_it() -> None:
    below = MetaPath("/admin/clusters/pulsar-eu/namespaceIsolationPolicies")
    assert NAMES.path_in_group(below) == "/admin/clusters/eu-west/namespaceIsolationPolicies"
    assert NAMES.path_in_group(MetaPath("/admin/clusters")) == "/admin/clusters"
    assert NAMES.path_in_group(MetaPath("/admin/clusters/pulsar-eu2")) == "/admin/clusters/pulsar-eu2"


members = st.lists(st.one_of(some, st.integers(0, 2)), max_size=4)


@given(
    given=mappings,
    clusters=members,
    rates=st.dictionaries(st.one_of(some, st.tuples(some, some).map("->".join)), st.integers(0, 3), max_size=4),
)
def test_both_ways_are_one_and_forget_nothing(
    given: dict[str, str], clusters: list[Any], rates: dict[str, int]
) -> None:
    names = ClusterNames(given)
    value = encoded(replication_clusters=clusters, replicatorDispatchRate=rates, big=10**30)
    there = names.value_in_group(SPACE, value)
    assert json.loads(names.value_here(SPACE, there)) == json.loads(value)
    assert json.loads(names.value_in_group(SPACE, names.value_here(SPACE, value))) == json.loads(value)
    projection = PROJECTIONS[ResourceKind.NAMESPACE]
    assert projection.digest(names.value_here(SPACE, there)) == projection.digest(value)
    path = MetaPath("/admin/clusters/a")
    assert names.path_here(names.path_in_group(path)) == path
