"""Two daemons of one region beside a real Pulsar cluster on ZooKeeper, with one PostgreSQL: how they take over."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping

import pytest

from deploy.lab.postgres import PostgresServer
from deploy.lab.process import ServerProcess
from deploy.lab.region import LabRegion
from syncer.errors import SyncerError
from syncer.paths import tenant_path
from syncer.status import StatusDocument, collect
from tests.conftest import PulsarPair
from tests.support.synced import BOTH, Side, Synced, eventually, tenant

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd", "postgres"), pytest.mark.timeout(300)]

TAKE_OVER_S = 5.0
KEEP_ALIVE_S = 90.0
"""A broker gives a silent client two rounds of 30 s; then the waiting one has to ask again."""


@pytest.fixture(scope="module")
def module_pair(
    pulsar_pair: PulsarPair, postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Synced]:
    """Both clusters in sync, as regions of this module's own: others have their fences in the same stores."""
    folder, database = tmp_path_factory.mktemp("standby"), f"standby_{os.getpid()}"
    topic = f"persistent://standby-{os.getpid()}/metadata/events"
    states = {"us-east": {"url": postgres_server.create(database)}, "us-west": {"path": str(folder / "west.db")}}
    sides = []
    for name in BOTH:
        cluster = pulsar_pair.clusters[name]
        bus = {
            "kind": "pulsar",
            "service_url": cluster.service_url,
            "admin_url": cluster.admin_url,
            "topic": topic,
            "subscription": "standby",
        }
        tables: dict[str, Mapping[str, object]] = {"store": cluster.store_config, "bus": bus, "state": states[name]}
        region = LabRegion(folder / name, name=f"standby-{name}", clusters=(name,), tables=tables)
        sides.append(Side(cluster, region))
    synced = Synced(sides[0], sides[1], topic)
    urls = [word for side in sides for word in ("--cluster", f"{side.cluster.name}={side.cluster.admin_url}")]
    synced.east.region.command("topic", "init", *urls, "--yes")
    try:
        yield synced
    finally:
        for side in sides:
            side.region.stop()
        postgres_server.drop(database)


@pytest.fixture
def pair(module_pair: Synced) -> Synced:
    """Both regions running, whatever the test before did to them."""
    module_pair.start()
    return module_pair


def status(pair: Synced) -> StatusDocument | None:
    region = pair.east.region
    try:
        with region.views() as views:
            return collect(views, region.config)
    except SyncerError:
        return None


def roles(pair: Synced) -> dict[str, int]:
    found = status(pair)
    return {each.role: each.pid for each in found.daemons} if found is not None else {}


def taken_over(pair: Synced, by: int | None) -> float:
    began = time.monotonic()
    deadline = began + KEEP_ALIVE_S
    while roles(pair).get("active") != by:
        assert time.monotonic() < deadline, f"nobody took over: {roles(pair)}"
        time.sleep(0.05)
    return time.monotonic() - began


def make(pair: Synced, prefix: str, number: int) -> list[str]:
    names = [f"{prefix}{os.getpid()}x{index}" for index in range(number)]
    for name in names:
        pair.east.send("PUT", f"tenants/{name}", tenant(name))
    return names


def all_there_once(pair: Synced, names: list[str]) -> None:
    eventually(lambda: set(names) <= set(pair.west.get("tenants")), f"{len(names)} tenants in us-west")
    assert all(pair.west.roles(name) == [name] for name in names)
    eventually(pair.east.region.quiet, "everything of us-east is published")
    assert [row for side in pair.sides for name in names for row in side.conflicts(tenant_path(name))] == []


def test_a_killed_daemon_is_followed_by_its_standby(pair: Synced) -> None:
    standby = pair.east.region.start_standby()
    try:
        eventually(lambda: both(pair, standby).items() <= roles(pair).items(), "one is active, one stands by")
        names = make(pair, "before", 20)
        pair.east.region.kill()
        names += make(pair, "during", 5)
        took = taken_over(pair, standby.pid())
        names += make(pair, "after", 20)
        all_there_once(pair, names)
        print(f"killed beside a real broker: another one active after {took:.1f} s")
        assert took < TAKE_OVER_S
    finally:
        standby.stop()


@pytest.mark.slow
def test_a_frozen_daemon_is_followed_by_its_standby_and_wakes_up_fenced(pair: Synced) -> None:
    standby = pair.east.region.start_standby()
    frozen = pair.east.region.daemon
    try:
        eventually(lambda: both(pair, standby).items() <= roles(pair).items(), "one is active, one stands by")
        names = make(pair, "cold", 20)
        frozen.pause()
        names += make(pair, "frozen", 20)
        took = taken_over(pair, standby.pid())
        found = status(pair)
        assert found is not None
        assert {each.pid: each.role for each in found.daemons}[frozen.pid() or 0] == "former"
        frozen.resume()
        names += make(pair, "woken", 20)
        turned = {"active": standby.pid(), "standby": frozen.pid()}
        eventually(lambda: turned.items() <= roles(pair).items(), "it stands by")
        all_there_once(pair, names)
        after = status(pair)
        assert after is not None
        print(
            f"frozen beside a real broker: another one active after {took:.1f} s; "
            f"epoch {found.epoch}, {after.epoch} once the woken one had learnt that the lock was lost"
        )
    finally:
        frozen.resume()
        standby.stop()


def both(pair: Synced, standby: ServerProcess) -> dict[str, int | None]:
    return {"active": pair.east.region.daemon.pid(), "standby": standby.pid()}
