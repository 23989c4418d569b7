"""One region of the group under attack, as a process: the daemon as it is, but that it compares and looks more often.

What takes minutes between regions takes a moment here, so that healing can be shown after each attack.
"""

from __future__ import annotations

from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from syncer import running
from syncer.config import load
from syncer.log import configure
from syncer.replication.antientropy import exchanges, part
from syncer.replication.antientropy.exchanges import Pace
from syncer.replication.runtime import bus_loop, loops
from tests.support.forked import leashed, say_into

TICK_S: Final = 0.4
IDLE_S: Final = 0.1
BEATS: Final = 2
PAUSE_MS: Final = 600
PATIENCE_MS: Final = 5_000
LONGEST_MS: Final = 1_500
LOADED: Final = (__name__, "tests.hostile.commands", "syncer.surface")
"""Modules that each process of an attack needs."""


def hasten() -> None:
    """Tick, tell and compare several times as often."""
    loops.TICK_S = TICK_S  # type: ignore[misc]  # final for the product
    bus_loop.IDLE_S = IDLE_S  # type: ignore[attr-defined]  # likewise, where it was imported
    exchanges.WAITING_BEATS = BEATS  # type: ignore[misc]  # likewise
    pace = partial(Pace, pause_ms=PAUSE_MS, patience_ms=PATIENCE_MS, longest_ms=LONGEST_MS)
    part.Pace = pace  # type: ignore[assignment,attr-defined]  # each daemon makes its own


def start(config: Path, log: Path) -> BaseProcess:
    """Start the daemon of a configuration in a process of its own."""
    return leashed(_run, str(config), str(log), loaded=LOADED)


def _run(config: str, log: str) -> None:
    say_into(log)
    hasten()
    settings = load(Path(config))
    configure(level=settings.log.level, form="json")
    running.run(settings, Path(config))
