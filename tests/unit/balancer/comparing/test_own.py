"""Our leader makes the moves of one plan at once, and rests from then on."""

from __future__ import annotations

import random

from syncer.balancer.comparing.own import OwnLeader
from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.rounds.crowding import CrowdedTopics
from syncer.balancer.rounds.playing import play
from syncer.balancer.rounds.synthetic import SyntheticCluster
from syncer.balancer.settings import balancer_settings
from tests.support.balancing import drawn_cluster


def bounds(cluster: SyntheticCluster) -> MoveBounds:
    return MoveBounds(constraints=cluster.constraints, settings=balancer_settings({}))


def test_it_moves_in_the_first_round_and_reaches_the_spread() -> None:
    cluster, tariff = drawn_cluster(3), Tariff()
    leader = OwnLeader(bounds(cluster), tariff, 0.1)
    found = play([cluster.fleet], leader, tariff.price, 120)
    assert found.rounds[0].moves
    assert not any(each.moves for each in found.rounds[1:])
    assert (found.settled, found.final_spread <= 0.1) == (1, True)


def test_it_moves_nothing_where_the_spread_is_there_already() -> None:
    cluster = drawn_cluster(3)
    leader = OwnLeader(bounds(cluster), Tariff(), cluster.fleet.spread)
    assert leader.round(cluster.fleet, 60_000) == ([], 0)


def test_where_topics_are_known_it_cuts_first_and_its_parts_cost_less() -> None:
    cluster, tariff = drawn_cluster(3), Tariff()
    topics = CrowdedTopics(cluster.fleet, lambda bundle: random.Random(f"3 {bundle}"))
    whole = play([cluster.fleet], OwnLeader(bounds(cluster), tariff, 0.1), tariff.price, 120)
    cut = play([cluster.fleet], OwnLeader(bounds(cluster), tariff, 0.1, (), topics), tariff.price, 120)
    assert (whole.cuts, cut.cuts > 0, cut.rounds[0].cuts) == (0, True, cut.cuts)
    assert cut.final_spread <= 0.1
    assert (cut.client_seconds.value or 0.0) < (whole.client_seconds.value or 0.0)
