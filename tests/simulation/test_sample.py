"""A sample of the simulator for every commit: six modes, and five breaks that it must find. All: test_world."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import MUTANTS, hunt
from tests.simulation.world import play

SEEDS = 3
HUNTED = 40
BREAKS = {mutant.name: mutant for mutant in MUTANTS}


@pytest.mark.parametrize("mode", ["calm", "crashes", "storm", "forgetting", "liar", "versions"])
def test_schedules_end_as_the_rules_demand(mode: str) -> None:
    for seed in range(SEEDS):
        play(mode, seed)


@pytest.mark.parametrize(
    "name",
    [
        "stamp from known instead of seated",
        "stamp by the clock alone",
        "any read decides",
        "old stores pass",
        "sums outlive their database",
    ],
)
def test_a_break_is_caught(name: str) -> None:
    assert hunt(BREAKS[name], HUNTED) is not None
