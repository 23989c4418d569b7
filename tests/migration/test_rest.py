"""The admin REST API answers as a broker of Pulsar 4.0.8 does, and fails as one is made to."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.migration.clusters.pair import ClusterPairPlay
from tests.migration.plays import HOLD, NAMESPACE, NamespacePlay, topic
from tests.migration.rest import AdminApi
from tests.migration.rest_calls import NoAnswer
from tests.migration.rest_faults import ROUGH, FaultyApi, RestFaults

BASE = "/admin/v2"
NS = f"{BASE}/namespaces/{NAMESPACE}"
PLAIN = f"{BASE}/persistent/{NAMESPACE}/plain"
MARK = f"{BASE}/clusters/blue/migrate"


@pytest.fixture(scope="module")
def play() -> NamespacePlay:
    return NamespacePlay(0, brokers=2)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{BASE}/clusters", None, 200),
        ("GET", f"{BASE}/clusters/nowhere", None, 404),
        ("GET", f"{BASE}/clusters/green/migrate", None, 404),
        ("GET", f"{BASE}/tenants/acme", None, 200),
        ("PUT", f"{BASE}/tenants/acme", {}, 409),
        ("GET", f"{BASE}/tenants/nobody", None, 404),
        ("PUT", f"{BASE}/namespaces/nobody/n", {}, 404),
        ("PUT", NS, {}, 409),
        ("DELETE", NS, None, 409),
        ("GET", f"{BASE}/namespaces/acme/none", None, 404),
        ("GET", f"{BASE}/brokers/version", None, 200),
        ("GET", f"{BASE}/brokers/blue", None, 200),
        ("GET", f"{BASE}/brokers/configuration/runtime", None, 200),
        ("POST", f"{BASE}/brokers/configuration/loadBalancerSheddingEnabled/false", None, 204),
        ("POST", f"{BASE}/brokers/configuration/clusterMigrationCheckDurationSeconds/2", None, 412),
        ("GET", f"{BASE}/persistent/{NAMESPACE}", None, 200),
        ("GET", f"{BASE}/non-persistent/{NAMESPACE}", None, 200),
        ("GET", f"{BASE}/persistent/{NAMESPACE}/partitioned", None, 200),
        ("GET", f"{PLAIN}/partitions", None, 200),
        ("GET", f"{BASE}/persistent/{NAMESPACE}/none/partitions", None, 404),
        ("GET", f"{BASE}/persistent/{NAMESPACE}/none/stats", None, 404),
        ("GET", f"{BASE}/persistent/{NAMESPACE}/none/internal-info", None, 500),
        ("GET", f"{PLAIN}/publishRate", None, 204),
        ("PUT", PLAIN, None, 409),
        ("DELETE", PLAIN, None, 412),
        ("PUT", f"{PLAIN}/subscription/Shared", {"ledgerId": -1, "entryId": -1}, 409),
        ("DELETE", f"{PLAIN}/subscription/Shared", None, 412),
        ("POST", f"{PLAIN}/backlogQuota", {"limitSize": 0}, 400),
        ("GET", f"{BASE}/schemas/{NAMESPACE}/plain/schema", None, 404),
        ("PATCH", PLAIN, None, 405),
        ("GET", f"{BASE}/nothing", None, 404),
    ],
)
def test_a_call_is_answered_with_its_status(
    play: NamespacePlay, method: str, path: str, body: object, status: int
) -> None:
    assert play.api.answer(method, path, body)[0] == status


def test_a_clusters_mark_takes_nearly_everything() -> None:
    play = ClusterPairPlay(0)
    api = AdminApi(play.blue)
    both = {"serviceUrl": "http://green:8080", "serviceUrlTls": "https://green:8443"}
    for body, status in (({}, 200), (both, 400), (None, 500), ({"brokerServiceUrl": "pulsar://blue:6650"}, 200)):
        assert api.answer("POST", f"{MARK}?migrated=true", body)[0] == status
    assert api.answer("POST", MARK, {})[0] == 200
    assert api.answer("GET", MARK) == (200, {"migrated": False, "migratedClusterUrl": {"empty": False}})
    assert api.answer("POST", f"{BASE}/clusters/nowhere/migrate?migrated=true", {})[0] == 200
    assert "nowhere" in api.answer("GET", f"{BASE}/clusters")[1]
    assert api.answer("GET", f"{BASE}/clusters/nowhere")[0] == 500
    assert api.answer("DELETE", f"{BASE}/clusters/nowhere")[0] == 500
    play.blue.read_only = True
    assert api.answer("POST", MARK, play.green.urls.json)[0] == 403


def test_a_mark_is_read_back(play: NamespacePlay) -> None:
    assert play.call("GET", MARK) == {"migrated": False, "migratedClusterUrl": play.green.urls.json}
    assert play.call("GET", NS)["migrated"] is False


def test_statistics_name_who_is_there(play: NamespacePlay) -> None:
    stats: dict[str, Any] = play.ask(topic("plain"), "stats?getPreciseBacklog=true")
    (publisher,) = stats["publishers"]
    assert publisher["producerName"] == "plain-0"
    assert publisher["clientVersion"] == "Pulsar-CPP-v4.2.0"
    assert publisher["averageMsgSize"] == 200
    assert stats["subscriptions"]["Failover"]["type"] == "Failover"
    assert len(stats["subscriptions"]["Failover"]["consumers"]) == 2
    internal = play.ask(topic("plain"), "internalStats")
    assert internal["state"] == "LedgerOpened"
    assert internal["entriesAddedCounter"] == internal["numberOfEntries"] == stats["msgInCounter"]
    assert play.ask(topic("plain"), "internal-info").keys() >= {"ledgers", "cursors", "properties"}


def test_policies_of_a_topic_are_set_read_and_taken_off() -> None:
    play = NamespacePlay(1)
    rate = {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 40}
    play.set(topic("plain"), "publishRate", rate)
    play.set(topic("plain"), "backlogQuota", HOLD)
    assert play.ask(topic("plain"), "publishRate") == rate
    assert play.ask(topic("plain"), "backlogQuotaMap") == {"destination_storage": HOLD}
    play.brake_off()
    play.gate_off()
    assert play.api.answer("GET", f"{PLAIN}/publishRate") == (204, None)
    assert play.ask(topic("plain"), "backlogQuotaMap") == {}


def test_a_marked_namespace_takes_partitions_and_no_topics() -> None:
    play = NamespacePlay(2)
    play.mark()
    new = f"{BASE}/persistent/{NAMESPACE}/new"
    assert play.api.answer("PUT", new)[0] == 500
    assert play.api.answer("PUT", f"{new}/partitions", 3)[0] == 204
    assert play.api.answer("GET", f"{new}/partitions") == (200, {"partitions": 3})
    assert play.api.answer("GET", f"{new}-partition-0/stats")[0] == 404


def test_a_partitioned_topic_has_a_subscription_on_each_partition() -> None:
    play = NamespacePlay(2)
    parted = f"{BASE}/persistent/{NAMESPACE}/parted"
    play.call("PUT", f"{parted}/partitions", 2)
    play.call("PUT", f"{parted}/subscription/s", {"ledgerId": -1, "entryId": -1})
    for number in range(2):
        assert play.call("GET", f"{parted}-partition-{number}/subscriptions") == ["s"]
    assert play.api.answer("GET", f"{parted}/stats")[0] == 404
    play.call("DELETE", f"{parted}/partitions")
    assert play.api.answer("GET", f"{parted}/partitions")[0] == 404


def test_a_broker_sends_a_call_on_to_the_owner(play: NamespacePlay) -> None:
    answers = [AdminApi(play.blue, broker).answer("GET", f"{PLAIN}/stats") for broker in play.blue.brokers]
    assert sorted(status for status, _ in answers) == [200, 307]
    (location,) = (json["Location"] for status, json in answers if status == 307)
    owner = play.ask(topic("plain"), "stats")["ownerBroker"]
    assert location == f"http://{owner}{PLAIN}/stats"


@pytest.mark.parametrize(
    ("fault", "status", "done"),
    [
        ("sent_on", 307, False),
        ("unknown", 401, False),
        ("forbidden", 403, False),
        ("failed", 500, False),
        ("failed_after", 500, True),
        ("unavailable", 503, False),
        ("silent_before", 0, False),
        ("silent_after", 0, True),
    ],
)
def test_a_fault_is_before_or_after_the_effect(fault: str, status: int, done: bool) -> None:
    play = ClusterPairPlay(0)
    play.add_namespace(NAMESPACE)
    play.blue.namespaces[NAMESPACE].looked_up = True
    api = FaultyApi(play.blue, Random(0), RestFaults(**{fault: 1.0}))
    try:
        answered = api.answer("POST", f"{NS}/migration", True)[0]
    except NoAnswer:
        answered = 0
    assert answered == status
    assert api.calls == [("POST", f"{NS}/migration", status)]
    assert play.blue.namespaces[NAMESPACE].marked is done


def test_a_rough_day_has_every_fault_it_should_and_mostly_answers() -> None:
    play = ClusterPairPlay(0)
    api = FaultyApi(play.blue, Random(0), ROUGH)
    for _ in range(1_000):
        try:
            api.answer("GET", f"{BASE}/clusters")
        except NoAnswer:
            continue
    seen = {status for _, _, status in api.calls}
    assert seen == {0, 200, 307, 500, 503}
    assert sum(status == 200 for _, _, status in api.calls) > 800
