"""Run one bench: ``python -m tests.bench NAME [--quick]``; the exit status says whether all its bars hold.

``--against COMMIT`` measures the tree of another commit too, by turns, and holds this tree's costs against it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from syncer.log import configure
from tests.bench import against, anti_entropy, api, balance, diff, ledgers, migration, read, sync, topic_policies

BENCHES = {
    "anti-entropy": anti_entropy.run,
    "api": api.run,
    "balance": balance.run,
    "diff": diff.run,
    "ledgers": ledgers.run,
    "migration": migration.run,
    "read": read.run,
    "sync": sync.run,
    "topic-policies": topic_policies.run,
}
OUT = Path("bench-out")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure against the named peer.")
    parser.add_argument("name", choices=sorted(BENCHES))
    parser.add_argument("--quick", action="store_true", help="smaller counts, for a look while working")
    parser.add_argument("--against", metavar="COMMIT", help="measure the tree of this commit too, by turns")
    parser.add_argument("--pairs", type=int, default=against.PAIRS, help="runs of each tree (%(default)s)")
    arguments = parser.parse_args()
    configure(level="warning", form="console")
    if arguments.against:
        held = against.run(arguments.name, arguments.against, OUT, pairs=arguments.pairs, quick=arguments.quick)
        return 0 if held else 1
    return 0 if BENCHES[arguments.name](OUT, quick=arguments.quick) else 1


if __name__ == "__main__":
    sys.exit(main())
