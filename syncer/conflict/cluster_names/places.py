"""Places of documents that name clusters, by kind of resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from syncer.model import MetaPath, ResourceKind
from syncer.paths import CLUSTERS

BELOW: Final = f"{CLUSTERS}/"
"""Before a cluster's name in the paths of what is declared of it."""
LISTS: Final[Mapping[ResourceKind, tuple[str, ...]]] = {
    ResourceKind.TENANT: ("allowedClusters",),
    ResourceKind.NAMESPACE: ("replication_clusters", "allowed_clusters"),
    ResourceKind.CLUSTER: ("peerClusterNames",),
    ResourceKind.TOPIC_POLICY: ("replicationClusters",),
}
"""Arrays of names of clusters."""
KEYED: Final[Mapping[ResourceKind, tuple[str, ...]]] = {
    ResourceKind.NAMESPACE: (
        "topicDispatchRate",
        "subscriptionDispatchRate",
        "replicatorDispatchRate",
        "clusterDispatchRate",
        "clusterSubscribeRate",
        "publishMaxMessageRate",
        "latency_stats_sample_rate",
    ),
}
"""Objects with a field for each cluster."""
ARROW: Final = "->"
"""Between the two clusters of a replicator, in the keys of its rates."""


def clusters_named(path: MetaPath, kind: ResourceKind, document: Mapping[str, Any] | None) -> frozenset[str]:
    """Every name of a cluster in a path, and in what stands there.

    Args:
        path: The path.
        kind: Of the resource there.
        document: Its parsed value; ``None``: it is absent.
    """
    found = set[str]()
    if path.startswith(BELOW):
        found.add(path[len(BELOW) :].partition("/")[0])
    if document is not None:
        found.update(_listed(document, LISTS.get(kind, ())))
        found.update(_keys(document, KEYED.get(kind, ())))
    return frozenset(found)


def _listed(document: Mapping[str, Any], fields: tuple[str, ...]) -> Iterator[str]:
    for field in fields:
        members = document.get(field)
        if isinstance(members, list):
            yield from (each for each in members if isinstance(each, str))


def _keys(document: Mapping[str, Any], fields: tuple[str, ...]) -> Iterator[str]:
    for field in fields:
        rates = document.get(field)
        for key in rates if isinstance(rates, dict) else ():
            yield from key.split(ARROW)
