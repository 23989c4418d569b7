"""Edits of namespaces: for each field of a namespace's policies the call of the brokers' admin REST API that sets it.

Fields that no call of a version sets are written into the store, as a broker's own document has them.

An edit of a number gives another value than that of the number before, but where a field has only one.
Source: ``org.apache.pulsar.broker.admin.v2.Namespaces`` of Pulsar 3.0.7, 4.0.8, 4.2.4 and 5.0.0-M1, and their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from syncer.conflict.fields.table import parse_version

HOME_CLUSTERS: Final = ("us-east", "us-west")
SPARE_CLUSTERS: Final = ("spare-0", "spare-1")
"""Declared beside the two that serve a namespace, for edits of its clusters: nobody runs them."""
RESOURCE_GROUPS: Final = ("group-0", "group-1")


@dataclass(frozen=True, slots=True)
class FieldCall:
    """A call that sets one field.

    Args:
        method: Of HTTP.
        path: Below the namespace, with ``{n}`` where the number stands, ``{parity}`` where it stands modulo 2, and
            ``{bundle}`` where the first of the namespace's bundles does.
        body: The body by the edit's number.
        since: The first version whose brokers are known to have it.
        until: The first version whose brokers set another field by it; empty: there is none.
        removed_by: Method of the call on the same path that removes the field again; empty: there is none.
    """

    method: str
    path: str
    body: Callable[[int], Any] = lambda _: None
    since: str = "3.0.7"
    until: str = ""
    removed_by: str = ""

    def is_in(self, version: str) -> bool:
        """Tell if brokers of a version set the field by it.

        Args:
            version: As Pulsar counts them.
        """
        own, since, until = (parse_version(text) for text in (version, self.since, self.until))
        return own is not None and since is not None and own >= since and (until is None or own < until)


def _switch(number: int) -> bool:
    return number % 2 == 0


def _offloading(number: int) -> dict[str, Any]:
    return {
        "managedLedgerOffloadDriver": "filesystem",
        "fileSystemURI": f"file:///offloaded/{number}",
        "managedLedgerOffloadThresholdInBytes": 1_000_000 + number,
        "managedLedgerOffloadReadThreads": 3,
    }


def _rate(number: int) -> dict[str, int]:
    return {
        "dispatchThrottlingRateInMsg": 100 + number,
        "dispatchThrottlingRateInByte": 10_000 + number,
        "ratePeriodInSecond": 1,
    }


CALLS: Final[Mapping[str, FieldCall]] = {
    "message_ttl_in_seconds": FieldCall("POST", "messageTTL", lambda n: 60 + n, removed_by="DELETE"),
    "retention_policies": FieldCall(
        "POST", "retention", lambda n: {"retentionTimeInMinutes": 600 + n, "retentionSizeInMB": 1_000 + n}
    ),
    "backlog_quota_map": FieldCall(
        "POST",
        "backlogQuota",
        lambda n: {"limitSize": 1_000 + n, "limitTime": -1, "policy": "consumer_backlog_eviction"},
    ),
    "persistence": FieldCall(
        "POST",
        "persistence",
        lambda n: {
            "bookkeeperEnsemble": 1,
            "bookkeeperWriteQuorum": 1,
            "bookkeeperAckQuorum": 1,
            "managedLedgerMaxMarkDeleteRate": 1.0 + n,
            "managedLedgerStorageClassName": "bookkeeper",
        },
    ),
    "topicDispatchRate": FieldCall("POST", "dispatchRate", _rate),
    "subscriptionDispatchRate": FieldCall("POST", "subscriptionDispatchRate", _rate),
    "replicatorDispatchRate": FieldCall("POST", "replicatorDispatchRate", _rate),
    "clusterSubscribeRate": FieldCall(
        "POST",
        "subscribeRate",
        lambda n: {"subscribeThrottlingRatePerConsumer": 10 + n, "ratePeriodInSecond": 30},
    ),
    "publishMaxMessageRate": FieldCall(
        "POST",
        "publishRate",
        lambda n: {"publishThrottlingRateInMsg": 100 + n, "publishThrottlingRateInByte": 10_000 + n},
    ),
    "deduplicationEnabled": FieldCall("POST", "deduplication", _switch),
    "deduplicationSnapshotIntervalSeconds": FieldCall("POST", "deduplicationSnapshotInterval", lambda n: 100 + n),
    "autoTopicCreationOverride": FieldCall(
        "POST",
        "autoTopicCreation",
        lambda n: {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 1 + n % 50},
    ),
    "autoSubscriptionCreationOverride": FieldCall(
        "POST", "autoSubscriptionCreation", lambda n: {"allowAutoSubscriptionCreation": _switch(n)}
    ),
    "encryption_required": FieldCall("POST", "encryptionRequired", _switch),
    "subscription_auth_mode": FieldCall("POST", "subscriptionAuthMode", lambda n: ("Prefix", "None")[n % 2]),
    "delayed_delivery_policies": FieldCall(
        "POST",
        "delayedDelivery",
        lambda n: {"tickTime": 1_000 + n, "active": True, "maxDeliveryDelayInMillis": 60_000 + n},
    ),
    "inactive_topic_policies": FieldCall(
        "POST",
        "inactiveTopicPolicies",
        lambda n: {
            "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
            "maxInactiveDurationSeconds": 1_000 + n,
            "deleteWhileInactive": False,
        },
    ),
    "max_producers_per_topic": FieldCall("POST", "maxProducersPerTopic", lambda n: 10 + n),
    "max_consumers_per_topic": FieldCall("POST", "maxConsumersPerTopic", lambda n: 10 + n),
    "max_consumers_per_subscription": FieldCall("POST", "maxConsumersPerSubscription", lambda n: 10 + n),
    "max_unacked_messages_per_consumer": FieldCall("POST", "maxUnackedMessagesPerConsumer", lambda n: 10 + n),
    "max_unacked_messages_per_subscription": FieldCall("POST", "maxUnackedMessagesPerSubscription", lambda n: 10 + n),
    "max_subscriptions_per_topic": FieldCall("POST", "maxSubscriptionsPerTopic", lambda n: 10 + n),
    "max_topics_per_namespace": FieldCall("POST", "maxTopicsPerNamespace", lambda n: 10 + n),
    "compaction_threshold": FieldCall("PUT", "compactionThreshold", lambda n: 1_000_000 + n),
    "offload_threshold": FieldCall("PUT", "offloadThreshold", lambda n: 1_000_000 + n, until="4.0.8"),
    "offload_threshold_in_seconds": FieldCall("PUT", "offloadThresholdInSeconds", lambda n: 1_000 + n, until="4.0.8"),
    "offload_deletion_lag_ms": FieldCall("PUT", "offloadDeletionLagMs", lambda n: 1_000 + n, until="4.0.8"),
    "schema_compatibility_strategy": FieldCall(
        "PUT", "schemaCompatibilityStrategy", lambda n: ("FORWARD", "BACKWARD")[n % 2]
    ),
    "schema_auto_update_compatibility_strategy": FieldCall(
        "PUT", "schemaAutoUpdateCompatibilityStrategy", lambda n: ("Forward", "Backward")[n % 2]
    ),
    "schema_validation_enforced": FieldCall("POST", "schemaValidationEnforced", _switch),
    "is_allow_auto_update_schema": FieldCall("POST", "isAllowAutoUpdateSchema", _switch),
    "subscription_expiration_time_minutes": FieldCall("POST", "subscriptionExpirationTime", lambda n: 10 + n),
    "subscription_types_enabled": FieldCall(
        "POST", "subscriptionTypesEnabled", lambda n: (["Shared"], ["Exclusive", "Failover"])[n % 2]
    ),
    "properties": FieldCall("PUT", "property/edited/{n}"),
    "dispatcherPauseOnAckStatePersistentEnabled": FieldCall(
        "POST", "dispatcherPauseOnAckStatePersistent", since="4.0.8"
    ),
    "auth_policies": FieldCall("POST", "permissions/role-{n}", lambda _: ["produce", "consume"]),
    "is_allow_auto_update_schema_with_replicator": FieldCall(
        "POST",
        "isAllowAutoUpdateSchema?allowAutoUpdateSchemaWithReplicator=false",
        lambda _: False,
        since="5.0.0-M1",
    ),
    "allowed_topic_property_keys_for_metrics": FieldCall(
        "POST",
        "allowedTopicPropertyKeysForMetrics",
        lambda n: ["team", f"tier-{n}"],
        since="4.2.4",
        removed_by="DELETE",
    ),
    "scalableTopicAutoScalePolicy": FieldCall(
        "POST",
        "scalableTopicAutoScalePolicy",
        lambda n: {"enabled": _switch(n), "maxSegments": 5 + n},
        since="5.0.0-M1",
        removed_by="DELETE",
    ),
}
"""By the field's name in the stored document: those that need nothing else to be there."""

NEEDING_CALLS: Final[Mapping[str, FieldCall]] = {
    "replication_clusters": FieldCall("POST", "replication", lambda n: [*HOME_CLUSTERS, *SPARE_CLUSTERS[: n % 2]]),
    "allowed_clusters": FieldCall("POST", "allowedClusters", lambda n: [*HOME_CLUSTERS, *SPARE_CLUSTERS[: 1 + n % 2]]),
    "resource_group_name": FieldCall("POST", "resourcegroup/group-{parity}"),
    "clusterDispatchRate": FieldCall("POST", "dispatchRate", lambda n: _rate(5_000 + n)),
}
"""Likewise: those that need :data:`SPARE_CLUSTERS` or :data:`RESOURCE_GROUPS`, or that are set beside another one."""

OWN_CALLS: Final[Mapping[str, FieldCall]] = {
    "bundles": FieldCall("PUT", "{bundle}/split"),
    "offload_policies": FieldCall("POST", "offloadPolicies", _offloading),
}
"""Likewise: those that each region has for itself."""

ALL_CALLS: Final[Mapping[str, FieldCall]] = {**CALLS, **NEEDING_CALLS, **OWN_CALLS}

STORED: Final[Mapping[str, Callable[[int], Any]]] = {
    "deleted": _switch,
    "migrated": _switch,
    "entryFilters": lambda n: {"entryFilterNames": f"filter-{n}"},
    "latency_stats_sample_rate": lambda n: {"us-east": 1 + n},
    "offload_threshold": lambda n: 1_000_000 + n,
    "offload_threshold_in_seconds": lambda n: 1_000 + n,
    "offload_deletion_lag_ms": lambda n: 1_000 + n,
}
"""Values of the fields that no call sets, by the edit's number.

``deleted`` is set on the way to a delete alone, ``migrated`` in the local policies, ``entryFilters`` only where a
broker has the filters, and ``latency_stats_sample_rate`` by nobody; since 4.0 brokers set the thresholds of offloading
inside ``offload_policies`` alone.
"""
