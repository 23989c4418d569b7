"""The bus contract against every bus there is."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path

import pytest

from syncer.bus.contract import Bus
from syncer.bus.embedded import EmbeddedBus, EmbeddedConfig
from tests.contract.bus_suite import MAX_UNACKNOWLEDGED, BusContract, Rig


class EmbeddedRig:
    """A file of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def bus(self, region: str = "us-east") -> Bus:
        return EmbeddedBus(
            EmbeddedConfig(
                path=self._path,
                region=region,
                lease=timedelta(milliseconds=600),
                poll_interval=timedelta(milliseconds=10),
                busy_timeout=timedelta(milliseconds=200),
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


class TestEmbedded(BusContract):
    @pytest.fixture
    def rig(self, tmp_path: Path) -> Rig:
        return EmbeddedRig(tmp_path / "bus.sqlite")
