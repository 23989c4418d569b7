"""Rounds of the extensible manager: it counts before it acts, cools down after, and begins averages anew."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from syncer.balancer.rounds.extensible import ExtensibleLeader
from syncer.balancer.rounds.reporting import MINUTE_MS
from syncer.balancer.settings import balancer_settings
from syncer.balancer.versions import BalancerRules
from tests.support.balancing import conf_of, drawn_cluster, played


def leader(**more: object) -> ExtensibleLeader:
    settings = balancer_settings(conf_of("TransferShedder", **more))
    return ExtensibleLeader(drawn_cluster(3).constraints, settings, BalancerRules(), lambda brokers: brokers[0])


def test_it_acts_in_the_round_after_the_hits_and_then_cools_down() -> None:
    cluster = drawn_cluster(3)
    rounds = played(cluster, conf_of("TransferShedder", loadBalancerBrokerLoadTargetStd=0.1)).rounds
    acted = [each.number for each in rounds if each.moves]
    assert acted[0] == 4
    assert all(later - earlier >= 4 for earlier, later in pairwise(acted))


def test_transfers_go_from_the_fullest_to_the_emptiest_broker() -> None:
    cluster, found = drawn_cluster(3), leader(loadBalancerSheddingConditionHitCountThreshold=0)
    moves, futile = found.round(cluster.fleet, MINUTE_MS)
    usages = cluster.fleet.usages
    sources = {cluster.fleet.owners[bundle] for bundle, _ in moves}
    assert max(usages, key=usages.__getitem__) in sources
    assert min(usages, key=usages.__getitem__) in {target for _, target in moves}
    assert futile == 0


def test_without_transfers_a_broker_is_looked_for_that_is_not_the_source() -> None:
    cluster = drawn_cluster(3)
    found = leader(loadBalancerSheddingConditionHitCountThreshold=0, loadBalancerTransferEnabled=False)
    moves, _ = found.round(cluster.fleet, MINUTE_MS)
    assert moves
    assert all(cluster.fleet.owners[bundle] != target for bundle, target in moves)


def test_bundles_of_a_group_are_not_named_unless_settings_say_so() -> None:
    cluster = drawn_cluster(3)
    groups = {each.rpartition("/")[0]: "group" for each in cluster.fleet.bundles}
    for with_policies in (False, True):
        settings = balancer_settings(
            conf_of(
                "TransferShedder",
                loadBalancerSheddingConditionHitCountThreshold=0,
                loadBalancerSheddingBundlesWithPoliciesEnabled=with_policies,
            )
        )
        found = ExtensibleLeader(
            replace(cluster.constraints, groups=groups), settings, BalancerRules(), lambda brokers: brokers[0]
        )
        assert bool(found.round(cluster.fleet, MINUTE_MS)[0]) is with_policies


def test_nothing_is_transferred_where_shedding_is_off() -> None:
    found = leader(loadBalancerSheddingConditionHitCountThreshold=0, loadBalancerSheddingEnabled=False)
    assert found.round(drawn_cluster(3).fleet, MINUTE_MS) == ([], 0)
