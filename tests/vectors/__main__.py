"""Play the vectors of a directory: a line for each file, and the verdict in the last one."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.vectors.playing import VectorsUnusable, play

SHOWN = 5
"""Failed cases of a file that are told; the others are only counted."""


def main(arguments: list[str]) -> int:
    """Play, tell, count."""
    directory = Path(arguments[0]) if arguments else Path(__file__).parent
    try:
        outcomes = play(directory)
    except VectorsUnusable as error:
        print(f"vectors: {error}", file=sys.stderr)
        return 1
    for outcome in outcomes:
        print(f"{outcome.file}: {outcome.passed} passed, {len(outcome.failed)} failed")
        for case, why in outcome.failed[:SHOWN]:
            print(f"    {case}: {why}")
    failed = sum(len(outcome.failed) for outcome in outcomes)
    print(f"{sum(outcome.passed for outcome in outcomes)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
