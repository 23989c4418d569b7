"""A fleet whose clusters are not alike: edits everywhere for a while, a bus that loses a part, and equal in the end."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import anyio
import pytest

from deploy.lab.software import etcd_binary, java, pulsar_home
from syncer.admin.client import AdminSettings
from syncer.admin.topics import ClustersProbe
from syncer.conflict.guards import Topics
from syncer.model import MetaPath
from syncer.paths import namespace_path, tenant_of, tenant_path
from syncer.waiting import wait_until
from tests.conftest import require
from tests.fleet.three_clusters import APART, EAST, EUROPE, SHARED, TOPIC_POLICIES, WEST, Fleet, fleet_of
from tests.support.synced import Side

LONG: Final = os.environ.get("TEST_FORM") == "long"
EDITING_S: Final = 120.0 if LONG else 20.0
PACE_S: Final = 0.05
_REMOVED: Final = 0.3
"""How often a policy of a topic that is set is removed."""
RACED: Final = 200 if LONG else 40


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The three clusters, in sync."""
    require(java, pulsar_home, etcd_binary)
    with fleet_of(tmp_path_factory.mktemp("fleet")) as fleet:
        for tenant in (SHARED, APART):
            fleet.make_tenant(EAST, tenant, "first")
        fleet.settle("two tenants")
        yield fleet


def space_with_topic(fleet: Fleet, name: str) -> str:
    """A namespace in all three, with a topic whose name this is."""
    fleet.make_namespace(EAST, f"{SHARED}/{name}")
    fleet.set_partitions(EAST, f"{SHARED}/{name}/p", 2, grows=False)
    fleet.settle(f"namespace {name} with a topic")
    return f"{SHARED}/{name}/p"


def test_what_one_side_makes_all_that_carry_it_have(fleet: Fleet) -> None:
    west, europe = fleet.sides[WEST], fleet.sides[EUROPE]
    assert sorted(west.get(f"tenants/{SHARED}")["allowedClusters"]) == ["eu-central", "us-east", "us-west"]
    assert sorted(europe.get(f"tenants/{SHARED}")["allowedClusters"]) == ["eu-central", "pacific", "us-east"]
    assert europe.get(f"tenants/{APART}") is None
    fleet.make_tenant(EUROPE, SHARED, "second")
    fleet.settle("a tenant edited in Europe")


def test_edits_everywhere_while_the_bus_loses_a_part(fleet: Fleet) -> None:
    """Each namespace is edited by one side alone, so that its last edit is what has to stand everywhere."""
    chance = random.Random(24)
    spaces = {f"{SHARED}/{chr(97 + number)}": number % 3 for number in range(9)}
    spaces |= {f"{APART}/{chr(97 + number)}": number % 2 for number in range(6)}
    for name, side in spaces.items():
        fleet.make_namespace(side, name)
        fleet.set_partitions(side, f"{name}/p", 2, grows=False)
    fleet.settle("namespaces and partitioned topics")
    partitions = dict.fromkeys(spaces, 2)

    def grow(side: int, name: str, _: int) -> None:
        partitions[name] += 1
        fleet.set_partitions(side, f"{name}/p", partitions[name], grows=True)

    def govern(side: int, name: str, number: int) -> None:
        named = chance.choice(list(TOPIC_POLICIES))
        is_set = fleet.policies.get((f"{name}/p", named)) is not None
        fleet.set_topic_policy(side, f"{name}/p", named, 0 if is_set and chance.random() < _REMOVED else number)

    kinds: list[Callable[[int, str, int], None]] = [
        *(fleet.set_ttl, fleet.set_retention, fleet.set_past_broker, govern) * 3,
        grow,
    ]

    def edit(number: int) -> None:
        name = chance.choice(list(spaces))
        chance.choice(kinds)(spaces[name], name, number)

    number, until = 100, time.monotonic() + EDITING_S
    lossy: float | None = time.monotonic() + EDITING_S / 3
    while time.monotonic() < until:
        number += 1
        edit(number)
        if lossy is not None and time.monotonic() > lossy:
            lossy = None
            _lose_a_part(fleet, edit, number)
            number += 100
        time.sleep(PACE_S)
    print(dict(sorted(fleet.edits.items())))
    fleet.settle("edits, and a bus that has lost a part")
    assert lossy is None, "the bus lost nothing: the test proves less than it says"
    assert fleet.strayed(APART) == []
    assert [path for each in fleet.sides for path in each.region.holds() if tenant_of(path) in {SHARED, APART}] == []


def _lose_a_part(fleet: Fleet, edit: Callable[[int], None], number: int) -> None:
    """Two daemons are away while the group edits; what was told meanwhile never reaches them."""
    away = (WEST, EUROPE)
    for side in away:
        fleet.sides[side].region.stop()
    for more in range(20):
        edit(number + 1 + more)
    wait_until(fleet.sides[EAST].region.quiet, "the east has told its edits")
    for side in away:
        fleet.skip_bus(side)
        fleet.sides[side].region.start()


def test_a_global_policy_answers_everywhere_and_a_local_one_does_not(fleet: Fleet) -> None:
    topic = space_with_topic(fleet, "governed")
    east, west, europe = fleet.sides
    east.send("POST", f"persistent/{topic}/maxProducers", 5)
    fleet.set_topic_policy(EAST, topic, "ttl", 4321)
    fleet.settle("a policy that is global, and one that is local")
    for side in (west, europe):
        assert fleet.topic_policy(side, topic, "ttl") == 4321
        assert side.get(f"persistent/{topic}/maxProducers") is None
    assert east.get(f"persistent/{topic}/maxProducers") == 5


def test_concurrent_edits_of_one_topic_end_with_one_value_and_each_loser_is_kept(fleet: Fleet) -> None:
    """Two brokers edit one topic's policies as fast as they can; nobody has seen the other's last edit."""
    topic = space_with_topic(fleet, "raced")
    path = MetaPath(f"/admin/topic-policies/global/{SHARED}/raced/persistent/p")
    firsts = {EAST: 10_000, WEST: 20_000}

    def edit(side: int) -> None:
        for number in range(RACED):
            fleet.sides[side].send(
                "POST", f"persistent/{topic}/messageTTL?messageTTL={firsts[side] + number}&isGlobal=true"
            )

    with ThreadPoolExecutor() as pool:
        list(pool.map(edit, firsts))
    last = {side: first + RACED - 1 for side, first in firsts.items()}

    def settled() -> bool:
        told = {fleet.topic_policy(side, topic, "ttl") for side in fleet.sides}
        return len(told) == 1 and all(side.region.quiet() for side in fleet.sides)

    wait_until(settled, "one value everywhere")
    stands = fleet.topic_policy(fleet.sides[EAST], topic, "ttl")
    assert stands in last.values(), "the last edit of one of them has won"
    fleet.policies[topic, "ttl"] = stands
    kept = {
        json.loads(row.value)["messageTTLInSeconds"]
        for side in fleet.sides
        for row in side.conflicts(path)
        if row.value is not None
    }
    assert set(last.values()) - {stands} <= kept, "the other one's last edit was kept"


def test_a_namespace_that_goes_goes_wherever_it_was(fleet: Fleet) -> None:
    for side, name in ((EUROPE, f"{SHARED}/gone"), (WEST, f"{APART}/gone")):
        fleet.make_namespace(side, name, everywhere=False)
        fleet.settle(f"{name} is there")
        path = namespace_path(*name.split("/"))
        for each in fleet.carriers(path):
            wait_until(partial(_brokers_know, each, name), f"the brokers know {name}")
            assert anyio.run(_topics_below, each, path) is Topics.NONE, "they serve it or not: it has no topics"
        fleet.drop_namespace(side, name)
        wait_until(partial(_nowhere, fleet, path), f"{path} is gone")


def _brokers_know(side: Side, namespace: str) -> bool:
    return side.get(f"namespaces/{namespace}") is not None


async def _topics_below(side: Side, path: MetaPath) -> Topics:
    async with ClustersProbe(AdminSettings(url=side.cluster.admin_url), [side.cluster.name]) as probe:
        return await probe.ask(path)


def _nowhere(fleet: Fleet, path: MetaPath) -> bool:
    return all(path not in side.region.entries() for side in fleet.sides)


def test_peers_say_what_they_have_in_common(fleet: Fleet) -> None:
    europe = fleet.sides[EUROPE].region.config.compiled_scope()
    assert europe.contains(tenant_path(SHARED))
    assert not europe.contains(tenant_path(APART))
    for side in fleet.sides:
        peers = side.region.command("status")["peers"]
        assert {each["region"] for each in peers} == {each.region.name for each in fleet.sides} - {side.region.name}
    wait_until(partial(_all_equal, fleet.sides[EUROPE]), "Europe compares what it carries, and finds all peers equal")


def _all_equal(side: Side) -> bool:
    return all(each["compared"] == "equal" for each in side.region.command("status")["peers"])
