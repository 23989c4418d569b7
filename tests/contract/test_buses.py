"""The bus contract against every bus there is."""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.contract import Bus
from syncer.bus.embedded import EmbeddedBus, EmbeddedConfig
from syncer.bus.pulsar.bus import PulsarBus, PulsarBusConfig
from syncer.bus.pulsar.topic import WantedTopic, apply_topic, plan_topic
from tests.conftest import PulsarPair
from tests.contract.bus_suite import MAX_UNACKNOWLEDGED, BusContract, Rig
from tests.support.scrawling import scrawl, scrawl_on_topic


class EmbeddedRig:
    """A file of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def bus(self, region: str = "us-east") -> Bus:
        return EmbeddedBus(
            EmbeddedConfig(
                path=self._path,
                region=region,
                lease=timedelta(seconds=15),
                poll_interval=timedelta(milliseconds=10),
                busy_timeout=timedelta(seconds=5),
                max_unacknowledged=MAX_UNACKNOWLEDGED,
                max_batch=25,
            )
        )

    @asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            yield
            db.execute("ROLLBACK")

    async def vanish(self, bus: Bus) -> None:
        assert isinstance(bus, EmbeddedBus)
        await bus.abandon()
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:  # and its lease runs out
            db.execute("UPDATE region SET lease_until_ms = 1 WHERE owner IS NOT NULL")

    async def scrawl(self, payload: bytes) -> None:
        scrawl(self._path, "us-east", payload)


class TestEmbedded(BusContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return EmbeddedRig(tmp_path / "bus.sqlite")


_topics = itertools.count(1)


class PulsarRig:
    """A replicated topic of its own on two real clusters, made as an operator makes it."""

    def __init__(self, pair: PulsarPair) -> None:
        self._pair = pair
        self.topic = f"persistent://bus-{os.getpid()}-{next(_topics)}/sync/events"

    async def prepare(self) -> None:
        admins = {
            name: AdminClient(AdminSettings(url=cluster.admin_url)) for name, cluster in self._pair.clusters.items()
        }
        try:
            wanted = WantedTopic(topic=self.topic, regions={name: (name,) for name in admins})
            await apply_topic(await plan_topic(wanted, admins), admins)
        finally:
            for admin in admins.values():
                await admin.close()

    def bus(self, region: str = "us-east") -> Bus:
        cluster = self._pair.clusters[region]
        return PulsarBus(
            PulsarBusConfig(
                region=region,
                service_url=cluster.service_url,
                admin_url=cluster.admin_url,
                topic=self.topic,
                max_unacknowledged=MAX_UNACKNOWLEDGED,
                max_batch=25,
                publish_timeout=timedelta(seconds=10),
                operation_timeout=timedelta(seconds=60),
            )
        )

    @asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        broker = self._pair.clusters["us-east"].broker
        broker.pause()
        try:
            yield
        finally:
            broker.resume()

    async def vanish(self, bus: Bus) -> None:
        assert isinstance(bus, PulsarBus)
        await bus.abandon()

    async def scrawl(self, payload: bytes) -> None:
        url = self._pair.clusters["us-east"].service_url
        await anyio.to_thread.run_sync(scrawl_on_topic, url, self.topic, payload)


class TestPulsar(BusContract):
    @pytest.fixture
    async def rig(self, pulsar_pair: PulsarPair) -> Rig:
        rig = PulsarRig(pulsar_pair)
        await rig.prepare()
        return rig
