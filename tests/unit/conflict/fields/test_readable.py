"""What brokers can read of a document, by its kind and their versions; a test on real classes tells that it is so."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.conflict.fields.brokers import Brokers, refusal
from syncer.conflict.fields.readable import histories, types_of
from syncer.conflict.fields.table import VERSIONS, known_fields, parse_version
from syncer.conflict.fields.tolerance import all_namings
from syncer.model import ResourceKind
from tests.unit.conflict.fields.test_kept import of

NAMESPACE, TOPIC, POLICIES = ResourceKind.NAMESPACE, ResourceKind.PARTITIONED_TOPIC, ResourceKind.TOPIC_POLICY
CLUSTER, TENANT, ISOLATION = ResourceKind.CLUSTER, ResourceKind.TENANT, ResourceKind.ISOLATION_POLICY
NEWEST = of(VERSIONS[-1], VERSIONS[-1])

READ: tuple[tuple[ResourceKind, dict[str, Any]], ...] = (
    (NAMESPACE, {}),
    (NAMESPACE, {"retention_policies": None, "bundles": {"boundaries": ["0x0", None, 7], "numBundles": 4}}),
    (NAMESPACE, {"no such field": [{"retention_policies": 5}]}),
    (NAMESPACE, {"max_producers_per_topic": "3", "deleted": "False", "migrated": 0}),
    (NAMESPACE, {"max_producers_per_topic": " -3 ", "deleted": "", "migrated": "null"}),
    (NAMESPACE, {"max_producers_per_topic": 3.9, "compaction_threshold": -(2**63)}),
    (NAMESPACE, {"max_producers_per_topic": -2147483648.0, "compaction_threshold": -(2.0**63)}),
    (NAMESPACE, {"max_producers_per_topic": 2147483647.0, "compaction_threshold": 2.0**63}),
    (NAMESPACE, {"latency_stats_sample_rate": {"a": "", "b": "null", "c": None}}),
    (NAMESPACE, {"resource_group_name": 5, "properties": {"a": True, "b": 1.5}}),
    (NAMESPACE, {"auth_policies": {"namespace_auth": {"role": ["produce", "no such right", 17, None]}}}),
    (NAMESPACE, {"entryFilters": "by a text", "autoSubscriptionCreationOverride": True}),
    (NAMESPACE, {"autoSubscriptionCreationOverride": " true "}),
    (NAMESPACE, {"persistence": {"managedLedgerMaxMarkDeleteRate": 5}}),
    (NAMESPACE, {"persistence": {"managedLedgerMaxMarkDeleteRate": "1.5e3"}}),
    (NAMESPACE, {"persistence": {"managedLedgerMaxMarkDeleteRate": "NaN"}}),
    (POLICIES, {"replicationClusters": ["a"], "replicationClustersSet": ["a"]}),
    (POLICIES, {"replicationClustersSet": None}),
    (ISOLATION, {"any name": {"namespaces": ["a/b"], "auto_failover_policy": {"policy_type": "min_available"}}}),
    (TOPIC, {"partitions": "4", "properties": None}),
)
REFUSED: tuple[tuple[ResourceKind, dict[str, Any], str], ...] = (
    (NAMESPACE, {"retention_policies": 5}, "retention_policies: an object is due, found a number 5"),
    (
        NAMESPACE,
        {"max_producers_per_topic": True},
        "max_producers_per_topic: a whole number of 32 bits is due, found a truth value true",
    ),
    (
        NAMESPACE,
        {"max_producers_per_topic": 2**31},
        "max_producers_per_topic: a whole number of 32 bits is due, found a number 2147483648",
    ),
    (
        NAMESPACE,
        {"max_producers_per_topic": 3e9},
        "max_producers_per_topic: a whole number of 32 bits is due, found a number 3000000000.0",
    ),
    (
        NAMESPACE,
        {"max_producers_per_topic": "3.0"},
        "max_producers_per_topic: a whole number of 32 bits is due, found a text",
    ),
    *(
        (
            NAMESPACE,
            {"max_producers_per_topic": beyond},
            f"max_producers_per_topic: a whole number of 32 bits is due, found a number {beyond}",
        )
        for beyond in (2147483647.5, -2147483648.5)
    ),
    (NAMESPACE, {"deleted": 0.0}, "deleted: true or false is due, found a number 0.0"),
    (NAMESPACE, {"deleted": "no"}, "deleted: true or false is due, found a text"),
    (NAMESPACE, {"resource_group_name": ["x"]}, "resource_group_name: a text is due, found an array"),
    (NAMESPACE, {"properties": {"a": {}}}, "properties.a: a text is due, found an object"),
    (NAMESPACE, {"properties": []}, "properties: an object is due, found an array"),
    (NAMESPACE, {"allowed_clusters": 10**50}, f"allowed_clusters: an array is due, found a number 1{'0' * 39}..."),
    (
        NAMESPACE,
        {"auth_policies": {"namespace_auth": {"role": [1.5]}}},
        "auth_policies.namespace_auth.role.0: a text is due, found a number 1.5",
    ),
    (NAMESPACE, {"subscription_auth_mode": 2**31}, "subscription_auth_mode: a text is due, found a number 2147483648"),
    (
        NAMESPACE,
        {"scalableTopicAutoScalePolicy": {"mergeMsgRateInThreshold": "1d"}},
        "scalableTopicAutoScalePolicy.mergeMsgRateInThreshold: a number is due, found a text",
    ),
    (
        NAMESPACE,
        {"autoSubscriptionCreationOverride": "yes"},
        "autoSubscriptionCreationOverride: an object is due, found a text",
    ),
    (NAMESPACE, {"entryFilters": True}, "entryFilters: an object is due, found a truth value true"),
    (
        NAMESPACE,
        {"persistence": {"managedLedgerMaxMarkDeleteRate": "fast"}},
        "persistence.managedLedgerMaxMarkDeleteRate: a number is due, found a text",
    ),
    (
        NAMESPACE,
        {"persistence": {"managedLedgerMaxMarkDeleteRate": True}},
        "persistence.managedLedgerMaxMarkDeleteRate: a number is due, found a truth value true",
    ),
    (
        POLICIES,
        {"replicationClustersSet": ["a"]},
        "replicationClustersSet: replicationClusters, without null, is due before it",
    ),
    (
        POLICIES,
        {"replicationClusters": ["a", None], "replicationClustersSet": []},
        "replicationClustersSet: replicationClusters, without null, is due before it",
    ),
    (
        POLICIES,
        {"replicationClusters": ["a"], "replicationClustersSet": ["a", None]},
        "replicationClustersSet: replicationClusters, without null, is due before it",
    ),
    (POLICIES, {"maxMessageSize": {}}, "maxMessageSize: a whole number of 32 bits is due, found an object"),
    (ISOLATION, {"any name": []}, "any name: an object is due, found an array"),
    (TOPIC, {"partitions": []}, "partitions: a whole number of 32 bits is due, found an array"),
    (CLUSTER, {"peerClusterNames": "a"}, "peerClusterNames: an array is due, found a text"),
    (TENANT, {"adminRoles": {}}, "adminRoles: an array is due, found an object"),
)


@pytest.mark.parametrize(("kind", "document"), READ)
@pytest.mark.parametrize("brokers", [None, Brokers(), NEWEST, of(VERSIONS[0], VERSIONS[-1])], ids=str)
def test_what_brokers_can_read_is_let_pass(kind: ResourceKind, document: dict[str, Any], brokers: Brokers) -> None:
    assert refusal(brokers, kind, document) is None


@pytest.mark.parametrize(("kind", "document", "told"), REFUSED)
def test_what_brokers_cannot_read_is_told_by_its_place(kind: ResourceKind, document: dict[str, Any], told: str) -> None:
    assert refusal(NEWEST, kind, document) == told


def test_where_no_version_is_known_it_counts_what_none_can_read() -> None:
    newer = {"scalableTopicAutoScalePolicy": 5}
    assert refusal(NEWEST, NAMESPACE, newer) == "scalableTopicAutoScalePolicy: an object is due, found a number 5"
    for unknown in (None, Brokers()):
        assert refusal(unknown, NAMESPACE, newer) is None, "older ones pass over it"
        assert refusal(unknown, NAMESPACE, {"retention_policies": 5}) is not None


def test_each_broker_that_is_here_must_read_it() -> None:
    newer = {"scalableTopicAutoScalePolicy": 5}
    assert refusal(of(VERSIONS[0], VERSIONS[0]), NAMESPACE, newer) is None
    assert refusal(of(VERSIONS[0], VERSIONS[-1]), NAMESPACE, newer) is not None
    moved = {"migratedClusterUrl": 5}
    assert refusal(of("3.0.7", VERSIONS[-1]), CLUSTER, moved) is not None
    assert refusal(NEWEST, CLUSTER, moved) is None, "it is no field any more"


def test_a_version_beyond_the_table_counts_as_the_one_at_its_edge() -> None:
    newer = {"scalableTopicAutoScalePolicy": 5}
    assert refusal(of("99.0.0", "99.0.0"), NAMESPACE, newer) is not None
    assert refusal(of("1.0.0", "1.0.0"), NAMESPACE, newer) is None
    assert refusal(of("1.0.0", "1.0.0"), NAMESPACE, {"retention_policies": 5}) is not None


def test_a_field_that_is_named_twice_is_read_twice() -> None:
    value = all_namings(b'{"deleted":[],"a":1,"deleted":false}')
    assert value == {"deleted": False, "a": 1}
    assert refusal(NEWEST, NAMESPACE, value) == "deleted: true or false is due, found an array"
    twice = all_namings(b'{"resource_group_name":{"a":1,"a":2}}')
    assert refusal(NEWEST, NAMESPACE, twice) == "resource_group_name: a text is due, found an object"
    nested = all_namings(b'{"bundles":{"numBundles":{},"numBundles":4}}')
    assert refusal(NEWEST, NAMESPACE, nested) is not None


@pytest.mark.parametrize("kind", ResourceKind)
def test_every_field_that_is_known_has_a_type(kind: ResourceKind) -> None:
    for version in VERSIONS:
        types = types_of(kind, version)
        if "object" in types:
            assert known_fields(parse_version(version), kind).keys() <= types["object"].keys(), version


def test_the_history_of_a_field_tells_when_it_came_changed_and_went() -> None:
    types = {
        "1": {"object": {"a": "int", "b": "text"}},
        "2": {"object": {"a": "long", "b": "text"}},
        "3": {"object": {"a": "long"}},
        "4": {"object": {"a": "long", "b": "text"}},
    }
    assert histories(types) == {"a": {"1": "int", "2": "long"}, "b": {"1": "text", "3": None, "4": "text"}}
    assert histories({"1": {"map": "int"}}) == {"*": {"1": "int"}}
