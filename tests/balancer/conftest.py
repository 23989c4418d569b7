"""Real clusters of three brokers, each started once per run, when the first test asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest

from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import BrokersSettings, LoadManager
from deploy.lab.software import java, pulsar_home
from tests.conftest import require


@pytest.fixture(scope="session")
def modular(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokersCluster]:
    """Three brokers with the modular manager. A test that stops one starts it again."""
    yield from _running(tmp_path_factory, LoadManager.MODULAR)


@pytest.fixture(scope="session")
def extensible(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokersCluster]:
    """Three brokers with the extensible manager. A test that stops one starts it again."""
    yield from _running(tmp_path_factory, LoadManager.EXTENSIBLE)


def _running(factory: pytest.TempPathFactory, manager: LoadManager) -> Iterator[BrokersCluster]:
    require(java, pulsar_home)
    cluster = BrokersCluster(factory.mktemp(manager), BrokersSettings(name=manager, manager=manager))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


class Namespace(Protocol):
    """Makes a namespace of the test's own."""

    def __call__(self, cluster: BrokersCluster, *, topics: int, bundles: int) -> tuple[str, list[str]]:
        """Its name, and the names of its topics."""


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Namespace:
    """Make namespaces, by the name of the test."""
    name = f"balancer/{request.node.name.replace('[', '-').rstrip(']')}"

    def make(cluster: BrokersCluster, *, topics: int, bundles: int) -> tuple[str, list[str]]:
        cluster.make_namespace(name, bundles=bundles)
        return name, [f"persistent://{name}/t{number}" for number in range(topics)]

    return make
