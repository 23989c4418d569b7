"""One region of the group under attack, as a process: the daemon as it is, but that it compares and looks more often.

What takes minutes between regions takes a moment here, so that healing can be shown after each attack.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from deploy.lab.leash import PR_SET_PDEATHSIG
from syncer import running
from syncer.config import load
from syncer.log import configure
from syncer.replication.antientropy import exchanges, part
from syncer.replication.antientropy.exchanges import Pace
from syncer.replication.runtime import bus_loop, loops

TICK_S: Final = 0.2
IDLE_S: Final = 0.05
BEATS: Final = 2
PAUSE_MS: Final = 300
PATIENCE_MS: Final = 5_000
LONGEST_MS: Final = 1_000
_FORGE: Final = multiprocessing.get_context("forkserver")


def hasten() -> None:
    """Tick, tell and compare about ten times as often."""
    loops.TICK_S = TICK_S  # type: ignore[misc]  # final for the product
    bus_loop.IDLE_S = IDLE_S  # type: ignore[attr-defined]  # likewise, where it was imported
    exchanges.WAITING_BEATS = BEATS  # type: ignore[misc]  # likewise
    pace = partial(Pace, pause_ms=PAUSE_MS, patience_ms=PATIENCE_MS, longest_ms=LONGEST_MS)
    part.Pace = pace  # type: ignore[assignment,attr-defined]  # each daemon makes its own


def start(config: Path, log: Path) -> BaseProcess:
    """Start the daemon of a configuration in a process of its own."""
    return leashed(_run, str(config), str(log))


def leashed(work: Callable[..., None], *arguments: object) -> BaseProcess:
    """Start a process, forked from one that has loaded the program; it ends when this one does."""
    _FORGE.set_forkserver_preload([__name__, "tests.hostile.commands", "syncer.surface"])
    process = _FORGE.Process(target=_on_leash, args=(work, *arguments), daemon=True)
    process.start()
    return process


def _on_leash(work: Callable[..., None], *arguments: object) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    work(*arguments)


def _run(config: str, log: str) -> None:
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(written, stream.fileno())
    hasten()
    settings = load(Path(config))
    configure(level=settings.log.level, form="json")
    running.run(settings, Path(config))
