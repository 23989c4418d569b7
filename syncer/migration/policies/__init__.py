"""Policies on their way from blue to green: what they are there called, what green's have to be, which call sets each.

Policies of a namespace or of a topic are compared as one flat table: what is not set is not in it, quotas are told
apart by their type (``backlog_quota_map/destination_storage``), and of policies by cluster it holds what counts at the
cluster that tells them. Nothing that waits at green may be dropped while a migration lasts: until it is over green
expires nothing, evicts nothing, deletes no idle topic, and retains no less than it did.

Source: ``Policies``, ``NamespacesBase``, ``PersistentTopics``, ``ServiceConfiguration``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from syncer.migration.evidence import NOTHING, ClusterSeen, NamespaceSeen
from syncer.migration.policies.calls import NAMESPACE_LEVEL, TOPIC_LEVEL, PolicyLevel

Flat = Mapping[str, object]
"""Policies by name; a part of one that is set by a call of its own is ``name/part``."""

OF_EACH_CLUSTER: Final = frozenset(
    {
        "allowed_clusters",
        "bundles",
        "clusterThatCanDeleteNamespace",
        "deleted",
        "migrated",
        "properties",
        "replication_clusters",
    }
)
"""Policies of a namespace that are about the cluster that holds them, or follow from those."""
AUTHORIZATION: Final = "auth_policies"
_BY_CLUSTER: Final = frozenset(
    {
        "clusterSubscribeRate",
        "latency_stats_sample_rate",
        "publishMaxMessageRate",
        "replicatorDispatchRate",
        "subscriptionDispatchRate",
        "topicDispatchRate",
    }
)
_FORMER_DISPATCH_RATE: Final = "clusterDispatchRate"
"""Set together with ``topicDispatchRate``, and read where that is not set."""
_UNSET: Final[Mapping[str, object]] = MappingProxyType(
    {
        "dispatcherPauseOnAckStatePersistentEnabled": False,
        "encryption_required": False,
        "offload_threshold": -1,
        "offload_threshold_in_seconds": -1,
        "schema_compatibility_strategy": "UNDEFINED",
        "schema_validation_enforced": False,
        "subscription_auth_mode": "None",
    }
)
"""Policies that are never absent, and the value that says as little as absence."""
_EVICTION: Final = "consumer_backlog_eviction"
_NO_QUOTA: Final = MappingProxyType({"limitSize": -1, "limitTime": -1, "policy": "producer_request_hold"})
_NEVER_IDLE: Final = MappingProxyType(
    {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 60,
        "deleteWhileInactive": False,
    }
)
_TTL_SETTING: Final = "ttlDurationDefaultInSeconds"
_EXPIRATION_SETTING: Final = "subscriptionExpirationTimeMinutes"
_QUOTA_TYPES: Final = ("destination_storage", "message_age")
TOPIC_REPLICATION: Final = "replication"
_KEEPS_ALL: Final[Mapping[str, str]] = MappingProxyType({"brokerDeleteInactiveTopicsEnabled": "false"})
"""Settings of a broker whose defaults drop nothing: what a topic does not say its namespace does."""


def meaning(value: object) -> Any:  # noqa: ANN401 - JSON
    """A policy's meaning: empty lists and maps, fields that are not set, and the order of lists say nothing."""
    if isinstance(value, Mapping):
        held = {key: met for key, each in value.items() if (met := meaning(each)) is not None}
        return held or None
    if isinstance(value, list | tuple):
        return sorted((meaning(each) for each in value), key=repr) or None
    return value


def of_namespace(policies: Mapping[str, object], cluster: str) -> dict[str, object]:
    """A namespace's policies as they count at a cluster; who may do what, and of each cluster, is not among them."""
    flat: dict[str, object] = {}
    given = dict(policies)
    former = given.pop(_FORMER_DISPATCH_RATE, None)
    given["topicDispatchRate"] = given.get("topicDispatchRate") or former
    for name, value in given.items():
        if name in OF_EACH_CLUSTER or name == AUTHORIZATION:
            continue
        told = (value.get(cluster) if isinstance(value, Mapping) else None) if name in _BY_CLUSTER else value
        if name == NAMESPACE_LEVEL.quotas:
            flat |= _quotas(name, told)
        elif (met := meaning(told)) is not None and met != _UNSET.get(name):
            flat[name] = met
    return flat


def of_topic(policies: Mapping[str, object]) -> dict[str, object]:
    """A topic's own policies; the clusters that it is replicated to are not among them."""
    flat: dict[str, object] = {}
    for name, value in policies.items():
        if name == TOPIC_LEVEL.quotas:
            flat |= _quotas(name, value)
        elif name != TOPIC_REPLICATION and (met := meaning(value)) is not None:
            call = TOPIC_LEVEL.call(name)
            if call is None or met != call.unset:
                flat[name] = met
    return flat


def _quotas(name: str, value: object) -> dict[str, object]:
    """Quotas without the deprecated field that says the limit once more."""
    held = value if isinstance(value, Mapping) else {}
    return {
        f"{name}/{kind}": {field: each for field, each in quota.items() if field != "limit" and each is not None}
        for kind, quota in held.items()
        if isinstance(quota, Mapping)
    }


def as_json(flat: Flat, cluster: str) -> dict[str, object]:
    """The flat table of a namespace as the JSON that it is created with at a cluster."""
    body: dict[str, Any] = {}
    for name, value in flat.items():
        policy, _, part = name.partition("/")
        if part:
            body.setdefault(policy, {})[part] = value
        else:
            body[policy] = {cluster: value} if policy in _BY_CLUSTER else value
    return body


def while_migrating(level: PolicyLevel, blue: Flat, green: Flat, defaults: Iterable[Mapping[str, str]]) -> Flat:
    """What green's policies have to be from its preparation until the migration is over.

    Args:
        level: Whether they are a namespace's or a topic's.
        blue: What is set at blue.
        green: What is set at green now: what is retained there is not made less.
        defaults: Settings of green's brokers, which count where nothing is set.
    """
    wanted = dict(blue)
    settings = tuple(defaults)
    for name, setting in ((level.ttl, _TTL_SETTING), (level.expiration, _EXPIRATION_SETTING)):
        expires = blue[name] if name in blue else any(each.get(setting, "0") != "0" for each in settings)
        if name and expires:
            wanted[name] = 0
    idle = blue.get(level.idle)
    if isinstance(idle, Mapping):
        wanted[level.idle] = {**idle, "deleteWhileInactive": False}
    elif any(each.get("brokerDeleteInactiveTopicsEnabled", "true") == "true" for each in settings):
        wanted[level.idle] = dict(_NEVER_IDLE)
    retention = _longer(blue.get(level.retention), green.get(level.retention))
    if retention is not None:
        wanted[level.retention] = retention
    for kind in _QUOTA_TYPES:
        quota = blue.get(f"{level.quotas}/{kind}")
        if isinstance(quota, Mapping):
            evicts = quota.get("policy") == _EVICTION
        else:
            evicts = any(each.get("backlogQuotaDefaultRetentionPolicy") == _EVICTION for each in settings)
        if evicts:
            wanted[f"{level.quotas}/{kind}"] = dict(_NO_QUOTA)
    return wanted


def wanted_of_namespace(
    blue: ClusterSeen, green: ClusterSeen, namespace: NamespaceSeen, there: NamespaceSeen
) -> tuple[Flat, Flat]:
    """What the policies of a namespace of green have to be while the migration lasts, and what they are.

    Args:
        blue: The one cluster.
        green: The other; what its brokers do by default counts.
        namespace: As blue has it.
        there: As green has it.
    """
    present = of_namespace(there.policies, green.name)
    defaults = tuple(broker.settings or {} for broker in green.brokers) or ({},)
    wanted = while_migrating(NAMESPACE_LEVEL, of_namespace(namespace.policies, blue.name), present, defaults)
    return wanted, present


def wanted_of_topic(topic: str, namespace: NamespaceSeen, there: NamespaceSeen) -> tuple[Flat, Flat]:
    """The same for the policies of a topic's own."""
    present = of_topic(there.topic_policies.get(topic, NOTHING))
    own = of_topic(namespace.topic_policies.get(topic, NOTHING))
    return while_migrating(TOPIC_LEVEL, own, present, (_KEEPS_ALL,)), present


def _longer(one: object, other: object) -> object:
    """The longer of two retentions, time and size each for itself; below zero: for ever."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one if isinstance(one, Mapping) else other
    return {
        field: min(pair) if min(pair) < 0 else max(pair)
        for field in sorted({*one, *other})
        if (pair := (int(one.get(field, 0)), int(other.get(field, 0))))
    }


def differing(wanted: Flat, present: Flat) -> tuple[str, ...]:
    """Names whose values differ, or that only one of two has."""
    return tuple(sorted(name for name in {*wanted, *present} if wanted.get(name) != present.get(name)))
