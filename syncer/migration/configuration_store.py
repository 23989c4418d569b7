"""The configuration store of two clusters: whether each has its own, and how a namespace is moved where they share one.

Then both read the same policies, and green is let in beside blue: ``allowed_clusters`` says whose brokers serve a
namespace, ``replication_clusters`` stays blue alone until the end, and one name alone starts no replicator. Blue is
left among the allowed ones, or its brokers would delete its topics. Partitioned topics are the same at both, their
partitions are not; so are policies of the namespace, and not those of its topics.
Source: PIP-321; ``PersistentTopic.checkReplication``, ``BrokerService.isCurrentClusterAllowed``, Pulsar 4.0.8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from syncer.client_versions import Release, release_of
from syncer.migration.evidence import NOTHING, ClusterSeen, NamespaceSeen

_SCHEME: Final = re.compile(r"^(?:(?:zk|etcd|oxia|rocksdb|memory|metadata-store):)?(?:https?://|/*)")
_STORES: Final = ("configurationMetadataStoreUrl", "metadataStoreUrl", "configurationStoreServers", "zookeeperServers")
_LOCAL: Final = frozenset({"bundles", "clusterThatCanDeleteNamespace", "migrated"})
_ALLOWS_SINCE: Final = (4, 0, 8)
_NOT_YET: Final = ((4, 1, 0), (4, 2, 0))
"""Brokers before unload a namespace at every change of its policies where they are not in ``replication_clusters``
(PR 24860)."""


def names_in(value: object) -> set[str]:
    """The names in a list of clusters; nothing where there is none."""
    return {str(each) for each in value} if isinstance(value, Iterable) else set()


def apart(blue: ClusterSeen, green: ClusterSeen, name: str) -> bool:
    """Whether a namespace is known to be two documents, one of each cluster.

    It is where both clusters' brokers tell where their configuration is stored, and no host is the same, and where the
    policies differ besides: one ensemble can be named by different hosts.
    """
    here, there = _stores(blue), _stores(green)
    return bool(here and there) and not here & there and _document(blue, name) != _document(green, name)


def _document(cluster: ClusterSeen, name: str) -> dict[str, object]:
    """A namespace's policies without those that a broker adds of its own store."""
    namespace = cluster.namespaces.get(name)
    policies = NOTHING if namespace is None else namespace.policies
    return {key: value for key, value in policies.items() if key not in _LOCAL}


def in_one_document(blue: ClusterSeen, green: ClusterSeen, name: str) -> bool:
    """Whether a namespace may have the same policies at both, and can be moved all the same.

    That is where nothing says that the stores are two, and at both blue alone is in the list of clusters. Were they two
    for all that, green would serve it in the same way, and send nothing to blue.
    """
    here, there = blue.namespaces.get(name), green.namespaces.get(name)
    if here is None or there is None or blue.name == green.name or apart(blue, green, name):
        return False
    return all(names_in(each.policies.get("replication_clusters")) == {blue.name} for each in (here, there))


def not_allowed(blue: ClusterSeen, green: ClusterSeen, there: NamespaceSeen) -> set[str]:
    """The names of those of both clusters that green's policies of a namespace have yet to allow."""
    return {blue.name, green.name} - names_in(there.policies.get("allowed_clusters"))


def too_old(blue: ClusterSeen, green: ClusterSeen) -> tuple[str, ...]:
    """Brokers that do not go by the allowed clusters alone: address and version."""
    return tuple(
        f"{broker.address} ({broker.version})"
        for broker in (*blue.brokers, *green.brokers)
        if not _goes_by_allowed(release_of(broker.version or ""))
    )


def _goes_by_allowed(release: Release | None) -> bool:
    return release is not None and release >= _ALLOWS_SINCE and not _NOT_YET[0] <= release < _NOT_YET[1]


def _stores(cluster: ClusterSeen) -> set[str]:
    """``host:port`` of all servers that hold the cluster's configuration; nothing where a broker does not tell."""
    urls = [
        next((settings[name] for name in _STORES if settings.get(name)), "")
        for settings in (broker.settings or {} for broker in cluster.brokers)
    ]
    servers = {_SCHEME.sub("", server).partition("/")[0] for url in urls for server in url.split(",")}
    return servers if all(urls) else set()
