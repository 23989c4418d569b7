"""Clusters of some bookies and one broker, each started once for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import pytest

from deploy.lab.brokers.bookie import BookieSettings, MetadataDriver
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import BrokersSettings
from deploy.lab.pulsar import StoreKind
from deploy.lab.software import java, pulsar_home
from tests.conftest import require

_SOON: Final = {"rwRereplicateBackoffMs": "500"}
"""A worker that could not copy a ledger takes the next one after five seconds otherwise."""


class MakeCluster(Protocol):
    """Starts a cluster."""

    def __call__(
        self,
        *,
        bookies: int,
        recovery: bool,
        driver: MetadataDriver = MetadataDriver.PULSAR,
        store: StoreKind = StoreKind.ZOOKEEPER,
        hosts: bool = False,
        further: Mapping[str, str] = _SOON,
    ) -> BrokersCluster:
        """Start one with so many bookies; ``hosts``: each has one of its own; ``further``: settings of theirs."""


@pytest.fixture(scope="module")
def make_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeCluster]:
    """Start clusters that end with the module."""
    require(java, pulsar_home)
    made: list[BrokersCluster] = []

    def make(
        *,
        bookies: int,
        recovery: bool,
        driver: MetadataDriver = MetadataDriver.PULSAR,
        store: StoreKind = StoreKind.ZOOKEEPER,
        hosts: bool = False,
        further: Mapping[str, str] = _SOON,
    ) -> BrokersCluster:
        settings = BrokersSettings(
            name="ledgers",
            brokers=1,
            bookies=bookies,
            bookie=BookieSettings(
                recovery=recovery, driver=driver, metrics=True, hosts=hosts, further={**_SOON, **further}
            ),
            store=store,
            store_properties={"zookeeper.audit.enable": "true"},
            # A topic of the namespace's policies would be loaded before each other one, or fail before it; topics
            # that nobody uses would be deleted after a minute, in the middle of a test on a busy machine.
            broker={
                "systemTopicEnabled": "false",
                "topicLevelPoliciesEnabled": "false",
                "brokerDeleteInactiveTopicsEnabled": "false",
            },
            cpu_percent=(),
        )
        cluster = BrokersCluster(tmp_path_factory.mktemp("ledgers"), settings)
        made.append(cluster)
        cluster.start()
        return cluster

    try:
        yield make
    finally:
        for cluster in made:
            cluster.kill()
