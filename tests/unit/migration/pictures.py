"""A pair of clusters of which every check holds, and small changes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncer.migration.checks.finding import ClusterPair
from syncer.migration.evidence import (
    BrokerSeen,
    ClientSeen,
    ClusterSeen,
    ClusterUrls,
    Flow,
    LedgerSeen,
    NamespaceSeen,
    ReplicatorSeen,
    StatsAnswer,
    SubscriptionSeen,
    TenantSeen,
    TopicSeen,
)
from syncer.migration.scope import MigrationBounds, MigrationScope
from syncer.model import Millis
from syncer.replacing import replace

NAMESPACE = "acme/orders"
TOPIC = "persistent://acme/orders/created"
SETTINGS = {
    "clusterMigrationCheckDurationSeconds": "2",
    "topicLevelPoliciesEnabled": "true",
    "systemTopicEnabled": "true",
}
FROZEN = {
    "loadBalancerSheddingEnabled": "false",
    "loadBalancerAutoBundleSplitEnabled": "false",
    "loadBalancerAutoUnloadSplitBundlesEnabled": "false",
}
PRODUCER = ClientSeen(name="blue-0-1", address="/10.0.0.1:5000", version="Pulsar-Java-v4.0.8", mean_entry_bytes=200)
CONSUMER = ClientSeen(name="ab1x", address="/10.0.0.2:5000", version="Pulsar-CPP-v3.7.2")
SUBSCRIPTION = SubscriptionSeen(kind="Shared", backlog=4, properties={"team": "billing"}, consumers=(CONSUMER,))
POLICIES: Mapping[str, object] = {
    "replication_clusters": ["blue"],
    "bundles": {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1},
    "auth_policies": {"namespace_auth": {"app": ["produce", "consume"]}, "subscription_auth_roles": {}},
    "message_ttl_in_seconds": 3600,
}
GREEN_POLICIES: Mapping[str, object] = {
    **POLICIES,
    "replication_clusters": ["green"],
    "message_ttl_in_seconds": 0,
    "inactive_topic_policies": {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 60,
        "deleteWhileInactive": False,
    },
}
"""What waits at green is kept while the migration lasts."""
SCHEMA: Mapping[str, object] = {"version": 3, "type": "JSON", "data": "{}", "properties": {}}


def urls(name: str) -> ClusterUrls:
    """All four addresses of a cluster."""
    return ClusterUrls(
        http=f"http://{name}:8080",
        https=f"https://{name}:8443",
        pulsar=f"pulsar://{name}:6650",
        pulsar_ssl=f"pulsar+ssl://{name}:6651",
    )


def topic(name: str = TOPIC) -> TopicSeen:
    """A topic that is loaded, written and read."""
    return TopicSeen(
        name=name,
        ledger=LedgerSeen(terminated=None, migrated=False),
        answer=StatsAnswer.LOADED,
        flow=Flow(
            entries_added=9, pending_adds=0, last="7:8", ledger_state="LedgerOpened", entries=9, size_bytes=1_800
        ),
        producers=(PRODUCER,),
        subscriptions={"audit": SUBSCRIPTION},
        replicators={"north": ReplicatorSeen(backlog=3, connected=True)},
    )


def namespace(policies: Mapping[str, object] = POLICIES) -> NamespaceSeen:
    """A namespace with a topic, a partitioned one, a schema and a policy of a topic."""
    return NamespaceSeen(
        name=NAMESPACE,
        policies=policies,
        partitions={"persistent://acme/orders/shipped": 3},
        topics={TOPIC: topic()},
        topic_policies={TOPIC: {"retention": {"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}}},
        schemas={TOPIC: SCHEMA},
    )


def cluster(name: str) -> ClusterSeen:
    """A cluster that runs what it should."""
    return ClusterSeen(
        name=name,
        urls=urls(name),
        read_at_ms=Millis(1_790_000_000_000),
        brokers=(BrokerSeen(address=f"{name}:8080", version="4.0.8", settings=SETTINGS),),
        clusters={"blue": urls("blue"), "green": urls("green")},
        dynamic=FROZEN,
        functions_worker=False,
        transactions=False,
        tenants={"acme": TenantSeen(admin_roles=frozenset({"ops"}), allowed_clusters=frozenset({"blue", "green"}))},
        namespaces={NAMESPACE: namespace(GREEN_POLICIES if name == "green" else POLICIES)},
    )


def picture() -> ClusterPair:
    """Blue and green, ready to go."""
    return ClusterPair(
        scope=MigrationScope(canary=(NAMESPACE,)),
        bounds=MigrationBounds(),
        blue=cluster("blue"),
        green=cluster("green"),
    )


def with_blue(given: ClusterPair, **changes: Any) -> ClusterPair:
    """The same with another blue."""
    return replace(given, blue=replace(given.blue, **changes))


def with_green(given: ClusterPair, **changes: Any) -> ClusterPair:
    """The same with another green."""
    return replace(given, green=replace(given.green, **changes))


def with_namespace(given: ClusterPair, *, at: str = "blue", **changes: Any) -> ClusterPair:
    """The same with another namespace at one of the two."""
    seen = given.blue if at == "blue" else given.green
    changed = {NAMESPACE: replace(seen.namespaces[NAMESPACE], **changes)}
    return with_blue(given, namespaces=changed) if at == "blue" else with_green(given, namespaces=changed)


def with_topic(given: ClusterPair, *, at: str = "blue", **changes: Any) -> ClusterPair:
    """The same with another topic at one of the two."""
    seen = given.blue if at == "blue" else given.green
    changed = replace(seen.namespaces[NAMESPACE].topics[TOPIC], **changes)
    return with_namespace(given, at=at, topics={TOPIC: changed})
