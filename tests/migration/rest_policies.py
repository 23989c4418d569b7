"""Policies and permissions in the admin REST API of a simulated cluster: of namespaces, and of topics.

Source: ``Namespaces``, ``NamespacesBase``, ``PersistentTopics``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tests.migration.clusters.namespace import EVICTS, HOLDS, Namespace, base_of
from tests.migration.rest_calls import DONE, Answer, ApiError, Call, Routes

_NAMESPACE: Final = "/admin/v2/namespaces/{tenant}/{namespace}"
_TOPIC: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
_BY_CLUSTER: Final = {
    "dispatchRate": "topicDispatchRate",
    "publishRate": "publishMaxMessageRate",
    "replicatorDispatchRate": "replicatorDispatchRate",
    "subscribeRate": "clusterSubscribeRate",
    "subscriptionDispatchRate": "subscriptionDispatchRate",
}
"""REST name of a namespace's rate → its name in the namespace's JSON, where it stands below the cluster's name."""
_POLICIES: Final = {
    "autoSubscriptionCreation": "autoSubscriptionCreationOverride",
    "autoTopicCreation": "autoTopicCreationOverride",
    "compactionThreshold": "compaction_threshold",
    "deduplication": "deduplicationEnabled",
    "deduplicationSnapshotInterval": "deduplicationSnapshotIntervalSeconds",
    "delayedDelivery": "delayed_delivery_policies",
    "dispatcherPauseOnAckStatePersistent": "dispatcherPauseOnAckStatePersistentEnabled",
    "encryptionRequired": "encryption_required",
    "entryFilters": "entryFilters",
    "inactiveTopicPolicies": "inactive_topic_policies",
    "isAllowAutoUpdateSchema": "is_allow_auto_update_schema",
    "maxConsumersPerSubscription": "max_consumers_per_subscription",
    "maxConsumersPerTopic": "max_consumers_per_topic",
    "maxProducersPerTopic": "max_producers_per_topic",
    "maxSubscriptionsPerTopic": "max_subscriptions_per_topic",
    "maxTopicsPerNamespace": "max_topics_per_namespace",
    "maxUnackedMessagesPerConsumer": "max_unacked_messages_per_consumer",
    "maxUnackedMessagesPerSubscription": "max_unacked_messages_per_subscription",
    "messageTTL": "message_ttl_in_seconds",
    "offloadDeletionLagMs": "offload_deletion_lag_ms",
    "offloadPolicies": "offload_policies",
    "offloadThreshold": "offload_threshold",
    "offloadThresholdInSeconds": "offload_threshold_in_seconds",
    "persistence": "persistence",
    "retention": "retention_policies",
    "schemaAutoUpdateCompatibilityStrategy": "schema_auto_update_compatibility_strategy",
    "schemaCompatibilityStrategy": "schema_compatibility_strategy",
    "schemaValidationEnforced": "schema_validation_enforced",
    "subscriptionAuthMode": "subscription_auth_mode",
    "subscriptionExpirationTime": "subscription_expiration_time_minutes",
    "subscriptionTypesEnabled": "subscription_types_enabled",
}
"""REST name of another policy of a namespace → its name in the namespace's JSON."""
_PUT: Final = frozenset(
    {
        "compactionThreshold",
        "offloadDeletionLagMs",
        "offloadThreshold",
        "offloadThresholdInSeconds",
        "schemaAutoUpdateCompatibilityStrategy",
        "schemaCompatibilityStrategy",
    }
)
"""Policies of a namespace that are set by PUT; of those of a topic only the last one and ``shadowTopics`` are."""
_KEPT: Final = frozenset(
    {
        "deduplicationSnapshotInterval",
        "encryptionRequired",
        "isAllowAutoUpdateSchema",
        "offloadPolicies",
        "offloadThreshold",
        "offloadThresholdInSeconds",
        "schemaAutoUpdateCompatibilityStrategy",
        "schemaCompatibilityStrategy",
        "schemaValidationEnforced",
        "subscriptionAuthMode",
    }
)
"""Policies of a namespace that no DELETE takes off."""
_OF_TOPICS: Final = frozenset(
    {
        "autoSubscriptionCreation",
        "compactionThreshold",
        "deduplicationEnabled",
        "deduplicationSnapshotInterval",
        "delayedDelivery",
        "dispatchRate",
        "dispatcherPauseOnAckStatePersistent",
        "entryFilters",
        "inactiveTopicPolicies",
        "maxConsumers",
        "maxConsumersPerSubscription",
        "maxMessageSize",
        "maxProducers",
        "maxSubscriptionsPerTopic",
        "maxUnackedMessagesOnConsumer",
        "maxUnackedMessagesOnSubscription",
        "messageTTL",
        "offloadPolicies",
        "persistence",
        "publishRate",
        "replication",
        "replicatorDispatchRate",
        "retention",
        "schemaCompatibilityStrategy",
        "schemaValidationEnforced",
        "shadowTopics",
        "subscribeRate",
        "subscriptionDispatchRate",
        "subscriptionTypesEnabled",
    }
)
_WITHOUT_BODY: Final = "dispatcherPauseOnAckStatePersistent"


def namespace_of(call: Call) -> Namespace:
    """The namespace that a call names.

    Raises:
        ApiError: There is none.
    """
    found = call.api.cluster.namespaces.get(call.namespace)
    if found is None:
        raise ApiError(404, "Namespace does not exist")
    return found


def check_served(call: Call) -> None:
    """Refuse a call about a topic of a namespace that this cluster's brokers may not serve.

    Raises:
        ApiError: It is one.
    """
    if call.namespace in call.api.cluster.namespaces and not call.api.cluster.serves(call.namespace):
        raise ApiError(412, "Namespace missing local cluster name in clusters list")


def check_writable(call: Call) -> None:
    """Refuse a write where an operator has made policies read only.

    Raises:
        ApiError: So it is.
    """
    if call.api.cluster.read_only:
        raise ApiError(403, "Policies are read only. Broker cannot do read-write operations")


def check_allowed(call: Call, clusters: Iterable[str]) -> None:
    """Refuse clusters that the tenant may not use.

    Raises:
        ApiError: One of them.
    """
    allowed = call.api.cluster.tenants.get(call.names["tenant"], {}).get("allowedClusters", ())
    for cluster in clusters:
        if cluster not in allowed:
            raise ApiError(403, f"Cluster [{cluster}] is not in the list of allowed clusters list for tenant")


def quota_of(body: Any) -> dict[str, Any]:
    """A backlog quota that Pulsar takes: only the word of its policy is looked at.

    Raises:
        ApiError: There is no such policy.
    """
    quota = dict(body or {})
    if quota.get("policy") not in HOLDS | {EVICTS}:
        raise ApiError(400, "Set backlog quota failed because the data validation failed. policy is required")
    return quota


# Of namespaces


def _set(call: Call, policy: str, value: object) -> Answer:
    call.api.cluster.set_namespace_policy(namespace_of(call).name, policy, value)
    return DONE


def _quota(call: Call) -> Answer:
    check_writable(call)
    kind = call.query.get("backlogQuotaType", "destination_storage")
    quotas = dict(namespace_of(call).policies.get("backlog_quota_map", {}))
    quotas.pop(kind, None)
    if call.method == "POST":
        quotas[kind] = quota_of(call.body)
    return _set(call, "backlog_quota_map", quotas)


def _clusters(call: Call) -> Answer:
    """A broker takes a list only if each cluster is known, the tenant's, and one of those that the namespace allows."""
    found = namespace_of(call)
    if call.method == "GET":
        return 200, found.policies.get("replication_clusters")
    check_writable(call)
    listed = list(call.body or ())
    if not listed:
        raise ApiError(412, "ClusterIds should not be null or empty")
    for each in listed:
        if each not in call.api.cluster.known:
            raise ApiError(403, f"Invalid cluster id: {each}")
        if (allowed := found.policies.get("allowed_clusters")) and each not in allowed:
            raise ApiError(400, f"Cluster [{each}] is not in the list of allowed clusters list for namespace")
    check_allowed(call, listed)
    return _set(call, "replication_clusters", listed)


def _allowed(call: Call) -> Answer:
    found = namespace_of(call)
    if call.method == "GET":
        return 200, found.policies.get("allowed_clusters")
    check_writable(call)
    check_allowed(call, call.body)
    if not set(found.policies.get("replication_clusters", ())) <= set(call.body):
        raise ApiError(400, "Allowed clusters do not contain the replication cluster")
    return _set(call, "allowed_clusters", list(call.body))


def _group(call: Call) -> Answer:
    check_writable(call)
    group = call.names.get("group")
    if group is not None and group not in call.api.cluster.resource_groups:
        raise ApiError(412, "ResourceGroup does not exist")
    return _set(call, "resource_group_name", group)


def _property(call: Call) -> Answer:
    check_writable(call)
    found = namespace_of(call)
    held = dict(found.policies.get("properties") or {})
    if call.method == "PUT":
        held[call.names["key"]] = call.names["value"]
    else:
        held.pop(call.names["key"], None)
    call.api.cluster.set_namespace_policy(found.name, "properties", held)
    return DONE


def _no_offload(call: Call) -> Answer:
    check_writable(call)
    return _set(call, "offload_policies", None)


def _policy(call: Call) -> Answer:
    cluster, found, name = call.api.cluster, namespace_of(call), call.names["policy"]
    policy = _BY_CLUSTER.get(name) or _POLICIES.get(name)
    if policy is None:
        raise ApiError(404, "HTTP 404 Not Found")
    held = found.policies.get(policy)
    if call.method == "GET":
        return 200, held.get(cluster.name) if held and name in _BY_CLUSTER else held
    if call.method == ("POST" if name in _PUT else "PUT") or (call.method == "DELETE" and name in _KEPT):
        raise ApiError(405, "HTTP 405 Method Not Allowed")
    check_writable(call)
    value = None if call.method == "DELETE" else True if name == _WITHOUT_BODY else call.body
    if name in _BY_CLUSTER:
        value = {key: each for key, each in {**(held or {}), cluster.name: value}.items() if each is not None}
    if name == "dispatchRate":
        _set(call, "clusterDispatchRate", value)
    return _set(call, policy, value)


# Permissions


def _permissions(call: Call) -> Answer:
    return 200, namespace_of(call).policies.get("auth_policies", {}).get("namespace_auth", {})


def _permit(call: Call) -> Answer:
    role = {call.names["role"]: None if call.method == "DELETE" else list(call.body)}
    if "topic" in call.names:
        held = _granted(call, "destination_auth").get(call.topic, {})
        return _grant(call, "destination_auth", {call.topic: _without_none({**held, **role})})
    return _grant(call, "namespace_auth", role)


def _permit_subscription(call: Call) -> Answer:
    return _grant(call, "subscription_auth_roles", {call.names["subscription"]: list(call.body)})


def _granted(call: Call, kind: str) -> dict[str, Any]:
    return dict(namespace_of(call).policies.get("auth_policies", {}).get(kind, {}))


def _grant(call: Call, kind: str, changed: dict[str, Any]) -> Answer:
    check_writable(call)
    held = namespace_of(call).policies.get("auth_policies", {})
    return _set(call, "auth_policies", {**held, kind: _without_none({**_granted(call, kind), **changed})})


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in given.items() if each is not None}


# Of topics


def _check_no_partition(call: Call) -> None:
    if base_of(call.topic) != call.topic:
        raise ApiError(412, "Not allowed to set/get topic policy for a partition")


def _topic_quota(call: Call) -> Answer:
    _check_no_partition(call)
    kind = call.query.get("backlogQuotaType", "destination_storage")
    quotas = dict(_own(call).get("backlogQuota", {}))
    if call.method == "POST":
        quotas[kind] = quota_of(call.body)
    else:
        quotas.pop(kind, None)
    call.api.cluster.set_topic_policy(call.topic, "backlogQuota", quotas or None, at=call.api.broker)
    return DONE


def _topic_quotas(call: Call) -> Answer:
    _check_no_partition(call)
    return 200, _own(call).get("backlogQuota", {})


def _topic_policy(call: Call) -> Answer:
    policy = call.names["policy"]
    if policy not in _OF_TOPICS:
        raise ApiError(404, "HTTP 404 Not Found")
    _check_no_partition(call)
    if call.method == "GET":
        found = _own(call).get(policy)
        return DONE if found is None else (200, found)
    by_put = policy in {"schemaCompatibilityStrategy", "shadowTopics"}
    if call.method == ("POST" if by_put else "PUT") or (
        call.method == "DELETE" and policy == "schemaValidationEnforced"
    ):
        raise ApiError(405, "HTTP 405 Method Not Allowed")
    _own(call)
    value = None if call.method == "DELETE" else True if policy == _WITHOUT_BODY else call.body
    call.api.cluster.set_topic_policy(call.topic, policy, value, at=call.api.broker)
    return DONE


def _own(call: Call) -> dict[str, Any]:
    return namespace_of(call).topic_policies.get(base_of(call.topic), {})


def add_to(routes: Routes) -> None:
    """Add these calls to a table."""
    for methods, path, answering in (
        ("GET", f"{_NAMESPACE}/permissions", _permissions),
        ("POST|DELETE", f"{_NAMESPACE}/permissions/{{role}}", _permit),
        ("POST", f"{_NAMESPACE}/permissions/subscription/{{subscription}}", _permit_subscription),
        ("POST|DELETE", f"{_NAMESPACE}/backlogQuota", _quota),
        ("GET|POST", f"{_NAMESPACE}/replication", _clusters),
        ("GET|POST", f"{_NAMESPACE}/allowedClusters", _allowed),
        ("POST", f"{_NAMESPACE}/resourcegroup/{{group}}", _group),
        ("DELETE", f"{_NAMESPACE}/resourcegroup", _group),
        ("DELETE", f"{_NAMESPACE}/removeOffloadPolicies", _no_offload),
        ("PUT", f"{_NAMESPACE}/property/{{key}}/{{value}}", _property),
        ("DELETE", f"{_NAMESPACE}/property/{{key}}", _property),
        ("GET|POST|PUT|DELETE", f"{_NAMESPACE}/{{policy}}", _policy),
        ("POST|DELETE", f"{_TOPIC}/permissions/{{role}}", _permit),
        ("POST|DELETE", f"{_TOPIC}/backlogQuota", _topic_quota),
        ("GET", f"{_TOPIC}/backlogQuotaMap", _topic_quotas),
        ("GET|POST|PUT|DELETE", f"{_TOPIC}/{{policy}}", _topic_policy),
    ):
        routes.on(methods, path)(answering)
