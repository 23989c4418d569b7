"""Reading one namespace: its policies, its mark, and every topic of its clients with schema and policies."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import partial
from typing import Final

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.migration.evidence import NamespaceSeen, TopicSeen, base_of
from syncer.migration.reading import forms
from syncer.migration.reading.at_once import all_of
from syncer.migration.reading.topics import read_topic
from syncer.replacing import replace

TOPIC_POLICIES: Final[Mapping[str, type]] = {
    "autoSubscriptionCreation": dict,
    "backlogQuotaMap": dict,
    "compactionThreshold": int,
    "deduplicationEnabled": bool,
    "deduplicationSnapshotInterval": int,
    "delayedDelivery": dict,
    "dispatchRate": dict,
    "dispatcherPauseOnAckStatePersistent": bool,
    "entryFilters": dict,
    "inactiveTopicPolicies": dict,
    "maxConsumers": int,
    "maxConsumersPerSubscription": int,
    "maxMessageSize": int,
    "maxProducers": int,
    "maxSubscriptionsPerTopic": int,
    "maxUnackedMessagesOnConsumer": int,
    "maxUnackedMessagesOnSubscription": int,
    "messageTTL": int,
    "offloadPolicies": dict,
    "persistence": dict,
    "publishRate": dict,
    "replication": list,
    "replicatorDispatchRate": dict,
    "retention": dict,
    "schemaCompatibilityStrategy": str,
    "schemaValidationEnforced": bool,
    "shadowTopics": list,
    "subscribeRate": dict,
    "subscriptionDispatchRate": dict,
    "subscriptionTypesEnabled": list,
}
"""Policies of a topic's own by their REST names, and the JSON that a value is.

Not among them: rates of a single subscription (``{subscription}/dispatchRate``), and global policies
(``isGlobal=true``), which replication carries.
Source: the ``GET`` methods of ``org.apache.pulsar.broker.admin.v2.PersistentTopics`` that read ``TopicPolicies``.
"""
FALSE_IF_UNSET: Final = frozenset({"dispatcherPauseOnAckStatePersistent", "schemaValidationEnforced"})
"""Policies that a broker answers with ``false`` where nothing is set."""

_UNKNOWN: Final = frozenset({404, 405})
"""There is no such policy, no such topic, or topics have no policies of their own at all."""
_EVENTS: Final = "__change_events"
_SYSTEM: Final = re.compile(
    r"__change_events|__transaction_buffer_snapshot.*|__transaction_log.*|.*__transaction_pending_ack.*"
)
_OF_BROKERS: Final = re.compile(r"pulsar/(?:system|[^:]+:\d+)")
"""Namespaces in which brokers keep what they need to know of each other, or write their heartbeats."""


def is_of_clients(topic: str) -> bool:
    """Whether a topic is one of clients, and none that brokers keep for themselves.

    Source: ``SystemTopicNames``, ``NamespaceService.HEARTBEAT_NAMESPACE_PATTERN_V2``.
    """
    namespace, _, name = base_of(topic).partition("://")[2].rpartition("/")
    return not _SYSTEM.fullmatch(name) and not _OF_BROKERS.fullmatch(namespace)


async def read_namespace(
    calls: AdminCalls,
    cluster: str,
    name: str,
    *,
    loaded: Collection[str],
    load: bool,
    only: Collection[str] | None = None,
) -> NamespaceSeen | None:
    """Read a namespace and all that is in it; ``None``: there is none.

    Of one that the cluster's brokers may not serve they tell the policies and nothing else.

    Args:
        calls: Of its cluster.
        cluster: The cluster's own name.
        name: ``tenant/namespace``.
        loaded: Topics that are loaded: their statistics are asked.
        load: All are asked, which loads those that are not.
        only: Of these topics, by their names without partitions; ``None``: of all.

    Raises:
        AdminError: The cluster did not answer, refuses a call, or answers with something odd.
    """
    policies = await calls.namespace(name)
    if policies is None:
        return None
    if not _serves(cluster, policies):
        return NamespaceSeen(name=name, policies=policies)
    stored = await calls.topics(name, system=True)

    def wanted(topic: str) -> bool:
        return is_of_clients(topic) and (only is None or base_of(topic) in only)

    names = sorted(filter(wanted, stored))
    partitioned = sorted(filter(wanted, await calls.partitioned_topics(name)))
    counts = await all_of(calls.partitions, partitioned)
    topics = await all_of(lambda each: read_topic(calls, each, load=load or each in loaded), names)
    bases = sorted({*partitioned, *map(base_of, names)})
    schemas = await all_of(partial(_schema, calls), bases)
    has_policies = any(base_of(each).endswith(f"/{_EVENTS}") for each in stored)
    own = {base: await _policies(calls, base) for base in (bases if has_policies else ())}
    topic_policies = {base: found for base, found in own.items() if found}
    return NamespaceSeen(
        name=name,
        policies=policies,
        marked=forms.marked(f"namespace {name}", policies),
        partitions=dict(zip(partitioned, counts, strict=True)),
        topics={each.name: _with_rate(each, topic_policies) for each in topics if each.ledger is not None},
        non_persistent=frozenset(filter(is_of_clients, await calls.topics(name, domain="non-persistent"))),
        topic_policies=topic_policies,
        schemas={base: found for base, found in zip(bases, schemas, strict=True) if found is not None},
    )


def _serves(cluster: str, policies: Mapping[str, object]) -> bool:
    """Whether the cluster's brokers may serve a namespace (``BrokerService.isCurrentClusterAllowed``)."""
    allowed = policies.get("allowed_clusters") or policies.get("replication_clusters")
    return isinstance(allowed, list) and cluster in allowed


async def _schema(calls: AdminCalls, topic: str) -> Mapping[str, object] | None:
    told = await calls.schema(topic)
    return None if told is None else forms.schema(f"schema of {topic}", told)


async def _policies(calls: AdminCalls, topic: str) -> Mapping[str, object]:
    """The policies that are set for a topic, by their REST name; those that a broker does not know are left out.

    They are asked for at once, and topics one after the other: the few that clients make while a wave is being moved
    have to be read before they have made the next one.
    """
    told = await all_of(partial(_policy, calls, topic), TOPIC_POLICIES)
    return {policy: value for policy, value in zip(TOPIC_POLICIES, told, strict=True) if value is not None}


async def _policy(calls: AdminCalls, topic: str, policy: str) -> object:
    """One policy of a topic; ``None``: it is not set, or the broker does not know it."""
    try:
        told = await calls.topic_policy(topic, policy)
    except AdminRefused as refused:
        if refused.status not in _UNKNOWN:
            raise
        return None
    value = forms.policy(f"{policy} of {topic}", told, TOPIC_POLICIES[policy])
    return None if value is False and policy in FALSE_IF_UNSET else value


def _with_rate(topic: TopicSeen, policies: Mapping[str, Mapping[str, object]]) -> TopicSeen:
    base = base_of(topic.name)
    return replace(topic, publish_rate=forms.publish_rate(f"publishRate of {base}", policies.get(base, {})))
