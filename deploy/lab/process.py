"""One server process that is known by a file: started once, found again, signalled by its own id and nobody else's.

A process id alone may be reused by the kernel; together with the start time that ``/proc`` shows it is unique. Both are
kept in a file, so that a later run finds what an earlier one started.
"""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from deploy.lab.leash import SAME_USER
from syncer.waiting import LIVING, WAIT_S, NeedEnded, wait_until

POLL_S: Final = 0.05
STOP_GRACE_S: Final = 60.0

LAST_LINES: Final = 15

FAVOUR: Final = -10
"""Of what is favoured, as a nice value."""

_STOPPED: Final = frozenset("TtXZ")
"""Letters of threads that run no more: stopped, traced, dead."""

_LEASH: Final = Path(__file__).with_name("leash.py")

# The kernel ties a leashed process to the *thread* that started it, so all of them start from one that never ends.
_STARTER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lab-starter")


class ServerFailed(Exception):
    """A server did not come up, ended by itself, or did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run.

    ``environment`` is laid over this process's own; an empty value removes the variable. ``user`` is the account to run
    as, where it is not this process's own; only root may name one. What is ``favoured`` comes before others where the
    processor is busy, as far as this user may give it that: a server whose sessions end while it gets no turn.
    """

    words: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    favoured: bool = False

    def full_environment(self) -> dict[str, str]:
        """The environment of the new process."""
        merged = {**os.environ, **self.environment}
        return {name: value for name, value in merged.items() if value or name not in self.environment}


class ServerProcess:
    """A server process with its log and its pid file.

    Args:
        name: Names the process, its log and its pid file inside ``directory``.
        directory: Where ``logs/`` and ``pids/`` are kept.
        leashed: End the server when this program ends; otherwise it runs until it is stopped.
    """

    def __init__(self, *, name: str, directory: Path, leashed: bool) -> None:
        self.name = name
        self.log_file = directory / "logs" / f"{name}.log"
        self._pid_file = directory / "pids" / f"{name}.json"
        self._leashed = leashed
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, command: Command) -> None:
        """Start it, unless it runs already; from now on each wait of this program ends when it ends by itself."""
        if self.pid() is not None:
            LIVING.add(self)
            return
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        self._pid_file.parent.mkdir(parents=True, exist_ok=True)
        self._child = _STARTER.submit(self._spawn, command).result()
        self._pid_file.write_text(json.dumps({"pid": self._child.pid, "started": start_time(self._child.pid)}))
        LIVING.add(self)

    def pid(self) -> int | None:
        """Its process id while it runs, else ``None``."""
        if self._child is not None:
            self._child.poll()
        try:
            known = json.loads(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        started = start_time(known["pid"])
        return int(known["pid"]) if started is not None and started == known["started"] else None

    @property
    def own(self) -> bool:
        """Whether this program has started it and not yet seen its end."""
        return self._child is not None

    def stop(self, *, by: signal.Signals = signal.SIGTERM, grace_s: float = STOP_GRACE_S) -> None:
        """Ask it to end, and kill it when it has not ended after ``grace_s`` seconds."""
        self._end(by, grace_s)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a power loss would."""
        self._end(signal.SIGKILL, STOP_GRACE_S)

    def pause(self) -> None:
        """Freeze it (SIGSTOP): connections stay open, nothing answers."""
        pid = self.pid()
        if pid is not None:
            freeze(pid)

    def resume(self) -> None:
        """Let it go on after :meth:`pause`."""
        self._signal(signal.SIGCONT)

    def wait_until(self, ready: Callable[[], bool], *, what: str = "is ready", within_s: float = WAIT_S) -> None:
        """Poll ``ready`` until it is true.

        Args:
            ready: The state.
            what: The state, for the message, behind the name of the process.
            within_s: The deadline.

        Raises:
            ServerFailed: The process ended; the message ends with the last lines of its log.
            WaitFailed: It was not ready in time, or another process ended.
        """
        try:
            wait_until(ready, f"{self.name} {what}", within_s=within_s, needs=(self,))
        except NeedEnded as exc:
            how = self.ended()
            if how is None:
                raise
            LIVING.let_go(self)
            raise ServerFailed(f"{self.name} ended at start: {how}") from exc

    def ended(self) -> str | None:
        """Return how it ended, with the end of its log; ``None`` while it runs."""
        if self.pid() is not None:
            return None
        status = self._child.poll() if self._child is not None else None
        return f"status {'unknown' if status is None else status}; its log ({self.log_file}):\n{self.last_words()}"

    def last_words(self, lines: int = LAST_LINES) -> str:
        """Return the last lines of its log."""
        return last_lines(self.log_file, lines)

    def _spawn(self, command: Command) -> subprocess.Popen[bytes]:
        user = command.user
        leash = (sys.executable, "-S", "-E", str(_LEASH), str(os.getpid()), user or SAME_USER) if self._leashed else ()
        with self.log_file.open("ab") as log:
            child = subprocess.Popen(
                (*leash, *command.words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=command.directory,
                env=command.full_environment(),
                start_new_session=True,
                user=None if self._leashed else user,
                group=None if self._leashed or user is None else pwd.getpwnam(user).pw_gid,
                extra_groups=None if self._leashed or user is None else (),
            )
        share_processor(child.pid, FAVOUR if command.favoured else os.nice(0))
        return child

    def _signal(self, number: signal.Signals) -> None:
        pid = self.pid()
        if pid is not None:
            os.kill(pid, number)

    def _end(self, number: signal.Signals, grace_s: float) -> None:
        LIVING.let_go(self)
        self._signal(number)
        if number is not signal.SIGKILL:
            self._signal(signal.SIGCONT)  # a frozen process would not see the request to end
        deadline = time.monotonic() + grace_s
        while self.pid() is not None:
            if time.monotonic() > deadline:
                self._signal(signal.SIGKILL)
            time.sleep(POLL_S)
        if self._child is not None:
            self._child.wait(timeout=grace_s)  # it has ended; this only takes it out of the kernel's table
            self._child = None
        self._pid_file.unlink(missing_ok=True)


def share_processor(leader: int, nice: int) -> None:
    """Give the session of a process that has just begun its share of the processor, as far as this user may.

    A kernel with groups by session (``sched_autogroup_enabled``) weighs these first, and a new one is as heavy as any:
    what a process of low priority starts would be as heavy as a server.
    """
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, leader, nice)
    with suppress(OSError):
        Path(f"/proc/{leader}/autogroup").write_text(str(nice), encoding="ascii")


def last_lines(log: Path, lines: int = LAST_LINES) -> str:
    """Return the last lines of a log."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log)"


def start_time(pid: int) -> str | None:
    """When a process started, in the kernel's own ticks; ``None`` when it does not run (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rsplit(")", 1)[1].split()
    return None if fields[0] == "Z" else fields[19]


def freeze(*pids: int) -> None:
    """Stop processes (SIGSTOP) and wait until every thread of each has: the kernel takes its time on a busy machine.

    Raises:
        WaitTimedOut: One of them goes on.
    """
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(_threads(pid) <= _STOPPED for pid in pids), f"processes {pids} are stopped")


def _threads(pid: int) -> set[str]:
    """States of a process's threads, by the kernel's letters; none when it has ended."""
    states = set()
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            states.add(stat.read_text().rsplit(")", 1)[1].split()[0])
    return states


def resident_bytes(pid: int) -> int:
    """Memory that a process holds now; 0 when it does not run."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0)
