"""Every place of a document that names a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.conflict.cluster_names.places import clusters_named
from syncer.model import MetaPath, ResourceKind
from syncer.paths import namespace_path, tenant_path

SPACE = namespace_path("acme", "orders")


@pytest.mark.parametrize(
    ("path", "kind", "document", "named"),
    [
        (tenant_path("acme"), ResourceKind.TENANT, {"allowedClusters": ["a", "b", 7]}, {"a", "b"}),
        (tenant_path("acme"), ResourceKind.TENANT, {"allowedClusters": "a", "replication_clusters": ["b"]}, set()),
        (SPACE, ResourceKind.NAMESPACE, {"replication_clusters": ["a"], "allowed_clusters": ["b"]}, {"a", "b"}),
        (SPACE, ResourceKind.NAMESPACE, {"replicatorDispatchRate": {"a->b": {}, "c": {}}}, {"a", "b", "c"}),
        (SPACE, ResourceKind.NAMESPACE, {"topicDispatchRate": ["a"]}, set()),
        (SPACE, ResourceKind.NAMESPACE, None, set()),
        (MetaPath("/admin/clusters/a"), ResourceKind.CLUSTER, {"peerClusterNames": ["b"]}, {"a", "b"}),
        (MetaPath("/admin/clusters/a/namespaceIsolationPolicies"), ResourceKind.ISOLATION_POLICY, None, {"a"}),
        (MetaPath("/admin/resourcegroups/a"), ResourceKind.RESOURCE_GROUP, {"allowedClusters": ["b"]}, set()),
    ],
)
def test_names_are_found_where_documents_have_them(
    path: MetaPath, kind: ResourceKind, document: dict[str, Any] | None, named: set[str]
) -> None:
    assert clusters_named(path, kind, document) == named
