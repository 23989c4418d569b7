"""Every store of the product under the one contract suite, real servers included."""

from __future__ import annotations

import contextlib
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from kazoo.client import KazooClient

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.model import MetaPath, Region
from syncer.naming.cluster_names import ClusterNames
from syncer.naming.mapped_store import mapped
from syncer.stores.contract import MetadataStore
from syncer.stores.etcd import EtcdConfig, EtcdStore
from syncer.stores.sqlite import OutsideWriter as SqliteWriter
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from syncer.system_topics.source import SystemTopics
from syncer.system_topics.store import with_system_topics
from syncer.waiting import WAIT_S
from tests.contract.store_harness import OutsideWriter, StoreHarness
from tests.contract.store_suite import StoreSuite
from tests.support.etcd import EtcdGateway
from tests.support.topic_logs import MemoryTopicLogs, TopicCluster

PATIENT: Final = timedelta(seconds=60)
HASTY: Final = timedelta(seconds=3)


def timeout(*, hasty: bool) -> timedelta:
    return HASTY if hasty else PATIENT


class TestSqlite(StoreSuite):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        return SqliteHarness(tmp_path / "store.db")


@pytest.mark.slow
class TestMapped(StoreSuite):
    """By other names of clusters it is the same store."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        return MappedHarness(tmp_path / "store.db")


@pytest.mark.slow
class TestBesideTopics(StoreSuite):
    """With system topics beside it, below the very prefix that they share, it is the same store."""

    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        return BesideHarness(tmp_path / "store.db")


class TestEtcd(StoreSuite):
    @pytest.fixture
    def harness(self, etcd_server: EtcdNode, fresh_prefix: MetaPath, monkeypatch: pytest.MonkeyPatch) -> StoreHarness:
        monkeypatch.setattr("syncer.stores.etcd.watch.WATCH_ANSWER_S", PATIENT.total_seconds())
        return EtcdHarness(etcd_server, fresh_prefix)


class TestZooKeeper(StoreSuite):
    @pytest.fixture
    def harness(self, zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath) -> StoreHarness:
        return ZooKeeperHarness(zookeeper_server, fresh_prefix)


class SqliteHarness:
    """A file; an outage is the file taken away, lost continuity is a pruned log."""

    ephemerals = False
    prefix = MetaPath("/test")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._away = path.with_name("away")
        with contextlib.closing(SqliteWriter(path)) as writer:
            writer.put(self.prefix, b"")

    def make(self, *, hasty: bool = False) -> MetadataStore:
        return SqliteStore(SqliteConfig(path=self._path, timeout=timeout(hasty=hasty)))

    def outside(self) -> OutsideWriter:
        return _SqliteOutside(self._path)

    def break_continuity(self) -> None:
        with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO entries (path, value) VALUES (?, ?)", (f"{self.prefix}/lost", b"x"))
            connection.execute("DELETE FROM changes")
            connection.execute("COMMIT")

    def stop(self) -> None:
        self._path.rename(self._away)

    def start(self) -> None:
        self._away.rename(self._path)


class BesideHarness(SqliteHarness):
    """The same file, with system topics of a namespace beside it."""

    prefix = MetaPath("/admin/topic-policies/global/free")

    def make(self, *, hasty: bool = False) -> MetadataStore:
        store = super().make(hasty=hasty)
        source = SystemTopics(["acme/*"], store, MemoryTopicLogs(TopicCluster()))
        return with_system_topics(store, source, Region("east"), writes=True)


class EtcdHarness:
    """A server; an outage is a killed process, and its restart cuts every watch."""

    ephemerals = True

    def __init__(self, server: EtcdNode, prefix: MetaPath) -> None:
        self._server = server
        self.prefix = prefix
        with EtcdGateway(server.endpoint) as gateway:
            gateway.put(prefix, b"")

    def make(self, *, hasty: bool = False) -> EtcdStore:
        return EtcdStore(EtcdConfig(endpoints=(self._server.endpoint,), request_timeout=timeout(hasty=hasty)))

    def outside(self) -> OutsideWriter:
        return _EtcdOutside(self._server.endpoint)

    def break_continuity(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()


class ZooKeeperHarness:
    """A server; an outage is a killed process, and its restart cuts every connection."""

    ephemerals = True

    def __init__(self, server: ZooKeeperServer, prefix: MetaPath) -> None:
        self._server = server
        self.prefix = prefix
        with contextlib.closing(_ZooKeeperOutside(server.hosts)) as writer:
            writer.put(prefix, b"")

    def make(self, *, hasty: bool = False) -> ZooKeeperStore:
        answer = timeout(hasty=hasty)
        return ZooKeeperStore(ZooKeeperConfig(hosts=self._server.hosts, request_timeout=answer, connect_timeout=answer))

    def outside(self) -> OutsideWriter:
        return _ZooKeeperOutside(self._server.hosts)

    def break_continuity(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()


class MappedHarness(SqliteHarness):
    """The same, read by the group's names of clusters."""

    def make(self, *, hasty: bool = False) -> MetadataStore:
        return mapped(super().make(hasty=hasty), ClusterNames({"here": "there"}))


class _SqliteOutside:
    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, path: str, value: bytes, *, ephemeral: bool = False) -> None:
        assert not ephemeral
        with contextlib.closing(sqlite3.connect(self._path, timeout=WAIT_S)) as connection, connection:
            connection.execute("INSERT OR REPLACE INTO entries (path, value) VALUES (?, ?)", (path, value))

    def delete(self, path: str) -> None:
        with contextlib.closing(sqlite3.connect(self._path, timeout=WAIT_S)) as connection, connection:
            assert connection.execute("DELETE FROM entries WHERE path = ?", (path,)).rowcount == 1

    def close(self) -> None:
        pass


class _EtcdOutside:
    def __init__(self, endpoint: str) -> None:
        self._gateway = EtcdGateway(endpoint)
        self._lease = 0

    def put(self, path: str, value: bytes, *, ephemeral: bool = False) -> None:
        if ephemeral and not self._lease:
            self._lease = self._gateway.grant_lease(60)
        self._gateway.put(path, value, lease=self._lease if ephemeral else 0)

    def delete(self, path: str) -> None:
        self._gateway.delete(path)

    def close(self) -> None:
        if self._lease:
            self._gateway.revoke_lease(self._lease)
        self._gateway.close()


class _ZooKeeperOutside:
    def __init__(self, hosts: str) -> None:
        self._client = KazooClient(hosts=hosts, timeout=10)
        self._client.start(timeout=WAIT_S)

    def put(self, path: str, value: bytes, *, ephemeral: bool = False) -> None:
        if self._client.exists(path) is None:
            self._client.create(path, value, ephemeral=ephemeral)
        else:
            self._client.set(path, value)

    def delete(self, path: str) -> None:
        self._client.delete(path)

    def close(self) -> None:
        self._client.stop()
        self._client.close()
