"""Two daemons of one region beside a real Pulsar cluster on ZooKeeper, each with a database of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from deploy.lab.region import LabRegion
from syncer.errors import SyncerError
from syncer.inspection.status import collect
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.support.synced import BOTH, Side, Synced, bus_topic

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.slow]


@dataclass(frozen=True, slots=True)
class Pair:
    """Both clusters in sync; ``other`` is the second daemon of us-east, with its own database."""

    synced: Synced
    other: LabRegion

    def all_there(self, names: list[str]) -> None:
        """They are in us-west as they were made, and nobody speaks of a conflict."""
        self.synced.all_there(names, self.other)


def role(region: LabRegion, pid: int | None) -> str | None:
    """What the daemon on this region's database says of itself."""
    try:
        with region.views() as views:
            found = collect(views, region.config)
    except SyncerError:
        return None
    return next((each.role for each in found.daemons if each.pid == pid), None)


def generation(region: LabRegion) -> int:
    """Of the region's database."""
    return region.status().identity.generation


def rebuilt(region: LabRegion, pid: int | None, former: int) -> bool:
    """Whether the daemon is the region's writer, on a database later than a former one, that has met the store."""
    if role(region, pid) != "active":
        return False
    identity = region.status().identity
    return identity.first_scan_done and identity.generation > former


@pytest.fixture
def pair(pulsar_pair: PulsarPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Regions of this test's own: others have their fences in the same stores."""
    folder, topic = tmp_path_factory.mktemp("own"), bus_topic("own")
    names = {name: f"own-{name}" for name in BOTH}

    def region(cluster_name: str, place: str) -> LabRegion:
        return LabRegion.beside(
            pulsar_pair.clusters[cluster_name],
            folder / place,
            name=names[cluster_name],
            topic=topic,
            subscription="own",
            peers={"expected": [name for of, name in names.items() if of != cluster_name]},
        )

    east, west = (Side(pulsar_pair.clusters[name], region(name, name)) for name in BOTH)
    other = region("us-east", "us-east-2")
    try:
        with Synced(east, west, topic).over_its_topic() as synced:
            yield Pair(synced, other)
    finally:
        other.stop()


def test_they_take_over_from_each_other_by_a_rebuild(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = pair.synced.east.region, pair.other
    pair.synced.start()
    standby = other.start_standby()
    came_back = None
    try:
        wait_until(lambda: role(other, standby.pid()) == "standby", "the other one stands by")
        names = pair.synced.make_tenants(20)
        pair.all_there(names)

        one.kill()
        began, former = time.monotonic(), generation(one)
        names += pair.synced.make_tenants(5)
        wait_until(lambda: rebuilt(other, standby.pid(), former), "the other one has taken over")
        first = time.monotonic() - began
        names += pair.synced.make_tenants(20)
        pair.all_there(names)

        came_back = one.start_standby()
        wait_until(lambda: role(one, came_back.pid()) == "standby", "the old one comes back and stands by")
        names += pair.synced.make_tenants(5)
        pair.all_there(names)
        assert rebuilt(other, standby.pid(), former)

        standby.kill()
        began, former = time.monotonic(), generation(other)
        wait_until(lambda: rebuilt(one, came_back.pid(), former), "the old one has taken over again")
        second = time.monotonic() - began
        names += pair.synced.make_tenants(5)
        pair.all_there(names)
    finally:
        standby.stop()
        if came_back is not None:
            came_back.stop()
    with capsys.disabled():
        print(f"\nown databases beside a real broker: taken over, with a rebuild, {first:.1f} s and {second:.1f} s")
