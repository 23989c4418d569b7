"""Every play tells what it told when it was recorded: a change of the code that shall change no behaviour changes none.

The record is ``plays.txt``; :mod:`tests.simulation.facts` says what is told, and prints one play for a comparison.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.campaign import Tier
from tests.simulation.facts import recorded, tell
from tests.simulation.faults import MODES

RECORDED = recorded()
BEGINNINGS = [(tier, mode) for tier, mode, seed in RECORDED if not seed]
SAMPLE = 7
"""In the short form every so manieth of these is played."""


def check(tier: Tier, mode: str, seed: int) -> None:
    """A play tells what was recorded."""
    facts = tell(tier, mode, seed)
    assert facts.digest == RECORDED[tier, mode, seed], (
        f"tier {tier}, mode {mode}, seed {seed} acts otherwise than recorded: compare what "
        f"'python -m tests.simulation.facts --tier {tier} --mode {mode} --seed {seed}' prints here and before"
    )


@pytest.mark.parametrize(("tier", "mode"), BEGINNINGS[::SAMPLE])
def test_a_play_tells_what_was_recorded(tier: Tier, mode: str) -> None:
    check(tier, mode, 0)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", MODES)
def test_every_play_tells_what_was_recorded(mode: str) -> None:
    for tier, of, seed in RECORDED:
        if of == mode:
            check(tier, mode, seed)


@pytest.mark.parametrize("hashes", ["1", "2"])
def test_a_play_tells_the_same_in_another_process(hashes: str) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "tests.simulation.facts", "--mode", "storm", "--seed", "3"],
        env={**os.environ, "PYTHONHASHSEED": hashes},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert printed.splitlines()[-1] == RECORDED[Tier.CORE, "storm", 3]
