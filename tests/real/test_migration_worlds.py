"""Migrations in other worlds: one configuration store for both, a third cluster that writes and reads, and TLS.

Each takes servers of its own, for one to four minutes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import pulsar
import pytest

from deploy.lab import rest
from deploy.lab.ports import HOST, free_ports
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, bring_up
from deploy.lab.software import java, pulsar_home
from deploy.lab.traffic.loads import PublisherLoad, Sending, TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.admin.calls import AdminCalls, cluster_url
from syncer.admin.client import AdminClient, AdminSettings
from syncer.config.admin_clients import cluster_access
from syncer.config.model import Config
from syncer.migration.course import MigrationCommand
from syncer.migration.evidence import ClusterUrls
from syncer.migration.phases import MigrationPhase
from syncer.migration.policies import of_namespace
from syncer.replacing import replace
from syncer.waiting import until
from tests.conftest import PulsarPair, require
from tests.real.migrations import BLUE, GREEN, MortalClient, RealMigration
from tests.support.certificates import Authority

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar"), pytest.mark.timeout(900), pytest.mark.slow]

STEADY = PublisherLoad(per_s=20)
PIPELINED = PublisherLoad(per_s=50, sending=Sending.PIPELINED)
EXCLUSIVE = (pulsar.ConsumerType.Exclusive,)
THIRD = "eu-north"
STALLS_S = 45
"""After the mark: a replicator that was sent to green gives up after a request to blue has had no answer for 30 s."""
TTL_S = 3_600
MOST_AGAIN = 20


@pytest.fixture
def one_store(tmp_path: Path) -> Iterator[PulsarPair]:
    """Two clusters whose tenants and namespaces are in blue's store; the rest each has for itself."""
    require(java, pulsar_home)
    blue = PulsarCluster(tmp_path / BLUE, ClusterSettings(name=BLUE), leashed=True)
    shared = {"configurationMetadataStoreUrl": blue.store.metadata_url}
    green = PulsarCluster(tmp_path / GREEN, ClusterSettings(name=GREEN, broker=shared), leashed=True)
    try:
        bring_up([blue, green])
        yield PulsarPair({BLUE: blue, GREEN: green})
    finally:
        green.stop()
        blue.stop()


@pytest.fixture
async def in_one_store(one_store: PulsarPair) -> AsyncIterator[RealMigration]:
    """A migration of two waves between them."""
    here, there = (AdminSettings(url=one_store.clusters[name].admin_url) for name in (BLUE, GREEN))
    async with MortalClient(here) as blue, MortalClient(there) as green:
        migration = RealMigration(one_store, blue, green, [["acme/test"], ["acme/orders"]], "one-store")
        yield migration
        await migration.put_back()


async def test_clients_are_moved_between_clusters_of_one_configuration_store(
    in_one_store: RealMigration, tmp_path: Path
) -> None:
    migration = in_one_store
    loads = [
        TopicLoad(topic="persistent://acme/test/t", publishers=(STEADY,)),
        TopicLoad(topic="persistent://acme/orders/parts", publishers=(PIPELINED, STEADY), partitions=2),
        TopicLoad(topic="persistent://acme/orders/text", publishers=(STEADY,), text=True, java_per_s=50),
        TopicLoad(
            topic="persistent://acme/orders/old",
            publishers=(PublisherLoad(per_s=200, most=50),),
            kinds=EXCLUSIVE,
            late=("away",),
        ),
    ]
    await migration.make(loads)
    blue, green = migration.blue.calls, migration.green.calls
    await blue.set_namespace("acme/orders", "messageTTL", TTL_S)
    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await anyio.sleep(3)

        async def operator() -> None:
            await migration.go()
            assert (await blue.namespace("acme/orders") or {})["message_ttl_in_seconds"] == 0
            await migration.go()
            traffic.attend()
            await migration.close()

        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, 60)
    migration.see_unharmed(account)
    await migration.left_nothing()
    for side in (blue, green):
        policies = await side.namespace("acme/orders") or {}
        assert policies["replication_clusters"] == [GREEN]
        assert sorted(policies["allowed_clusters"]) == [BLUE, GREEN]
        assert policies["message_ttl_in_seconds"] == TTL_S
    assert await green.partitions("persistent://acme/orders/parts") == 2


async def test_an_abort_gives_blue_back_what_both_had(in_one_store: RealMigration, tmp_path: Path) -> None:
    migration = in_one_store
    loads = [TopicLoad(topic=f"persistent://{name}/t", publishers=(STEADY,)) for name in migration.namespaces]
    await migration.make(loads)
    blue = migration.blue.calls
    before = {}
    for name in migration.namespaces:
        await blue.set_namespace(name, "messageTTL", TTL_S)
        before[name] = of_namespace(await blue.namespace(name) or {}, BLUE)

    async def operator() -> None:
        await migration.waiting_for(MigrationCommand.GO)
        await migration.ask(MigrationCommand.ABORT, "not tonight")
        await migration.until(lambda state: state.run.standing.phase is MigrationPhase.ROLLED_BACK, "it is taken back")

    with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
        await migration.carry(await migration.plan(), operator)
        account = await anyio.to_thread.run_sync(traffic.settle, 20)
    migration.see_unharmed(account)
    await migration.left_nothing()
    for name, policies in before.items():
        now = await blue.namespace(name) or {}
        assert of_namespace(now, BLUE) == policies
        assert policies["message_ttl_in_seconds"] == TTL_S
        assert sorted(now["allowed_clusters"]) == [BLUE, GREEN]


@pytest.fixture
def with_third(tmp_path: Path) -> Iterator[PulsarPair]:
    """Blue, green, and a third cluster that knows blue alone, and is known to blue alone."""
    require(java, pulsar_home)
    clusters = [
        PulsarCluster(tmp_path / name, ClusterSettings(name=name), leashed=True) for name in (BLUE, GREEN, THIRD)
    ]
    try:
        bring_up(clusters, peers=False)
        blue, _, third = clusters
        for one, other in ((blue, third), (third, blue)):
            urls = {"serviceUrl": other.admin_url, "brokerServiceUrl": other.service_url}
            rest.put_or_update(f"{one.admin_url}/admin/v2/clusters/{other.name}", urls)
        yield PulsarPair({cluster.name: cluster for cluster in clusters})
    finally:
        for cluster in clusters:
            cluster.stop()


@pytest.fixture
async def beside_third(with_third: PulsarPair) -> AsyncIterator[RealMigration]:
    """A migration of one namespace, which blue replicates with the third cluster."""
    here, there = (AdminSettings(url=with_third.clusters[name].admin_url) for name in (BLUE, GREEN))
    async with MortalClient(here) as blue, MortalClient(there) as green:
        migration = RealMigration(with_third, blue, green, [["acme/orders"]], "third")
        yield migration
        await migration.put_back()


async def test_a_third_cluster_writes_and_reads_before_and_after(
    beside_third: RealMigration, with_third: PulsarPair, tmp_path: Path
) -> None:
    """Its replicator is sent to green, stands still after a while, and goes on where it was with green's addresses."""
    migration, third = beside_third, with_third.clusters[THIRD]
    topic = "persistent://acme/orders/t"
    loads = [
        TopicLoad(
            topic=topic,
            publishers=(STEADY, PIPELINED, PublisherLoad(per_s=20, elsewhere=True)),
            elsewhere=third.service_url,
        )
    ]
    await migration.make(loads)
    rest.share_namespace([with_third.clusters[BLUE].admin_url, third.admin_url], [BLUE, THIRD], "acme/orders")
    rest.send("PUT", f"{third.admin_url}/admin/v2/persistent/acme/orders/t", exists_is_fine=True)
    async with AdminClient(AdminSettings(url=third.admin_url)) as other:
        for side, remote in ((migration.blue.calls, THIRD), (other, BLUE)):
            await replicating(side, topic, remote)
        with ClusterTraffic(migration.service_url, loads, tmp_path) as traffic:
            await anyio.sleep(3)

            async def operator() -> None:
                await migration.go()
                await migration.waiting_for(MigrationCommand.CLOSE)
                await anyio.sleep(STALLS_S)
                await call_green_blue(other, migration.green.urls)
                await migration.close()

            await migration.carry(await migration.plan(), operator)
            await anyio.sleep(10)
            account = await anyio.to_thread.run_sync(traffic.settle, 45)
    again = account.doubled.get("t elsewhere", 0)
    account = replace(account, doubled={at: count for at, count in account.doubled.items() if at != "t elsewhere"})
    migration.see_unharmed(account)
    assert again <= MOST_AGAIN, "who reads at a cluster whose topics are unloaded is given again what was on its way"
    await migration.left_nothing()


async def call_green_blue(third: AdminCalls, green: ClusterUrls) -> None:
    """Give green's addresses to the name that the third cluster has for blue: where its replicators were is kept."""
    await third.send("DELETE", cluster_url(BLUE))
    await third.create_cluster(BLUE, {name: url for name, url in green.named.items() if url})
    await third.unload_namespace("acme/orders")


async def replicating(calls: AdminCalls, topic: str, remote: str) -> None:
    """Wait until a topic's replicator is connected."""

    async def connected() -> bool:
        told = await calls.stats(topic) or {}
        return bool(told.get("replication", {}).get(remote, {}).get("connected"))

    await until(connected, f"the replicator of {topic} to {remote} is connected")


@dataclass(frozen=True, slots=True)
class TlsPair:
    """Two clusters that take TLS beside plain connections, and whom to trust for it."""

    pair: PulsarPair
    config: Config
    authority: Path
    plain_ports: frozenset[int]
    tls_ports: Mapping[str, int]


@pytest.fixture
def with_tls(tmp_path: Path) -> Iterator[TlsPair]:
    """Blue and green with certificates of one authority; each has a table of the configuration, all by TLS."""
    require(java, pulsar_home)
    authority = Authority(tmp_path)
    own = authority.issue("broker")
    clusters, tables, ports = [], {}, {}
    for name in (BLUE, GREEN):
        broker_port, web_port = free_ports(2)
        settings = {
            "brokerServicePortTls": str(broker_port),
            "webServicePortTls": str(web_port),
            "tlsCertificateFilePath": str(own.cert),
            "tlsKeyFilePath": str(own.key),
            "tlsTrustCertsFilePath": str(authority.ca),
            "tlsHostnameVerificationEnabled": "true",
            "brokerClientTlsEnabled": "true",
            "brokerClientTrustCertsFilePath": str(authority.ca),
        }
        cluster = PulsarCluster(tmp_path / name, ClusterSettings(name=name, broker=settings), leashed=True)
        clusters.append(cluster)
        ports[name] = broker_port
        tables[name] = {
            "service_url": cluster.admin_url,
            "service_url_tls": f"https://{HOST}:{web_port}",
            "broker_service_url": cluster.service_url,
            "broker_service_url_tls": f"pulsar+ssl://{HOST}:{broker_port}",
            "admin": {"url": f"https://{HOST}:{web_port}", "ca_file": str(authority.ca)},
        }
    adapters = {"store": {"kind": "sqlite", "path": "/s.db"}, "bus": {"kind": "embedded", "path": "/b.db"}}
    config = Config.model_validate({"region": "east", **adapters, "cluster": tables})
    try:
        bring_up(clusters, peers=False)
        yield TlsPair(
            PulsarPair({cluster.name: cluster for cluster in clusters}),
            config,
            authority.ca,
            frozenset(cluster.ports.broker for cluster in clusters),
            ports,
        )
    finally:
        for cluster in clusters:
            cluster.stop()


@pytest.fixture
async def by_tls(with_tls: TlsPair) -> AsyncIterator[RealMigration]:
    """A migration of two waves that speaks to both clusters as their tables say."""
    (here, here_urls), (there, there_urls) = (cluster_access(with_tls.config, name) for name in (BLUE, GREEN))
    async with MortalClient(here) as blue, MortalClient(there) as green:
        migration = RealMigration(with_tls.pair, blue, green, [["acme/test"], ["acme/orders"]], "tls")
        migration.blue = replace(migration.blue, urls=here_urls)
        migration.green = replace(migration.green, urls=there_urls)
        yield migration
        await migration.put_back()


async def test_clients_of_tls_are_sent_to_greens_addresses_of_tls(
    by_tls: RealMigration, with_tls: TlsPair, tmp_path: Path
) -> None:
    migration = by_tls
    loads = [
        TopicLoad(topic="persistent://acme/test/t", publishers=(STEADY,)),
        TopicLoad(topic="persistent://acme/orders/parts", publishers=(PIPELINED, STEADY), partitions=2),
    ]
    await migration.make(loads)
    with ClusterTraffic(migration.blue.urls.pulsar_ssl, loads, tmp_path, trust=with_tls.authority) as traffic:
        await anyio.sleep(3)

        async def operator() -> None:
            await migration.go()
            assert await migration.blue.calls.migration_mark(BLUE) == {
                "migrated": False,
                "migratedClusterUrl": {**migration.green.urls.named, "empty": False},
            }
            await migration.go()
            await migration.close()

        await migration.carry(await migration.plan(), operator)
        (clients,) = multiprocessing.active_children()
        ports = connected_ports(clients.pid)
        account = await anyio.to_thread.run_sync(traffic.settle, 45)
    migration.see_unharmed(account)
    assert with_tls.tls_ports[GREEN] in ports
    assert not with_tls.plain_ports & ports
    await migration.left_nothing()


def connected_ports(process: int | None) -> set[int]:
    """Ports to which a process is connected."""
    own = set()
    for each in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            own.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
    rows = [line.split() for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]]
    return {int(row[2].rpartition(":")[2], 16) for row in rows if row[9] in own and row[3] == "01"}
