"""Two real regions whose brokers keep topic policies where Pulsar keeps them by default: in each namespace's topic."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.lab.process import ServerFailed
from deploy.lab.region import LabRegion
from syncer.model import MetaPath
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.support.synced import BOTH, Side, Synced, bus_topic

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.slow]

TENANT, SPACE = "harbour", "harbour/quays"
BASE = "/admin/topic-policies/global"
ROUNDS = 60


def path_of(topic: str) -> MetaPath:
    return MetaPath(f"{BASE}/{SPACE}/persistent/{topic}")


def policy(side: Side, topic: str, name: str, *, everywhere: bool = True) -> Any:
    """What a broker answers for a topic's policy, its global one or its local one; ``None`` where none is set."""
    query = "?isGlobal=true" if everywhere else ""
    return side.get(f"persistent/{SPACE}/{topic}/{name}{query}")


def listed(side: Side) -> set[str]:
    found: list[str] = side.get(f"persistent/{SPACE}?includeSystemTopic=true")
    return {each.rpartition("/")[2] for each in found}


@pytest.fixture(scope="module")
def pair(pulsar_pair: PulsarPair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synced]:
    """Both clusters in sync in one tenant, each serving its namespaces alone."""
    folder, topic = tmp_path_factory.mktemp("regions"), bus_topic("policies")
    patterns = [f"/admin/policies/{TENANT}", f"/admin/partitioned-topics/{TENANT}/**", f"{BASE}/{TENANT}/*/**"]
    rules = [{"pattern": each, "direction": "both"} for each in patterns]
    sides = []
    for name in BOTH:
        cluster = pulsar_pair.clusters[name]
        region = LabRegion.beside(
            cluster,
            folder / name,
            topic=topic,
            scope={"rules": rules},
            admin={"url": cluster.admin_url},
            topic_policies={"system_topics": [f"{TENANT}/*"], "look_every": "2s"},
        )
        side = Side(cluster, region)
        with contextlib.suppress(ServerFailed, OSError):
            side.send("PUT", f"tenants/{TENANT}", {"adminRoles": [], "allowedClusters": [name]})
        side.send("PUT", f"namespaces/{SPACE}", {"replication_clusters": [name]})
        sides.append(side)
    synced = Synced(sides[0], sides[1], topic)
    for each in ("first", "second", "raced"):
        for side in sides:
            side.send("PUT", f"persistent/{SPACE}/{each}/partitions", 1)
    with synced.over_its_topic():
        synced.start()
        yield synced


def test_a_global_policy_answers_in_the_other_region_and_a_local_one_does_not(pair: Synced) -> None:
    east, west = pair.east, pair.west
    east.send("POST", f"persistent/{SPACE}/first/maxProducers", 5)
    east.send("POST", f"persistent/{SPACE}/first/maxConsumers?isGlobal=true", 7)
    wait_until(lambda: policy(west, "first", "maxConsumers") == 7, "a global policy in us-west")
    retention = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
    west.send("POST", f"persistent/{SPACE}/first/retention?isGlobal=true", retention)
    west.send("POST", f"persistent/{SPACE}/first/messageTTL?messageTTL=33&isGlobal=true")
    rate = {"dispatchThrottlingRateInMsg": 9, "dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1}
    west.send("POST", f"persistent/{SPACE}/first/dispatchRate?isGlobal=true", rate)
    quota = {"limitSize": 1000, "limitTime": -1, "policy": "producer_exception"}
    west.send(
        "POST", f"persistent/{SPACE}/first/backlogQuota?isGlobal=true&backlogQuotaType=destination_storage", quota
    )
    wait_until(lambda: bool(policy(east, "first", "backlogQuotaMap")), "policies of every form in us-east")
    assert policy(east, "first", "retention") == retention
    assert policy(east, "first", "messageTTL") == 33
    assert policy(east, "first", "dispatchRate")["dispatchThrottlingRateInMsg"] == 9
    assert policy(east, "first", "maxConsumers") == policy(west, "first", "maxConsumers") == 7
    assert policy(east, "first", "maxProducers", everywhere=False) == 5
    assert policy(west, "first", "maxProducers", everywhere=False) is None
    for side in pair.sides:
        assert side.hold(path_of("first")) is None
        assert side.conflicts(path_of("first")) == []


def test_removing_the_last_policy_travels(pair: Synced) -> None:
    east, west = pair.east, pair.west
    east.send("POST", f"persistent/{SPACE}/second/maxConsumers?isGlobal=true", 4)
    wait_until(lambda: policy(west, "second", "maxConsumers") == 4, "the policy in us-west")
    west.send("DELETE", f"persistent/{SPACE}/second/maxConsumers?isGlobal=true")
    wait_until(lambda: policy(east, "second", "maxConsumers") is None, "its removal in us-east")
    east.send("POST", f"persistent/{SPACE}/second/maxConsumers?isGlobal=true", 6)
    wait_until(lambda: policy(west, "second", "maxConsumers") == 6, "another one in us-west")


def test_a_topic_that_comes_later_gets_what_was_set_elsewhere_before(pair: Synced) -> None:
    east, west = pair.east, pair.west
    east.send("PUT", f"persistent/{SPACE}/later")
    east.send("POST", f"persistent/{SPACE}/later/maxConsumers?isGlobal=true", 3)
    wait_until(
        lambda: any(row["path"] == path_of("later") for row in west.region.command("parked", "list")["items"]),
        "the policy waits in us-west for its topic",
    )
    assert "later" not in listed(west)
    west.send("PUT", f"persistent/{SPACE}/later")
    wait_until(lambda: policy(west, "later", "maxConsumers") == 3, "the policy of the topic that has come")


def test_edits_in_both_regions_end_with_one_value_and_nothing_of_a_broker_is_lost(pair: Synced) -> None:
    """Each side's broker edits a field of its own as fast as it can: whoever loses is kept as a conflict."""

    def edit(side: Side, first: int) -> None:
        for number in range(ROUNDS):
            side.send("POST", f"persistent/{SPACE}/raced/maxConsumers?isGlobal=true", first + number)

    editors = [
        threading.Thread(target=edit, args=(side, first)) for side, first in ((pair.east, 1000), (pair.west, 2000))
    ]
    for each in editors:
        each.start()
    for each in editors:
        each.join()

    def value(side: Side) -> Any:
        return policy(side, "raced", "maxConsumers")

    def settled() -> bool:
        return value(pair.east) == value(pair.west) and all(side.region.quiet() for side in pair.sides)

    wait_until(settled, "one value in both")
    last = value(pair.east)
    assert last in {1000 + ROUNDS - 1, 2000 + ROUNDS - 1}, "the last edit of a region has won"
    lost = {2000 + ROUNDS - 1, 1000 + ROUNDS - 1} - {last}
    kept = {
        json.loads(row.value)["maxConsumerPerTopic"]
        for side in pair.sides
        for row in side.conflicts(path_of("raced"))
        if row.value is not None
    }
    assert lost <= kept, "the other region's last edit was kept"
    reasons = {row.reason for side in pair.sides for row in side.conflicts(path_of("raced"))}
    assert reasons <= {"concurrent", "overtaken"}


def test_status_tells_of_namespaces_and_nothing_was_made_by_looking(pair: Synced) -> None:
    west = pair.west
    west.send("PUT", f"namespaces/{TENANT}/empty", {"replication_clusters": ["us-west"]})
    wait_until(lambda: west.region.command("status")["topic_policies"]["namespaces"] == 2, "the new namespace is seen")
    west.send("PUT", f"persistent/{SPACE}/looked/partitions", 1)  # the daemons carry it
    west.send("POST", f"persistent/{SPACE}/looked/maxConsumers?isGlobal=true", 2)
    wait_until(lambda: west.region.command("status")["topic_policies"]["followed"] == 1, "the other one is followed")
    told = west.region.command("status")["topic_policies"]
    assert (told["replicated"], told["withheld"], told["unread"]) == ([], {}, 0)
    assert told["followed"] == 1
    assert west.get(f"persistent/{TENANT}/empty?includeSystemTopic=true") == []


def test_switching_the_source_off_deletes_nothing_anywhere_and_the_values_come_back(pair: Synced) -> None:
    """What is missing where the daemon looks from now on is held; undone, it is written to the new place."""
    east, west = pair.east, pair.west
    path = path_of("kept")
    east.send("PUT", f"persistent/{SPACE}/kept/partitions", 1)
    east.send("POST", f"persistent/{SPACE}/kept/maxConsumers?isGlobal=true", 21)
    wait_until(lambda: policy(west, "kept", "maxConsumers") == 21, "the policy in us-west")
    wait_until(lambda: all(side.region.quiet() for side in pair.sides), "both have written all")
    text = west.region.file.read_text(encoding="utf-8")
    west.region.stop()
    west.region.file.write_text(text.replace(f'system_topics = ["{TENANT}/*"]', "system_topics = []"), encoding="utf-8")
    try:
        west.region.start()
        wait_until(lambda: west.hold(path) is not None, "the policy is missing in the store, and held")
        assert policy(east, "kept", "maxConsumers") == 21
        west.region.command("holds", "reject", path, "--yes")
        wait_until(lambda: path in west.region.entries(), "the policy in the store of us-west")
        assert policy(east, "kept", "maxConsumers") == 21
    finally:
        west.region.stop()
        west.region.file.write_text(text, encoding="utf-8")
        west.region.start()
    wait_until(lambda: policy(west, "kept", "maxConsumers") == 21, "all is as before")
    assert policy(east, "kept", "maxConsumers") == 21
    wait_until(lambda: all(side.region.quiet() for side in pair.sides), "nothing is left to be decided")
    assert west.hold(path) is None
    east.send("POST", f"persistent/{SPACE}/kept/maxConsumers?isGlobal=true", 22)
    wait_until(lambda: policy(west, "kept", "maxConsumers") == 22, "a further change in us-west")


def test_a_namespace_that_becomes_geo_replicated_is_left_to_pulsar(pair: Synced) -> None:
    east, west = pair.east, pair.west
    path = path_of("shared")
    east.send("PUT", f"persistent/{SPACE}/shared/partitions", 1)
    east.send("POST", f"persistent/{SPACE}/shared/maxConsumers?isGlobal=true", 22)
    wait_until(lambda: policy(west, "shared", "maxConsumers") == 22, "the policy in us-west")
    west.send("POST", f"tenants/{TENANT}", {"adminRoles": [], "allowedClusters": list(BOTH)})
    west.send("POST", f"namespaces/{SPACE}/replication", list(BOTH))

    def replicated() -> bool:
        told = west.region.command("status")
        return told["topic_policies"]["replicated"] == [SPACE] and any(
            each["code"] == "topic-policies-replicated" for each in told["conditions"]
        )

    try:
        wait_until(replicated, "status names the namespace")
        assert west.region.command("explain", path) is not None
        assert west.hold(path) is None
        assert policy(east, "shared", "maxConsumers") == 22
    finally:
        west.send("POST", f"namespaces/{SPACE}/replication", ["us-west"])
    wait_until(lambda: not replicated(), "it is carried again")
    east.send("POST", f"persistent/{SPACE}/shared/maxConsumers?isGlobal=true", 23)
    wait_until(lambda: policy(west, "shared", "maxConsumers") == 23, "a change after that in us-west")
