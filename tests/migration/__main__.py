"""Play many schedules of faults; the exit status says whether anybody was harmed, or a trouble never happened.

``python -m tests.migration --seeds 5000 --processes 2`` plays all profiles in turn, and tells what each came to.
``--profile`` and ``--seed`` of a broken schedule play it again; ``--story`` tells all that happened in it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Final

from tests.migration.plays import LONG
from tests.migration.schedules.campaign import SUMS, Campaign, errands, play, run
from tests.migration.schedules.profiles import PROFILES
from tests.migration.schedules.troubles import TROUBLES

SEEDS: Final = 5_000 if LONG else 300
ENOUGH: Final = 400
"""Schedules of all profiles that surely meet every trouble; fewer may well not."""
ENDS: Final = ("closed", "rolled-back")
COLUMNS: Final = ("clean", "broken", *ENDS, *SUMS, "gap-s")


def main() -> int:
    """Play, count, tell; the last line says how many schedules passed."""
    options = _options()
    if options.seed is not None:
        return _one(options.profile, options.seed, story=options.story)
    profiles = [options.profile] if options.profile else list(PROFILES)
    began = time.monotonic()
    work = errands(profiles, options.start, options.seeds)
    found = run(work, processes=options.processes, keep_going=options.keep_going)
    print(_table(found))
    missing = [each.__name__ for each in TROUBLES if not found.met[each.__name__]]
    missing = missing if found.played >= ENOUGH and not options.profile else []
    for name in missing:
        print(f"FAIL {name} has never happened")
    for each in found.broken:
        print(each)
    failed = len(found.broken) + len(missing)
    print(f"{found.played} schedules in {time.monotonic() - began:.1f} s")
    print(f"{found.played - len(found.broken)} passed, {failed} failed")
    return 1 if failed or not found.played else 0


def _table(found: Campaign) -> str:
    """A row for each profile, and how often each trouble has happened."""
    rows = [_row("", COLUMNS)]
    for name, tally in found.tallies.items():
        broken = sum(each.profile == name for each in found.broken)
        ends, sums = (tally.ends[each] for each in ENDS), (tally.sums[each] for each in SUMS)
        cells = tally.played - broken, broken, *ends, *sums, f"{tally.longest_gap_ms / 1000:.1f}"
        rows.append(_row(name, cells))
    met = ", ".join(f"{name} {times}" for name, times in sorted(found.met.items()))
    return "\n".join([*rows, f"in so many schedules: {met}"])


def _row(name: str, cells: Sequence[object]) -> str:
    columns = (f"{cell:>{max(len(head), 6) + 2}}" for head, cell in zip(COLUMNS, cells, strict=True))
    return f"{name:12}" + "".join(columns)


def _one(profile: str, seed: int, *, story: bool) -> int:
    outcome, schedule = play(profile, seed)
    if story:
        print(schedule.control.play.timeline.story)
        for event in schedule.control.journal.events:
            print(event)
    print(f"{profile}, seed {seed}: {outcome.ends}, {'; '.join(outcome.wrong) or 'nobody harmed'}")
    return 1 if outcome.wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.migration", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"schedules of all profiles in turn ({SEEDS})")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--profile", choices=sorted(PROFILES), help="only this one")
    parser.add_argument("--seed", type=int, help="with --profile only this schedule")
    parser.add_argument("--processes", type=int, default=1, help="how many play at once")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first that is broken")
    parser.add_argument("--story", action="store_true", help="tell everything that happened in the one schedule")
    options = parser.parse_args()
    if options.seed is not None and not options.profile:
        parser.error("--seed needs --profile")
    return options


if __name__ == "__main__":
    sys.exit(main())
