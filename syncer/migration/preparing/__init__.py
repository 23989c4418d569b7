"""Preparing green: the ordered steps that give it what blue's clients will look for.

Parents come before what is in them. Nothing at green is deleted or made smaller, but for one thing: blue's name is
taken out of the clusters that a namespace of green is replicated to, since a broker of blue would send back to green
what was sent there. To the other clusters green replicates as blue does, from its first message on: nobody publishes
there before blue's replicators have sent everything. What green may not do while messages wait there it may do again at
the end (:func:`restoring`).

Planned from what was read of both clusters, and from nothing else: planned again after some of the steps, it is the
rest of them; after all of them it is nothing.
Source: ``NamespacesBase``, ``TenantsBase``, ``PersistentTopicsBase``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from syncer.admin.calls import cluster_url, namespace_url, tenant_url
from syncer.migration.checks.finding import ClusterPair
from syncer.migration.configuration_store import in_one_document, names_in
from syncer.migration.evidence import NOTHING, NamespaceSeen
from syncer.migration.policies import TOPIC_REPLICATION, differing, of_namespace, of_topic, wanted_of_namespace
from syncer.migration.policies.calls import NAMESPACE_LEVEL, TOPIC_LEVEL
from syncer.migration.preparing.namespaces import absent, cluster_list, namespace_steps, new_namespace, thirds
from syncer.migration.preparing.policy_steps import policy_steps
from syncer.migration.preparing.step import AdminRequest, Preparation, PreparationKind, PreparationStep, Unprepared
from syncer.migration.preparing.topics import own_topics, topic_steps
from syncer.replacing import replace

_Found = PreparationStep | Unprepared
_ORDER: Final = {kind: number for number, kind in enumerate(PreparationKind)}
_ALONE: Final = "nothing of it is at blue any more; blue's brokers may serve it all the same, and so delete nothing"


def prepare(pair: ClusterPair) -> Preparation:
    """Plan what green lacks of blue."""
    found = list(_everything(pair))
    steps = [each for each in found if isinstance(each, PreparationStep)]
    return Preparation(
        steps=tuple(sorted(steps, key=lambda step: _ORDER[step.kind])),
        unprepared=tuple(each for each in found if isinstance(each, Unprepared)),
    )


def taking_over(pair: ClusterPair) -> tuple[PreparationStep, ...]:
    """Steps that make namespaces green's whose policies both may read: nothing of them is at blue any more."""
    return tuple(
        replace(
            cluster_list(
                namespace.name,
                f"{namespace_url(namespace.name)}/replication",
                names_in(there.policies.get("replication_clusters")),
                {pair.green.name},
            ),
            kind=PreparationKind.TAKE_OVER,
            why=_ALONE,
        )
        for namespace, there in _both(pair)
        if in_one_document(pair.blue, pair.green, namespace.name)
    )


def restoring(pair: ClusterPair) -> tuple[PreparationStep, ...]:
    """Steps that give green blue's values where it had others while the migration lasted.

    The pair is the one that green was prepared by; of a namespace that has the same policies at both see
    :func:`changing_both`.
    """
    found: list[_Found] = []
    for namespace, there in _both(pair):
        blue = of_namespace(namespace.policies, pair.blue.name)
        green = of_namespace(there.policies, pair.green.name)
        names = [name for name in differing(blue, green) if NAMESPACE_LEVEL.protects(name)]
        found += policy_steps(PreparationKind.RESTORE, NAMESPACE_LEVEL, namespace.name, blue, green, names)
        for topic in sorted(own_topics(namespace)):
            own = of_topic(namespace.topic_policies.get(topic, NOTHING))
            held = of_topic(there.topic_policies.get(topic, NOTHING))
            names = [name for name in differing(own, held) if TOPIC_LEVEL.protects(name)]
            found += policy_steps(PreparationKind.RESTORE, TOPIC_LEVEL, topic, own, held, names)
    return tuple(each for each in found if isinstance(each, PreparationStep))


def changing_both(pair: ClusterPair) -> tuple[PreparationStep, ...]:
    """Steps that put back what preparing green will change of blue, where both may read the same policies.

    They are planned before anything is set: afterwards blue's values are known no more.
    """
    found: list[_Found] = []
    for namespace, there in _both(pair):
        if in_one_document(pair.blue, pair.green, namespace.name):
            own = of_namespace(namespace.policies, pair.blue.name)
            wanted, _ = wanted_of_namespace(pair.blue, pair.green, namespace, there)
            names = [name for name in differing(own, wanted) if NAMESPACE_LEVEL.protects(name)]
            found += policy_steps(PreparationKind.RESTORE, NAMESPACE_LEVEL, namespace.name, own, wanted, names)
    return tuple(each for each in found if isinstance(each, PreparationStep))


def _everything(pair: ClusterPair) -> Iterator[_Found]:
    yield from _clusters(pair)
    yield from _tenants(pair)
    for namespace in pair.namespaces():
        there = pair.green.namespaces.get(namespace.name)
        if there is None:
            yield new_namespace(pair, namespace)
        else:
            yield from namespace_steps(pair, namespace, there)
        yield from topic_steps(pair, namespace, there or absent(namespace.name))


def _both(pair: ClusterPair) -> Iterator[tuple[NamespaceSeen, NamespaceSeen]]:
    for namespace in pair.namespaces():
        if (there := pair.green.namespaces.get(namespace.name)) is not None:
            yield namespace, there


# Clusters and tenants


def _clusters(pair: ClusterPair) -> Iterator[_Found]:
    """Blue under its own name, and all that blue's tenants and namespaces name."""
    named = {pair.blue.name}
    for tenant in _tenants_of(pair):
        named |= thirds(pair, pair.blue.tenants[tenant].allowed_clusters)
    for namespace in pair.namespaces():
        named |= thirds(pair, namespace.policies.get("replication_clusters"))
        for policies in namespace.topic_policies.values():
            named |= thirds(pair, policies.get(TOPIC_REPLICATION))
    for name in sorted(named - {pair.green.name} - set(pair.green.clusters)):
        urls = pair.blue.urls if name == pair.blue.name else pair.blue.clusters.get(name)
        if urls is None:
            yield Unprepared(
                subject=name,
                why="tenants or namespaces of blue name this cluster, and blue itself does not know its addresses",
                remedy="declare it at green with its addresses, where messages are to be replicated there",
            )
            continue
        yield PreparationStep(
            kind=PreparationKind.CLUSTER,
            subject=name,
            method="PUT",
            path=cluster_url(name),
            body={field: url for field, url in urls.named.items() if url},
            why="tenants and policies may name only clusters that green knows",
            undo=AdminRequest(method="DELETE", path=cluster_url(name)),
        )


def _tenants_of(pair: ClusterPair) -> list[str]:
    named = {namespace.partition("/")[0] for namespace in pair.scope.namespaces}
    return sorted(named & set(pair.blue.tenants))


def _tenants(pair: ClusterPair) -> Iterator[PreparationStep]:
    reachable = {*pair.blue.clusters, *pair.green.clusters}
    for name in _tenants_of(pair):
        blue, green = pair.blue.tenants[name], pair.green.tenants.get(name)
        clusters = (blue.allowed_clusters & reachable) | {pair.blue.name, pair.green.name}
        roles = blue.admin_roles
        before = None
        if green is not None:
            if roles <= green.admin_roles and clusters <= green.allowed_clusters:
                continue
            before = _tenant(green.admin_roles, green.allowed_clusters)
            roles, clusters = roles | green.admin_roles, clusters | green.allowed_clusters
        path = tenant_url(name)
        yield PreparationStep(
            kind=PreparationKind.TENANT,
            subject=name,
            method="PUT" if before is None else "POST",
            path=path,
            body=_tenant(roles, clusters),
            why="blue has it" if before is None else "blue's roles and clusters are to be among green's",
            before=before,
            undo=AdminRequest(method="DELETE", path=path)
            if before is None
            else AdminRequest(method="POST", path=path, body=before),
        )


def _tenant(roles: Iterable[str], clusters: Iterable[str]) -> dict[str, list[str]]:
    return {"adminRoles": sorted(roles), "allowedClusters": sorted(clusters)}
