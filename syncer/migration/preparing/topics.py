"""Steps for the topics of a namespace: themselves, partitions, schemas, policies of their own, subscriptions."""

from __future__ import annotations

from collections.abc import Iterator

from syncer.admin.calls import schema_url, subscription_url, topic_url
from syncer.migration.checks.finding import ClusterPair
from syncer.migration.configuration_store import names_in
from syncer.migration.evidence import NOTHING, NamespaceSeen, SubscriptionSeen, TopicSeen, base_of
from syncer.migration.policies import TOPIC_REPLICATION, differing, wanted_of_topic
from syncer.migration.policies.calls import TOPIC_LEVEL
from syncer.migration.preparing.namespaces import cluster_list, clusters_of_green
from syncer.migration.preparing.policy_steps import policy_steps
from syncer.migration.preparing.step import (
    SUBSCRIPTION_AT_EARLIEST,
    AdminRequest,
    PreparationKind,
    PreparationStep,
    Unprepared,
)
from syncer.replacing import replace


def topic_steps(pair: ClusterPair, blue: NamespaceSeen, green: NamespaceSeen) -> Iterator[PreparationStep | Unprepared]:
    """Steps for all topics of a namespace.

    Args:
        pair: Both clusters.
        blue: The namespace at blue.
        green: The same at green; empty where it has yet to be made.
    """
    apart: set[str] = set()
    for found in (*_partitioned(blue, green), *_plain(blue, green)):
        if isinstance(found, Unprepared):
            apart.add(found.subject)
        yield found
    for topic, schema in sorted(blue.schemas.items()):
        if topic not in green.schemas and topic not in apart:
            yield PreparationStep(
                kind=PreparationKind.SCHEMA,
                subject=topic,
                method="POST",
                path=schema_url(topic),
                body={
                    "type": schema.get("type"),
                    "schema": schema.get("data"),
                    "properties": schema.get("properties") or {},
                },
                why="producers and consumers of blue agree on it",
            )
    for topic in sorted(own_topics(blue) - apart):
        wanted, present = wanted_of_topic(topic, blue, green)
        yield from policy_steps(
            PreparationKind.TOPIC_POLICY, TOPIC_LEVEL, topic, wanted, present, differing(wanted, present)
        )
        yield from _own_clusters(pair, topic, blue, green)
    yield from _subscriptions(blue, green, apart)


def _own_clusters(
    pair: ClusterPair, topic: str, blue: NamespaceSeen, green: NamespaceSeen
) -> Iterator[PreparationStep]:
    """A topic that blue replicates to clusters of its own is replicated to them by green, too."""
    told, held = (each.topic_policies.get(topic, NOTHING).get(TOPIC_REPLICATION) for each in (blue, green))
    present = names_in(held)
    wanted = clusters_of_green(pair, told, present)
    if told is not None and wanted != present:
        step = cluster_list(topic, f"{topic_url(topic)}/{TOPIC_REPLICATION}", present, wanted)
        yield replace(step, kind=PreparationKind.TOPIC_POLICY)


def own_topics(namespace: NamespaceSeen) -> set[str]:
    """Topics that can have policies of their own: those without partitions, and partitioned ones as a whole."""
    return {*namespace.partitions, *namespace.topic_policies, *map(base_of, namespace.topics)}


def _partitioned(blue: NamespaceSeen, green: NamespaceSeen) -> Iterator[PreparationStep | Unprepared]:
    for topic, count in sorted(blue.partitions.items()):
        found = green.partitions.get(topic, 0)
        stored = [part for part in _parts(topic, count) if part in blue.topics]
        if not found and topic in green.topics:
            yield Unprepared(
                subject=topic,
                why="green has a topic of that name without partitions",
                remedy="delete the one at green, once nobody needs it",
            )
        elif not found:
            yield PreparationStep(
                kind=PreparationKind.PARTITIONS,
                subject=topic,
                method="PUT",
                path=f"{topic_url(topic)}/partitions?createLocalTopicOnly=true",
                body=count,
                why=f"blue has it with {count} partitions",
                undo=AdminRequest(method="DELETE", path=f"{topic_url(topic)}/partitions"),
            )
        elif found < count:
            yield PreparationStep(
                kind=PreparationKind.PARTITIONS,
                subject=topic,
                method="POST",
                path=f"{topic_url(topic)}/partitions",
                body=count,
                why=f"blue has {count} partitions, green {found}",
                before=found,
            )
        elif any(part not in green.topics for part in stored):
            yield PreparationStep(
                kind=PreparationKind.PARTITIONS,
                subject=topic,
                method="POST",
                path=f"{topic_url(topic)}/createMissedPartitions",
                body=None,
                why="green knows of its partitions, and has not stored all of them",
                before=found,
            )


def _plain(blue: NamespaceSeen, green: NamespaceSeen) -> Iterator[PreparationStep | Unprepared]:
    for name in sorted(blue.topics):
        base = base_of(name)
        if base in blue.partitions or name in green.topics:
            continue
        if name in green.partitions:
            yield Unprepared(
                subject=name,
                why=f"green has it with {green.partitions[name]} partitions, blue without",
                remedy="delete the one at green, once nobody needs it",
            )
        elif base != name:
            yield Unprepared(
                subject=name,
                why="it is named like a partition, and blue has no partitioned topic of that name",
                remedy=f"make {base} a partitioned topic at blue, or leave its namespace out",
            )
        else:
            yield PreparationStep(
                kind=PreparationKind.TOPIC,
                subject=name,
                method="PUT",
                path=topic_url(name),
                body=None,
                why="blue has it",
                undo=AdminRequest(method="DELETE", path=topic_url(name)),
            )


def _subscriptions(
    blue: NamespaceSeen, green: NamespaceSeen, apart: set[str]
) -> Iterator[PreparationStep | Unprepared]:
    for name, seen in sorted(blue.topics.items()):
        for subscription in sorted(seen.subscription_names - set(seen.subscriptions)):
            if not _has(green.topics.get(name), subscription):
                yield Unprepared(
                    subject=f"{name}, subscription {subscription}",
                    why=f"blue has not loaded the topic ({seen.answer}): what the subscription carries is not known",
                    remedy="look into the log of the broker that owns the topic, and prepare again once it is loaded",
                )
    for topic, count in sorted(blue.partitions.items()):
        if topic not in apart:
            yield from _of_partitions(topic, count, blue, green)
    for name, seen in sorted(blue.topics.items()):
        if base_of(name) not in blue.partitions and name not in apart:
            for subscription, each in sorted(seen.subscriptions.items()):
                if not _has(green.topics.get(name), subscription):
                    yield _subscription(name, subscription, each)


def _of_partitions(topic: str, count: int, blue: NamespaceSeen, green: NamespaceSeen) -> Iterator[PreparationStep]:
    """Subscriptions of a partitioned topic: in one call where all partitions are to have the same.

    Partitions that only green has get what any of blue's has. That call forgets whether a subscription is replicated
    (``PersistentTopicsBase.internalCreateSubscription``), so those are made partition by partition.
    """
    held = [blue.topics[part].subscriptions if part in blue.topics else {} for part in _parts(topic, count)]
    parts = _parts(topic, max(count, green.partitions.get(topic, 0)))
    for name in sorted({name for each in held for name in each}):
        known = [each[name] for each in held if name in each]
        wanted = [each.get(name) for each in held] + [known[0]] * (len(parts) - count)
        lacking = [
            (part, each)
            for part, each in zip(parts, wanted, strict=True)
            if each is not None and not _has(green.topics.get(part), name)
        ]
        alike = len({(each.replicated, tuple(sorted(each.properties.items()))) for each in known}) == 1
        if len(lacking) == len(parts) and alike and not known[0].replicated:
            yield _subscription(topic, name, known[0], subscriptions=len(parts))
        else:
            for part, each in lacking:
                yield _subscription(part, name, each)


def _subscription(topic: str, name: str, seen: SubscriptionSeen, *, subscriptions: int = 1) -> PreparationStep:
    body: dict[str, object] = dict(SUBSCRIPTION_AT_EARLIEST)
    if seen.properties:
        body["properties"] = dict(seen.properties)
    path = subscription_url(topic, name)
    return PreparationStep(
        kind=PreparationKind.SUBSCRIPTION,
        subject=f"{topic}, subscription {name}",
        method="PUT",
        path=f"{path}?replicated=true" if seen.replicated else path,
        body=body,
        why="nothing that is published at green before its consumers come may be lost to them",
        undo=AdminRequest(method="DELETE", path=path),
        subscriptions=subscriptions,
    )


def _has(topic: TopicSeen | None, subscription: str) -> bool:
    return topic is not None and subscription in topic.subscription_names


def _parts(topic: str, count: int) -> list[str]:
    return [f"{topic}-partition-{number}" for number in range(count)]
