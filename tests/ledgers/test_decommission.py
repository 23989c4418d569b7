"""Bookies are stopped for good: what is said beforehand to move is what BookKeeper moves, and what blocks it does."""

from __future__ import annotations

from typing import Final

import pytest

from deploy.lab.brokers.bookie import Bookie, MetadataDriver
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import StoreKind
from syncer.ledgers.losses.decommission import BlockedBy, ClusterBookies, DecommissionPlan, decommission
from syncer.ledgers.nodes import AuditorPlace, BookieCookie
from syncer.waiting import wait_until
from tests.ledgers.conftest import MakeCluster
from tests.ledgers.topics import WAYS, close, write
from tests.ledgers.views import LedgersView, view

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.slow]

ENDS_S: Final = 240.0
BLOCKED_S: Final = 60.0
"""It waits half a minute before it begins to count, and ten seconds between counts."""
WHERE: Final = (
    (MetadataDriver.PULSAR, StoreKind.ZOOKEEPER),
    (MetadataDriver.BOOKKEEPER, StoreKind.ZOOKEEPER),
    (MetadataDriver.PULSAR, StoreKind.ETCD),
)
SINGLE: Final = "one"
WRITTEN: Final = "replication_replication_worker_NUM_ENTRIES_WRITTEN"


@pytest.fixture(scope="module", params=WHERE, ids=[f"{driver}-{store}" for driver, store in WHERE])
def cluster(request: pytest.FixtureRequest, make_cluster: MakeCluster) -> BrokersCluster:
    """Five bookies that run auto-recovery, by either driver, on ZooKeeper or on etcd; all topics are closed."""
    driver, store = request.param
    return make_cluster(bookies=5, recovery=True, driver=driver, store=store)


def planned(found: LedgersView, bookie: Bookie) -> DecommissionPlan:
    """The plan of the end of one bookie."""
    everybody = ClusterBookies(readable=found.writable, writable=found.writable, racks=found.racks)
    return decommission(found.ledgers.values(), [bookie.endpoint], everybody)


def copied(bookies: list[Bookie]) -> float:
    """Entries that workers have copied."""
    return sum(bookie.figures()[WRITTEN] for bookie in bookies)


def stopped(cluster: BrokersCluster, bookie: Bookie) -> None:
    """End a bookie and wait until the store has forgotten it: one that seems to be up is not decommissioned."""
    bookie.kill()
    wait_until(lambda: not cluster.keeper.has_ephemeral(bookie.registration), "the store has forgotten it")


def test_what_is_said_to_move_is_moved_and_what_is_said_to_block_blocks(cluster: BrokersCluster) -> None:
    copies = {name: way for name, way in WAYS.items() if name != SINGLE}
    write(cluster, "first", copies)
    close(cluster, "first", copies)
    leaving, *staying = cluster.bookies
    before = view(cluster.keeper)
    native = cluster.settings.bookie.driver is MetadataDriver.BOOKKEEPER
    assert {vote.place for vote in before.auditors} == {AuditorPlace.NATIVE if native else AuditorPlace.PULSAR}
    plan = planned(before, leaving)
    assert plan.ends
    assert plan.unknown_bytes == 0
    assert plan.ledgers > 0
    begun = copied(staying)
    stopped(cluster, leaving)
    counts = cluster.shell().decommission(leaving.endpoint, timeout_s=ENDS_S)
    after = view(cluster.keeper)
    assert max(counts, default=0) <= plan.ledgers
    assert copied(staying) - begun == plan.entries
    assert after.named(leaving.endpoint) == set()
    moved = {ledger_id for ledger_id, ledger in before.ledgers.items() if after.ledgers[ledger_id] != ledger}
    assert moved == before.named(leaving.endpoint)
    assert len(moved) == plan.ledgers
    cookies = {node.bookie for node in after.nodes if isinstance(node, BookieCookie)}
    assert cookies == {bookie.endpoint for bookie in staying}

    write(cluster, "second", {SINGLE: WAYS[SINGLE]})
    close(cluster, "second", {SINGLE: WAYS[SINGLE]})
    found = view(cluster.keeper)
    plans = {bookie: planned(found, bookie) for bookie in staying}
    stuck = max(plans, key=lambda bookie: plans[bookie].blocked[BlockedBy.NOTHING_TO_COPY_FROM])
    blocked = {ledger_id for ledger_id, _ in plans[stuck].examples}
    assert plans[stuck].blocked == {BlockedBy.NOTHING_TO_COPY_FROM: len(blocked)}
    assert blocked
    stopped(cluster, stuck)
    with pytest.raises(ServerFailed, match="did not end"):
        cluster.shell().decommission(stuck.endpoint, timeout_s=BLOCKED_S)

    def only_what_is_blocked() -> bool:
        left = view(cluster.keeper)
        return left.named(stuck.endpoint) == set(left.marks) == blocked

    wait_until(only_what_is_blocked, "only what is blocked is left")
