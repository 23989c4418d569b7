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
    Tree,
    always_written,
    derived_fields,
    known_fields,
    listed,
    parse_version,
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
        ("2.8.0", "4.0.8"),
        ("4.0.8-rc-1", "4.0.8"),
        ("4.0.8", "4.0.8"),
        ("4.0.9", "4.0.8"),
        ("4.2.3", "4.0.8"),
        ("4.2.4", "4.2.4"),
        ("4.2.5", "4.2.4"),
        ("5.0.0-M1", "5.0.0-M1"),
    ],
)
def test_the_newest_that_is_not_newer_stands_for_a_version(text: str, standing: str) -> None:
    assert listed(version_of(text)) == standing


def test_the_newest_stands_for_all_that_will_come() -> None:
    assert listed(version_of("999.0.0")) == VERSIONS[-1]


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


def test_no_version_lost_a_field() -> None:
    def lost(older: Tree, newer: Tree) -> list[str]:
        found = [name for name in older if name not in newer]
        for name in older.keys() & newer.keys():
            found += [f"{name}.{each}" for each in lost(older[name] or {}, newer[name] or {})]
        return found

    for kind in ResourceKind:
        trees = [known(version, kind) for version in VERSIONS]
        for older, newer in pairwise(trees):
            assert lost(older, newer) == []


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
    assert always_written("4.2.4", ResourceKind.NAMESPACE) == frozenset()
    assert always_written("5.0.0-M1", ResourceKind.NAMESPACE) == {"is_allow_auto_update_schema_with_replicator"}
