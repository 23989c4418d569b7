"""Checks that green has what blue's clients will look for; before green is prepared, they say what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from syncer.migration.checks.finding import Check, CheckFinding, CheckStage, ClusterPair, FindingSeverity, the_first
from syncer.migration.configuration_store import in_one_document, names_in, not_allowed
from syncer.migration.evidence import NOTHING, NamespaceSeen, SubscriptionSeen
from syncer.migration.policies import AUTHORIZATION, differing, wanted_of_namespace, wanted_of_topic
from syncer.migration.policies.permissions import missing_grants

_PREPARE: Final = "'syncer migration start' does it; 'syncer migration prepare' lists it"
_DELETES_PARTITIONED: Final = "brokerDeleteInactivePartitionedTopicMetadataEnabled"
_EMPTY: Final = NamespaceSeen(name="", policies=NOTHING)


def _missing(subject: str, what: str) -> CheckFinding:
    return CheckFinding(
        severity=FindingSeverity.BLOCK, subject=subject, evidence=f"green has no such {what}", remedy=_PREPARE
    )


def _clusters(picture: ClusterPair) -> Iterator[CheckFinding]:
    blue, green = picture.blue, picture.green
    if blue.name != green.name and blue.name not in green.clusters:
        yield CheckFinding(
            severity=FindingSeverity.BLOCK,
            subject=green.name,
            evidence=f"green does not know a cluster {blue.name!r}, which blue's policies name",
            remedy=_PREPARE,
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


def _policies(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace, there in _both(picture):
        differ = list(differing(*wanted_of_namespace(picture.blue, picture.green, namespace, there)))
        differ += [
            grant.named
            for grant in missing_grants(namespace.policies.get(AUTHORIZATION), there.policies.get(AUTHORIZATION))
        ]
        if differ:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence=f"green does not have what it has to while clients are moved: {the_first(differ)}",
                remedy=_PREPARE,
            )


def _replication(picture: ClusterPair) -> Iterator[CheckFinding]:
    blue, green = picture.blue.name, picture.green.name
    for namespace in picture.namespaces():
        there = picture.green.namespaces.get(namespace.name)
        if there is not None and in_one_document(picture.blue, picture.green, namespace.name):
            if lacking := sorted(not_allowed(picture.blue, picture.green, there)):
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=namespace.name,
                    evidence=f"it is not allowed in {the_first(lacking)}: brokers serve it only where it is",
                    remedy=_PREPARE,
                )
            continue
        listed = there.policies.get("replication_clusters") if there is not None else [green]
        clusters = listed if isinstance(listed, list) else []
        if green not in clusters:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence=f"green's clusters of it are {the_first(clusters) or 'none'}: its brokers do not serve it",
                remedy=_PREPARE,
            )
        remote = namespace.policies.get("replication_clusters")
        if there is not None and (silent := sorted(names_in(remote) - {blue, *clusters})):
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence=f"green does not replicate it to {the_first(silent)}, as blue does: what is published "
                "at green before never gets there",
                remedy=_PREPARE,
            )
        if blue in clusters and blue != green:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence="green replicates it to blue: what blue's replicators send there would be stored twice",
                remedy=f"{_PREPARE}, unless both clusters share a configuration store or replicate to each other",
            )


def _one_document(picture: ClusterPair) -> Iterator[CheckFinding]:
    """What blue's brokers write into policies when they delete what is drained there, green's clients need."""
    cleaning = [
        broker.address
        for broker in picture.blue.brokers
        if (broker.settings or {}).get(_DELETES_PARTITIONED, "false") == "true"
    ]
    for namespace in picture.namespaces():
        if not in_one_document(picture.blue, picture.green, namespace.name):
            continue
        if cleaning and namespace.partitions:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence=f"{the_first(cleaning)} has {_DELETES_PARTITIONED}=true: with its last partition blue would "
                "delete how many green has",
                remedy=f"set {_DELETES_PARTITIONED}=false at every broker of blue and restart it",
            )
        auth = namespace.policies.get(AUTHORIZATION)
        granted = auth.get("destination_auth") if isinstance(auth, Mapping) else None
        if granted:
            yield CheckFinding(
                severity=FindingSeverity.BLOCK,
                subject=namespace.name,
                evidence=f"roles may do something on {len(granted)} topics by name: blue, deleting such a topic "
                "once it is drained, would take that away at green too",
                remedy="grant it for the namespace; or override, and grant it again once blue is stopped",
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
                    remedy="look at both, and add blue's to green where its compatibility rule takes it",
                )


def _topic_policies(picture: ClusterPair) -> Iterator[CheckFinding]:
    for namespace, there in _both(picture):
        for topic in sorted(namespace.topic_policies):
            if differ := differing(*wanted_of_topic(topic, namespace, there)):
                yield CheckFinding(
                    severity=FindingSeverity.BLOCK,
                    subject=topic,
                    evidence=f"the topic's own policies differ in {the_first(differ)}",
                    remedy=_PREPARE,
                )


def _subscriptions(picture: ClusterPair) -> Iterator[CheckFinding]:
    """Names are known of every topic, what they carry only of those that are loaded at both."""
    for namespace, there in _both(picture):
        for name, topic in sorted(namespace.topics.items()):
            target = there.topics.get(name)
            names = target.subscription_names if target is not None else frozenset()
            for subscription in sorted(topic.subscription_names - names):
                yield _missing(f"{name}, subscription {subscription}", "subscription")
            for subscription, seen in sorted(topic.subscriptions.items()):
                found = target.subscriptions.get(subscription) if target is not None else None
                if found is not None and _carried(found) != _carried(seen):
                    yield CheckFinding(
                        severity=FindingSeverity.WARN,
                        subject=f"{name}, subscription {subscription}",
                        evidence="green's differs in its properties, or in whether it is replicated",
                        remedy="delete it at green and prepare again, if nothing was read from it there",
                    )


def _carried(seen: SubscriptionSeen) -> tuple[bool, dict[str, str]]:
    """What a subscription carries along."""
    return seen.replicated, dict(seen.properties)


def _both(picture: ClusterPair) -> Iterator[tuple[NamespaceSeen, NamespaceSeen]]:
    """Blue's namespaces, and what green has of each."""
    for namespace in picture.namespaces():
        yield namespace, picture.green.namespaces.get(namespace.name, _EMPTY)


CHECKS: Final = (
    Check(
        name="one-configuration-store",
        asks="Does blue delete nothing of green's?",
        stage=CheckStage.BEFORE,
        look=_one_document,
    ),
    Check(name="clusters-known", asks="Does green know blue by its name?", stage=CheckStage.PREPARED, look=_clusters),
    Check(name="namespaces", asks="Is every namespace at both?", stage=CheckStage.PREPARED, look=_namespaces),
    Check(name="tenants", asks="Do tenants have their roles at green?", stage=CheckStage.PREPARED, look=_tenants),
    Check(name="replication-lists", asks="Is nothing stored twice?", stage=CheckStage.PREPARED, look=_replication),
    Check(name="policies", asks="Is green's what it should be?", stage=CheckStage.PREPARED, look=_policies),
    Check(name="partitions", asks="Does green have every partition?", stage=CheckStage.PREPARED, look=_partitions),
    Check(name="schemas", asks="Does green have every schema?", stage=CheckStage.PREPARED, look=_schemas),
    Check(name="own-policies", asks="Are topics' own policies equal?", stage=CheckStage.PREPARED, look=_topic_policies),
    Check(
        name="subscriptions", asks="Does green have every subscription?", stage=CheckStage.PREPARED, look=_subscriptions
    ),
)
