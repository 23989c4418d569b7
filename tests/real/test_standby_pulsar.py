"""Two daemons of one region beside a real Pulsar cluster on ZooKeeper, with one PostgreSQL: how they take over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.lab.postgres import PostgresServer
from deploy.lab.process import ServerProcess
from deploy.lab.region import LabRegion
from syncer.documents.status import StatusDocument
from syncer.errors import SyncerError
from syncer.inspection.status import collect
from syncer.paths import tenant_path
from syncer.waiting import starvation, wait_until
from tests.conftest import PulsarPair
from tests.support.link import BrokerLink, Link
from tests.support.synced import BOTH, Side, Synced, bus_topic

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd", "postgres")

TAKE_OVER_S = 5.0
"""A broker gives a silent client two rounds of 30 s; then the waiting one has to ask again."""


@pytest.fixture(scope="module")
def module_pair(
    pulsar_pair: PulsarPair, postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Synced]:
    """Both clusters in sync, as regions of this module's own: others have their fences in the same stores."""
    folder, database = tmp_path_factory.mktemp("standby"), f"standby_{os.getpid()}"
    topic, states = bus_topic("standby"), ({"url": postgres_server.create(database)}, {"path": str(folder / "west.db")})
    clusters = pulsar_pair.clusters
    east, west = (
        Side(
            clusters[name],
            LabRegion.beside(
                clusters[name], folder / name, name=f"standby-{name}", topic=topic, subscription="standby", state=state
            ),
        )
        for name, state in zip(BOTH, states, strict=True)
    )
    try:
        with Synced(east, west, topic).over_its_topic() as synced:
            yield synced
    finally:
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
    wait_until(lambda: roles(pair).get("active") == by, "the other one is active")
    return time.monotonic() - began


def all_there_once(pair: Synced, names: list[str]) -> None:
    """They are in us-west, and each was told once."""
    pair.all_there(names)
    wait_until(pair.east.region.quiet, "everything of us-east is published")
    paths = {tenant_path(name) for name in names}
    told = {(event.path, event.stamp, event.sender, event.sequence) for event in pair.changes(pair.west)}
    assert sorted(path for path, *_ in told if path in paths) == sorted(paths)


def test_a_killed_daemon_is_followed_by_its_standby(pair: Synced) -> None:
    standby = pair.east.region.start_standby()
    try:
        wait_until(lambda: both(pair, standby).items() <= roles(pair).items(), "one is active, one stands by")
        names = pair.make_tenants(20)
        pair.east.region.kill()
        names += pair.make_tenants(5)
        took = taken_over(pair, standby.pid())
        names += pair.make_tenants(20)
        all_there_once(pair, names)
        print(f"killed beside a real broker: another one active after {took:.1f} s")
        assert took < TAKE_OVER_S * starvation.patience()
    finally:
        standby.stop()


@pytest.mark.slow
def test_a_frozen_daemon_is_followed_by_its_standby_and_wakes_up_fenced(pair: Synced) -> None:
    standby = pair.east.region.start_standby()
    frozen = pair.east.region.daemon
    try:
        wait_until(lambda: both(pair, standby).items() <= roles(pair).items(), "one is active, one stands by")
        names = pair.make_tenants(20)
        frozen.pause()
        names += pair.make_tenants(20)
        took = taken_over(pair, standby.pid())
        found = status(pair)
        assert found is not None
        assert {each.pid: each.role for each in found.daemons}[frozen.pid() or 0] == "former"
        frozen.resume()
        names += pair.make_tenants(20)
        turned = {"active": standby.pid(), "standby": frozen.pid()}
        wait_until(lambda: turned.items() <= roles(pair).items(), "it stands by")
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


@dataclass(frozen=True, slots=True)
class Cut:
    """A daemon of us-east's region that reaches its broker through links that can be cut, and its standby."""

    pair: Synced
    region: LabRegion
    links: tuple[Link, Link]
    standby: ServerProcess

    def roles(self) -> dict[str, int | None]:
        """How it begins."""
        return {"active": self.region.daemon.pid(), "standby": self.standby.pid()}

    def turned(self) -> dict[str, int | None]:
        """How it ends."""
        return {"active": self.standby.pid(), "standby": self.region.daemon.pid()}


@pytest.fixture
def cut(module_pair: Synced, tmp_path: Path) -> Iterator[Cut]:
    """The active daemon behind links; the standby beside it reaches the broker directly."""
    east = module_pair.east
    east.region.stop()
    module_pair.west.region.start()
    with BrokerLink(east.cluster.ports.broker) as broker, Link(east.cluster.ports.web) as web:
        config = east.region.config
        bus = {**config.bus.raw, "service_url": broker.service_url, "admin_url": f"http://{web.hosts}"}
        state = {"url": config.database_url()}
        region = LabRegion(
            tmp_path / "linked",
            name=east.region.name,
            clusters=(east.cluster.name,),
            tables={"store": east.cluster.store_config, "bus": bus, "state": state},
        )
        try:
            region.start()
            standby = east.region.start_standby()
            try:
                found = Cut(module_pair, region, (broker, web), standby)
                wait_until(lambda: found.roles().items() <= roles(module_pair).items(), "one is active, one stands by")
                yield found
            finally:
                standby.stop()
        finally:
            broker.mend()
            region.stop()


def followed(cut: Cut, sever: Callable[[Link], None]) -> tuple[list[str], float]:
    """Sever the active daemon from its broker, have its standby follow, and mend all.

    Returns:
        The tenants that were made before, meanwhile and after, all of which have arrived; how long it took.
    """
    pair = cut.pair
    names = pair.make_tenants(20)
    for link in cut.links:
        sever(link)
    names += pair.make_tenants(20)
    took = taken_over(pair, cut.standby.pid())
    names += pair.make_tenants(20)
    all_there_once(pair, names)
    for link in cut.links:
        link.mend()
    wait_until(lambda: cut.turned().items() <= roles(pair).items(), "the one that was severed stands by")
    return names, took


def test_a_daemon_cut_off_from_its_broker_is_followed_by_its_standby(cut: Cut) -> None:
    """The broker sees the connections end, and need not wait."""
    _, took = followed(cut, Link.cut)
    print(f"cut off from a real broker: another one active after {took:.1f} s")


@pytest.mark.slow
def test_a_daemon_whose_packets_are_dropped_is_followed_by_its_standby(cut: Cut) -> None:
    """The broker hears nothing and sees no end: it waits for its keep-alive."""
    names, took = followed(cut, Link.silence)
    names += cut.pair.make_tenants(5)
    all_there_once(cut.pair, names)
    print(f"packets to a real broker dropped: another one active after {took:.1f} s")


def both(pair: Synced, standby: ServerProcess) -> dict[str, int | None]:
    return {"active": pair.east.region.daemon.pid(), "standby": standby.pid()}
