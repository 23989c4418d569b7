"""Real clusters pass the suite of what a migration relies on of the admin API, as the simulated ones do."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator
from typing import Final

import anyio
import pytest

from deploy.lab.client import patient_client
from deploy.lab.pulsar import PulsarCluster
from syncer.admin.client import AdminClient, AdminSettings
from syncer.migration.broker_health import HealthState
from syncer.migration.evidence import ClusterUrls
from syncer.migration.running.clock import WallClock
from syncer.migration.running.control import examining
from syncer.migration.running.control.examining import BrokerExamination
from syncer.waiting import until
from tests.conftest import PulsarPair
from tests.migration.admin_contract import AdminContract, MigrationWorld
from tests.real.flipped_pair import tell

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar")]

BLUE: Final = "us-east"
GREEN: Final = "us-west"
_numbers = itertools.count(1)


class RealWorld(MigrationWorld):
    """Two Pulsar clusters, and a namespace of their own for each test."""

    name = BLUE

    def __init__(self, blue: AdminClient, cluster: PulsarCluster, green: PulsarCluster) -> None:
        self.blue = blue
        self.clock = WallClock()
        self.green_urls = ClusterUrls(http=green.admin_url, pulsar=green.service_url)
        self.namespace = f"moving-{os.getpid()}/n{next(_numbers)}"
        self._service_url = cluster.service_url

    async def publish(self, topic: str, count: int) -> None:
        """Publish with a client of its own, which is closed."""
        await anyio.to_thread.run_sync(self._publish, topic, count)

    def _publish(self, topic: str, count: int) -> None:
        client = patient_client(self._service_url)
        try:
            producer = client.create_producer(topic, batching_enabled=False)
            for number in range(count):
                producer.send(b"%d" % number)
        finally:
            client.close()


class TestReal(AdminContract):
    """The suite on real clusters."""

    @pytest.fixture
    async def world(self, pulsar_pair: PulsarPair) -> AsyncIterator[RealWorld]:
        """Blue with a fresh namespace, and its address of green; afterwards nothing is marked."""
        blue, green = pulsar_pair.clusters[BLUE], pulsar_pair.clusters[GREEN]
        async with AdminClient(AdminSettings(url=blue.admin_url)) as admin:
            world = RealWorld(admin, blue, green)
            tenant = world.namespace.partition("/")[0]
            if await admin.tenant(tenant) is None:
                await admin.create_tenant(tenant, {"adminRoles": [], "allowedClusters": [BLUE]})
            await admin.create_namespace(world.namespace, {"replication_clusters": [BLUE]})
            await admin.set_migration_mark(BLUE, world.green_urls.named, migrated=False)
            yield world
            await admin.mark_namespace(world.namespace, migrated=False)

    @pytest.mark.slow
    async def test_a_mark_without_a_look_up_may_stop_the_brokers_metadata(self, world: MigrationWorld) -> None:
        """Half a minute of it."""
        await super().test_a_mark_without_a_look_up_may_stop_the_brokers_metadata(world)


async def test_a_broker_that_stands_still_is_silent_until_it_goes_on(
    pulsar_pair: PulsarPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = pulsar_pair.clusters[BLUE]
    async with AdminClient(AdminSettings(url=here.admin_url)) as blue:
        examination = BrokerExamination("blue", BLUE, blue, WallClock(), tell)

        async def well() -> bool:
            return not await examination.look()

        await until(well, "it is well")
        with monkeypatch.context() as patched:
            patched.setattr(examining, "ASK_S", 0.5)
            here.broker.pause()
            try:
                (found,) = await examination.look()
            finally:
                here.broker.resume()
        assert (found.broker, found.state) == (here.admin_url.removeprefix("http://"), HealthState.SILENT)
        await until(well, "it is well")
