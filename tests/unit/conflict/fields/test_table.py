"""The table of fields: which version stands for which, and what each one added."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from syncer.conflict.fields import table
from syncer.conflict.fields.table import (
    VERSIONS,
    BrokerVersion,
    Edge,
    Tree,
    always_written,
    beyond,
    derived_fields,
    known_fields,
    known_to_all,
    known_to_any,
    listed,
    parse_version,
    written_defaults,
)
from syncer.model import ResourceKind

FILE: Final = Path(table.__file__).with_name("known_fields.json")


def version_of(text: str) -> BrokerVersion:
    version = parse_version(text)
    assert version is not None
    return version


def known(text: str, kind: ResourceKind) -> Tree:
    return known_fields(version_of(text), kind)


def added(older: str, newer: str) -> dict[str, set[str]]:
    """The fields at the top that a version knows and an older one does not, by their kinds, where there are any."""
    found = {kind.value: set(known(newer, kind)) - set(known(older, kind)) for kind in ResourceKind}
    return {kind: names for kind, names in found.items() if names}


def test_what_comes_before_a_release_is_older_than_it() -> None:
    texts = [
        "2.10.6",
        "4.0.8",
        "4.0.8.1",
        "4.0.10",
        "4.2.4",
        "4.3.0-SNAPSHOT",
        "4.3.0",
        "5.0.0-alpha-1",
        "5.0.0-beta.2",
        "5.0.0-M1",
        "5.0.0-M2",
        "5.0.0-M10",
        "5.0.0-rc-1",
        "5.0.0-RC2",
        "5.0.0-SNAPSHOT",
        "5.0.0",
    ]
    versions = [version_of(text) for text in texts]
    assert versions == sorted(versions)
    assert len(set(versions)) == len(versions)


def test_a_version_is_read_with_numbers_left_out_and_space_around() -> None:
    assert version_of(" 4.2\n") == version_of("4.2.0")
    assert version_of("5.0.0-m1") == version_of("5.0.0-M1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "4",
        "4.",
        "v4.0.8",
        "4.0.8-",
        "4.0.8-x",
        "4.0.8 4.2.4",
        "1.2.3.4.5",
        "\u0664.\u0660.\u0668",
        "9" * 9000,
    ],
)
def test_anything_else_is_no_version(text: str) -> None:
    assert parse_version(text) is None


def test_the_versions_stand_in_their_order() -> None:
    assert list(VERSIONS) == sorted(VERSIONS, key=version_of)
    assert set(VERSIONS) >= {"4.0.8", "4.2.4", "5.0.0-M1"}
    assert set(VERSIONS) == json.loads(FILE.read_bytes()).keys()


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("2.8.0", "2.10.5"),
        ("2.10.5", "2.10.5"),
        ("2.11.4", "2.11.4"),
        ("3.0.16", "3.0.7"),
        ("3.2.4", "3.0.7"),
        ("3.3.9", "3.3.6"),
        ("4.0.8-rc-1", "3.3.6"),
        ("4.0.8", "4.0.8"),
        ("4.0.9", "4.0.8"),
        ("4.2.3", "4.0.8"),
        ("4.2.4", "4.2.4"),
        ("4.2.5", "4.2.4"),
        ("5.0.0-M1", "5.0.0-M1"),
        ("5.0.0", "5.0.0-M1"),
        ("5.0.1", "5.0.1"),
    ],
)
def test_the_newest_that_is_not_newer_stands_for_a_version(text: str, standing: str) -> None:
    assert listed(version_of(text)) == standing


def test_the_newest_stands_for_all_that_will_come() -> None:
    assert listed(version_of("999.0.0")) == VERSIONS[-1]


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        ("0.1", Edge.OLDER),
        ("2.9.99", Edge.OLDER),
        ("2.10.5-rc-1", Edge.OLDER),
        ("2.10.5", None),
        ("3.1.2", None),
        ("5.0.1", None),
        ("5.0.99", None),
        ("5.1.0-SNAPSHOT", Edge.NEWER),
        ("6.0.0", Edge.NEWER),
    ],
)
def test_the_table_has_two_edges(text: str, edge: Edge | None) -> None:
    assert beyond(version_of(text)) is edge


@pytest.mark.parametrize("kind", ResourceKind)
def test_a_version_knows_what_the_one_that_stands_for_it_knows(kind: ResourceKind) -> None:
    assert known("4.2.99", kind) == known("4.2.4", kind)
    assert known_fields(None, kind) == known("0.1", kind) == known(VERSIONS[0], kind)


@pytest.mark.parametrize("kind", ResourceKind)
def test_every_kind_is_known_to_every_version(kind: ResourceKind) -> None:
    for version in VERSIONS:
        assert known(version, kind)
        assert known(version, kind).keys().isdisjoint(derived_fields(kind))


def test_4_2_4_adds_two_fields() -> None:
    assert added("4.0.8", "4.2.4") == {
        "namespace": {"allowed_topic_property_keys_for_metrics"},
        "topic-policy": {"subscriptionExpirationTimeInMinutes"},
    }


def test_5_0_0_m1_adds_two_fields() -> None:
    new = {"is_allow_auto_update_schema_with_replicator", "scalableTopicAutoScalePolicy"}
    assert added("4.2.4", "5.0.0-M1") == {"namespace": new}
    policy = known("5.0.0-M1", ResourceKind.NAMESPACE)["scalableTopicAutoScalePolicy"]
    assert policy is not None
    assert policy.keys() >= {"enabled", "minSegments", "maxSegments"}


def places(tree: Tree, at: str = "") -> set[str]:
    """The names of all fields of a tree, nested ones with those above."""
    found = {f"{at}{name}" for name in tree}
    return found.union(*(places(below or {}, f"{at}{name}.") for name, below in tree.items()))


def test_what_versions_lost() -> None:
    lost = {
        (str(kind), place)
        for kind in ResourceKind
        for older, newer in pairwise(VERSIONS)
        for place in places(known(older, kind)) - places(known(newer, kind))
    }
    assert {each for each in lost if "." not in each[1]} == {
        ("cluster", "migrated"),
        ("cluster", "migratedClusterUrl"),
    }


@pytest.mark.parametrize("kind", ResourceKind)
def test_all_know_what_each_does_and_any_knows_what_one_does(kind: ResourceKind) -> None:
    trees = [places(known(version, kind)) for version in VERSIONS]
    assert places(known_to_all(VERSIONS[0], VERSIONS[-1], kind)) == trees[0].intersection(*trees)
    assert places(known_to_any(kind)) == trees[0].union(*trees)
    assert known_to_all("4.2.4", "4.2.4", kind) == known("4.2.4", kind)


def test_a_tree_goes_down_into_objects_and_not_into_arrays() -> None:
    fields = known("4.0.8", ResourceKind.NAMESPACE)
    assert fields["replication_clusters"] is None
    assert fields["latency_stats_sample_rate"] is None
    assert fields["retention_policies"] == {"retentionSizeInMB": None, "retentionTimeInMinutes": None}
    assert fields["publishMaxMessageRate"] == {
        "*": {"publishThrottlingRateInByte": None, "publishThrottlingRateInMsg": None}
    }
    assert known("4.0.8", ResourceKind.ISOLATION_POLICY).keys() == {"*"}


def test_derived_fields_are_those_of_all_versions() -> None:
    topic = derived_fields(ResourceKind.TOPIC_POLICY)
    assert topic >= {
        "globalPolicies",
        "messageTTLSet",
        "replicationClustersSet",
        "subscriptionExpirationTimeInMinutesSet",
    }
    assert "isGlobal" not in topic
    assert derived_fields(ResourceKind.NAMESPACE) == {"clusterThatCanDeleteNamespace"}  # of 4.0.8 alone
    assert derived_fields(ResourceKind.TENANT) == frozenset()


def test_what_only_a_newer_version_writes_proves_it() -> None:
    assert always_written("4.2.4", ResourceKind.TOPIC_POLICY) == {"subscriptionExpirationTimeInMinutesSet"}
    assert always_written("3.0.7", ResourceKind.NAMESPACE) == {"allowed_clusters", "offload_threshold_in_seconds"}
    assert always_written("4.2.4", ResourceKind.NAMESPACE) == frozenset()
    assert always_written("5.0.0-M1", ResourceKind.NAMESPACE) == {"is_allow_auto_update_schema_with_replicator"}
    assert always_written("5.0.1", ResourceKind.NAMESPACE) == {"is_allow_auto_update_schema_with_replicator"}


def test_older_columns_change_no_projection() -> None:
    assert written_defaults(ResourceKind.NAMESPACE) == {"is_allow_auto_update_schema_with_replicator": True}
