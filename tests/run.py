"""Run a target of ``tests/suites.toml``, print each step's output, and end with a verdict from real counts.

Only the standard library is imported: the first suite makes the environment that the others run in.

Steps of different tracks run at the same time. A step's output is kept and printed when it has ended. The last line is
``tests: P passed, F failed``. A pytest step counts its test cases; a command that counts by itself counts as its last
line says, ``P passed, F failed``; any other step counts as one. A step that fails without a failed case (nothing
collected, a crash, the deadline) counts as one failure. The exit status is 0 when at least one passed and none failed.

A run that exceeds the limit of its target has every process write its stacks, ends them, and gives its verdict.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.suites import (
    REPOSITORY,
    Limit,
    Report,
    Rules,
    Step,
    Suite,
    Target,
    chosen,
    good,
    judged,
    load,
    render,
    unsteady,
)
from tests.support.children import children

BIN: Final = REPOSITORY / ".venv" / "bin"
LOOK_S: Final = 0.1
"""How often the run looks whether a step has ended."""
SAY_EVERY_S: Final = 60.0
GRACE_S: Final = 20.0
"""How long an ended step may take to clean up before it is killed."""
STACKS_S: Final = 2.0
"""How long processes get to write their stacks."""
PLAYS_ALONE: Final = 2
SLOWEST: Final = ("--durations=8", "--durations-min=5")
BACKGROUND: Final = "work"
"""The track of what only works: it yields to the tracks that wait for servers as long as one of these is there."""
PR_SET_CHILD_SUBREAPER: Final = 36
YIELDS: Final = 5
"""By how much, as a nice value."""
IN_MEMORY: Final = Path("/dev/shm")
ROOM_BYTES: Final = 10 << 30
"""Files of the run are kept in memory where so much of it is free: most of them are databases, which wait for disks."""


class Interrupts:
    """SIGTERM ends a run as Ctrl-C does; both wait while a step is being started, so that none outlives the run."""

    def __init__(self) -> None:
        self._held = False
        self._waits = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Raise ``KeyboardInterrupt`` at either signal."""
        before = {number: signal.signal(number, self._come) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raise it at the end of this, when it comes meanwhile."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._waits:
            raise KeyboardInterrupt

    def _come(self, _number: int, _frame: object) -> None:
        if not self._held:
            raise KeyboardInterrupt
        self._waits = True


INTERRUPTS: Final = Interrupts()


@dataclass(frozen=True, slots=True)
class Planned:
    """A step and the name of its suite."""

    suite: str
    step: Step

    def __str__(self) -> str:
        return f"{self.suite}: {self.step.name}"


class RunningStep:
    """A step under way, in a session of its own; its output goes to a file.

    Args:
        planned: The step.
        rules: How to judge.
        yields: It takes less of the processor than what runs beside it, until :meth:`take_its_share`.
        servers: The folder of the clusters of the run.
    """

    def __init__(self, planned: Planned, rules: Rules, *, yields: bool = False, servers: Path | None = None) -> None:
        self.planned, self._rules, self._yields = planned, rules, yields
        self._began_s = time.monotonic()
        self._ended = ExitStack()
        scratch = Path(self._ended.enter_context(tempfile.TemporaryDirectory(prefix="suites-")))
        self._junit, self._said, self._stacks = scratch / "junit.xml", scratch / "said", scratch / "stacks"
        self._stacks.mkdir()
        self._command = _command(planned.step, self._junit, rules)
        shared = {"TEST_SERVERS": str(servers)} if planned.step.shares else {}
        self._status: int | None = None
        self._cpu_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        with ExitStack() as unfinished:
            unfinished.callback(self.close)
            with INTERRUPTS.held(), self._said.open("wb") as output:
                try:
                    self._process = subprocess.Popen(
                        self._command,
                        cwd=REPOSITORY,
                        env={**_environment(rules, self._stacks), **shared},
                        start_new_session=True,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        stdin=subprocess.DEVNULL,
                    )
                except OSError as exc:
                    output.write(f"{self._command[0]}: {exc.strerror}\n".encode())
                    self._status = 127
                else:
                    LEADERS.add(self._process.pid)
                    self._ended.callback(self.end)
                    if yields:
                        _set_nice(self._process.pid, os.nice(0) + YIELDS)
            unfinished.pop_all()

    def over(self) -> bool:
        """Return whether it has ended; never waits."""
        if self._process is None or self._process.returncode is not None:
            return True
        with INTERRUPTS.held():
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if pid == 0:
                return False
            self._status = self._process.returncode = os.waitstatus_to_exitcode(status)
            self._cpu_s = usage.ru_utime + usage.ru_stime
            LEADERS.discard(self._process.pid)
        return True

    def settle(self) -> None:
        """Count the time of what it has left behind."""
        if self._process is not None:
            ORPHANS.bury(LEADERS)
            self._cpu_s += ORPHANS.worked_s(self._process.pid)

    def take_its_share(self) -> None:
        """Take the processor as everything else does from now on."""
        if self._yields and self._process is not None and self._process.returncode is None:
            _set_nice(self._process.pid, os.nice(0))
        self._yields = False

    def write_stacks(self) -> None:
        """Have each process of the session that knows how write its stacks."""
        if self._process is not None and self._process.returncode is None:
            for pid in _session(self._process.pid):
                if _handles(pid, signal.SIGUSR1):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGUSR1)

    def end(self) -> None:
        """End it with its process group, if it still runs: first by asking, then by force."""
        if self._process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.over():
                return
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            deadline = time.monotonic() + GRACE_S
            while not self.over() and time.monotonic() < deadline:
                time.sleep(LOOK_S)

    def report(self, *, in_time: bool = True) -> Report:
        """Print what it said, and return what it came to.

        Args:
            in_time: It ended by itself.
        """
        took_s = time.monotonic() - self._began_s
        self.settle()
        text = self.said()
        stacks = "".join(f"stacks of process {file.stem}:\n{file.read_text()}" for file in _written(self._stacks))
        print(f"\n=== {self.planned}\n$ {shlex.join(self._command)}\n{text}{stacks}", end="", flush=True)
        print(f"=== {self.planned}: {took_s:.1f} s, {self._cpu_s:.1f} s of the processor", flush=True)
        status = self._status if in_time else None
        outcome = judged(self.planned.step, status, self._junit, self._rules, text.splitlines())
        self.close()
        suite, step = self.planned.suite, self.planned.step
        return Report(suite=suite, step=step, outcome=outcome, minutes=took_s / 60, cpu_minutes=self._cpu_s / 60)

    def said(self) -> str:
        """Return its output so far."""
        return self._said.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End it, if it still runs, and delete its files."""
        self._ended.close()


def _command(step: Step, junit: Path, rules: Rules) -> list[str]:
    if step.run:
        return [part.format(bin=BIN) for part in step.run]
    form = [*SLOWEST] if rules.long else [*SLOWEST, "-m", "not slow"]
    return [str(BIN / "python"), "-m", "pytest", "-q", "--no-header", f"--junitxml={junit}", *form, *step.pytest]


def _environment(rules: Rules, stacks: Path) -> dict[str, str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a run starts hundreds of processes: each would compile anew
    form = "long" if rules.long else "short"
    return {**environment, "TEST_FORM": form, "TEST_SEED": str(rules.seed), "TEST_STACKS": str(stacks)}


def _written(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.stat().st_size)


def _session(leader: int) -> list[int]:
    """List the processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError, ValueError):
            if int(stat.read_text().rsplit(")", 1)[1].split()[3]) == leader:
                found.append(int(stat.parent.name))
    return found


def _handles(pid: int, number: int) -> bool:
    """Return whether a process handles a signal; one that does not would be ended by it."""
    with suppress(OSError, StopIteration, ValueError):
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        caught = next(line for line in status if line.startswith("SigCgt:"))
        return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
    return False


class Orphans:
    """Processes that steps leave behind: the run adopts them, buries those that have ended, and counts their time.

    A parallel pytest run does not wait for its workers, so nobody else counts theirs.
    """

    def __init__(self) -> None:
        self._worked_s: dict[int, float] = {}

    def adopt(self) -> None:
        """Have the kernel give them to this process from now on, where it can."""
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def bury(self, leaders: Collection[int]) -> None:
        """Bury those that have ended; ``leaders`` are the steps, which are waited for elsewhere."""
        for pid in children():
            with suppress(OSError, IndexError, ValueError):
                state, _, _, session = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:4]
                if pid not in leaders and state == "Z":
                    usage = os.wait4(pid, os.WNOHANG)[2]
                    worked_s = usage.ru_utime + usage.ru_stime
                    self._worked_s[int(session)] = self._worked_s.get(int(session), 0.0) + worked_s

    def worked_s(self, leader: int) -> float:
        """Return how long those of a step worked that were buried since this was asked last."""
        return self._worked_s.pop(leader, 0.0)


ORPHANS: Final = Orphans()
LEADERS: Final[set[int]] = set()
"""Process ids of the steps under way."""


def _may_raise_priority() -> bool:
    """Return whether a nice value can be taken back; otherwise none is set."""
    return os.geteuid() == 0


def _set_nice(leader: int, nice: int) -> None:
    for pid in _session(leader):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, nice)
    with suppress(OSError):  # where a kernel shares out time by session first, this sets the session's share
        Path(f"/proc/{leader}/autogroup").write_text(str(nice), encoding="ascii")


def run_step(step: Step, *, rules: Rules, suite: str = "step") -> Report:
    """Run one step to its end, with nothing beside it."""
    running = RunningStep(Planned(suite, step), rules)
    try:
        while not running.over():
            time.sleep(LOOK_S)
            ORPHANS.bury(LEADERS)
        return running.report()
    finally:
        running.close()


@contextmanager
def place_of_files() -> Iterator[None]:
    """Give the steps a folder for temporary files, in memory where it has room; a ``TMPDIR`` of the user's stays."""
    if "TMPDIR" in os.environ or not _roomy():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="tests-", dir=IN_MEMORY, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o1777)  # servers and tests run as several users
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield
        finally:
            del os.environ["TMPDIR"]
            tempfile.tempdir = None


def _roomy() -> bool:
    with suppress(OSError, ValueError, StopIteration):
        held = os.statvfs(IN_MEMORY)
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
        mounts = (line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines())
        kind = next((kind, options.split(",")) for _, where, kind, options, *_ in mounts if where == str(IN_MEMORY))
        usable = kind[0] == "tmpfs" and "noexec" not in kind[1] and os.access(IN_MEMORY, os.W_OK)
        return usable and min(free, held.f_bavail * held.f_frsize) > ROOM_BYTES
    return False


class Run:
    """One run of a target.

    Args:
        suites: What to run.
        rules: How to judge.
        limit: After how many minutes it ends itself.
        servers: The command that keeps the clusters of the run.
    """

    def __init__(self, suites: Sequence[Suite], rules: Rules, limit: Limit, servers: Sequence[str]) -> None:
        planned = [Planned(suite.name, step) for suite in suites for step in suite.steps]
        self._essential = [each for each in planned if each.step.essential]
        self._alone = [each for each in planned if each.step.alone]
        self._tracks: dict[str, list[Planned]] = {}
        for each in planned:
            if not (each.step.essential or each.step.alone):
                self._tracks.setdefault(each.step.track, []).append(each)
        self._running: dict[str, RunningStep] = {}
        self._shares = any(each.step.shares for each in planned)
        self._servers = Step(name="servers", run=(*servers,))
        self._folder: Path | None = None
        self._keeper: RunningStep | None = None
        self._rules, self._limit = rules, limit
        self._began_s = self._said_s = time.monotonic()
        self._planned = len(planned)
        self.reports: list[Report] = []

    @property
    def minutes(self) -> float:
        """So far."""
        return (time.monotonic() - self._began_s) / 60

    @property
    def complete(self) -> bool:
        """Whether every step was run to its end."""
        return len(self.reports) == self._planned

    def play(self) -> None:
        """Run the essential steps, then all tracks, then what runs alone; nothing more after an essential failure."""
        try:
            for each in self._essential:
                if not self._tracks_through({"": [each]}) or self.reports[-1].outcome.essential:
                    return
            with self._servers_kept():
                if not self._tracks_through(self._tracks):
                    return
            self._tracks_through({"": self._alone})
        finally:
            for running in self._running.values():
                running.close()

    @contextmanager
    def _servers_kept(self) -> Iterator[None]:
        """Have the clusters of the run come up while the first steps work, and end them on leaving at the latest."""
        if not self._shares:
            yield
            return
        with tempfile.TemporaryDirectory(prefix="servers-") as folder:
            self._folder = Path(folder)
            step = replace(self._servers, run=(*self._servers.run, folder))
            self._keeper = RunningStep(Planned("run", step), self._rules)
            try:
                yield
            finally:
                self._end_servers()

    def _end_servers(self) -> None:
        """End the clusters of the run, if they still run: an idle broker takes a tenth of a core."""
        if self._keeper is not None:
            keeper, self._keeper = self._keeper, None
            keeper.end()
            print(keeper.said(), end="", flush=True)
            keeper.close()

    def play_suspects(self) -> dict[str, bool]:
        """Play each test whose wait ran out while starvation was measured twice more, alone.

        Returns:
            Id of the test → whether both passed.
        """
        suspects = [(report, each) for report in self.reports for each in report.outcome.suspects]
        found: dict[str, bool] = {}
        for report, suspect in suspects:
            print(
                f"\n=== {suspect.test}: its wait ran out while starvation was measured; it is played alone", flush=True
            )
            step = Step(name="alone", pytest=(suspect.test,))
            plays = [run_step(step, rules=self._rules, suite=report.suite).outcome for _ in range(PLAYS_ALONE)]
            found[suspect.test] = all(play.passed and not play.failed for play in plays)
        return found

    def _tracks_through(self, tracks: dict[str, list[Planned]]) -> bool:
        """Run tracks side by side; ``False``: the run had to be ended at its limit."""
        while any(tracks.values()) or self._running:
            for name, waiting in tracks.items():
                if waiting and name not in self._running:
                    yields = name == BACKGROUND and self._others(tracks) and _may_raise_priority()
                    self._running[name] = RunningStep(waiting.pop(0), self._rules, yields=yields, servers=self._folder)
            time.sleep(LOOK_S)
            ORPHANS.bury(LEADERS)
            for name in [name for name, each in self._running.items() if each.over()]:
                self.reports.append(self._running.pop(name).report())
            if not self._sharing(tracks):
                self._end_servers()
            if BACKGROUND in self._running and not self._others(tracks):
                self._running[BACKGROUND].take_its_share()
            if self.minutes > self._limit.ends_after:
                self._end_at_limit()
                return False
            self._say()
        return True

    def _others(self, tracks: dict[str, list[Planned]]) -> bool:
        return any(name != BACKGROUND and (waiting or name in self._running) for name, waiting in tracks.items())

    def _sharing(self, tracks: dict[str, list[Planned]]) -> bool:
        waiting = (each for track in tracks.values() for each in track)
        return any(each.step.shares for each in (*waiting, *(running.planned for running in self._running.values())))

    def _end_at_limit(self) -> None:
        names = ", ".join(str(each.planned) for each in self._running.values())
        print(f"\n=== the run has exceeded {self._limit.ends_after:g} minutes and ends; under way: {names}", flush=True)
        for each in self._running.values():
            each.write_stacks()
        time.sleep(STACKS_S)
        for name in list(self._running):
            each = self._running.pop(name)
            each.end()
            self.reports.append(each.report(in_time=False))

    def _say(self) -> None:
        now_s = time.monotonic()
        if now_s - self._said_s >= SAY_EVERY_S:
            self._said_s = now_s
            names = ", ".join(str(each.planned) for each in self._running.values())
            print(f"--- {self.minutes:.0f} minutes; under way: {names}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a target, or the named suites of it."""
    parser = argparse.ArgumentParser(description="Run the test suites and print what each came to.")
    parser.add_argument("suites", nargs="*", help="names of tests/suites.toml; all of the target when none is given")
    parser.add_argument("--target", choices=list(Target), type=Target, default=Target.ALL, help="what to run (all)")
    parser.add_argument("--seed", type=int, help="of the order of tests and of random data; drawn when not given")
    parser.add_argument(
        "--file", type=Path, default=REPOSITORY / "tests" / "suites.toml", help="another table of suites"
    )
    options = parser.parse_args(arguments)
    table = load(options.file)
    try:
        suites = chosen(table, options.target, options.suites)
    except ValueError as exc:
        parser.error(str(exc))
    rules = Rules(
        ci=os.environ.get("CI") == "true",
        target=options.target,
        allowed_skips=table.allowed_skips,
        seed=random.SystemRandom().randrange(2**32) if options.seed is None else options.seed,
    )
    limit = table.limits[options.target]
    print(f"=== target {rules.target}, seed {rules.seed} (again: SEED={rules.seed})", flush=True)
    ORPHANS.adopt()
    with INTERRUPTS.heard(), place_of_files():
        run = Run(suites, rules, limit, table.servers)
        run.play()
        reports = run.reports
        if rules.ci and run.complete and any(report.outcome.suspects for report in reports):
            reports, found = unsteady(reports, run.play_suspects())
            for each in found:
                print(f"\n=== unsteady: {each.test}; the trace of its failure:\n{each.trace}", flush=True)
    text = render(
        reports, target=rules.target, limit=limit, minutes=run.minutes, seed=rules.seed, complete=run.complete
    )
    print(text, flush=True)
    return 0 if good(reports) and run.complete else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
