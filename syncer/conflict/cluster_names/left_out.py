"""Clusters whose brokers force-delete a topic, by its own policies and by those of its namespace. Pure.

Source: Pulsar 4.2.4, ``PersistentTopic.checkReplication`` and ``checkAllowedCluster``; for whom brokers serve,
``PulsarWebResource.checkLocalOrGetPeerReplicationCluster``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

_Document: TypeAlias = Mapping[str, Any] | None
_NO_CLUSTER: Final = frozenset({""})
"""A list that names no cluster, and is not empty."""


def deleted_by(topic: _Document, namespace: _Document, clusters: frozenset[str]) -> frozenset[str]:
    """Return which of these clusters would delete a topic.

    A list of the topic takes the place of the list of its namespace. Brokers delete nothing by an empty list. Nor do
    they where ``allowed_clusters`` of the namespace names their cluster.

    Args:
        topic: Policies of the topic; ``None``: it has none.
        namespace: Policies of the namespace; ``None``: they are absent.
        clusters: The clusters in question.
    """
    own = topic_list(topic)
    named = own if own is not None else _listed(namespace, "replication_clusters") or frozenset()
    return clusters - named - allowed(namespace) if named else frozenset()


def topic_list(topic: _Document) -> frozenset[str] | None:
    """Return the clusters that a topic's own policies list; ``None``: the topic follows its namespace."""
    return _listed(topic, "replicationClusters")


def allowed(namespace: _Document) -> frozenset[str]:
    """Return the clusters that a namespace allows besides those that it replicates to."""
    return _listed(namespace, "allowed_clusters") or frozenset()


def served_by(namespace: _Document) -> frozenset[str]:
    """Return the clusters whose brokers serve a namespace: those that it allows; where it names none, its replicas.

    Brokers of any other cluster delete nothing where it is among the replicas, and refuse whoever looks for a topic.

    Args:
        namespace: Policies of the namespace; ``None``: they are absent.
    """
    return allowed(namespace) or _listed(namespace, "replication_clusters") or frozenset()


def may_newly_delete(present: _Document, proposed: _Document, clusters: frozenset[str]) -> frozenset[str]:
    """Return which clusters could delete a topic after a change of its policies, and not before, by some namespace."""
    before, after = topic_list(present), topic_list(proposed)
    if before == after:
        return frozenset()
    if after is not None:
        return clusters - after if after else frozenset()
    return clusters & before if before else clusters


def _listed(document: _Document, field: str) -> frozenset[str] | None:
    members = document.get(field) if document is not None else None
    if members is None:
        return None
    if not isinstance(members, list):
        return _NO_CLUSTER
    return frozenset(each if isinstance(each, str) else "" for each in members)
