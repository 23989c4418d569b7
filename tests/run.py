"""Run the suites of ``tests/suites.toml``, print minutes per suite, and end with a verdict from real counts.

Only the standard library is imported: the first suite makes the environment that the others run in.

The last line is ``tests: P passed, F failed``. A pytest step counts its test cases; a command that counts by itself
counts as its last line says, ``P passed, F failed``; any other step counts as one. A step that fails without a failed
case (nothing collected, a crash, a deadline) counts as one failure. Exit status: 0 when at least one passed and none
failed, else 1.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.suites import (
    REPOSITORY,
    Outcome,
    Report,
    Rules,
    Step,
    Suite,
    good,
    judged,
    load,
    render,
)

BIN: Final = REPOSITORY / ".venv" / "bin"
DEADLINE_SHARES: Final = 4.0
"""A suite that runs longer than so many times its share is hung: its steps are ended."""
LOOK_S: Final = 0.2
"""How long an interrupt waits at most while a step runs."""
GRACE_S: Final = 20.0
"""How long an ended step may take to clean up before it is killed."""
SLOWEST: Final = ("--durations=8", "--durations-min=5")
"""Each pytest step tells what a share that is too small is spent on."""


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


def run_step(step: Step, *, deadline_s: float, rules: Rules) -> Outcome:
    """Run one step to its end, or to the deadline, with its output passed through."""
    with tempfile.TemporaryDirectory(prefix="suites-") as scratch:
        junit = Path(scratch) / "junit.xml"
        said: list[str] | None = [] if step.counts else None
        status = _call(_command(step, junit, rules), deadline_s=deadline_s, rules=rules, said=said)
        return judged(step, status, junit, rules, said)


class BesideRun:
    """A step that runs beside others, at the lowest priority: what it says is shown when it is waited for.

    Args:
        suite: Whose step it is.
        step: The step.
        rules: How to judge.
    """

    def __init__(self, suite: Suite, step: Step, rules: Rules) -> None:
        self.suite, self.step, self._rules = suite, step, rules
        self._ended = ExitStack()
        scratch = Path(self._ended.enter_context(tempfile.TemporaryDirectory(prefix="suites-")))
        self._junit, self._said = scratch / "junit.xml", scratch / "said"
        self._command = _command(step, self._junit, rules)
        with ExitStack() as unfinished:
            unfinished.callback(self.close)
            with INTERRUPTS.held(), self._said.open("wb") as output:
                self._process = subprocess.Popen(
                    ["nice", "-n", "19", *self._command],
                    cwd=REPOSITORY,
                    env=_environment(rules),
                    start_new_session=True,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
                self._ended.callback(_end, self._process)
            unfinished.pop_all()
        with suppress(OSError):  # where a kernel shares out time by session first: this one is the last, too
            Path(f"/proc/{self._process.pid}/autogroup").write_text("19", encoding="ascii")

    def outcome(self, deadline_s: float) -> Outcome:
        """Wait for its end, show what it said, and say what it came to."""
        print(f"\n=== {self.suite.name}: {self.step.name}, which ran beside others", flush=True)
        print(f"$ {shlex.join(self._command)}", flush=True)
        status = _waited(self._process, deadline_s)
        text = self._said.read_text(encoding="utf-8", errors="replace")
        print(text, end="", flush=True)
        found = judged(self.step, status, self._junit, self._rules, text.splitlines() if self.step.counts else None)
        self.close()
        return found

    def close(self) -> None:
        """End it, if it still runs."""
        self._ended.close()


def _command(step: Step, junit: Path, rules: Rules) -> list[str]:
    if step.run:
        return [part.format(bin=BIN) for part in step.run]
    form = [*SLOWEST] if rules.long else [*SLOWEST, "-m", "not slow"]
    return [str(BIN / "python"), "-m", "pytest", "-q", "--no-header", f"--junitxml={junit}", *form, *step.pytest]


def _environment(rules: Rules) -> dict[str, str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a run starts hundreds of processes: each would compile anew
    return {**environment, "TEST_FORM": "long" if rules.long else "short"}


def _call(command: Sequence[str], *, deadline_s: float, rules: Rules, said: list[str] | None = None) -> int | None:
    """Run a command in a process group of its own; ``None`` when it had to be ended at the deadline.

    Args:
        command: The command.
        deadline_s: How long it may take.
        rules: How to judge.
        said: Takes the lines of its output, which is passed through all the same; ``None``: nobody asks for them.
    """
    print(f"$ {shlex.join(command)}", flush=True)
    with ExitStack() as ended:
        try:
            with INTERRUPTS.held():
                process = subprocess.Popen(
                    command,
                    cwd=REPOSITORY,
                    env=_environment(rules),
                    start_new_session=True,
                    stdout=None if said is None else subprocess.PIPE,
                )
                ended.callback(_end, process)
        except OSError as exc:
            print(f"{command[0]}: {exc.strerror}", flush=True)
            return 127
        listener = threading.Thread(target=_pass_through, args=(process, said), daemon=True)
        listener.start()
        try:
            return _waited(process, deadline_s)
        finally:
            _end(process)
            listener.join(GRACE_S)


def _waited(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    """The exit status of a step; ``None`` when it has not ended in time.

    An interrupt that came in the middle of a wait would keep the lock of the process for ever, so that nobody sees it
    end any more: each comes between two short waits.
    """
    deadline = time.monotonic() + max(timeout_s, 0)
    while True:
        left_s = deadline - time.monotonic()
        with INTERRUPTS.held():
            try:
                return process.wait(timeout=max(min(left_s, LOOK_S), 0))
            except subprocess.TimeoutExpired:
                pass
        if left_s <= LOOK_S:
            return None


def _pass_through(process: subprocess.Popen[bytes], said: list[str] | None) -> None:
    """Print what a command says, and remember it."""
    if process.stdout is None:
        return
    with process.stdout as output:
        for line in output:
            text = line.decode("utf-8", "replace")
            print(text, end="", flush=True)
            if said is not None:
                said.append(text.rstrip("\n"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a step that still runs, with its process group: first by asking, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            continue


def run_suites(chosen: Sequence[Suite], rules: Rules) -> list[Report]:
    """Run suites in order; an essential step that fails ends it. What runs beside others counts for its own suite."""
    reports: dict[str, Report] = {}
    beside: list[BesideRun] = []
    with ExitStack() as ended:
        for suite in chosen:
            report, begun = run_suite(suite, rules, ended)
            reports[suite.name] = report
            beside += begun
            if report.outcome.essential:
                break
            last = suite is chosen[-1]
            for each in [found for found in beside if last or found.step.until == suite.name]:
                beside.remove(each)
                reports[each.suite.name] = _with(reports[each.suite.name], each, rules)
    return list(reports.values())


def _with(report: Report, beside: BesideRun, rules: Rules) -> Report:
    began = time.monotonic()
    outcome = beside.outcome(_deadline_s(report.suite, rules))
    waited_s = time.monotonic() - began
    print(f"=== {waited_s:.1f} s waited", flush=True)
    return replace(report, outcome=report.outcome + outcome, minutes=report.minutes + waited_s / 60)


def _deadline_s(suite: Suite, rules: Rules) -> float:
    return suite.share_minutes * 60 * DEADLINE_SHARES * (10 if rules.long else 1)


def run_suite(suite: Suite, rules: Rules, ended: ExitStack) -> tuple[Report, list[BesideRun]]:
    """Run the steps of a suite; an essential one that fails ends it. Also given are steps that still run beside others.

    Args:
        suite: The suite.
        rules: How to judge.
        ended: Ends what still runs, whatever happens.
    """
    started = time.monotonic()
    deadline = started + _deadline_s(suite, rules)
    outcome = Outcome()
    beside: list[BesideRun] = []
    for step in suite.steps:
        if step.until:
            print(f"\n=== {suite.name}: {step.name} runs beside what follows", flush=True)
            beside.append(BesideRun(suite, step, rules))
            ended.callback(beside[-1].close)
            continue
        print(f"\n=== {suite.name}: {step.name}", flush=True)
        begun = time.monotonic()
        outcome += run_step(step, deadline_s=deadline - begun, rules=rules)
        print(f"=== {time.monotonic() - begun:.1f} s", flush=True)
        if outcome.essential:
            break
    return Report(suite=suite, outcome=outcome, minutes=(time.monotonic() - started) / 60), beside


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named suites, all when none is named."""
    parser = argparse.ArgumentParser(description="Run the test suites and say what each took.")
    parser.add_argument("suites", nargs="*", help="names of tests/suites.toml; all when none is given")
    parser.add_argument("--long", action="store_true", help="the long form: tests marked 'slow' too")
    parser.add_argument(
        "--file", type=Path, default=REPOSITORY / "tests" / "suites.toml", help="another table of suites"
    )
    options = parser.parse_args(arguments)
    suites, allowed = load(options.file)
    unknown = set(options.suites) - {suite.name for suite in suites}
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    rules = Rules(ci=os.environ.get("CI") == "true", long=options.long, allowed_skips=allowed)
    chosen = [suite for suite in suites if not options.suites or suite.name in options.suites]
    with INTERRUPTS.heard():
        reports = run_suites(chosen, rules)
    print(render(reports, complete=len(reports) == len(chosen)), flush=True)
    return 0 if good(reports) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
