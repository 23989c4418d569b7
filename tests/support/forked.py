"""Regions as processes, each forked from one that has loaded the program: a start costs a tenth of a second, not four.

What runs is what ``python -m syncer.demo.region`` runs, in a process of its own with the environment, the folder and
the files that were given to it; it can be asked to end, killed and frozen as any other.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from deploy.lab.leash import PR_SET_PDEATHSIG
from deploy.lab.process import last_lines
from syncer.waiting import LIVING, WAIT_S

_FORGE: Final = multiprocessing.get_context("forkserver")
_LOADED: Final = (
    "syncer.demo.region",
    "syncer.bus.embedded",
    "syncer.state.migrations",
    "syncer.stores.sqlite",
    "syncer.stores.sqlite.store",
)


def leashed(work: Callable[..., None], *arguments: object, loaded: Sequence[str], daemon: bool = True) -> BaseProcess:
    """Start a process, forked from one that has loaded the program; it ends when this one does.

    Args:
        work: What it does.
        arguments: Of the work.
        loaded: Modules that are loaded when it begins.
        daemon: It makes no processes by :mod:`multiprocessing` itself, and is ended with this one in order.
    """
    _FORGE.set_forkserver_preload(list(loaded))
    process = _FORGE.Process(target=_on_leash, args=(work, *arguments), daemon=daemon)
    process.start()
    return process


def say_into(log: str) -> None:
    """Have this process write what it says into a file."""
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(written, stream.fileno())


def _on_leash(work: Callable[..., None], *arguments: object) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    work(*arguments)


class ForkedRegion:
    """One region's daemon; what :class:`subprocess.Popen` offers of a process, as far as it is asked for here.

    Each wait of this program ends when it ends, until it is let go.

    Args:
        arguments: Of ``python -m syncer.demo.region``.
        name: Of the region, for messages.
        log: Takes what it says.
    """

    def __init__(self, *arguments: str, name: str, log: Path) -> None:
        given = (arguments, str(log), dict(os.environ), str(Path.cwd()))
        self.name = f"the daemon of {name}"
        self._log = log
        self._process = leashed(_serve, *given, loaded=_LOADED, daemon=False)
        LIVING.add(self)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit status; ``None`` while it runs."""
        return self._process.exitcode

    def ended(self) -> str | None:
        """Return how it ended, with the end of its log; ``None`` while it runs."""
        status = self.poll()
        return None if status is None else f"status {status}; its log ({self._log}):\n{self.last_words()}"

    def last_words(self) -> str:
        """Return the last lines of its log."""
        return last_lines(self._log)

    def wait(self, timeout: float = WAIT_S) -> int:
        """Wait for its end: its exit status.

        Raises:
            subprocess.TimeoutExpired: It still runs.
        """
        LIVING.let_go(self)
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise subprocess.TimeoutExpired("syncer.demo.region", timeout)
        return status

    def kill(self) -> None:
        """End it at whatever instruction it is."""
        LIVING.let_go(self)
        self._process.kill()


def _serve(arguments: tuple[str, ...], log: str, environment: dict[str, str], folder: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    say_into(log)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    from syncer.demo.region import main

    main(list(arguments))
