"""Load of a real cluster: what its brokers keep in ZooKeeper is read without a flaw, and agrees with what they say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pulsar
import pytest

from deploy.lab.client import patient_client
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind
from deploy.lab.software import etcd_binary, java, pulsar_home
from syncer.admin.client import AdminClient, AdminSettings
from syncer.balancer.decoding.entries import UNITS
from syncer.balancer.decoding.records import CHANNEL
from syncer.balancer.loads import constraints_of, extensible_load, fleet_of, modular_load, stats_of, unknown
from syncer.balancer.picture import LoadFinding, LoadManager, LoadPicture, LoadSource, Tenure
from syncer.balancer.ranges import bundle_range, namespace_of_topic, topic_hash
from syncer.balancer.reading.cluster import LoadSources, owners_in_store, read_picture
from syncer.balancer.reading.listener import LoadListener, listener_to
from syncer.stores.contract import MetadataStore
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.etcd.store import EtcdStore
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from syncer.waiting import until
from tests.conftest import require
from tests.support.opening import opened

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar", "zookeeper")]

MODULAR = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
EXTENSIBLE = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
UNITS_IN_STORE = "org.apache.pulsar.broker.loadbalance.extensions.channel.ServiceUnitStateMetadataStoreTableViewImpl"
TOPIC = "persistent://public/default/loaded"
SEEN_S = 90.0
"""How long a broker may take until it reports its topics."""
QUICK = {
    "loadBalancerEnabled": "true",  # a standalone broker's default is not to report
    "statsUpdateInitialDelayInSecs": "1",
    "statsUpdateFrequencyInSecs": "1",
    "loadBalancerReportUpdateMinIntervalMillis": "1000",
    "loadBalancerReportUpdateMaxIntervalMinutes": "1",
    "loadBalancerBrokerThresholdShedderPercentage": "17",
}


@contextmanager
def running(
    directory: Path, manager: str, store: StoreKind = StoreKind.ZOOKEEPER, **broker: str
) -> Iterator[PulsarCluster]:
    """A cluster of one broker with a load manager."""
    require(java, pulsar_home, *([etcd_binary] if store is StoreKind.ETCD else []))
    settings = ClusterSettings(name="one", store=store, broker={**QUICK, "loadManagerClassName": manager, **broker})
    made = PulsarCluster(directory / "one", settings, leashed=True)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@contextmanager
def sending(cluster: PulsarCluster) -> Iterator[pulsar.Producer]:
    client = patient_client(cluster.service_url)
    with closing(client):
        yield client.create_producer(TOPIC)


def settings_of(cluster: PulsarCluster) -> AdminSettings:
    return AdminSettings(url=cluster.admin_url, retry_for=timedelta(seconds=5))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def loaded(sources: LoadSources, producer: pulsar.Producer, listener: LoadListener | None = None) -> LoadPicture:
    """Read until the topic's load is seen."""

    async def seen() -> LoadPicture | None:
        await anyio.to_thread.run_sync(producer.send, b"x" * 1000)
        heard = sources if listener is None else replace(sources, records=await listener.heard())
        picture = await read_picture(heard, now_ms(), topics=True)
        return picture if is_loaded(picture) else None

    picture: LoadPicture | None = await until(seen, "the topic's load is seen")
    assert picture is not None
    return picture


@pytest.mark.slow
async def test_a_cluster_of_the_modular_manager_is_read_whole(tmp_path: Path) -> None:
    with running(tmp_path, MODULAR) as cluster, sending(cluster) as producer:
        store = ZooKeeperStore(ZooKeeperConfig(hosts=cluster.store.endpoint))
        async with AdminClient(settings_of(cluster)) as admin, opened(store):
            picture = await loaded(LoadSources(table="one", calls=admin, store=store), producer)
            without = await read_picture(LoadSources(table="one", calls=admin), now_ms())
    assert flaws(picture) == []
    assert (picture.cluster, picture.manager) == ("one", LoadManager.MODULAR)
    (broker,) = picture.registered
    assert picture.leader is not None
    assert picture.leader.value == broker
    figures = picture.brokers[broker].figures
    assert figures is not None
    assert figures.origin.source is LoadSource.STORE
    age_ms = figures.origin.age_ms(picture.taken_ms)
    assert age_ms is not None
    assert age_ms < SEEN_S * 1000
    assert picture.settings is not None
    assert picture.settings.value.threshold.threshold_percent == 17
    assert unknown(picture).brokers == ()
    load, fleet, constraints = modular_load(picture), fleet_of(picture), constraints_of(picture)
    assert fleet.usages[broker] == pytest.approx(
        load.brokers[broker].usages.weighted(picture.settings.value.usage), rel=1e-5
    )
    assert constraints.traits[broker].version is not None
    seen = picture.bundles[bundle_of(picture)]
    assert seen.owner is not None
    assert (seen.owner.value.tenure, seen.owner.value.broker) == (Tenure.OWNED, broker)
    assert seen.topics is not None
    assert TOPIC in seen.topics.value
    assert without.registered == (broker,)
    assert without.namespaces["public/default"].boundaries is not None
    assert without.bundles[bundle_of(without)].owner is not None
    group = without.namespaces["public/default"].group
    assert group is not None
    assert group.value == ""


@pytest.mark.slow
async def test_a_cluster_of_the_extensible_manager_is_heard(tmp_path: Path) -> None:
    with running(tmp_path, EXTENSIBLE) as cluster, sending(cluster) as producer:
        store = ZooKeeperStore(ZooKeeperConfig(hosts=cluster.store.endpoint))
        settings = settings_of(cluster)
        async with (
            AdminClient(settings) as admin,
            opened(store),
            listener_to(cluster.service_url, settings) as listener,
        ):
            picture = await loaded(LoadSources(table="one", calls=admin, store=store), producer, listener)
    assert (picture.cluster, picture.manager) == ("one", LoadManager.EXTENSIBLE)
    (broker,) = picture.registered
    assert picture.leader is not None
    assert picture.leader.value == broker
    figures = picture.brokers[broker].figures
    assert figures is not None
    assert figures.origin.source is LoadSource.TOPIC
    assert figures.value.average_usage is not None
    seen = picture.bundles[bundle_of(picture)]
    assert seen.owner is not None
    assert (seen.owner.value.tenure, seen.owner.value.broker) == (Tenure.OWNED, broker)
    assert seen.owner.origin.source is LoadSource.TOPIC
    load, fleet = extensible_load(picture), fleet_of(picture)
    assert load.brokers[broker].usage == figures.value.average_usage
    assert fleet.owners[bundle_of(picture)] == broker


@pytest.mark.slow
@pytest.mark.parametrize("kind", StoreKind)
async def test_owners_that_the_extensible_manager_keeps_in_the_store_are_read_there(
    tmp_path: Path, kind: StoreKind
) -> None:
    own = {"loadManagerServiceUnitStateTableViewClassName": UNITS_IN_STORE}
    with running(tmp_path, EXTENSIBLE, kind, **own) as cluster, sending(cluster) as producer:
        settings = settings_of(cluster)
        async with (
            AdminClient(settings) as admin,
            opened(store_of(cluster)) as store,
            listener_to(cluster.service_url, settings, channel=False) as listener,
        ):
            sources = LoadSources(table="one", calls=admin, store=store)
            picture = await loaded(sources, producer, listener)
            system = await admin.topics("pulsar/system", system=True)
    (broker,) = picture.registered
    owner = picture.bundles[bundle_of(picture)].owner
    assert owner is not None
    assert (owner.value.tenure, owner.value.broker) == (Tenure.OWNED, broker)
    assert (owner.origin.source, owner.origin.where) == (LoadSource.STORE, f"{UNITS}/{bundle_of(picture)}")
    assert owners_in_store(picture)
    assert CHANNEL not in system, "nobody has made the topic that such a cluster does not have"
    assert fleet_of(picture).owners[bundle_of(picture)] == broker


@pytest.mark.slow
async def test_a_cluster_of_the_extensible_manager_on_etcd_is_read_at_once(tmp_path: Path) -> None:
    with running(tmp_path, EXTENSIBLE, StoreKind.ETCD) as cluster, sending(cluster) as producer:
        async with AdminClient(settings_of(cluster)) as admin, opened(store_of(cluster)) as store:

            async def seen() -> LoadPicture | None:
                await anyio.to_thread.run_sync(producer.send, b"x" * 1000)
                picture = await read_picture(LoadSources(table="one", calls=admin, store=store), now_ms())
                found = fleet_of(picture).bundles.get(bundle_of(picture)) if picture.namespaces else None
                return picture if found is not None and found.stats.traffic.rate_in > 0 else None

            picture: LoadPicture | None = await until(seen, "the bundle's load is seen")
    assert picture is not None
    fleet = fleet_of(picture)
    (broker,) = picture.registered
    assert fleet.owners[bundle_of(picture)] == broker
    figures = picture.brokers[broker].figures
    assert figures is not None
    assert (figures.origin.source, figures.value.asked) == (LoadSource.REST, True)
    assert figures.value.traffic is not None
    assert figures.value.traffic.rate_in > 0


def store_of(cluster: PulsarCluster) -> MetadataStore:
    """The cluster's own store, not yet open."""
    if cluster.settings.store is StoreKind.ETCD:
        return EtcdStore(EtcdConfig(endpoints=(cluster.store.endpoint,)))
    return ZooKeeperStore(ZooKeeperConfig(hosts=cluster.store.endpoint))


def bundle_of(picture: LoadPicture) -> str:
    namespace = namespace_of_topic(TOPIC)
    boundaries = picture.namespaces[namespace].boundaries
    assert boundaries is not None
    return f"{namespace}/{bundle_range(boundaries.value, topic_hash(TOPIC))}"


def flaws(picture: LoadPicture) -> list[LoadFinding]:
    """Findings, but for bundles that have no topic loaded: those are in no report."""
    return [each for each in picture.findings if "have no figures in its report" not in each.what]


def is_loaded(picture: LoadPicture) -> bool:
    """Whether the broker reports itself, and the topic's bundle has its figures and its client."""
    (broker,) = picture.brokers.values()
    if flaws(picture) or broker.figures is None or "public/default" not in picture.namespaces:
        return False
    stats = stats_of(picture.bundles[bundle_of(picture)])
    return stats is not None and stats.traffic.rate_in > 0 and stats.producers == 1
