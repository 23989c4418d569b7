"""Ledgers of real Pulsar clusters: what is read of their stores is what a walk and a range find there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from deploy.lab import rest
from deploy.lab.client import WAIT_MS, patient_client
from deploy.lab.pulsar import PulsarCluster
from spark_snapshot.sources import StorePlace
from spark_snapshot.sources.found import Found
from spark_snapshot.sources.place import source
from syncer.config.adapters import STORES, load
from syncer.paths import MANAGED_LEDGERS
from syncer.wanted.ledgers import LEDGERS_ROOT, RACKS, SCHEMAS, LedgerPart, LedgerPathKind, ledger_paths
from tests.conftest import PulsarPair
from tests.spark.stores import collected, kazoo
from tests.support.etcd import EtcdGateway

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

ROOTS: Final = (LEDGERS_ROOT, MANAGED_LEDGERS, SCHEMAS, RACKS)
TOPIC: Final = f"ledgers-{os.getpid()}"
SUBSCRIPTION: Final = "a/b"

Held = Mapping[str, tuple[bytes, int]]
"""Of a path the value and the number of its last write."""


@pytest.fixture
def clusters(pulsar_pair: PulsarPair) -> Mapping[str, PulsarCluster]:
    """Both clusters, each with a topic that has a schema, messages and a subscription."""
    for cluster in pulsar_pair.clusters.values():
        client = patient_client(cluster.service_url)
        try:
            topic = f"persistent://public/default/{TOPIC}"
            consumer = client.subscribe(topic, SUBSCRIPTION)
            producer = client.create_producer(topic)
            for number in range(5):
                producer.send(str(number).encode())
            consumer.acknowledge(consumer.receive(WAIT_MS))
            schema = {"type": "STRING", "schema": "", "properties": {}}
            rest.send("POST", f"{cluster.admin_url}/admin/v2/schemas/public/default/{TOPIC}/schema", schema)
        finally:
            client.close()
    return pulsar_pair.clusters


def rows_of(cluster: PulsarCluster) -> dict[str, Found]:
    """All that belongs to ledgers, part by part, as an audit reads it."""
    settings = dict(cluster.store_config)
    kind = str(settings.pop("kind"))
    place = StorePlace.made(kind, load(STORES, kind).config_model.model_validate(settings))
    found: dict[str, Found] = {}
    for part in LedgerPart:
        wanted, reader = ledger_paths(part), source(place)
        for share in reader.parts(wanted, 2):
            found.update({str(path): row for path, row in collected(reader.read(wanted, share)).items()})
    return found


def walked(client: KazooClient, path: str) -> Iterator[tuple[str, tuple[bytes, int]]]:
    """A path and all below it, one by one."""
    try:
        value, stat = client.get(path)
        yield path, (value, stat.mzxid)
        for name in client.get_children(path):
            yield from walked(client, f"{path}/{name}")
    except NoNodeError:
        return


def compared(before: Held, after: Held, rows: Mapping[str, Found]) -> None:
    """What stood still was read as it is; nothing was read that neither walk has found."""
    still = {path: value for path, (value, number) in before.items() if after.get(path) == (value, number)}
    assert still
    assert {path: rows[path].value for path in still if path in rows} == {
        path: value for path, value in still.items() if path in rows
    }
    assert {path for path, value in still.items() if value} - rows.keys() == set()
    appeared = rows.keys() - before.keys() - after.keys()
    assert not {path for path in appeared if "underreplication" not in path and "idgen" not in path}
    kinds = {row.kind for row in rows.values()}
    assert kinds >= {
        LedgerPathKind.LEDGER,
        LedgerPathKind.MANAGED_LEDGER,
        LedgerPathKind.CURSOR,
        LedgerPathKind.SCHEMA,
        LedgerPathKind.BOOKIE,
        LedgerPathKind.COOKIE,
        LedgerPathKind.INSTANCE,
    }
    assert LedgerPathKind.UNFAMILIAR not in kinds
    topic = f"{MANAGED_LEDGERS}/public/default/persistent/{TOPIC}"
    assert rows[topic].kind == LedgerPathKind.MANAGED_LEDGER
    assert rows[f"{topic}/a%2Fb"].kind == LedgerPathKind.CURSOR
    assert rows[f"{SCHEMAS}/public/default/{TOPIC}"].kind == LedgerPathKind.SCHEMA


def test_of_zookeeper_all_is_read_that_a_walk_finds(clusters: Mapping[str, PulsarCluster]) -> None:
    cluster = clusters["us-east"]
    with kazoo(str(cluster.store_config["hosts"])) as client:

        def walk() -> Held:
            return {path: held for root in ROOTS for path, held in walked(client, root)}

        before, rows, after = walk(), rows_of(cluster), walk()
    compared(before, after, rows)
    assert all(row.created_ms for row in rows.values())


def test_of_etcd_all_is_read_that_a_range_finds(clusters: Mapping[str, PulsarCluster]) -> None:
    cluster = clusters["us-west"]
    endpoints = cluster.store_config["endpoints"]
    assert isinstance(endpoints, (list, tuple))
    with EtcdGateway(str(endpoints[0])) as gateway:

        def ranged() -> Held:
            return {path: held for root in ROOTS for path, held in gateway.held(root, f"{root}0")}

        before, rows, after = ranged(), rows_of(cluster), ranged()
    compared(before, after, rows)
