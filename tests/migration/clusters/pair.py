"""A pair of clusters, blue and green, with the clients of blue: one seed decides all that happens."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.consumer import Consumer, SubscriptionWish
from tests.migration.clusters.ledger import Cursor, Ledger
from tests.migration.clusters.namespace import Namespace
from tests.migration.clusters.process import ClientProcess, ClientState, Library
from tests.migration.clusters.producer import Producer, SimTraffic
from tests.migration.clusters.timeline import Timeline
from tests.migration.clusters.verdict import Receipts, Verdict, judge

SETTINGS: Final = BrokerSettings()
KEEPS_IDLE: Final = {
    "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
    "maxInactiveDurationSeconds": 60,
    "deleteWhileInactive": False,
}


class ClusterPairPlay:
    """Both clusters, and everybody who uses them."""

    def __init__(
        self, seed: int, settings: BrokerSettings = SETTINGS, brokers: int = 1, *, one_store: bool = False
    ) -> None:
        """Make both; with one configuration store green has of namespaces what they are, and nothing in them."""
        self.timeline = Timeline(seed)
        network: dict[str, Cluster] = {}
        self.blue = Cluster(self.timeline, "blue", network, settings, brokers)
        self.green = Cluster(self.timeline, "green", network, settings, brokers)
        for one, other in ((self.blue, self.green), (self.green, self.blue)):
            one.known.update(other.known)
        self._one_store = one_store
        if one_store:
            self.blue.share_configuration(self.green)
        self.producers: list[Producer] = []
        self.consumers: list[Consumer] = []
        self.receipts: dict[tuple[str, str], Receipts] = defaultdict(Receipts)

    # What there is before anybody comes

    def add_namespace(self, name: str) -> None:
        """Make a tenant and a namespace at both clusters; green keeps what nobody uses yet."""
        for cluster in (self.blue,) if self._one_store else (self.blue, self.green):
            cluster.tenants.setdefault(name.partition("/")[0], {"adminRoles": [], "allowedClusters": ["blue", "green"]})
            policies: dict[str, Any] = {"replication_clusters": [cluster.name]}
            if cluster is self.green:
                policies["inactive_topic_policies"] = dict(KEEPS_IDLE)
            cluster.add_namespace(Namespace(name, policies))

    def add_topic(self, name: str, *subscriptions: str) -> None:
        """Make a topic at both clusters, with subscriptions at its beginning."""
        for cluster in (self.blue,) if self._one_store else (self.blue, self.green):
            ledger = cluster.ledgers[name] = Ledger(cluster.next_ledger())
            for each in subscriptions:
                ledger.cursors[each] = Cursor(mark=0, stored=0)

    # Clients

    def process(self, library: Library, host: str = "10.0.0.1") -> ClientProcess:
        """A client process that begins at blue."""
        return ClientProcess(self.timeline, self.blue, library, host)

    def add_producer(self, process: ClientProcess, topic: str, name: str, traffic: SimTraffic) -> Producer:
        """A producer that publishes from now on."""
        producer = Producer(process, topic, name, traffic)
        self.producers.append(producer)
        producer.start()
        return producer

    def add_consumer(
        self, process: ClientProcess, topic: str, name: str, wish: SubscriptionWish, *, work_ms: int = 0
    ) -> Consumer:
        """A consumer that reads from now on."""
        receipts = self.receipts[topic, wish.name]
        consumer = Consumer(process, topic, name, wish, receipts, work_ms=work_ms)
        self.consumers.append(consumer)
        consumer.start()
        return consumer

    # The end

    def settle(self, within_ms: int = 26_000) -> None:
        """Everybody who can comes again; then nobody publishes any more, and everybody reads what there is."""
        self.timeline.until(self._connected, within_ms=within_ms, every_ms=200)
        for producer in self.producers:
            producer.stop()
        self.timeline.until(self._answered, within_ms=within_ms, every_ms=200)
        self.timeline.run(1_500)

    def _connected(self) -> bool:
        return all(each.state != ClientState.CONNECTING for each in (*self.producers, *self.consumers))

    def _answered(self) -> bool:
        return not any(each.unanswered for each in self.producers)

    def verdict(self) -> Verdict:
        """Judge what has happened."""
        return judge(self.producers, self.consumers, self.receipts)
