"""How a cluster of bookies and brokers is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from deploy.lab.brokers.bookie import BookieSettings
from deploy.lab.pulsar import StoreKind
from deploy.lab.releases.versions import release
from deploy.lab.software import PULSAR_VERSION

_EXTENSIONS: Final = "org.apache.pulsar.broker.loadbalance.extensions"
OWN: Final[Mapping[str, str]] = {
    # Rates and reports that follow the traffic at once; the defaults are 60 s, 60 s, 5 s and 15 min.
    "statsUpdateInitialDelayInSecs": "5",
    "statsUpdateFrequencyInSecs": "5",
    "loadBalancerReportUpdateMinIntervalMillis": "1000",
    "loadBalancerReportUpdateMaxIntervalMinutes": "1",
    # The speed of a virtual network card cannot be read.
    "loadBalancerOverrideBrokerNicSpeedGbps": "1",
    "brokerShutdownTimeoutMs": "10000",
}


class LoadManager(StrEnum):
    """Which of Pulsar's two load managers the brokers run."""

    MODULAR = "modular"
    EXTENSIBLE = "extensible"


MANAGERS: Final[Mapping[LoadManager, Mapping[str, str]]] = {
    LoadManager.MODULAR: {
        "loadManagerClassName": "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl",
    },
    LoadManager.EXTENSIBLE: {
        "loadManagerClassName": f"{_EXTENSIONS}.ExtensibleLoadManagerImpl",
        "loadBalancerLoadSheddingStrategy": f"{_EXTENSIONS}.scheduler.TransferShedder",
        "loadBalancerLoadPlacementStrategy": f"{_EXTENSIONS}.strategy.LeastResourceUsageWithWeight",
    },
}


@dataclass(frozen=True, slots=True)
class Replication:
    """On how many bookies brokers lay a ledger, write an entry, and wait for its acknowledgement."""

    ensemble: int = 1
    write: int = 1
    ack: int = 1

    def settings(self) -> dict[str, str]:
        """As in ``broker.conf``."""
        return {
            "managedLedgerDefaultEnsembleSize": str(self.ensemble),
            "managedLedgerDefaultWriteQuorum": str(self.write),
            "managedLedgerDefaultAckQuorum": str(self.ack),
        }

    def policy(self) -> dict[str, float]:
        """As the policy of a namespace."""
        return {
            "bookkeeperEnsemble": self.ensemble,
            "bookkeeperWriteQuorum": self.write,
            "bookkeeperAckQuorum": self.ack,
            "managedLedgerMaxMarkDeleteRate": 0.0,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersSettings:
    """How a cluster is set up.

    Args:
        name: Name of the cluster in Pulsar.
        brokers: How many there are.
        bookies: How many there are.
        replication: Of ledgers, where a namespace has no policy of its own.
        bookie: How the bookies are set up.
        store: What it keeps its metadata in.
        store_properties: Java system properties of the ZooKeeper.
        manager: Which load manager its brokers run.
        broker: Broker settings over the lab's own, as in ``broker.conf``.
        cpu_percent: Share of each broker in hundredths of a core; none: all report the whole machine's usage.
        quick_start: See :class:`Jvm`; off for measurements.
        version: Version of Pulsar that its bookies and brokers run; its store does not follow it.

    Raises:
        VersionRefused: The lab does not have the version, or the version cannot use such a store.
    """

    name: str
    brokers: int = 3
    bookies: int = 1
    replication: Replication = field(default_factory=Replication)
    bookie: BookieSettings = field(default_factory=BookieSettings)
    store: StoreKind = StoreKind.ZOOKEEPER
    store_properties: Mapping[str, str] = field(default_factory=dict)
    manager: LoadManager = LoadManager.MODULAR
    broker: Mapping[str, str] = field(default_factory=dict)
    cpu_percent: tuple[int, ...] = (100, 100, 100)
    quick_start: bool = True
    version: str = PULSAR_VERSION

    def __post_init__(self) -> None:
        release(self.version, etcd=self.store is StoreKind.ETCD)
