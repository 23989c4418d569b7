"""Checks that green has what blue's clients will look for; before green is prepared, they say what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from syncer.migration.checks.finding import Check, CheckFinding, CheckStage, ClusterPair, FindingSeverity
from syncer.migration.evidence import NOTHING, NamespaceSeen

OF_EACH_CLUSTER: Final = frozenset(
    {"allowed_clusters", "bundles", "deleted", "migrated", "properties", "replication_clusters"}
)
"""Policies that may differ between blue and green: they are about the cluster that holds them."""
_PREPARE: Final = "'syncer migration prepare' does it"
_EMPTY: Final = NamespaceSeen(name="", policies=NOTHING)


def _missing(subject: str, what: str) -> CheckFinding:
    return CheckFinding(
        severity=FindingSeverity.BLOCK, subject=subject, evidence=f"green has no such {what}", remedy=_PREPARE
    )


def _tenants(picture: ClusterPair) -> Iterator[CheckFinding]:
    for name in sorted({namespace.split("/")[0] for namespace in picture.scope.namespaces}):
        blue, green = picture.blue.tenants.get(name), picture.green.tenants.get(name)
        if blue is None:
            continue
        if green is None:
            yield _missing(name, "tenant")
            continue
        if lacking := sorted(blue.admin_roles - green.admin_roles):
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=name,
                evidence=f"green does not name {', '.join(lacking)} among the tenant's roles",
                remedy=_PREPARE,
            )
        if picture.green.name not in green.allowed_clusters:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=name,
                evidence=f"green does not allow the tenant in {picture.green.name!r}",
                remedy=_PREPARE,
            )


def _namespaces(picture: ClusterPair) -> Iterator[CheckFinding]:
    for name in picture.scope.namespaces:
        if name not in picture.blue.namespaces:
            yield CheckFinding(
                severity=FindingSeverity.NEVER,
                subject=name,
                evidence="blue has no such namespace",
                remedy="make the plan anew",
            )
        elif name not in picture.green.namespaces:
            yield _missing(name, "namespace")


def differing_policies(blue: Mapping[str, object], green: Mapping[str, object]) -> tuple[str, ...]:
    """Names of the policies that differ and should not; unset and absent are the same."""
    names = (set(blue) | set(green)) - OF_EACH_CLUSTER
    return tuple(sorted(name for name in names if _meaning(blue.get(name)) != _meaning(green.get(name))))


def _meaning(value: object) -> object:
    """A policy's meaning: empty lists and maps, fields that are not set, and the order of lists say nothing."""
    if isinstance(value, dict):
        held = {key: met for key, each in value.items() if (met := _meaning(each)) is not None}
        return held or None
    if isinstance(value, list):
        return sorted((_meaning(each) for each in value), key=repr) or None
    return value


def _policies(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace, there in _both(picture):
        if differing := differing_policies(namespace.policies, there.policies):
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence=f"blue and green differ in {', '.join(differing)}",
                remedy=_PREPARE,
            )


def _partitions(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace, there in _both(picture):
        for topic, count in sorted(namespace.partitions.items()):
            found = there.partitions.get(topic, 0)
            plain = topic in there.topics
            if found > count:
                yield CheckFinding(
                    severity=FindingSeverity.WARN,
                    subject=topic,
                    evidence=f"green has {found} partitions, blue {count}: keys go to other partitions",
                    remedy="give blue as many first, where the order by key matters",
                )
            elif plain and not found:
                yield CheckFinding(
                    severity=FindingSeverity.NEVER,
                    subject=topic,
                    evidence=f"green has a topic of that name without partitions, blue one with {count}",
                    remedy="delete the one at green, once nobody needs it",
                )
            elif found < count:
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=topic,
                    evidence=f"green has {found} partitions, blue {count}",
                    remedy=_PREPARE,
                )


def _schemas(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace, there in _both(picture):
        for topic, schema in sorted(namespace.schemas.items()):
            told = {key: schema.get(key) for key in ("type", "data", "properties")}
            found = there.schemas.get(topic)
            if found is None:
                yield _missing(topic, "schema")
            elif {key: found.get(key) for key in told} != told:
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=topic,
                    evidence="green's latest schema is another one",
                    remedy="look at both: preparing adds blue's only where green's compatibility rule takes it",
                )


def _topic_policies(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace, there in _both(picture):
        for topic, policies in sorted(namespace.topic_policies.items()):
            if differing := differing_policies(policies, there.topic_policies.get(topic, NOTHING)):
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=topic,
                    evidence=f"the topic's own policies differ in {', '.join(differing)}",
                    remedy=_PREPARE,
                )


def _subscriptions(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace, there in _both(picture):
        for name, topic in sorted(namespace.topics.items()):
            target = there.topics.get(name)
            for subscription, seen in sorted(topic.subscriptions.items()):
                found = target.subscriptions.get(subscription) if target is not None else None
                if found is None:
                    yield _missing(f"{name}, subscription {subscription}", "subscription")
                elif (found.replicated, dict(found.properties)) != (seen.replicated, dict(seen.properties)):
                    yield CheckFinding(
                        severity=FindingSeverity.WARN,
                        subject=f"{name}, subscription {subscription}",
                        evidence="green's differs in its properties, or in whether it is replicated",
                        remedy="delete it at green and prepare again, if nothing was read from it there",
                    )


def _both(picture: ClusterPair) -> Iterator[tuple[NamespaceSeen, NamespaceSeen]]:
    """Blue's namespaces, and what green has of each."""
    for namespace in picture.namespaces():
        yield namespace, picture.green.namespaces.get(namespace.name, _EMPTY)


CHECKS: Final = (
    Check(name="namespaces", asks="Is every namespace at both?", stage=CheckStage.PREPARED, look=_namespaces),
    Check(name="tenants", asks="Do tenants have their roles at green?", stage=CheckStage.PREPARED, look=_tenants),
    Check(name="policies", asks="Are policies and permissions equal?", stage=CheckStage.PREPARED, look=_policies),
    Check(name="partitions", asks="Does green have every partition?", stage=CheckStage.PREPARED, look=_partitions),
    Check(name="schemas", asks="Does green have every schema?", stage=CheckStage.PREPARED, look=_schemas),
    Check(name="own-policies", asks="Are topics' own policies equal?", stage=CheckStage.PREPARED, look=_topic_policies),
    Check(
        name="subscriptions", asks="Does green have every subscription?", stage=CheckStage.PREPARED, look=_subscriptions
    ),
)
