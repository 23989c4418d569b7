"""Rules of exclusion: which fields of which paths, and what they may not name."""

from __future__ import annotations

import pytest

from syncer.conflict.exclusion.rules import Exclusion, Exclusions, excludable
from syncer.errors import ConfigError
from syncer.model import MetaPath, ResourceKind

SPACE = MetaPath("/admin/policies/acme/orders")
TENANT = MetaPath("/admin/policies/acme")


def test_all_rules_that_match_a_path_exclude_there() -> None:
    rules = Exclusions(
        [
            Exclusion("/admin/policies/acme/**", ("message_ttl_in_seconds",)),
            Exclusion("/admin/policies/**", ("retention_policies", "adminRoles")),
        ]
    )
    assert rules.at(SPACE) == {"message_ttl_in_seconds", "retention_policies"}
    assert rules.at(TENANT) == {"adminRoles"}
    assert rules.at(MetaPath("/admin/policies/other/orders")) == {"retention_policies"}
    assert rules.at(MetaPath("/admin/resourcegroups/fast")) == frozenset()
    assert rules.at(MetaPath("/admin/policies/acme/a/b/c/d")) == frozenset()
    assert Exclusions().at(SPACE) == frozenset()


@pytest.mark.parametrize(
    ("pattern", "fields", "words"),
    [
        ("/admin/policies/*/*", ("ttl",), "no document that"),
        ("/admin/policies/*/*", ("adminRoles",), "has a field 'adminRoles'"),
        ("/admin/policies/*", ("retention_policies",), "no document that"),
        ("/admin/policies/**", ("replication_clusters",), "cannot be excluded"),
        ("/admin/policies/**", ("allowedClusters",), "cannot be excluded"),
        ("/admin/partitioned-topics/**", ("partitions",), "cannot be excluded"),
        ("/admin/policies/**", ("bundles",), "each cluster's own already"),
        ("/admin/policies/**", ("retention_policies.retentionSizeInMB",), "at the top"),
        ("/admin/policies/**", ("retention_policies", "retention_policies"), "twice"),
        ("/admin/policies/**", (), "names no field"),
        ("/admin/clusters/*/namespaceIsolationPolicies", ("serviceUrl",), "no document that"),
        ("/loadbalance/**", ("retention_policies",), "outside"),
        ("policies", ("retention_policies",), "no path pattern"),
    ],
)
def test_what_cannot_be_excluded_is_refused(pattern: str, fields: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        Exclusions([Exclusion(pattern, fields)])
    assert refused.value.hint


def test_what_was_in_force_elsewhere_is_taken_as_far_as_this_version_knows_it() -> None:
    ttl, unheard = "message_ttl_in_seconds", "field_of_another_version"
    noted = Exclusions(
        [
            Exclusion("/admin/policies/**", (ttl, unheard)),
            Exclusion("/admin/policies/**", ()),
            Exclusion("/x/**", ("y",)),
        ],
        told=True,
    )
    assert noted.at(SPACE) == {ttl}
    assert noted.at(TENANT) == frozenset()


def test_one_pattern_is_there_once() -> None:
    rule = Exclusion("/admin/policies/**", ("retention_policies",))
    with pytest.raises(ConfigError, match="two exclusions"):
        Exclusions([rule, rule])


def test_kinds_without_fields_to_exclude_are_told_apart() -> None:
    assert excludable(ResourceKind.CLUSTER) == {"peerClusterNames"}
    assert excludable(ResourceKind.ISOLATION_POLICY) == frozenset()
    with pytest.raises(ConfigError, match="no document") as refused:
        Exclusions([Exclusion("/admin/partitioned-topics/**", ("x",))])
    assert "properties" in refused.value.hint
