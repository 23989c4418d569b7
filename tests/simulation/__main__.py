"""Play many seeds: ``python -m tests.simulation --seeds 1000 --start 0 [--mode storm]``; one seed tells its story."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.simulation.faults import MODES
from tests.simulation.world import play


def main() -> int:
    """Play, count, tell; the exit status says whether a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="seeds in all, dealt out to the modes")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--mode", choices=sorted(MODES), help="only this mode")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first broken seed")
    parser.add_argument("--story", action="store_true", help="tell everything that happened")
    options = parser.parse_args()
    modes = [options.mode] if options.mode else list(MODES)
    clean: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    started = time.monotonic()
    for seed in range(options.start, options.start + options.seeds):
        mode = modes[seed % len(modes)]
        try:
            world = play(mode, seed)
        except Exception as error:
            broken[mode] += 1
            print(f"BROKEN mode {mode} seed {seed}: {type(error).__name__}: {error}")
            if not options.keep_going:
                print("\n".join(getattr(error, "__notes__", [])))
                raise
            continue
        clean[mode] += 1
        faults.update(world.faults)
        if options.story:
            print(world.story.text)
    took = time.monotonic() - started
    for mode in modes:
        print(f"{mode:12} {clean[mode]:7} clean {broken[mode]:5} broken")
    print("faults:", ", ".join(f"{name} {count}" for name, count in sorted(faults.items())))
    print(f"{sum(clean.values()) + sum(broken.values())} schedules, {sum(broken.values())} broken, {took:.1f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
