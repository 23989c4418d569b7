"""A new broker gets its share, and nothing moves between the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.planner.advice import AdviceAnswer
from syncer.balancer.planner.fill import FILL_AIM, fill
from syncer.balancer.planner.picking import PickRule
from syncer.errors import LoadDataInvalid
from tests.unit.balancer.planner.scenes import bounds_of, fleet_of

NEW = "new:8080"


def test_ten_brokers_at_eighty_percent_share_with_the_empty_one_though_pulsar_never_would() -> None:
    fleet = fleet_of({**{f"b{number}:8080": [(4.0, 1 + n % 7) for n in range(20)] for number in range(10)}, NEW: []})
    found = fill(fleet, bounds_of(fleet), Tariff(), NEW)
    assert found.answer is AdviceAnswer.MOVES
    assert found.plan is not None
    assert {move.target for move in found.plan.moves} == {NEW}
    assert found.plan.spread.after < found.plan.spread.before / 2
    assert all(move.price.client_seconds.value == pytest.approx(0.2135) for move in found.plan.moves)


def test_a_cheaper_plan_of_the_front_may_be_picked() -> None:
    fleet = fleet_of({"a:8080": [(10.0, n) for n in range(1, 8)], NEW: []})
    whole = fill(fleet, bounds_of(fleet), Tariff(), NEW)
    knee = fill(fleet, bounds_of(fleet), Tariff(), NEW, replace(FILL_AIM, rule=PickRule.KNEE))
    assert whole.plan is not None
    assert knee.plan is not None
    assert len(knee.plan.moves) <= len(whole.plan.moves)


def test_a_broker_that_is_not_there_is_refused() -> None:
    fleet = fleet_of({"a:8080": []})
    with pytest.raises(LoadDataInvalid, match="new:8080 cannot be filled"):
        fill(fleet, bounds_of(fleet), Tariff(), NEW)
