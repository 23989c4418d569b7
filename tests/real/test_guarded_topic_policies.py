"""A global topic policy that leaves a cluster out does not cost that cluster its messages, at 4.2.4 on both sides.

Brokers keep topic policies in the store. Without the guard the topic of us-west was gone with all messages within 2 s.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pulsar
import pytest
from kazoo.client import KazooClient

from deploy.lab import rest
from deploy.lab.releases.assembled import home_of
from deploy.lab.software import java
from syncer.conflict.register import HoldReason
from syncer.paths import namespace_path
from syncer.waiting import WAIT_S, wait_until
from tests.conftest import require
from tests.real import test_topic_policies_move as moving
from tests.real.test_topic_policies_move import IN_STORE, SELECTED, SPACE, TENANT, Moved, path_of

pytestmark = [pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow, pytest.mark.timeout(900)]

BOTH: Final = ["us-east", "us-west"]
NAMESPACE: Final = namespace_path(*SPACE.split("/"))
MESSAGES: Final = 20
DELETED_WITHIN_S: Final = 10.0
"""Brokers took 2 s."""
RULES: Final = [*moving.RULES, {"pattern": f"/admin/policies/{TENANT}/*", "direction": "both"}]


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Moved, Moved]]:
    """Both regions in sync, with one topic of some messages each."""
    require(java, lambda: home_of("4.2.4"))
    monkeypatch.setattr(moving, "RULES", RULES)
    both = (Moved.of(tmp_path, "us-east", "4.2.4"), Moved.of(tmp_path, "us-west", "4.2.4"))
    try:
        for side in both:
            for broker in side.cluster.brokers:
                broker.change(IN_STORE)
            text = side.region.file.read_text(encoding="utf-8")
            side.region.file.write_text(text.replace(SELECTED, "system_topics = []"), encoding="utf-8")
            side.cluster.start()
        for side in both:
            for peer in both:
                urls = {"serviceUrl": peer.cluster.admin_url, "brokerServiceUrl": peer.cluster.service_url}
                rest.put_or_update(f"{side.cluster.admin_url}/admin/v2/clusters/{peer.cluster.name}", urls)
            side.make("one", "two")
        for side in both:
            post(side, f"namespaces/{SPACE}/replication", BOTH)
            publish(side, MESSAGES)
        words = [word for each in both for word in ("--cluster", f"{each.cluster.name}={each.cluster.admin_url}")]
        both[0].region.command("topic", "init", *words, "--yes")
        for side in both:
            side.region.start()
        yield both
    finally:
        for side in both:
            side.region.stop()
            side.cluster.kill()


def post(side: Moved, path: str, body: Any) -> None:
    rest.send("POST", f"{side.cluster.admin_url}/admin/v2/{path}", body)


def client_of(side: Moved) -> pulsar.Client:
    return pulsar.Client(side.cluster.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))


def publish(side: Moved, number: int) -> None:
    client = client_of(side)
    producer = client.create_producer(f"persistent://{SPACE}/one")
    for each in range(number):
        producer.send(f"{side.cluster.name} {each}".encode())
    client.close()


def policies(side: Moved) -> dict[str, Any]:
    """Policies of the namespace, as the store has them; lists in order."""
    found: dict[str, Any] = json.loads(side.region.entries()[NAMESPACE])
    return {name: sorted(value) if isinstance(value, list) else value for name, value in found.items()}


@contextlib.contextmanager
def zookeeper(side: Moved) -> Iterator[KazooClient]:
    """An outside client of a cluster's store."""
    client = KazooClient(hosts=side.cluster.store.endpoint)
    client.start(timeout=WAIT_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def messages(side: Moved) -> int:
    """How many can be read."""
    client = client_of(side)
    reader = client.create_reader(f"persistent://{SPACE}/one-partition-0", pulsar.MessageId.earliest)
    found = 0
    while reader.has_message_available():
        reader.read_next(2000)
        found += 1
    client.close()
    return found


def test_a_topic_survives_a_policy_that_leaves_its_cluster_out(sides: tuple[Moved, Moved]) -> None:
    east, west = sides
    east.set_consumers("two", 21)
    wait_until(lambda: west.consumers("two") == 21, "topic policies travel")
    wait_until(lambda: messages(west) >= MESSAGES, "the messages of us-west")
    before = messages(west)

    post(east, f"persistent/{SPACE}/one/replication?isGlobal=true", ["us-east"])
    wait_until(lambda: west.held("one") is HoldReason.LEAVES_CLUSTER_OUT, "it is held")
    hold = west.region.holds()[path_of("one")].hold
    assert hold.detail.startswith("brokers of us-west would delete the topic")
    time.sleep(DELETED_WITHIN_S)
    assert messages(west) >= before

    post(east, f"namespaces/{SPACE}/allowedClusters", BOTH)
    wait_until(lambda: path_of("one") in west.region.entries(), "the policy, once its namespace allows the cluster")
    assert west.held("one") is None
    time.sleep(DELETED_WITHIN_S)
    assert messages(west) >= before, "brokers keep a topic that its namespace allows"


def test_a_topic_survives_a_namespace_that_stops_to_allow_its_cluster(sides: tuple[Moved, Moved]) -> None:
    """The other half first: each change is harmless where the other one is not there."""
    east, west = sides
    east.set_consumers("two", 22)
    wait_until(lambda: west.consumers("two") == 22, "topic policies travel")
    post(east, f"namespaces/{SPACE}/allowedClusters", BOTH)
    wait_until(lambda: policies(west).get("allowed_clusters") == BOTH, "the namespace allows both clusters in us-west")
    post(east, f"persistent/{SPACE}/one/replication?isGlobal=true", ["us-east"])
    wait_until(lambda: path_of("one") in west.region.entries(), "the policy of the topic arrives")
    wait_until(lambda: messages(west) >= MESSAGES, "the messages of us-west")
    before = messages(west)

    with zookeeper(east) as client:
        document = json.loads(client.get(NAMESPACE)[0])
        client.set(NAMESPACE, json.dumps({**document, "allowed_clusters": ["us-east"]}).encode())

    def reason() -> str:
        row = west.region.holds().get(NAMESPACE)
        return f"{row.hold.reason}: {row.hold.detail}" if row is not None else ""

    wait_until(lambda: reason() != "", "it is held")
    what = "topic policies here leave out us-west, and brokers would delete their topics"
    assert reason() == f"{HoldReason.LEAVES_CLUSTER_OUT}: {what}: {path_of('one')}"
    time.sleep(DELETED_WITHIN_S)
    assert messages(west) >= before

    rest.send("DELETE", f"{east.cluster.admin_url}/admin/v2/persistent/{SPACE}/one/replication?isGlobal=true")
    wait_until(lambda: "would not serve it" in reason(), "without that policy, too, it may not be written")
    post(east, f"namespaces/{SPACE}/allowedClusters", BOTH)
    wait_until(lambda: NAMESPACE not in west.region.holds(), "it allows both clusters again")
    assert messages(west) >= before
