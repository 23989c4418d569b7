"""The evidence that a reader has to come to: made of a simulated cluster itself, not of what it answers."""

from __future__ import annotations

from collections import Counter

from syncer.migration.evidence import (
    ClientSeen,
    ClusterUrls,
    Flow,
    LedgerSeen,
    NamespaceSeen,
    ReplicatorSeen,
    StatsAnswer,
    SubscriptionSeen,
    TopicSeen,
)
from tests.migration.clusters.answers import ClusterUrl
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.ledger import Ledger
from tests.migration.clusters.namespace import base_of
from tests.migration.clusters.subscription import AttachedConsumer, Subscription
from tests.migration.clusters.topic import AttachedProducer, Topic


def urls(url: ClusterUrl) -> ClusterUrls:
    """Four addresses."""
    return ClusterUrls(http=url.http, https=url.https, pulsar=url.pulsar, pulsar_ssl=url.pulsar_ssl)


def namespace(cluster: Cluster, name: str, *, load: bool) -> NamespaceSeen:
    """A namespace in which nothing moves; of topics that are not loaded, those that would be are asked all the same."""
    there = cluster.namespaces[name]
    only, more = (list(there.policies.get(key) or ()) for key in ("replication_clusters", "allowed_clusters"))
    own = {base: dict(policies) for base, policies in there.topic_policies.items() if policies}
    return NamespaceSeen(
        name=name,
        policies={
            "auth_policies": {"namespace_auth": {}, "subscription_auth_roles": {}},
            "bundles": {"boundaries": _boundaries(there.bundles), "numBundles": there.bundles},
            "migrated": there.marked,
            **({"clusterThatCanDeleteNamespace": only[0]} if len(only) == 1 and not more else {}),
            **there.policies,
        },
        marked=there.marked,
        partitions=dict(there.partitions),
        topics={
            each: topic(cluster, each, load=load)
            for each in cluster.ledgers
            if each.startswith(f"persistent://{name}/")
        },
        topic_policies=own,
        schemas=dict(there.schemas),
    )


def topic(cluster: Cluster, name: str, *, load: bool) -> TopicSeen:
    """A topic as it is."""
    stored, loaded = ledger(cluster.ledgers[name]), cluster.topic(name)
    there = cluster.namespace_of(name)
    assert there is not None
    if loaded is None:
        refused = cluster.redirect(there.name) is not None
        return TopicSeen(
            name=name,
            ledger=stored,
            answer=StatsAnswer.MIGRATED if load and refused else StatsAnswer.UNASKED,
            publish_rate=_rate(cluster, name),
        )
    return TopicSeen(
        name=name,
        ledger=stored,
        answer=StatsAnswer.LOADED,
        flow=_flow(loaded),
        producers=tuple(_producer(each) for each in loaded.producers.values()),
        subscriptions={each: _subscription(seen) for each, seen in loaded.subscriptions.items()},
        replicators={
            remote: ReplicatorSeen(backlog=backlog, connected=True) for remote, backlog in loaded.replicators.items()
        },
        publish_rate=_rate(cluster, name),
    )


def ledger(stored: Ledger) -> LedgerSeen:
    """What the store holds."""
    entries = Counter(position.ledger for position in stored.positions)
    return LedgerSeen(
        terminated=None if stored.terminated is None else str(stored.terminated),
        migrated=stored.marked,
        cursors={name: str(stored.position(cursor.stored)) for name, cursor in stored.cursors.items()},
        ledgers={**entries, stored.ledger_id: entries[stored.ledger_id]},
    )


def _flow(loaded: Topic) -> Flow:
    stored = loaded.ledger
    return Flow(
        entries_added=stored.added,
        pending_adds=loaded.pending,
        last=str(stored.last),
        ledger_state=stored.state.value,
        entries=len(stored.entries),
        size_bytes=sum(entry.size for entry in stored.entries),
    )


def _producer(producer: AttachedProducer) -> ClientSeen:
    return ClientSeen(
        name=producer.name,
        address=f"/{producer.handler.host}:{producer.connection.port}",
        version=producer.handler.version,
        mean_entry_bytes=producer.size / producer.messages if producer.messages else 0.0,
    )


def _subscription(subscription: Subscription) -> SubscriptionSeen:
    return SubscriptionSeen(
        kind=subscription.kind.value if subscription.kind else "",
        backlog=subscription.backlog,
        unacked=sum(len(each.unacked) for each in subscription.consumers),
        given=subscription.given,
        properties=subscription.cursor.properties,
        consumers=tuple(_consumer(each) for each in subscription.consumers),
    )


def _consumer(consumer: AttachedConsumer) -> ClientSeen:
    return ClientSeen(
        name=consumer.handler.name,
        address=f"/{consumer.handler.host}:{consumer.connection.port}",
        version=consumer.handler.version,
    )


def _rate(cluster: Cluster, name: str) -> int | None:
    there = cluster.namespace_of(name)
    assert there is not None
    rate = there.topic_policies.get(base_of(name), {}).get("publishRate")
    return None if rate is None else int(rate["publishThrottlingRateInByte"])


def _boundaries(bundles: int) -> list[str]:
    return [f"0x{min(number * (2**32 // bundles), 2**32 - 1):08x}" for number in range(bundles)] + ["0xffffffff"]
