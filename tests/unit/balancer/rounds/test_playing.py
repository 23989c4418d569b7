"""Rounds are played over load that stays until nothing moves, and over load that changes to its end."""

from __future__ import annotations

import random

import pytest

from syncer.balancer.rounds.modular import ModularLeader
from syncer.balancer.rounds.playing import play
from syncer.balancer.rounds.synthetic import FleetShape
from syncer.balancer.settings import balancer_settings
from syncer.balancer.versions import BalancerRules
from syncer.errors import SettingInvalid
from tests.support.balancing import SHEDDERS, conf_of, drawn_cluster, played, pricing


@pytest.mark.parametrize("shedder", SHEDDERS)
def test_the_fleet_that_is_given_is_not_moved_and_the_same_dice_play_the_same(shedder: str) -> None:
    cluster = drawn_cluster(3)
    owners, usages = dict(cluster.fleet.owners), dict(cluster.fleet.usages)
    first, again = (played(cluster, conf_of(shedder)) for _ in range(2))
    assert first == again
    assert first.unloads
    assert (cluster.fleet.owners, cluster.fleet.usages) == (owners, usages)


@pytest.mark.parametrize("shedder", SHEDDERS)
def test_even_load_is_left_alone(shedder: str) -> None:
    cluster = drawn_cluster(3, FleetShape.EVEN)
    found = played(cluster, conf_of(shedder))
    assert (found.unloads, found.settled, found.client_seconds.value) == (0, 0, 0)
    assert found.final_spread == found.spread_before == cluster.fleet.spread


def test_a_hot_broker_is_relieved_and_what_moved_is_priced() -> None:
    found = played(drawn_cluster(3), conf_of("AvgShedder"))
    assert found.final_spread < found.spread_before / 2
    assert found.settled is not None
    assert len(found.rounds) == found.settled + found.quiet
    assert found.client_seconds.value is not None
    assert found.client_seconds.value > found.unloads * 0.3


def test_owners_are_carried_over_to_the_next_frame_with_its_load() -> None:
    cluster = drawn_cluster(3)
    settings = balancer_settings(conf_of("OverloadShedder", loadBalancerBrokerOverloadedThresholdPercentage=60))
    leader = ModularLeader(cluster.constraints, settings, BalancerRules(), random.Random(1).choice)
    frames = [cluster.fleet] * 50
    found = play(frames, leader, pricing, 60)
    again = played(cluster, conf_of("OverloadShedder", loadBalancerBrokerOverloadedThresholdPercentage=60))
    moves = [each.moves for each in again.rounds]
    assert any(moves)
    assert [each.moves for each in found.rounds][: len(moves)] == moves
    assert len(found.rounds) >= len(frames)


def test_rounds_without_time_between_are_refused() -> None:
    with pytest.raises(SettingInvalid, match="loadBalancerSheddingIntervalMinutes is 0"):
        played(drawn_cluster(3), conf_of("AvgShedder", loadBalancerSheddingIntervalMinutes=0))
