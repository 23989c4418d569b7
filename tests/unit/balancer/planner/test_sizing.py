"""The number of brokers that would do, by draining in thought or by adding empty ones."""

from __future__ import annotations

import pytest

from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.planner.drain import drain
from syncer.balancer.planner.sizing import size
from tests.unit.balancer.planner.scenes import bounds_of, fleet_of


def test_brokers_that_could_go_are_named_the_cheapest_first() -> None:
    fleet = fleet_of({f"b{number}:8080": [(10.0, 1 + number), (5.0, 1)] for number in range(6)})
    found = size(fleet, bounds_of(fleet), Tariff(), 0.5)
    assert (found.brokers, found.would_do, found.spare) == (6, 2, ("b0:8080", "b1:8080", "b2:8080", "b3:8080"))
    assert drain(fleet, bounds_of(fleet, ceiling=0.5), Tariff(), found.spare).left == ()


@pytest.mark.parametrize(("most_usage", "wanted"), [(0.8, 2), (0.4, 4), (0.2, 8)])
def test_more_brokers_are_asked_for_where_the_load_needs_them(most_usage: float, wanted: int) -> None:
    fleet = fleet_of({"a:8080": [(10.0, 1)] * 8, "b:8080": [(10.0, 1)] * 8})
    found = size(fleet, bounds_of(fleet), Tariff(), most_usage)
    assert (found.would_do, found.spare) == (wanted, ())


def test_no_number_of_brokers_helps_against_one_large_bundle() -> None:
    fleet = fleet_of({"a:8080": [(70.0, 1)], "b:8080": [(10.0, 1)]})
    found = size(fleet, bounds_of(fleet), Tariff(), 0.5)
    assert (found.would_do, found.stuck) == (None, "a:8080")


def test_an_empty_cluster_needs_one_broker() -> None:
    fleet = fleet_of({"a:8080": [], "b:8080": []})
    assert size(fleet, bounds_of(fleet), Tariff(), 0.5).would_do == 1
    assert size(fleet_of({}), bounds_of(fleet), Tariff(), 0.5).would_do == 0
