"""``syncer ledgers`` about real clusters, one on ZooKeeper, one on etcd: what is there, what is not, what nobody needs.

An orphan, a missing and a foreign ledger are made by writing to the store what a broken deletion leaves there. Orphans
are looked for in a loop, too, while topics are made, rolled, compacted, trimmed and deleted: none is called so wrongly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import pulsar
import pytest
from typer.testing import CliRunner, Result

from deploy.lab import rest
from deploy.lab.client import WAIT_MS, patient_client
from deploy.lab.pulsar import PulsarCluster, StoreKind
from syncer.cli.main import app
from syncer.documents.ledgers.audit import LedgerAuditDocument
from syncer.documents.ledgers.explained import ExplainedTopicDocument
from syncer.documents.ledgers.losses import LossDocument
from syncer.documents.ledgers.references import OrphansDocument
from syncer.ledgers.auditing.unreferenced import Unproven
from syncer.ledgers.judging.ledger import ReplicaClass
from syncer.ledgers.owners import ReferenceRole
from syncer.ledgers.paths import ledger_path
from syncer.paths import MANAGED_LEDGERS
from syncer.waiting import WAIT_S
from tests.conftest import PulsarPair
from tests.spark.stores import kazoo
from tests.support.etcd import EtcdGateway
from tests.support.logs import logging_restored
from tests.support.stored_ledgers import StoredLedgers

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

NAMESPACE: Final = "ledgers/answers"
MESSAGES: Final = 20
FOREIGN: Final = 1_900_000_000
CHURN_S: Final = 60.0
CHURN_LONG_S: Final = 600.0
APART_S: Final = "5"
_numbers = count()


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """A cluster, and commands about it."""

    cluster: PulsarCluster
    config: Path

    def ask(self, *words: str) -> Result:
        """Give a command."""
        with logging_restored():
            return CliRunner().invoke(
                app, ["-c", str(self.config), "ledgers", *words, "--cluster", "lab"], catch_exceptions=False
            )

    def told(self, *words: str) -> str:
        """The JSON of an answer."""
        found = self.ask(*words, "-o", "json")
        assert found.exit_code in {0, 3}, found.output
        return found.stdout

    def orphans(self) -> OrphansDocument:
        """What two looks find, all clusters given."""
        return OrphansDocument.model_validate_json(self.told("orphans", "--all-clusters", "--apart", APART_S))

    def topic(self) -> str:
        """Name of a new topic."""
        return f"persistent://{NAMESPACE}/topic-{next(_numbers)}"

    def admin(self, method: str, topic: str, what: str = "") -> None:
        """Ask the broker something about a topic."""
        rest.send_until_done(method, f"{self.cluster.admin_url}/admin/v2/{topic.replace('://', '/')}{what}")

    @contextmanager
    def client(self) -> Iterator[pulsar.Client]:
        """A client of it."""
        client = patient_client(self.cluster.service_url)
        try:
            yield client
        finally:
            client.close()

    def fill(self, topic: str) -> None:
        """Publish, and acknowledge some of it."""
        with self.client() as client:
            consumer = client.subscribe(topic, "s")
            producer = client.create_producer(topic, batching_enabled=False)
            for number in range(MESSAGES):
                producer.send(f"message {number}".encode())
            consumer.acknowledge(consumer.receive(WAIT_MS))

    @contextmanager
    def store(self) -> Iterator[tuple[Callable[[str, bytes], Any], Callable[[str], Any]]]:
        """Writes to its store, and deletes there, past everybody."""
        told = self.cluster.store_config
        if told["kind"] == StoreKind.ZOOKEEPER:
            with kazoo(str(told["hosts"])) as client:
                yield lambda path, value: client.create(path, value, makepath=True), client.delete
            return
        endpoints = told["endpoints"]
        assert isinstance(endpoints, (list, tuple))
        with EtcdGateway(str(endpoints[0])) as gateway:
            yield gateway.put, gateway.delete


@pytest.fixture(params=["us-east", "us-west"])
def asked(pulsar_pair: PulsarPair, tmp_path: Path, request: pytest.FixtureRequest) -> AskedCluster:
    """A cluster on ZooKeeper, and one on etcd."""
    return asked_of(pulsar_pair.clusters[request.param], tmp_path)


def asked_of(cluster: PulsarCluster, directory: Path) -> AskedCluster:
    rest.put_or_update(
        f"{cluster.admin_url}/admin/v2/tenants/ledgers", {"adminRoles": [], "allowedClusters": [cluster.name]}
    )
    rest.send("PUT", f"{cluster.admin_url}/admin/v2/namespaces/{NAMESPACE}", exists_is_fine=True)
    told = cluster.store_config
    where = (
        f'hosts = "{told["hosts"]}"' if told["kind"] == StoreKind.ZOOKEEPER else f"endpoints = {told['endpoints']!r}"
    )
    file = directory / f"{cluster.name}.toml"
    file.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{directory}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{directory}/bus.db"\n'
        f'[cluster.lab]\nservice_url = "{cluster.admin_url}"\nbroker_service_url = "{cluster.service_url}"\n'
        f'[cluster.lab.admin]\nurl = "{cluster.admin_url}"\n'
        f'[cluster.lab.store]\nkind = "{told["kind"]}"\n{where}\n',
        encoding="utf-8",
    )
    return AskedCluster(cluster, file)


def test_a_cluster_that_is_well_is_read_whole_and_nothing_of_it_is_lost(asked: AskedCluster) -> None:
    topic = asked.topic()
    asked.fill(topic)
    asked.admin("PUT", topic, "/unload")
    audit = LedgerAuditDocument.model_validate_json(asked.told("audit", "--by-topic"))
    assert audit.read.whole
    assert audit.read.instance_id
    (bookie,) = [each for each in audit.bookies if each.state == "writable"]
    (own,) = [each for each in audit.groups if each.name == topic]
    assert own.entries_by_replicas_left == {1: MESSAGES}
    assert own.bytes > MESSAGES * len("message 0")
    assert (audit.total.entries_lacking, audit.total.not_recoverable) == (0, 0)
    explained = ExplainedTopicDocument.model_validate_json(asked.told("explain", topic))
    assert explained.loadable
    data = [each for each in explained.ledgers if each.role is ReferenceRole.DATA]
    assert (data[0].entries, data[0].replica_class) == (MESSAGES, ReplicaClass.WHOLE)
    loss = LossDocument.model_validate_json(asked.told("what-if", bookie.bookie))
    assert topic in loss.topics_lost
    assert loss.lost_entries == audit.total.entries
    assert loss.opening is not None
    assert not loss.opening.possible


def test_an_orphan_a_missing_and_a_foreign_ledger_are_found(asked: AskedCluster) -> None:
    orphaned, lacking = asked.topic(), asked.topic()
    for topic in (orphaned, lacking):
        asked.fill(topic)
        asked.admin("PUT", topic, "/unload")
    before = {each.ledger_id for each in asked.orphans().unreferenced}
    (of_orphan, of_lacking) = (
        [each.ledger_id for each in ExplainedTopicDocument.model_validate_json(asked.told("explain", topic)).ledgers]
        for topic in (orphaned, lacking)
    )
    foreign = f"/ledgers/{ledger_path(FOREIGN)}"
    value = StoredLedgers().ledger(FOREIGN, (1, 1, 1), (0, ["elsewhere:3181"]), custom={}).values[foreign]
    at = f"{MANAGED_LEDGERS}/{NAMESPACE}/persistent"
    with asked.store() as (write, delete):
        for name in ("s", ""):
            delete(f"{at}/{orphaned.rpartition('/')[2]}/{name}".rstrip("/"))
        delete(f"/ledgers/{ledger_path(of_lacking[0])}")
        write(foreign, value)
        try:
            found = asked.orphans()
            careful = OrphansDocument.model_validate_json(asked.told("orphans", "--apart", "1"))
        finally:
            delete(foreign)
    new = [each for each in found.unreferenced if each.ledger_id not in before]
    assert {each.ledger_id for each in new} == set(of_orphan)
    assert {each.unproven for each in new} == {None}
    assert {each.topic for each in new} == {orphaned}
    assert not any(each.topic_exists for each in new)
    assert [(each.ledger_id, each.references[0].topic) for each in found.missing] == [(of_lacking[0], lacking)]
    assert [each.ledger_id for each in found.foreign] == [FOREIGN]
    assert (careful.orphans, {each.unproven for each in careful.unreferenced}) == (0, {Unproven.OTHER_CLUSTERS})


@pytest.mark.parametrize(
    "lasting_s",
    [
        pytest.param(CHURN_S, id="short"),
        pytest.param(CHURN_LONG_S, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(2400)]),
    ],
)
def test_no_ledger_of_topics_that_come_and_go_is_wrongly_called_an_orphan(
    pulsar_pair: PulsarPair, tmp_path: Path, lasting_s: float
) -> None:
    clusters = [asked_of(each, tmp_path) for each in pulsar_pair.clusters.values()]
    called: list[set[int]] = [set() for _ in clusters]
    over, failed = threading.Event(), list[Exception]()

    def churn(one: AskedCluster) -> None:
        try:
            with one.client() as client:
                while not over.is_set():
                    _come_and_go(one, client)
        except Exception as exc:  # noqa: BLE001 - told by the test
            failed.append(exc)

    threads = [threading.Thread(target=churn, args=(one,)) for one in clusters]
    for thread in threads:
        thread.start()
    began, looks = time.monotonic(), 0
    try:
        while time.monotonic() < began + lasting_s or looks < lasting_s // 20:
            for one, ledgers in zip(clusters, called, strict=True):
                ledgers.update(_orphans(one))
                looks += 1
    finally:
        over.set()
        for thread in threads:
            thread.join(WAIT_S)
    assert failed == []
    assert not any(thread.is_alive() for thread in threads)
    # what Pulsar itself has left behind stays; what it still had a use for is referred to by now, or deleted
    for one, ledgers in zip(clusters, called, strict=True):
        assert ledgers <= _orphans(one)


def _orphans(one: AskedCluster) -> set[int]:
    return {each.ledger_id for each in one.orphans().unreferenced if each.unproven is None}


def _come_and_go(one: AskedCluster, client: pulsar.Client) -> None:
    """A topic with a schema is made, rolled, compacted, trimmed and deleted."""
    topic = one.topic()
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, schema=pulsar.schema.StringSchema())
    for _ in range(3):
        for number in range(MESSAGES):
            producer.send(f"message {number}", partition_key=f"key {number % 3}")
        one.admin("PUT", topic, "/unload")
    one.admin("PUT", topic, "/compaction")
    # A producer on its way back is not told of an unload, and would publish to nobody until it gives up.
    producer.send("it is back")
    for _ in range(3 * MESSAGES + 1):
        consumer.acknowledge(consumer.receive(WAIT_MS))
    one.admin("PUT", topic, "/unload")
    producer.send("last")
    consumer.close()
    producer.close()
    one.admin("DELETE", topic, "?force=true")
