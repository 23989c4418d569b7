"""Two clusters have their own configuration stores where their brokers say so; else a namespace may be one document."""

from __future__ import annotations

import pytest

from syncer.migration.checks.finding import ClusterPair
from syncer.migration.configuration_store import apart, in_one_document, names_in, not_allowed, too_old
from syncer.migration.evidence import BrokerSeen
from syncer.replacing import replace
from tests.unit.migration.pictures import (
    GREEN_POLICIES,
    NAMESPACE,
    POLICIES,
    picture,
    with_blue,
    with_green,
    with_namespace,
)


def stored(pair: ClusterPair, blue: str, green: str) -> ClusterPair:
    """Both clusters tell where their configuration is."""
    made = []
    for address, url in (("blue:8080", blue), ("green:8080", green)):
        settings = {"configurationMetadataStoreUrl": url} if url else {}
        made.append((BrokerSeen(address=address, version="4.0.8", settings=settings),))
    return with_green(with_blue(pair, brokers=made[0]), brokers=made[1])


def one_document(pair: ClusterPair) -> bool:
    return in_one_document(pair.blue, pair.green, NAMESPACE)


def listed(*clusters: str) -> ClusterPair:
    return with_namespace(picture(), at="green", policies={**GREEN_POLICIES, "replication_clusters": list(clusters)})


@pytest.mark.parametrize(
    ("blue", "green", "two"),
    [
        ("zk:a:2181,b:2181/conf", "zk:c:2181", True),
        ("zk:a:2181,b:2181", "zk:b:2181", False),
        ("etcd:http://a:2379", "etcd:http://b:2379", True),
        ("zk:a:2181", "", False),
        ("", "", False),
    ],
)
def test_stores_are_two_where_no_host_is_in_both(blue: str, green: str, two: bool) -> None:
    pair = stored(listed("blue"), blue, green)
    assert apart(pair.blue, pair.green, NAMESPACE) is two
    assert one_document(pair) is not two


def test_policies_that_are_equal_may_be_one_document_whatever_hosts_are_told() -> None:
    policies = {**POLICIES, "migrated": False, "bundles": {"numBundles": 4}}
    pair = with_namespace(stored(picture(), "zk:a:2181", "zk:b:2181"), at="green", policies=policies)
    pair = with_namespace(pair, policies={**POLICIES, "migrated": True})
    assert not apart(pair.blue, pair.green, NAMESPACE)
    assert one_document(pair)


@pytest.mark.parametrize("clusters", [("green",), ("blue", "green"), ("blue", "north"), ()])
def test_a_namespace_is_moved_in_one_document_only_where_blue_alone_is_listed(clusters: tuple[str, ...]) -> None:
    assert not one_document(listed(*clusters))
    same = with_namespace(listed(*clusters), policies={**POLICIES, "replication_clusters": list(clusters)})
    assert not one_document(same)


def test_there_is_no_document_where_one_lacks_the_namespace_or_both_have_one_name() -> None:
    assert not one_document(with_green(listed("blue"), namespaces={}))
    assert not one_document(with_blue(listed("blue"), namespaces={}))
    assert not one_document(with_green(listed("blue"), name="blue"))


def test_both_have_to_be_allowed() -> None:
    pair = listed("blue")
    there = pair.green.namespaces[NAMESPACE]
    assert not_allowed(pair.blue, pair.green, there) == {"blue", "green"}
    allowing = replace(there, policies={**there.policies, "allowed_clusters": ["blue", "east"]})
    assert not_allowed(pair.blue, pair.green, allowing) == {"green"}


@pytest.mark.parametrize(
    ("version", "old"),
    [("4.0.8", False), ("4.2.0", False), ("5.0.1", False), ("4.0.7", True), ("4.1.3", True), ("3.3.9", True)],
)
def test_brokers_have_to_go_by_the_allowed_clusters_alone(version: str, old: bool) -> None:
    pair = with_green(picture(), brokers=(BrokerSeen(address="green:8080", version=version, settings=None),))
    assert too_old(pair.blue, pair.green) == ((f"green:8080 ({version})",) if old else ())


def test_a_broker_that_tells_no_version_counts_as_old() -> None:
    pair = with_blue(picture(), brokers=(BrokerSeen(address="blue:8080", version=None, settings=None),))
    assert too_old(pair.blue, pair.green) == ("blue:8080 (None)",)


def test_names_are_taken_of_lists_alone() -> None:
    assert names_in(["a", "b"]) == {"a", "b"}
    assert names_in(None) == set()
