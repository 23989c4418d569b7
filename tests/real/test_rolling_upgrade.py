"""A rolling upgrade under load: two clusters of 4.0.8, broker by broker to 4.2.4 and on to 5.0.0-M1.

Namespaces are edited by both sides through their brokers all the while, those of the region that is being upgraded
included: while its brokers differ, fields are set by the newer one that the older one drops at its next write. Bookies
and ZooKeeper stay as they are; the brokers are what reads and writes policies.

us-west begins on etcd, which 5.0 refuses. Pulsar has no tool for that way, so its last stage is that of
docs/how-to/leave-etcd.md: a new cluster on ZooKeeper, of the same name and at the same addresses, and the daemon with
its own database given the new store.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from deploy.lab import rest
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import BrokersSettings
from deploy.lab.pulsar import StoreKind
from deploy.lab.region import BUS_TOPIC, LabRegion
from deploy.lab.releases.assembled import home_of
from deploy.lab.software import etcd_binary, java, pulsar_home
from syncer.config import Config
from syncer.model import MetaPath
from syncer.waiting import wait_until
from tests.conftest import require
from tests.real.moved_store import fence_of, opened, put
from tests.versions.edits_both_ways import MixedPair, each_way, pair_of
from tests.versions.rolling_pair import TTL, RollingPair

FIRST, SECOND, THIRD = "4.0.8", "4.2.4", "5.0.0-M1"
EAST, WEST = 0, 1
NAMESPACES = 24
MOST_UNANSWERED = 0.1
EDITS_BETWEEN = 20

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.slow, pytest.mark.timeout(2_400)]


def beside(cluster: BrokersCluster, directory: Path) -> LabRegion:
    """A region of one cluster, which knows all its brokers."""
    admin_urls = [broker.admin_url for broker in cluster.brokers]
    bus: dict[str, object] = {
        "kind": "pulsar",
        "service_url": cluster.service_url,
        "admin_url": admin_urls[-1],
        "admin_brokers": admin_urls,
        "topic": BUS_TOPIC,
    }
    admin: dict[str, object] = {"url": admin_urls[-1], "brokers": admin_urls}
    tables = {"store": cluster.store_config, "bus": bus, "admin": admin}
    return LabRegion(directory, name=cluster.name, clusters=(cluster.name,), tables=tables)


def acquaint(clusters: list[BrokersCluster]) -> None:
    """Make each cluster known to every other."""
    for cluster in clusters:
        for peer in clusters:
            urls = {"serviceUrl": peer.admin_url, "brokerServiceUrl": peer.service_url}
            rest.put_or_update(f"{cluster.admin_url}/admin/v2/clusters/{peer.name}", urls)


def init_bus(region: LabRegion, clusters: list[BrokersCluster]) -> None:
    """Make the bus in these clusters, as an operator does."""
    words = [word for each in clusters for word in ("--cluster", f"{each.name}={each.admin_url}")]
    region.command("topic", "init", *words, "--yes")


def reopen_bus(cluster: BrokersCluster) -> None:
    """Have a cluster's replicators begin anew.

    One that found a new cluster at its peer's address before that had the namespace ("Namespace not found") has given
    up for good; Pulsar starts another one when it loads the topic.
    """
    rest.send("PUT", f"{cluster.admin_url}/admin/v2/{BUS_TOPIC.replace('://', '/')}/unload")


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all of it is."""
    return tmp_path_factory.mktemp("rolling")


@pytest.fixture
def pair(place: Path) -> Iterator[RollingPair]:
    """Both clusters at 4.0.8, and a daemon beside each."""
    require(java, pulsar_home, etcd_binary, lambda: home_of(SECOND), lambda: home_of(THIRD))
    clusters = [
        BrokersCluster(
            place / name, BrokersSettings(name=name, brokers=brokers, store=store, version=FIRST, cpu_percent=())
        )
        for name, brokers, store in (("us-east", 2, StoreKind.ZOOKEEPER), ("us-west", 1, StoreKind.ETCD))
    ]
    pair = RollingPair(clusters, [beside(each, place / f"{each.name}-syncer") for each in clusters], NAMESPACES)
    try:
        for cluster in clusters:
            cluster.start()
        acquaint(clusters)
        init_bus(pair.regions[EAST], clusters)
        for region in pair.regions:
            region.start()
        yield pair
    finally:
        for region in pair.regions:
            region.stop()
        for cluster in {*clusters, *pair.of_brokers}:
            cluster.kill()


def check(pair: RollingPair, stage: str) -> None:
    """Nothing was lost, nothing is held, nobody conflicts, and both regions say which versions their brokers have."""
    wanted = [{broker.version for broker in cluster.brokers} for cluster in pair.of_brokers]

    def looked() -> bool:
        return [set(region.command("status")["brokers"].values()) for region in pair.regions] == wanted

    wait_until(looked, f"{stage}: the versions of brokers are {wanted}")
    assert pair.written_back() == [], stage
    outcome = pair.judge()
    tally = pair.tally
    print(
        f"{stage}: {outcome.words}; by version {tally.by_version}; {tally.newer} of newer fields, {tally.dropped} drops"
    )
    print(f"    {len(tally.unanswered)} unanswered", *tally.unanswered[-3:], sep="\n    ", flush=True)
    assert (outcome.lost, outcome.held, outcome.conflicts) == ([], {}, []), stage
    assert len(tally.unanswered) <= MOST_UNANSWERED * sum(outcome.edits.values()), stage


def test_a_rolling_upgrade_under_load_loses_nothing(pair: RollingPair, place: Path) -> None:
    with pair.edited():
        pair.rounds(2)
    check(pair, f"both at {FIRST}")
    for side, version in ((EAST, SECOND), (EAST, THIRD), (WEST, SECOND)):
        with pair.edited():
            pair.upgrade(side, version)
        check(pair, f"{pair.regions[side].name} at {version}")
    with pair.edited():
        leave_etcd(pair, place)
        pair.rounds(2)
    check(pair, f"us-west on ZooKeeper at {THIRD}")
    assert set(pair.tally.by_version) == {FIRST, SECOND, THIRD}
    assert pair.tally.dropped, "no broker has dropped a field: the test proves nothing"


def leave_etcd(pair: RollingPair, place: Path) -> None:
    """Have us-west followed by a cluster of 5.0.0-M1 on ZooKeeper, by the steps of docs/how-to/leave-etcd.md."""
    former, region, backup = pair.of_brokers[WEST], pair.regions[WEST], str(place / "backup")
    pair.shut(WEST)
    region.stop()
    region.command("backup", "create", backup)
    former_config = region.config
    former.kill()
    former.keeper.start()  # the fence is read from it
    settings = BrokersSettings(name=former.name, brokers=1, version=THIRD, cpu_percent=())
    cluster = BrokersCluster(place / "us-west-zookeeper", settings)
    cluster.brokers[0].take_place(former.brokers[0])
    pair.of_brokers[WEST] = pair.clusters[WEST] = cluster
    cluster.start()
    acquaint(pair.of_brokers)
    region = pair.regions[WEST] = beside(cluster, region.directory)
    init_bus(region, pair.of_brokers)
    reopen_bus(pair.of_brokers[EAST])
    # The bus's own namespace comes without a default that 5.0 writes: a change of a resource that the bus depends on.
    region.command("backup", "restore", backup, "--allow", "bus-resource", "--yes")
    assert region.ask("backup", "diff", backup)[0] == 0
    anyio.run(bring_fence, former_config, region.config)
    former.keeper.stop()
    region.start()
    for broker in cluster.brokers:
        pair.come_back(broker)


async def bring_fence(former: Config, new: Config) -> None:
    """Copy the small node by which a daemon knows its store."""
    async with opened(former) as etcd, opened(new) as zookeeper:
        await put(zookeeper, MetaPath(f"/pulsar-syncer/{new.region}/fence"), await fence_of(etcd, new.region))


@pytest.mark.parametrize(
    ("versions", "stores"),
    [
        ((SECOND, SECOND), (StoreKind.ZOOKEEPER, StoreKind.ETCD)),
        ((THIRD, THIRD), (StoreKind.ZOOKEEPER, StoreKind.ZOOKEEPER)),
        ((THIRD, FIRST), (StoreKind.ZOOKEEPER, StoreKind.ETCD)),
    ],
    ids="-".join,
)
def test_a_pair_of_versions_outlives_kills(
    versions: tuple[str, str], stores: tuple[StoreKind, StoreKind], place: Path
) -> None:
    """A whole cluster loses its power between two edits, then a daemon; the other side is edited meanwhile."""
    require(java, pulsar_home, etcd_binary, *(partial(home_of, version) for version in set(versions)))
    with pair_of(place, versions, stores) as pair:
        each_way(pair, EDITS_BETWEEN)
        by_both(pair, 101)
        pair.clusters[WEST].kill()
        by_one(pair, EAST, 102)
        pair.clusters[WEST].start()
        pair.settle("a cluster was killed")
        each_way(pair, EDITS_BETWEEN)
        by_both(pair, 103)
        pair.regions[EAST].kill()
        by_one(pair, EAST, 104)
        pair.regions[EAST].start()
        pair.settle("a daemon was killed")
        outcome = each_way(pair, EDITS_BETWEEN)
    print(versions, outcome.words)
    assert min(outcome.edits.values()) >= 3 * EDITS_BETWEEN
    assert (outcome.lost, outcome.held, outcome.conflicts) == ([], {}, [])


def by_both(pair: MixedPair, number: int) -> None:
    """Have each side edit namespaces of its own, without waiting for anything.

    Args:
        pair: Both, equal.
        number: Of the edit.
    """
    for at, name in enumerate(pair.expected):
        pair.edit(at % 2, name, TTL, number)


def by_one(pair: MixedPair, side: int, number: int) -> None:
    """Have a side edit further fields of the namespaces that it edited last.

    Args:
        pair: Both.
        side: That edits.
        number: Of the edit.
    """
    for name in list(pair.expected)[side::2]:
        pair.edit(side, name, "max_producers_per_topic", number)
