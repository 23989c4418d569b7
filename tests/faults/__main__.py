"""Real faults on real servers: ``python -m tests.faults`` (the short form) or ``--minutes 30`` (the long form).

Starts real Pulsar clusters on ZooKeeper and etcd with a daemon beside each, lets outside writers work on their stores,
and strikes: the plan is drawn from the seed. At the end the referee reads what is left. The last line is the verdict;
the exit status is 0 when it is GREEN. Everything is started on free loopback ports and ends with this program.
"""

from __future__ import annotations

import argparse
import logging
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from syncer.log import configure
from tests.faults import plan, report
from tests.faults.disk import own_mounts
from tests.faults.runner import Outcome, Runner
from tests.faults.scene import CLUSTERS, Scene, Settings

SHORT_PILE = 4_000
LONG_PILE = 100_000
REST_EVERY_S = 300.0
SPREAD_OVER_MIN = 600
"""In a run of ten hours each writer rests a second: the referee holds all writes in memory, and all messages."""


def main() -> int:
    """Play, judge, report; the exit status says whether all was well."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--minutes", type=float, help="the long form, until so many minutes are over")
    parser.add_argument("--hours", type=float, help="likewise, in hours")
    parser.add_argument(
        "--seed", type=int, help="of the plan and the writers; not given: 1, or drawn for the long form"
    )
    parser.add_argument("--clusters", type=int, choices=range(2, len(CLUSTERS) + 1), help="2, or 3 in the long form")
    parser.add_argument("--pile", type=int, help=f"messages of a backlog ({SHORT_PILE}; long form {LONG_PILE})")
    parser.add_argument("--fault", action="append", help="only this step, as FAULT or FAULT@REGION; may be repeated")
    parser.add_argument("--report", type=Path, help="directory for report.json and report.html")
    parser.add_argument("--keep", type=Path, help="directory for everything, logs and stores; kept")
    options = parser.parse_args()
    mounted = own_mounts()
    configure(level="error", form="console")
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # that connections break is the purpose
    minutes = options.minutes if options.minutes is not None else (options.hours or 0) * 60
    drawn = random.SystemRandom().randrange(1_000_000) if minutes else 1
    seed = options.seed if options.seed is not None else drawn
    number = options.clusters or (3 if minutes else 2)
    settings = Settings(
        clusters=number,
        seed=seed,
        mounted=mounted,
        disk_mb=1024 if minutes else 256,
        pace_s=max(0.1, minutes / SPREAD_OVER_MIN),
    )
    names = tuple(name for name, _ in CLUSTERS[:number])
    pile = options.pile or (LONG_PILE if minutes else SHORT_PILE)
    if options.fault:
        steps = iter([plan.named(word, names, amount=pile) for word in options.fault])
    else:
        steps = (plan.long if minutes else plan.short)(seed, names, amount=pile)
    tell(f"seed {seed}, {number} clusters" + (f", {minutes:g} minutes" if minutes else ""))
    signal.signal(signal.SIGTERM, _interrupted)
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as scratch:
        directory = options.keep or Path(scratch)
        scene = Scene(directory, settings)
        try:
            runner = Runner(scene, tell, rest_every_s=REST_EVERY_S)
            outcome = runner.play(steps, until_s=minutes * 60 if minutes else float("inf"))
        finally:
            scene.close()
    _finish(outcome, options.report)
    return 0 if outcome.good else 1


def _finish(outcome: Outcome, directory: Path | None) -> None:
    if directory is not None:
        for place in report.write(outcome, directory):
            tell(f"report: {place}")
    if outcome.judgement is not None:
        for what, count in outcome.judgement.counts.items():
            tell(f"  {what:28}{count:9}")
        for path, lines in outcome.judgement.stories.items():
            tell(f"STORY of {path}")
            for line in lines:
                tell(f"    {line}")
        for broken in outcome.judgement.broken[:50]:
            tell(f"BROKEN {broken}")
    for trouble in outcome.trouble:
        tell(f"TROUBLE {trouble}")
    for played in outcome.steps:
        if played.failed:
            tell(f"NOT SEEN {played.step}: {played.failed}")
    print(outcome.verdict, flush=True)


_BEGAN = time.monotonic()


def tell(line: str) -> None:
    """Say something, with the seconds since the beginning."""
    print(f"{time.monotonic() - _BEGAN:7.1f} s  {line}", flush=True)


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
