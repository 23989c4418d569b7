"""A real ZooKeeper whose data directory is put back from a copy, below a daemon that is stopped."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from kazoo.client import KazooClient

from deploy.lab.zookeeper import ZooKeeperServer
from syncer.config.model import Config
from syncer.daemon import Daemon, cause_of
from syncer.errors import PreconditionFailed, StateForeign, StateUnavailable
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S, until
from tests.shell.on_bus import changes_on
from tests.shell.region import path_of, tenant

pytestmark = pytest.mark.real("zookeeper")

ONE = path_of("one")


class Region:
    """Region ``east``: on a server of its own, and on a bus where nobody listens."""

    def __init__(self, folder: Path, server: ZooKeeperServer) -> None:
        self.server = server
        self.bus_file = folder / "bus.db"
        self.config = Config.model_validate(
            {
                "region": "east",
                "store": {"kind": "zookeeper", "hosts": server.hosts},
                "bus": {"kind": "embedded", "path": str(self.bus_file)},
                "state": {"path": str(folder / "state.db")},
                "api": {"enabled": False},
            }
        )

    def identity(self, fact: str) -> Any:
        """What the database says of itself; ``None`` while it is being made."""
        try:
            with closing(Views.open(self.config.database_url())) as views:
                return getattr(views.status().identity, fact)
        except (StateForeign, StateUnavailable):
            return None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run its daemon."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Daemon(self.config).run)
            await until(lambda: self.identity("first_scan_done"), "it is active")
            yield
            tasks.cancel_scope.cancel()

    async def tells(self, value: bytes) -> None:
        """Somebody writes a value, and it is published."""
        async with self.running():
            with self.client() as client:
                client.ensure_path(ONE)
                client.set(ONE, value)
            await until(lambda: value in [event.value for event in changes_on(self.bus_file)], "it is told")

    @contextmanager
    def client(self) -> Iterator[KazooClient]:
        """A client that shares nothing with the daemon."""
        client = KazooClient(self.server.hosts)
        client.start(timeout=WAIT_S)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    async def stopped(self, meanwhile: Callable[[], object]) -> None:
        """Do something while the server does not run."""
        await anyio.to_thread.run_sync(self.server.stop)
        meanwhile()
        await anyio.to_thread.run_sync(self.server.start)


async def test_a_data_directory_of_before_a_change_is_refused(
    zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    server = ZooKeeperServer(tmp_path / "server", leashed=True)
    data, copy = server.data_directory, tmp_path / "copy"

    def put_back() -> None:
        shutil.rmtree(data)
        shutil.copytree(copy, data)

    try:
        await anyio.to_thread.run_sync(server.start)
        region = Region(tmp_path, server)
        await region.tells(tenant("early"))
        await region.stopped(lambda: shutil.copytree(data, copy))
        await region.tells(tenant("late"))
        await region.stopped(put_back)
        published = len(changes_on(region.bus_file))
        with pytest.raises(BaseExceptionGroup) as ended, anyio.fail_after(WAIT_S):
            await Daemon(region.config).run()
        cause = cause_of(ended.value)
        assert isinstance(cause, PreconditionFailed)
        assert "the store is older than the sidecar database" in cause.message
        assert len(changes_on(region.bus_file)) == published
        with region.client() as client:
            assert json.loads(client.get(ONE)[0]) == json.loads(tenant("early")), "what was put back stands there"
    finally:
        await anyio.to_thread.run_sync(server.stop)
