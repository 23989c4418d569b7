"""The whole proof in one command: schedules of both tiers, the laws, and the check that the proof itself can fail.

``python -m tests.simulation.proof [--core 20000] [--shell 1000]`` ends with a line
``N schedules, 0 broken; M of M breaks caught``; its exit status says whether that, the laws and the coverage hold.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import chain

from tests.simulation.__main__ import missing_from
from tests.simulation.campaign import Tally, Tier, errands, run
from tests.simulation.coverage import table
from tests.simulation.faults import MODES
from tests.simulation.mutants import MUTANTS, hunt_all

REPORT_S = 60.0
MUTANT_SEEDS = 400


def main() -> int:
    """Prove, or say what does not hold."""
    options = _options()
    modes = list(MODES)
    started = time.monotonic()
    laws = _laws(options.processes)
    print(f"the laws of the core: {'hold' if laws else 'BROKEN'}, {time.monotonic() - started:.0f} s", flush=True)
    caught = hunt_all(MUTANTS, MUTANT_SEEDS, processes=options.processes)
    print(f"breaks hunted, {time.monotonic() - started:.0f} s", flush=True)
    work = chain(
        errands(Tier.SHELL, modes, options.start, options.shell), errands(Tier.CORE, modes, options.start, options.core)
    )
    tally = run(work, processes=options.processes, told=_reporting(started, options.core + options.shell))
    print(table(tally.met_anywhere, tally.schedules()))
    for each in tally.broken:
        print(each)
    for each in tally.broken[:3]:
        print(each.shrunk())
    missing = missing_from(tally)
    for name in missing:
        print(f"NEVER MET: {name}")
    print(
        f"{time.monotonic() - started:.0f} s; {tally.schedules(Tier.CORE)} schedules on the core tier, "
        f"{tally.schedules(Tier.SHELL)} on the shell tier; the laws {'hold' if laws else 'are BROKEN'}; "
        f"{len(missing)} faults or branches never met"
    )
    print(f"{tally.schedules()} schedules, {len(tally.broken)} broken; {caught} of {len(MUTANTS)} breaks caught")
    return 0 if laws and not tally.broken and not missing and caught == len(MUTANTS) else 1


def _laws(processes: int) -> bool:
    """The property tests with more examples than in every run, and the numbered schedules."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(processes), "tests/property"]
    command.append("tests/simulation/test_schedules.py")
    return subprocess.run(command, check=False, env={**os.environ, "HYPOTHESIS_PROFILE": "proof"}).returncode == 0


def _reporting(started: float, total: int) -> Callable[[Tally], None]:
    last = time.monotonic()

    def told(tally: Tally) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_S:
            last = time.monotonic()
            took = last - started
            print(f"{tally.schedules()} of {total} schedules, {len(tally.broken)} broken, {took:.0f} s", flush=True)

    return told


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.proof", description=__doc__)
    parser.add_argument("--core", type=int, default=20_000, help="schedules of the core tier")
    parser.add_argument("--shell", type=int, default=1_000, help="schedules of the shell tier")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=2, help="how many play at once")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
