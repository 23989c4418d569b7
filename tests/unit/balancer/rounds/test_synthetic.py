"""Synthetic clusters: the same dice draw the same, and each shape is what its name says."""

from __future__ import annotations

import pytest

from syncer.balancer.rounds.synthetic import FleetShape
from tests.support.balancing import drawn_cluster


@pytest.mark.parametrize("shape", FleetShape)
@pytest.mark.parametrize("brokers", [1, 2, 20])
def test_brokers_and_bundles_are_as_many_as_were_asked_for(shape: FleetShape, brokers: int) -> None:
    fleet = drawn_cluster(4, shape, brokers, 100).fleet
    assert (len(fleet.brokers), len(fleet.bundles)) == (brokers, 100)
    assert all(0 < usage <= 1 for usage in fleet.usages.values())
    again = drawn_cluster(4, shape, brokers, 100).fleet
    assert (fleet.owners, fleet.usages) == (again.owners, again.usages)
    assert drawn_cluster(5, shape, brokers, 100).fleet.bundles != fleet.bundles


def test_a_new_broker_is_empty_and_hot_ones_are_full() -> None:
    assert not drawn_cluster(4, FleetShape.NEW_BROKER).fleet.bundles_of("broker-7.example:8080")
    hot = drawn_cluster(4, FleetShape.HOT_BROKERS, 16, 300).fleet
    assert min(hot.usages[f"broker-{number}.example:8080"] for number in (0, 1)) > 2 * hot.mean


def test_one_topic_makes_up_a_quarter_of_a_hot_ones_load() -> None:
    fleet = drawn_cluster(4, FleetShape.HOT_TOPIC, 10, 400).fleet
    greatest = max(bundle.stats.traffic.throughput for bundle in fleet.bundles.values())
    whole = sum(bundle.stats.traffic.throughput for bundle in fleet.bundles.values())
    assert 0.1 < greatest / whole < 0.45


def test_an_empty_cluster_can_be_drawn() -> None:
    assert drawn_cluster(1, FleetShape.HOT_TOPIC, 0, 0).fleet.mean == 0
