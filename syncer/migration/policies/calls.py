"""Calls of the admin REST API that set a policy of a namespace or of a topic, by the policy's name.

Source: ``Namespaces`` and ``PersistentTopics`` of ``org.apache.pulsar.broker.admin.v2``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCall:
    """How a policy is set below the path of its namespace or topic.

    Attributes:
        path: In the API; ``{}`` stands for the part, or for a value that is told in the path.
        removal: Method and path that take it off; ``None``: it is never absent, ``unset`` is set instead.
        unset: Value that says that it is not set.
        permanent: Whether nothing says so: once it is set, it stays set.
        has_body: Whether the value is sent.
    """

    path: str
    method: str = "POST"
    removal: tuple[str, str] | None = None
    unset: object = None
    permanent: bool = False
    has_body: bool = True


def _removable(path: str, method: str = "POST", *, has_body: bool = True) -> PolicyCall:
    return PolicyCall(path=path, method=method, removal=("DELETE", path), has_body=has_body)


_QUOTA_CALL: Final = _removable("backlogQuota?backlogQuotaType={}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLevel:
    """Policies of namespaces, or of topics: both say the same by other names.

    Attributes:
        calls: Name → call; a name that is not here cannot be set by REST.
        ttl: Name of the policy after how long messages expire; and so on.
    """

    calls: Mapping[str, PolicyCall]
    ttl: str
    expiration: str
    idle: str
    retention: str
    quotas: str

    def call(self, name: str) -> PolicyCall | None:
        """The call for a name of the flat table."""
        return self.calls.get(name.partition("/")[0])

    def protects(self, name: str) -> bool:
        """Whether a policy of green is another one while a migration lasts."""
        return name in {self.ttl, self.expiration, self.idle} or name.startswith(f"{self.quotas}/")


def _table(removable: Iterable[str]) -> dict[str, PolicyCall]:
    return {name: _removable(name) for name in removable}


NAMESPACE_LEVEL: Final = PolicyLevel(
    ttl="message_ttl_in_seconds",
    expiration="subscription_expiration_time_minutes",
    idle="inactive_topic_policies",
    retention="retention_policies",
    quotas="backlog_quota_map",
    calls={
        "autoSubscriptionCreationOverride": _removable("autoSubscriptionCreation"),
        "autoTopicCreationOverride": _removable("autoTopicCreation"),
        "backlog_quota_map": _QUOTA_CALL,
        "clusterSubscribeRate": _removable("subscribeRate"),
        "compaction_threshold": _removable("compactionThreshold", "PUT"),
        "deduplicationEnabled": _removable("deduplication"),
        "deduplicationSnapshotIntervalSeconds": PolicyCall(path="deduplicationSnapshotInterval"),
        "delayed_delivery_policies": _removable("delayedDelivery"),
        "dispatcherPauseOnAckStatePersistentEnabled": _removable("dispatcherPauseOnAckStatePersistent", has_body=False),
        "encryption_required": PolicyCall(path="encryptionRequired", unset=False),
        "entryFilters": _removable("entryFilters"),
        "inactive_topic_policies": _removable("inactiveTopicPolicies"),
        "is_allow_auto_update_schema": PolicyCall(path="isAllowAutoUpdateSchema", permanent=True),
        "max_consumers_per_subscription": _removable("maxConsumersPerSubscription"),
        "max_consumers_per_topic": _removable("maxConsumersPerTopic"),
        "max_producers_per_topic": _removable("maxProducersPerTopic"),
        "max_subscriptions_per_topic": _removable("maxSubscriptionsPerTopic"),
        "max_topics_per_namespace": _removable("maxTopicsPerNamespace"),
        "max_unacked_messages_per_consumer": _removable("maxUnackedMessagesPerConsumer"),
        "max_unacked_messages_per_subscription": _removable("maxUnackedMessagesPerSubscription"),
        "message_ttl_in_seconds": _removable("messageTTL"),
        "offload_deletion_lag_ms": _removable("offloadDeletionLagMs", "PUT"),
        "offload_policies": PolicyCall(path="offloadPolicies", removal=("DELETE", "removeOffloadPolicies")),
        "offload_threshold": PolicyCall(path="offloadThreshold", method="PUT", unset=-1),
        "offload_threshold_in_seconds": PolicyCall(path="offloadThresholdInSeconds", method="PUT", unset=-1),
        "persistence": _removable("persistence"),
        "publishMaxMessageRate": _removable("publishRate"),
        "replicatorDispatchRate": _removable("replicatorDispatchRate"),
        "resource_group_name": PolicyCall(path="resourcegroup/{}", removal=("DELETE", "resourcegroup"), has_body=False),
        "retention_policies": _removable("retention"),
        "schema_auto_update_compatibility_strategy": PolicyCall(
            path="schemaAutoUpdateCompatibilityStrategy", method="PUT"
        ),
        "schema_compatibility_strategy": PolicyCall(
            path="schemaCompatibilityStrategy", method="PUT", unset="UNDEFINED"
        ),
        "schema_validation_enforced": PolicyCall(path="schemaValidationEnforced", unset=False),
        "subscriptionDispatchRate": _removable("subscriptionDispatchRate"),
        "subscription_auth_mode": PolicyCall(path="subscriptionAuthMode", unset="None"),
        "subscription_expiration_time_minutes": _removable("subscriptionExpirationTime"),
        "subscription_types_enabled": _removable("subscriptionTypesEnabled"),
        "topicDispatchRate": _removable("dispatchRate"),
    },
)
TOPIC_LEVEL: Final = PolicyLevel(
    ttl="messageTTL",
    expiration="",
    idle="inactiveTopicPolicies",
    retention="retention",
    quotas="backlogQuotaMap",
    calls={
        "backlogQuotaMap": _QUOTA_CALL,
        "dispatcherPauseOnAckStatePersistent": PolicyCall(
            path="dispatcherPauseOnAckStatePersistent",
            removal=("DELETE", "dispatcherPauseOnAckStatePersistent"),
            unset=False,
            has_body=False,
        ),
        "schemaCompatibilityStrategy": _removable("schemaCompatibilityStrategy", "PUT"),
        "schemaValidationEnforced": PolicyCall(path="schemaValidationEnforced", unset=False),
        "shadowTopics": _removable("shadowTopics", "PUT"),
        **_table(
            (
                "autoSubscriptionCreation",
                "compactionThreshold",
                "deduplicationEnabled",
                "deduplicationSnapshotInterval",
                "delayedDelivery",
                "dispatchRate",
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
                "replicatorDispatchRate",
                "retention",
                "subscribeRate",
                "subscriptionDispatchRate",
                "subscriptionTypesEnabled",
            )
        ),
    },
)
"""``replication`` is not among them: it is about clusters."""
