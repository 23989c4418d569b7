"""Steps for a namespace of blue: itself, its clusters, policies and permissions; topics are beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

from syncer.admin.calls import namespace_url, topic_url
from syncer.migration.checks.finding import ClusterPair, the_first
from syncer.migration.configuration_store import apart, in_one_document, names_in, not_allowed, too_old
from syncer.migration.evidence import NOTHING, NamespaceSeen
from syncer.migration.policies import AUTHORIZATION, as_json, differing, wanted_of_namespace
from syncer.migration.policies.calls import NAMESPACE_LEVEL
from syncer.migration.policies.permissions import Grant, missing_grants
from syncer.migration.preparing.policy_steps import policy_steps
from syncer.migration.preparing.step import AdminRequest, PreparationKind, PreparationStep, Unprepared

_Found = PreparationStep | Unprepared
_CREATED_WITH: Final = (AUTHORIZATION, "bundles", "properties")


def namespace_steps(pair: ClusterPair, namespace: NamespaceSeen, there: NamespaceSeen) -> Iterator[_Found]:
    """Steps for a namespace that green has, but for its topics."""
    yield from _replication(pair, namespace, there)
    yield from _policies(pair, namespace, there)
    yield from _permissions(namespace, there)


def new_namespace(pair: ClusterPair, namespace: NamespaceSeen) -> PreparationStep:
    """All policies in one call: nothing can come in between."""
    wanted, _ = wanted_of_namespace(pair.blue, pair.green, namespace, absent(namespace.name))
    kept = {name: namespace.policies[name] for name in _CREATED_WITH if namespace.policies.get(name)}
    listed = clusters_of_green(pair, namespace.policies.get("replication_clusters"), set())
    body = {**kept, **as_json(wanted, pair.green.name), "replication_clusters": sorted(listed)}
    if allowed := names_in(namespace.policies.get("allowed_clusters")):
        reachable = {*pair.blue.clusters, *pair.green.clusters} - {pair.blue.name}
        body["allowed_clusters"] = sorted(listed | (allowed & reachable))
    path = namespace_url(namespace.name)
    return PreparationStep(
        kind=PreparationKind.NAMESPACE,
        subject=namespace.name,
        method="PUT",
        path=path,
        body=body,
        why="blue has it",
        undo=AdminRequest(method="DELETE", path=path),
    )


def thirds(pair: ClusterPair, listed: object) -> set[str]:
    """The clusters of a list that are neither blue nor green."""
    return names_in(listed) - {pair.blue.name, pair.green.name}


def clusters_of_green(pair: ClusterPair, listed: object, present: set[str]) -> set[str]:
    """What green replicates to: itself, what it has but for blue, and blue's third clusters that are known."""
    known = {*pair.blue.clusters, *pair.green.clusters}
    return (present - {pair.blue.name}) | {pair.green.name} | (thirds(pair, listed) & known)


def absent(name: str) -> NamespaceSeen:
    """A namespace that has yet to be made."""
    return NamespaceSeen(name=name, policies=NOTHING)


def _replication(pair: ClusterPair, namespace: NamespaceSeen, there: NamespaceSeen) -> Iterator[_Found]:
    """Green's name is to be among the clusters, with those that blue replicates to, and blue's is not.

    Green's replicators begin with the first message, since a new one begins behind the last. They send nothing before
    blue's have sent everything: a broker lets nobody go to green before that.

    A broker deletes its topics when its cluster is taken out of this list, so nothing is taken out where both clusters
    may read the same document.
    """
    name, blue, green = namespace.name, pair.blue.name, pair.green.name
    present = names_in(there.policies.get("replication_clusters"))
    base, allowed = namespace_url(name), names_in(there.policies.get("allowed_clusters"))
    wanted = clusters_of_green(pair, namespace.policies.get("replication_clusters"), present)
    if wanted == present:
        return
    if in_one_document(pair.blue, pair.green, name):
        if not (lacking := not_allowed(pair.blue, pair.green, there)):
            return
        if old := too_old(pair.blue, pair.green):
            yield Unprepared(
                subject=f"{name}, allowed_clusters",
                why="blue and green may share a configuration store, and these brokers do not serve a namespace by its "
                f"allowed clusters alone: {the_first(old)}",
                remedy="update the brokers of both to 4.0.8 or later (4.2 or later where they are newer than 4.0)",
            )
        else:
            yield cluster_list(name, f"{base}/allowedClusters", allowed, allowed | lacking)
    elif green in names_in(namespace.policies.get("replication_clusters")) and blue != green:
        yield Unprepared(
            subject=f"{name}, replication_clusters",
            why="blue replicates it to green: a subscription at earliest reads there again what it has read at blue",
            remedy=f"take {green!r} out of blue's clusters of it, and {blue!r} out of green's",
        )
    elif blue in present and not apart(pair.blue, pair.green, name):
        yield Unprepared(
            subject=f"{name}, replication_clusters",
            why="blue and green may share a configuration store: taken out of the list, blue would delete its topics",
            remedy=f"where they do not, take {blue!r} out of green's clusters of it, and put {green!r} in; where they "
            f"do, have it replicated nowhere while it is moved: {blue!r} alone is in its list then",
        )
    else:
        if allowed and not wanted <= allowed:
            yield cluster_list(name, f"{base}/allowedClusters", allowed, allowed | wanted | present)
        yield cluster_list(name, f"{base}/replication", present, wanted)


def cluster_list(subject: str, path: str, before: set[str], clusters: set[str]) -> PreparationStep:
    """The step that gives a namespace or a topic its list of clusters."""
    return PreparationStep(
        kind=PreparationKind.REPLICATION,
        subject=f"{subject}, {path.rpartition('/')[2]}",
        method="POST",
        path=path,
        body=sorted(clusters),
        why="green's brokers serve it, and send nothing back to blue",
        before=sorted(before),
        undo=AdminRequest(method="POST", path=path, body=sorted(before)) if before else None,
    )


def _policies(pair: ClusterPair, namespace: NamespaceSeen, there: NamespaceSeen) -> Iterator[_Found]:
    """A quota has to stay below retention: one that falls is set before it, one that rises after it."""
    wanted, present = wanted_of_namespace(pair.blue, pair.green, namespace, there)
    names = differing(wanted, present)
    rising = [name for name in names if _limit(wanted.get(name)) > _limit(present.get(name))]
    ordered = [name for name in (NAMESPACE_LEVEL.retention, *rising) if name in names]
    names = (*(name for name in names if name not in ordered), *ordered)
    yield from policy_steps(PreparationKind.POLICY, NAMESPACE_LEVEL, namespace.name, wanted, present, names)


def _limit(quota: object) -> int:
    return int(quota.get("limitSize", -1)) if isinstance(quota, Mapping) else -1


def _permissions(namespace: NamespaceSeen, there: NamespaceSeen) -> Iterator[PreparationStep]:
    for grant in missing_grants(namespace.policies.get(AUTHORIZATION), there.policies.get(AUTHORIZATION)):
        path = _grant_path(namespace.name, grant)
        undo = AdminRequest(method="DELETE", path=path) if not grant.subscription else None
        if grant.before:
            undo = AdminRequest(method="POST", path=path, body=list(grant.before))
        yield PreparationStep(
            kind=PreparationKind.PERMISSION,
            subject=f"{namespace.name}, {grant.named}",
            method="POST",
            path=path,
            body=list(grant.allowed),
            why="blue allows it",
            before=list(grant.before) or None,
            undo=undo,
        )


def _grant_path(namespace: str, grant: Grant) -> str:
    if grant.subscription:
        return f"{namespace_url(namespace)}/permissions/subscription/{quote(grant.subscription, safe='')}"
    base = topic_url(grant.topic) if grant.topic else namespace_url(namespace)
    return f"{base}/permissions/{quote(grant.role, safe='')}"
