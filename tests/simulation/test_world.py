"""The seeded world: a thousand schedules end as the rules demand, each replays exactly, and every break is caught."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.simulation.faults import MODES
from tests.simulation.history import Violation
from tests.simulation.mutants import MUTANTS, Mutant, broken, hunt
from tests.simulation.world import World, play

SEEDS_PER_MODE = 48
LONG_SEEDS_PER_MODE = 1_700
SLOWER = {"parting": 4, "wiped-forgetting": 2}
"""Modes whose schedules take that many times as long as others; so many fewer are played."""
MUTANT_SEEDS = 400
OFTEN_CAUGHT_WITHIN = 40


@pytest.mark.parametrize("mode", MODES)
def test_every_schedule_ends_as_the_rules_demand(mode: str) -> None:
    faults: Counter[str] = Counter()
    for seed in range(SEEDS_PER_MODE // SLOWER.get(mode, 1)):
        faults.update(play(mode, seed).faults)
    _every_fault_was_made(mode, faults)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", MODES)
def test_every_schedule_ends_as_the_rules_demand_in_the_long_run(mode: str) -> None:
    for seed in range(SEEDS_PER_MODE, LONG_SEEDS_PER_MODE // SLOWER.get(mode, 1)):
        play(mode, seed)


def _every_fault_was_made(mode: str, faults: Counter[str]) -> None:
    """A mode whose faults never happen tests nothing."""
    for name in (
        "crash",
        "cut",
        "gap",
        "lose",
        "duplicate",
        "second",
        "jump",
        "pause",
        "dark",
        "away",
        "wipe",
        "restore",
        "part",
        "join",
    ):
        if getattr(MODES[mode], name):
            assert faults[name], f"{mode}: no {name} in {SEEDS_PER_MODE} schedules"


@pytest.mark.parametrize("mode", MODES)
def test_a_seed_replays_exactly(mode: str) -> None:
    assert play(mode, 7).story.text == play(mode, 7).story.text


def test_a_seed_replays_exactly_in_another_process() -> None:
    """Nothing may depend on the order of a set of strings, which differs from process to process."""
    told = set()
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--mode", "trees-storm", "--seeds", "3", "--story"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        run = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60, env=environment)
        told.add(run.stdout.rsplit(", ", 1)[0])
    assert len(told) == 1


def test_a_broken_seed_tells_its_story() -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == "stamp from known instead of seated")
    caught = hunt(mutant, MUTANT_SEEDS)
    assert caught is not None
    with broken(mutant), pytest.raises(Violation) as failure:
        play("calm", caught[0] - 1)
    (story,) = failure.value.__notes__
    assert "mode calm, seed" in story
    assert "outside: puts" in story
    assert failure.value.path in story


@pytest.mark.parametrize("mutant", [mutant for mutant in MUTANTS if not mutant.rare], ids=lambda mutant: mutant.name)
def test_a_break_of_the_algorithm_is_caught(mutant: Mutant) -> None:
    assert hunt(mutant, OFTEN_CAUGHT_WITHIN) is not None


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", [mutant for mutant in MUTANTS if mutant.rare], ids=lambda mutant: mutant.name)
def test_a_rarely_harmful_break_of_the_algorithm_is_caught(mutant: Mutant) -> None:
    assert hunt(mutant, MUTANT_SEEDS) is not None


def test_a_world_where_nothing_happens_is_at_rest() -> None:
    world = World(MODES["calm"], 1)
    world.finish()
    assert {site.disk.tables.identity.genesis for site in world.sites.values()} == {True}
