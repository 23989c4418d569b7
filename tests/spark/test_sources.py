"""The sources as tables of Spark: the same rows as the readers', from two tasks at once, with no secret in any plan."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from sqlalchemy import create_engine, insert

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot.format.rows import REGISTERS, STORE
from spark_snapshot.sources import StorePlace, live, offline, registers
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Region
from syncer.paths import classify, tenant_of
from syncer.plan.diffing import fingerprint
from syncer.state.sql import tables
from syncer.state.sql.database import SqlState
from syncer.state.sql.opening import parse_url
from syncer.stores.contract import Put
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.sqlite import SqliteConfig, SqliteStore
from syncer.stores.zookeeper.config import ZooKeeperConfig
from tests.spark.stores import EVERYTHING, RESOURCES, fill_zookeeper, kazoo
from tests.support.etcd import EtcdGateway


@pytest.fixture
def zookeeper_place(zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath) -> StorePlace:
    with kazoo(zookeeper_server.hosts) as client:
        client.create(fresh_prefix, b"")
        fill_zookeeper(client, fresh_prefix)
    return StorePlace.made("zookeeper", ZooKeeperConfig(hosts=zookeeper_server.hosts, chroot=fresh_prefix))


@pytest.fixture
def etcd_place(etcd_server: EtcdNode, fresh_prefix: MetaPath) -> StorePlace:
    with EtcdGateway(etcd_server.endpoint) as gateway:
        for path, value in EVERYTHING.items():
            gateway.put(fresh_prefix + path, value)
    return StorePlace.made("etcd", EtcdConfig(endpoints=(etcd_server.endpoint,), namespace=fresh_prefix))


@pytest.fixture
def sqlite_place(tmp_path: Path) -> StorePlace:
    config = SqliteConfig(path=tmp_path / "store.db")

    async def fill() -> None:
        store = SqliteStore(config)
        await store.open()
        try:
            for path, value in EVERYTHING.items():
                await store.apply([Put(path=MetaPath(path), value=value, expected=None)])
        finally:
            await store.close()

    anyio.run(fill)
    return StorePlace.made("sqlite", config)


def assert_rows(table: DataFrame, *, times: bool) -> None:
    """The table holds exactly the resources, with what is made of them."""
    assert table.schema == STORE
    rows = table.collect()
    assert {row.path: bytes(row.value) for row in rows} == RESOURCES
    assert len(rows) == len(RESOURCES)
    for row in rows:
        resource = classify(row.path)
        assert resource is not None
        assert (row.kind, row.tenant) == (resource.kind.value, tenant_of(row.path))
        assert bytes(row.digest) == fingerprint(row.path, RESOURCES[row.path])
        assert (row.modified_ms is not None) == times
        assert row.revision


@pytest.mark.real("zookeeper")
def test_a_live_zookeeper_is_a_table(spark: SparkSession, zookeeper_place: StorePlace) -> None:
    table = live(spark, zookeeper_place, Scope(), readers=2)
    assert table.rdd.getNumPartitions() == 2
    assert_rows(table, times=True)


@pytest.mark.real("zookeeper")
def test_the_files_of_a_zookeeper_are_a_table(
    spark: SparkSession, zookeeper_server: ZooKeeperServer, zookeeper_place: StorePlace, fresh_prefix: MetaPath
) -> None:
    table = offline(spark, zookeeper_server.data_directory, Scope(), prefix=fresh_prefix)
    assert sorted(table.collect()) == sorted(live(spark, zookeeper_place, Scope()).collect())


@pytest.mark.real("etcd")
def test_a_live_etcd_is_a_table(spark: SparkSession, etcd_place: StorePlace) -> None:
    assert_rows(live(spark, etcd_place, Scope(), readers=2), times=False)


def test_an_sqlite_store_is_a_table(spark: SparkSession, sqlite_place: StorePlace) -> None:
    assert_rows(live(spark, sqlite_place, Scope()), times=True)


def test_tenants_and_subtrees_narrow_the_table_and_no_query_narrows_the_next(
    spark: SparkSession, sqlite_place: StorePlace
) -> None:
    table = live(spark, sqlite_place, Scope(), tenants=["t1"], under=MetaPath("/admin/policies"))
    expected = {path for path in RESOURCES if path.startswith("/admin/policies/t1")}
    assert table.where("tenant = 't0'").count() == 0
    assert table.where("path = '/admin/policies/t1'").count() == 1
    assert {row.path for row in table.select("path").collect()} == expected
    assert live(spark, sqlite_place, Scope(), tenants=[]).count() == 0


def test_what_a_reader_refuses_fails_the_job(spark: SparkSession, tmp_path: Path) -> None:
    place = StorePlace.made("sqlite", SqliteConfig(path=tmp_path / "not.db"))
    with pytest.raises(PySparkException, match="does not exist"):
        live(spark, place, Scope()).count()


# -- registers

SEATED = {"s_time": 1_700_000_000_002, "s_region": "east", "s_by": "east~1", "s_seen": '{"west~1":1,"east~1":2}'}
KNOWN = {"k_time": 1_700_000_000_003, "k_region": "west", "k_by": "west~1", "k_seen": "{}"}
HELD = {"hold_reason": "mass-delete", "hold_time": 3, "hold_region": "west", "hold_since": 4, "hold_detail": "why"}


def _register(path: str, **columns: object) -> dict[str, object]:
    always = {"path": path, "alive": 1, "due": 0, "unsettled": 0, "tenant": tenant_of(MetaPath(path)), "own": 0}
    return {**dict.fromkeys(column.name for column in tables.registers.c), **always, **columns}


def fill_registers(url: str) -> None:
    state = SqlState.open(url, Region("east"))
    state.close()
    rows = [
        _register("/admin/policies/a", s_digest=b"d" * 16, k_digest=b"k" * 16, **SEATED, **KNOWN),
        _register("/admin/policies/a/dead", **SEATED, **KNOWN, incomplete=0, kept=b'[{"there":1},{}]'),
        _register(
            "/admin/policies/a/held",
            s_digest=b"d" * 16,
            **SEATED,
            **KNOWN,
            **HELD,
            hold_local=0,
            incomplete=1,
            kept=b'[{"there":1},{"gone":[1]},{"owed":1}]',
        ),
        _register("/admin/policies/b/never-seated", k_digest=b"k" * 16, **KNOWN),
        _register("/admin/policies/b/never-seated-held", k_digest=b"k" * 16, **KNOWN, **HELD, hold_local=0),
        _register("/admin/policies/b/told", **SEATED, **KNOWN, **{**HELD, "hold_reason": "untold"}, hold_local=0),
        _register("/admin/policies/pulsar/system", s_digest=b"d" * 16, **SEATED, **KNOWN),
    ]
    engine = create_engine(parse_url(url))
    try:
        with engine.begin() as connection:
            connection.execute(insert(tables.registers), rows)
    finally:
        engine.dispose()


EXPECTED = [
    ("/admin/policies/a", "tenant", "a", b"d" * 16, None),
    ("/admin/policies/a/dead", "namespace", "a", None, None),
    ("/admin/policies/a/held", "namespace", "a", b"d" * 16, "mass-delete"),
    ("/admin/policies/b/never-seated-held", "namespace", "b", None, "mass-delete"),
    ("/admin/policies/b/told", "namespace", "b", None, None),
]


def assert_registers(table: DataFrame) -> None:
    assert table.schema == REGISTERS
    rows = sorted(table.collect())
    found = [
        (row.path, row.kind, row.tenant, None if row.digest is None else bytes(row.digest), row.hold) for row in rows
    ]
    assert found == EXPECTED
    for row in rows:
        stored = (1_700_000_000_002, "east", "east~1", '{"east~1":2,"west~1":1}')
        never = (0, "", "", "{}")
        stamp = (row.updated_ms, row.author, row.by, row.seen)
        assert stamp == (never if "never" in row.path else stored)
        assert (row.known_ms, row.known_author) == (1_700_000_000_003, "west")
        assert row.gone == (b'{"gone":[1]}' if row.path == "/admin/policies/a/held" else None)


def test_registers_are_a_table(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    fill_registers(url)
    assert_registers(registers(spark, url, Scope()))
    assert registers(spark, url, Scope(), tenants=["b"]).count() == 2


@pytest.mark.real("postgres")
def test_registers_of_a_shared_database_are_a_table_and_no_plan_shows_its_password(
    spark: SparkSession, postgres_url: str
) -> None:
    password = parse_url(postgres_url).password
    fill_registers(postgres_url)
    table = registers(spark, postgres_url, Scope())
    assert_registers(table)
    if password:
        assert str(password) not in table._jdf.queryExecution().toString()


def test_a_database_that_is_not_there_fails_the_job(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="no sidecar database"):
        registers(spark, f"sqlite:///{tmp_path / 'not.db'}", Scope()).count()
