"""The simulated clusters pass the suite of what a migration relies on."""

from __future__ import annotations

import pytest

from syncer.migration.evidence import ClusterUrls
from tests.migration.admin_contract import AdminContract, MigrationWorld
from tests.migration.calls import SimulatedCalls
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.pair import ClusterPairPlay
from tests.migration.clusters.process import Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.rest import AdminApi

pytestmark = pytest.mark.anyio


class SimulatedWorld(MigrationWorld):
    """Simulated clusters in virtual time."""

    name = "blue"
    namespace = "acme/contract"

    def __init__(self) -> None:
        self.play = ClusterPairPlay(0)
        self.play.add_namespace(self.namespace)
        self.blue = SimulatedCalls(AdminApi(self.play.blue))
        self.clock = SimulatedClock(self.play.timeline)
        urls = self.play.green.urls
        self.green_urls = ClusterUrls(http=urls.http, https=urls.https, pulsar=urls.pulsar, pulsar_ssl=urls.pulsar_ssl)

    async def publish(self, topic: str, count: int) -> None:
        """Let a producer publish until so many were stored."""
        process = self.play.process(Library.CPP_NEW)
        producer = self.play.add_producer(process, topic, "writer", SimTraffic(every_ms=10))
        assert self.play.timeline.until(lambda: len(producer.acked) >= count, within_ms=10_000)
        producer.stop()
        self.play.timeline.run(1_000)


class TestSimulated(AdminContract):
    """The suite on simulated clusters."""

    @pytest.fixture
    async def world(self) -> SimulatedWorld:
        """Both clusters, and blue's address of green."""
        world = SimulatedWorld()
        await world.blue.set_migration_mark(world.name, world.green_urls.named, migrated=False)
        return world
