"""Play many seeds; the exit status says whether a rule was broken, or a fault never occurred.

``python -m tests.simulation --seeds 4000 --shell 200 --processes 2`` plays a batch of both tiers and tells what it met.
``python -m tests.simulation --seed 17 --minutes 5`` goes on from a seed until the time is over. ``--tier``, ``--mode``
and ``--seed`` of a broken schedule play it again and tell its story.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain

from tests.simulation.campaign import PLAYS, Tally, Tier, errands, perform, run
from tests.simulation.coverage import BRANCHES, FAULTS, TOLD, TORN, lacking, table
from tests.simulation.faults import MODES

ENOUGH = 2_000
"""Schedules of all modes that surely meet every fault and every branch; fewer may well not."""
ENOUGH_OF_A_TIER = 1_000
"""Schedules of one tier that meet every fault."""
ENOUGH_TORN = 200
"""Schedules of the shell tier that meet a torn transaction."""


def main() -> int:
    """Play, count, tell."""
    options = _options()
    modes = [options.mode] if options.mode else list(MODES)
    if options.seed is not None and options.mode and options.minutes is None:
        return _one(Tier(options.tier), options.mode, options.seed, story=options.story)
    start = options.start if options.seed is None else options.seed
    deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    endless = options.minutes is not None and options.seeds is None
    seeds = None if endless else options.seeds if options.seeds is not None else 1000
    work = chain(errands(Tier.SHELL, modes, start, options.shell), errands(Tier(options.tier), modes, start, seeds))
    started = time.monotonic()
    tally = run(work, processes=options.processes, deadline=deadline, keep_going=options.keep_going)
    for tier in Tier:
        for mode in modes:
            if number := tally.played[tier, mode]:
                bad = sum((each.tier, each.mode) == (tier, mode) for each in tally.broken)
                print(f"{tier:5} {mode:22} {number - bad:7} clean {bad:5} broken")
    print(table(tally.met_anywhere, tally.schedules()))
    for each in tally.broken:
        print(each)
    if tally.broken:
        print(tally.broken[0].shrunk())
    missing = missing_from(tally) if options.mode is None and tally.schedules() >= ENOUGH else []
    for name in missing:
        print(f"NEVER MET: {name}")
    took = time.monotonic() - started
    tiers = ", ".join(f"{tally.schedules(tier)} on the {tier} tier" for tier in Tier if tally.schedules(tier))
    print(f"{tally.schedules()} schedules, {len(tally.broken)} broken, {took:.1f} s ({tiers})")
    return 1 if tally.broken or missing or not tally.schedules() else 0


def missing_from(tally: Tally) -> list[str]:
    """Faults and branches that no schedule has met; each tier that is large enough must have met every fault."""
    missing = lacking(tally.met_anywhere, (*FAULTS, *TOLD, *BRANCHES))
    for tier in Tier:
        faults = FAULTS if tally.schedules(tier) >= ENOUGH_OF_A_TIER else {}
        if tier is Tier.SHELL and tally.schedules(tier) >= ENOUGH_TORN:
            faults = {**faults, **TORN}
        missing += [f"{name} (on the {tier} tier)" for name in lacking(tally.met[tier], faults) if name not in missing]
    return missing


def _one(tier: Tier, mode: str, seed: int, *, story: bool) -> int:
    tally = perform((tier, ((mode, seed),)))
    for each in tally.broken:
        print(each)
        print(each.shrunk())
        return 1
    played = PLAYS[tier](mode, seed).story
    if story:
        print(played.text)
    print(f"tier {tier}, mode {mode}, seed {seed}: clean, trace {played.trace}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, help="schedules of all modes in turn (1000; with --minutes: no end)")
    parser.add_argument("--shell", type=int, default=0, help="schedules of the shell tier before these")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--seed", type=int, help="first seed; with --mode only this one")
    parser.add_argument("--minutes", type=float, help="no schedule begins after so many minutes")
    parser.add_argument("--mode", choices=sorted(MODES), help="only this mode")
    parser.add_argument("--tier", choices=[str(tier) for tier in Tier], default=str(Tier.CORE), help="of --seeds")
    parser.add_argument("--processes", type=int, default=1, help="how many play at once")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first broken seed")
    parser.add_argument("--story", action="store_true", help="tell everything that happened in the one schedule")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
