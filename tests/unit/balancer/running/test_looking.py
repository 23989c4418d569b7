"""Looks at a cluster: who owns a bundle is told by brokers, and what nobody told is not known."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from syncer.admin.calls import AdminRefused
from syncer.balancer.moving.sight import BundleSight, ClusterSight
from syncer.balancer.ranges import topic_hash
from syncer.balancer.running.looking import MoveLooking
from syncer.errors import AdminError
from syncer.model import Millis
from tests.support.moving_calls import MovingCalls
from tests.support.moving_cluster import MovingCluster

pytestmark = pytest.mark.anyio
LOW, HIGH = "t/n/0x00000000_0x80000000", "t/n/0x80000000_0xffffffff"
NOW = Millis(7)


@pytest.fixture
def calls() -> MovingCalls:
    brokers = {"a:80", "b:80", "c:80"}
    return MovingCalls(MovingCluster({LOW: "a:80", HIGH: "c:80"}, brokers, {"x": "y"}, throughput={LOW: 80.0}))


async def look(calls: MovingCalls, *bundles: str, weighed: Iterable[str] = ()) -> ClusterSight:
    return await MoveLooking(calls, "east-1").look(NOW, dict.fromkeys(bundles, ("a:80", "b:80")), weighed)


async def test_a_look_without_bundles_asks_for_settings_and_the_claim_alone(calls: MovingCalls) -> None:
    assert await look(calls) == ClusterSight(at_ms=NOW, dynamic={"x": "y"}, claim="")
    assert len(calls.asked) == 2


@pytest.mark.parametrize("claim", ["", "another", None])
async def test_the_claim_on_the_cluster_is_seen(calls: MovingCalls, claim: str | None) -> None:
    calls.moving.claim = claim
    assert (await look(calls)).claim == claim


async def test_an_owner_and_its_load_are_seen_and_only_likely_owners_are_asked(calls: MovingCalls) -> None:
    sight = await look(calls, LOW, weighed=[LOW])
    assert sight.bundles == {LOW: BundleSight(exists=True, owner="a:80", throughput=80.0)}
    assert sight.brokers == {"a:80", "b:80", "c:80"}
    assert not any("c:80" in each for each in calls.asked)


async def test_a_broker_whose_load_manager_is_not_started_is_none_to_move_to(calls: MovingCalls) -> None:
    calls.unstarted.add("b:80")
    sight = await look(calls, LOW)
    assert sight.brokers == {"a:80", "c:80"}
    assert sight.bundles == {LOW: BundleSight(exists=True, owner="a:80")}
    calls.refusals["b%3A80/ownedNamespaces"] = 0
    assert (await look(calls, LOW)).brokers == {"a:80", "b:80", "c:80"}, "that it owns nothing is not known"


async def test_where_no_likely_broker_owns_it_all_are_asked(calls: MovingCalls) -> None:
    assert (await look(calls, HIGH)).bundles == {HIGH: BundleSight(exists=True, owner="c:80")}
    calls.moving.owners[HIGH] = None
    assert (await look(calls, HIGH)).bundles == {HIGH: BundleSight(exists=True, owner=None)}


@pytest.mark.parametrize("owner", ["b777:80", None])
async def test_of_a_thousand_brokers_a_handful_of_requests_finds_an_owner(owner: str | None) -> None:
    topic = next(name for name in map("persistent://t/n/x{}".format, range(99)) if topic_hash(name) < 0x80000000)
    brokers = {"a:80", "b:80", *(f"b{number}:80" for number in range(1000))}
    calls = MovingCalls(MovingCluster({LOW: owner}, brokers), topics_of={"t/n": [topic]})
    assert (await look(calls, LOW)).bundles == {LOW: BundleSight(exists=True, owner=owner)}
    of_owners = [each for each in calls.asked if "ownedNamespaces" in each]
    assert sorted(each.partition("/")[0] for each in of_owners) == ["GET a:80", "GET b:80"]
    assert len(calls.asked) == (8 if owner else 7)


@pytest.mark.parametrize("status", [404, 405, 412])
async def test_where_nobody_says_whether_it_is_owned_all_are_asked(calls: MovingCalls, status: int) -> None:
    calls.refusals["topicHashPositions"] = status
    assert (await look(calls, HIGH)).bundles == {HIGH: BundleSight(exists=True, owner="c:80")}
    calls.refusals["topicHashPositions"] = 0
    assert (await look(calls, HIGH)).bundles == {}
    calls.refusals["topicHashPositions"] = 403
    with pytest.raises(AdminRefused):
        await look(calls, HIGH)


async def test_a_look_up_that_names_no_broker_of_the_cluster_is_not_believed(calls: MovingCalls) -> None:
    topic = next(name for name in map("persistent://t/n/x{}".format, range(99)) if topic_hash(name) >= 0x80000000)
    calls.topics_of["t/n"] = [topic]
    calls.moving.brokers.discard("c:80")
    assert (await look(calls, HIGH)).bundles == {HIGH: BundleSight(exists=True, owner=None)}


async def test_a_bundle_whose_broker_hangs_is_not_taken_for_a_free_one(calls: MovingCalls) -> None:
    calls.refusals["c%3A80/ownedNamespaces"] = 0
    assert set((await look(calls, HIGH, LOW)).bundles) == {LOW}


async def test_a_split_bundle_and_a_deleted_namespace_are_gone(calls: MovingCalls) -> None:
    calls.moving.owners = {"t/n/0x00000000_0x40000000": "a:80"}
    assert (await look(calls, LOW, "t/gone/0x00000000_0xffffffff")).bundles == {
        LOW: BundleSight(exists=False),
        "t/gone/0x00000000_0xffffffff": BundleSight(exists=False),
    }


@pytest.mark.parametrize("flow", [float("nan"), float("inf"), -1.0])
async def test_a_rate_that_cannot_be_true_is_unknown(calls: MovingCalls, flow: float) -> None:
    calls.moving.throughput[LOW] = flow
    assert (await look(calls, LOW, weighed=[LOW])).bundles[LOW].throughput is None


async def test_a_role_that_may_not_ask_is_told_at_once(calls: MovingCalls) -> None:
    calls.refusals["ownedNamespaces"] = 403
    with pytest.raises(AdminRefused):
        await look(calls, LOW)
    calls.refusals = {"configuration/values": 0}
    with pytest.raises(AdminError):
        await look(calls, LOW)
