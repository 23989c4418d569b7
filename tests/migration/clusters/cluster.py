"""A cluster: its brokers, and all that they share in their store.

Source: ``AbstractTopic.getMigratedClusterUrlAsync``, ``PersistentTopic.initMigration``, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from zlib import crc32

from tests.migration.clusters.answers import ClusterUrl, Refusal
from tests.migration.clusters.broker import Broker, BrokerSettings
from tests.migration.clusters.ledger import Cursor, Ledger
from tests.migration.clusters.namespace import EVICTS, HOLDS, Namespace, base_of
from tests.migration.clusters.timeline import Timeline
from tests.migration.clusters.topic import Topic


@dataclass(frozen=True, slots=True)
class ClusterMark:
    """A cluster's own migration state; no URL at all is not the same as a blank one."""

    migrated: bool
    url: ClusterUrl | None


class Cluster:
    """One cluster.

    Attributes:
        beside: Another cluster that has the same configuration store.

    Args:
        network: Every address of the binary protocol → the cluster behind it, shared by all clusters.
    """

    def __init__(
        self, timeline: Timeline, name: str, network: dict[str, Cluster], settings: BrokerSettings, brokers: int = 1
    ) -> None:
        self.timeline = timeline
        self.name = name
        self.settings = settings
        self.network = network
        self.urls = ClusterUrl(
            http=f"http://{name}:8080",
            https=f"https://{name}:8443",
            pulsar=f"pulsar://{name}:6650",
            pulsar_ssl=f"pulsar+ssl://{name}:6651",
        )
        network[self.urls.pulsar] = self
        self.known: dict[str, dict[str, Any]] = {name: _data(self.urls)}
        self.tenants: dict[str, dict[str, Any]] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.beside: Cluster | None = None
        self.ledgers: dict[str, Ledger] = {}
        self.marks: dict[str, ClusterMark] = {}
        self.dynamic: dict[str, str] = {}
        self.resource_groups: dict[str, dict[str, Any]] = {}
        self.read_only = False
        self._ledger_ids = count(1)
        self.brokers = tuple(Broker(self, number) for number in range(brokers))

    def next_ledger(self) -> int:
        """A new ledger's number."""
        return next(self._ledger_ids)

    # Brokers

    @property
    def active(self) -> tuple[Broker, ...]:
        """Brokers that run."""
        return tuple(each for each in self.brokers if each.running)

    def owner(self, topic: str) -> Broker | Refusal:
        """Who owns a topic's bundle: somebody is chosen if nobody does."""
        namespace = self.namespace_of(topic)
        if namespace is None:
            return Refusal.NOT_FOUND
        namespace.looked_up = True
        bundle = crc32(topic.encode()) % namespace.bundles
        if bundle not in namespace.owners:
            if not self.active:
                return Refusal.NOT_READY
            namespace.owners[bundle] = self.timeline.rng.choice(self.active)
        return namespace.owners[bundle]

    def disown(self, broker: Broker) -> None:
        """A broker is gone: its bundles belong to nobody."""
        for namespace in self.namespaces.values():
            namespace.owners = {each: owner for each, owner in namespace.owners.items() if owner is not broker}

    def unload(self, namespace: str) -> None:
        """Unload all topics of a namespace; its bundles belong to nobody."""
        for topic in self.loaded(namespace):
            topic.broker.unload(topic.name)
        self.namespaces[namespace].owners.clear()

    def loaded(self, namespace: str) -> tuple[Topic, ...]:
        """Topics of a namespace that a broker has in memory."""
        return tuple(topic for broker in self.brokers for topic in broker.topics_of.get(namespace, {}).values())

    def topic(self, name: str) -> Topic | None:
        """A topic, if a broker has it in memory."""
        return next((broker.topics[name] for broker in self.brokers if name in broker.topics), None)

    # Where clients are sent

    def redirect(self, namespace: str) -> ClusterUrl | None:
        """Where clients of a namespace are sent; blank, but not ``None``, is an outage."""
        mark = self.marks.get(self.name)
        if mark is None or not (mark.migrated or self.namespaces[namespace].marked):
            return None
        return mark.url

    def make_resources(self, topic: Topic) -> bool:
        """Make tenant, namespace and subscriptions at the target; what is there stays as it is.

        The namespace has blue's policies, and the target allows itself.
        """
        url = topic.redirect
        target = None if url is None else self.network.get(url.pulsar)
        if target is None or not target.active or self.name not in target.known:
            return False
        tenant = topic.namespace.partition("/")[0]
        target.tenants.setdefault(tenant, dict(self.tenants.get(tenant, {})))
        own = self.namespaces[topic.namespace]
        if own.name not in target.namespaces:
            policies = {**own.policies, "allowed_clusters": [*own.policies.get("allowed_clusters", ()), target.name]}
            target.add_namespace(Namespace(own.name, policies))
        ledger = target.ledgers.setdefault(topic.name, Ledger(target.next_ledger()))
        loaded = target.topic(topic.name)
        for name in topic.subscriptions:
            if name in ledger.cursors:
                continue
            if loaded is not None:
                loaded.broker.subscribe(loaded, name, earliest=True)
            else:
                ledger.cursors[name] = Cursor(mark=0, stored=0)
        return True

    def remotes(self, namespace: str) -> tuple[str, ...]:
        """Clusters that a namespace is replicated to; one name alone is not meant so, whichever it is."""
        listed = self.namespaces[namespace].policies.get("replication_clusters", [])
        return tuple(each for each in listed if each != self.name) if len(listed) > 1 else ()

    # The configuration store

    def share_configuration(self, other: Cluster) -> None:
        """Have the same clusters, tenants, and from now on namespaces as another cluster."""
        self.beside, other.beside = other, self
        other.known, other.tenants = self.known, self.tenants

    def add_namespace(self, made: Namespace) -> None:
        """Add a namespace; policies and numbers of partitions are one and the same for a cluster beside this one."""
        self.namespaces[made.name] = made
        if self.beside is not None:
            same = Namespace(made.name, made.policies, bundles=made.bundles, partitions=made.partitions)
            self.beside.namespaces[made.name] = same

    def remove_namespace(self, name: str) -> None:
        """Take a namespace away."""
        del self.namespaces[name]
        if self.beside is not None:
            del self.beside.namespaces[name]

    def serves(self, namespace: str) -> bool:
        """Whether the cluster's brokers may serve a namespace (``BrokerService.isCurrentClusterAllowed``)."""
        policies = self.namespaces[namespace].policies
        return self.name in (policies.get("allowed_clusters") or policies.get("replication_clusters") or ())

    # Policies

    def namespace_of(self, topic: str) -> Namespace | None:
        """The namespace that a topic's name says."""
        parts = topic.partition("://")[2].split("/")
        return self.namespaces.get("/".join(parts[:2]))

    def publish_rate(self, topic: Topic) -> tuple[int, int]:
        """What a topic's limiter takes: bytes and messages per second."""
        return self.namespaces[topic.namespace].publish_rate(topic.name, self.name)

    def exceeded_quota(self, topic: Topic) -> Mapping[str, Any] | None:
        """The quota of a topic's backlog, where it is reached: zero always is."""
        quota = self.namespaces[topic.namespace].quota(topic.name)
        if quota is None:
            return None
        limit = int(quota.get("limitSize", -1))
        return quota if 0 <= limit <= topic.ledger.backlog_bytes else None

    def holds_producers(self, topic: Topic) -> bool:
        """Whether producers are held before they come in."""
        quota = self.exceeded_quota(topic)
        return quota is not None and quota["policy"] in HOLDS and quota["policy"] != EVICTS

    def set_namespace_policy(self, namespace: str, policy: str, value: object) -> None:
        """Set a policy by its JSON name, ``None`` takes it off; each topic makes its buckets anew a moment later."""
        policies = self.namespaces[namespace].policies
        if value is None:
            policies.pop(policy, None)
        else:
            policies[policy] = value
        for cluster in (self, self.beside):
            if cluster is not None:
                cluster.policies_changed(namespace)

    def policies_changed(self, namespace: str) -> None:
        """Each topic hears of changed policies a moment later; one that may not be served any more is deleted."""
        for topic in self.loaded(namespace):
            if self.serves(namespace):
                self.timeline.within(1, 10, topic.policies_changed)
            else:
                self.timeline.tell(topic.name, "deleted: its cluster is not among the namespace's")
                topic.broker.delete(topic.name)

    def set_topic_policy(self, topic: str, policy: str, value: object, *, at: Broker | None = None) -> None:
        """Set a topic's policy by its REST name, ``None`` takes it off.

        The broker that answers knows it when it answers, others a moment later.
        """
        base = base_of(topic)
        namespace = self.namespace_of(topic)
        assert namespace is not None
        policies = namespace.topic_policies.setdefault(base, {})
        if value is None:
            policies.pop(policy, None)
        else:
            policies[policy] = value
        for each in self.loaded(namespace.name):
            if base_of(each.name) != base:
                continue
            if at is None or each.broker is at:
                each.policies_changed()
            else:
                self.timeline.within(1, 50, each.policies_changed)


def _data(urls: ClusterUrl) -> dict[str, Any]:
    return {name: url for name, url in urls.json.items() if name != "empty"}
