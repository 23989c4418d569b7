"""Holders of a cluster's balancing: a claim of another run, or a pause of somebody else."""

from __future__ import annotations

import pytest

from syncer.admin.stillness import STILL
from syncer.balancer.moving.holding import claim_lost, claimed_by_others, held_by_others
from syncer.balancer.moving.sight import ClusterSight
from syncer.model import Millis


@pytest.mark.parametrize(("claim", "theirs"), [(None, False), ("", False), ("mine", False), ("theirs", True)])
def test_only_another_runs_claim_is_theirs(claim: str | None, *, theirs: bool) -> None:
    sight = ClusterSight(at_ms=Millis(1), dynamic={}, claim=claim)
    assert claimed_by_others(sight, "mine") is theirs
    assert claim_lost(sight, "mine") is (theirs or claim == "")
    assert (held_by_others(sight, "mine") is not None) is theirs


def test_a_pause_of_all_is_somebody_elses_and_one_of_a_part_is_the_operators() -> None:
    held = held_by_others(ClusterSight(at_ms=Millis(1), dynamic=STILL, claim=""))
    assert held is not None
    assert held.code == "balancing-owned"
    part = dict(list(STILL.items())[:2])
    assert held_by_others(ClusterSight(at_ms=Millis(1), dynamic=part, claim="")) is None
