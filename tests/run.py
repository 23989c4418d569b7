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
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit("tests: Python 3.11 or newer is needed; name it: make test PYTHON=python3.12")

REPOSITORY: Final = Path(__file__).resolve().parent.parent
BIN: Final = REPOSITORY / ".venv" / "bin"
DEADLINE_SHARES: Final = 4.0
"""A suite that runs longer than so many times its share is hung: its steps are ended."""
GRACE_S: Final = 20.0
"""How long an ended step may take to clean up before it is killed."""
SLOWEST: Final = ("--durations=8", "--durations-min=5")
"""Each pytest step tells what a share that is too small is spent on."""
NOTHING_COLLECTED: Final = 5
"""Exit status of pytest when no test ran."""
COUNTED: Final = re.compile(r"(\d+) passed, (\d+) failed")
"""The last line of a command that counts by itself; before it, a line that begins with ``FAIL`` for each failure."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command of a suite, or one pytest run; exactly one of the two is given. ``counts``: a command's own count."""

    name: str
    run: tuple[str, ...] = ()
    pytest: tuple[str, ...] = ()
    counts: bool = False
    essential: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Steps that share a time budget."""

    name: str
    share_minutes: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What steps came to. ``problems`` are lines for people; ``essential`` means that the rest cannot run."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problems: tuple[str, ...] = ()
    essential: bool = False

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            problems=self.problems + other.problems,
            essential=self.essential or other.essential,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One suite that ran."""

    suite: Suite
    outcome: Outcome
    minutes: float

    @property
    def over(self) -> bool:
        """Whether the suite took more than its share."""
        return self.minutes > self.suite.share_minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How to judge: whether this is CI, the long form, and which reasons for a skip are fine under CI."""

    ci: bool = False
    long: bool = False
    allowed_skips: tuple[str, ...] = ()


def load(file: Path) -> tuple[tuple[Suite, ...], tuple[str, ...]]:
    """Read the suites and the allowed reasons for skips.

    Raises:
        ValueError: A key is unknown or missing.
    """
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    try:
        suites = tuple(_suite(**suite) for suite in table.pop("suite"))
        allowed = tuple(table.pop("allowed_skips"))
    except (KeyError, TypeError) as exc:
        message = f"{file.name}: {exc}"
        raise ValueError(message) from exc
    if table:
        message = f"{file.name}: unknown keys {sorted(table)}"
        raise ValueError(message)
    return suites, allowed


def _suite(*, name: str, share_minutes: float, steps: Sequence[Mapping[str, object]]) -> Suite:
    made = tuple(_step(**step) for step in steps)  # type: ignore[arg-type]  # a wrong key is a TypeError
    return Suite(name=name, share_minutes=share_minutes, steps=made)


def _step(
    *,
    name: str,
    run: Sequence[str] = (),
    pytest: Sequence[str] = (),
    counts: bool = False,
    essential: bool = False,
) -> Step:
    if bool(run) == bool(pytest):
        message = f"step {name} needs either 'run' or 'pytest'"
        raise TypeError(message)
    if counts and not run:
        message = f"step {name}: pytest is counted in any case"
        raise TypeError(message)
    return Step(name=name, run=tuple(run), pytest=tuple(pytest), counts=counts, essential=essential)


def read_junit(file: Path, rules: Rules) -> Outcome:
    """Count the cases of a JUnit report; a case that failed and then failed to tear down is one failure.

    An expected failure counts as passed. A skip is counted as skipped; under CI also as failed, unless allowed.
    """
    cases: dict[tuple[str, str], Outcome] = {}
    for case in ElementTree.parse(file).iter("testcase"):
        key = (case.get("classname", ""), case.get("name", ""))
        name = "::".join(part for part in key if part)
        skip = case.find("skipped")
        reason = "" if skip is None else skip.get("message", "")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome = Outcome(failed=1, problems=(f"failed: {name}",))
        elif skip is None or skip.get("type") == "pytest.xfail":
            outcome = Outcome(passed=1)
        elif rules.ci and not any(re.search(pattern, reason) for pattern in rules.allowed_skips):
            outcome = Outcome(failed=1, skipped=1, problems=(f"skipped under CI: {name}: {reason}",))
        else:
            outcome = Outcome(skipped=1, problems=(f"skipped: {name}: {reason}",))
        known = cases.get(key)
        if known is None or outcome.failed > known.failed:
            cases[key] = outcome
    return sum(cases.values(), Outcome())


def read_counts(lines: Sequence[str]) -> Outcome:
    """Count what a command has counted: its last line says how much passed and failed; without one nothing did."""
    counted = COUNTED.fullmatch(lines[-1].strip()) if lines else None
    if counted is None:
        return Outcome()
    problems = tuple(f"failed: {line.removeprefix('FAIL').strip()}" for line in lines if line.startswith("FAIL"))
    return Outcome(passed=int(counted[1]), failed=int(counted[2]), problems=problems)


def run_step(step: Step, *, deadline_s: float, rules: Rules) -> Outcome:
    """Run one step to its end, or to the deadline, with its output passed through."""
    with tempfile.TemporaryDirectory(prefix="suites-") as scratch:
        junit = Path(scratch) / "junit.xml"
        said: list[str] | None = [] if step.counts else None
        status = _call(_command(step, junit, rules), deadline_s=deadline_s, rules=rules, said=said)
        if step.pytest and junit.exists():
            outcome = read_junit(junit, rules)
        elif said is not None:
            outcome = read_counts(said)
        else:
            outcome = Outcome(passed=int(status == 0 and not step.pytest))
    silent = step.counts and outcome == Outcome()
    if (status != 0 or silent) and outcome.failed == 0:
        cause = "no test ran" if step.pytest and status == NOTHING_COLLECTED else f"exit status {status}"
        if silent and status == 0:
            cause = "it counted nothing"
        if status is None:
            cause = "it did not end in time"
        outcome += Outcome(failed=1, problems=(f"failed: {step.name}: {cause}",))
    return replace(outcome, essential=step.essential and outcome.failed > 0)


def _command(step: Step, junit: Path, rules: Rules) -> list[str]:
    if step.run:
        return [part.format(bin=BIN) for part in step.run]
    form = [*SLOWEST] if rules.long else [*SLOWEST, "-m", "not slow"]
    return [str(BIN / "python"), "-m", "pytest", "-q", "--no-header", f"--junitxml={junit}", *form, *step.pytest]


def _call(command: Sequence[str], *, deadline_s: float, rules: Rules, said: list[str] | None = None) -> int | None:
    """Run a command in a process group of its own; ``None`` when it had to be ended at the deadline.

    Args:
        command: The command.
        deadline_s: How long it may take.
        rules: How to judge.
        said: Takes the lines of its output, which is passed through all the same; ``None``: nobody asks for them.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a run starts hundreds of processes: each would compile anew
    environment["TEST_FORM"] = "long" if rules.long else "short"
    print(f"$ {shlex.join(command)}", flush=True)
    with ExitStack() as ended:
        try:
            with INTERRUPTS.held():
                process = subprocess.Popen(
                    command,
                    cwd=REPOSITORY,
                    env=environment,
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
            return process.wait(timeout=max(deadline_s, 0))
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)
            listener.join(GRACE_S)


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


def run_suite(suite: Suite, rules: Rules) -> Report:
    """Run all steps of a suite; an essential one that fails ends it."""
    started = time.monotonic()
    deadline = started + suite.share_minutes * 60 * DEADLINE_SHARES * (10 if rules.long else 1)
    outcome = Outcome()
    for step in suite.steps:
        print(f"\n=== {suite.name}: {step.name}", flush=True)
        begun = time.monotonic()
        outcome += run_step(step, deadline_s=deadline - begun, rules=rules)
        print(f"=== {time.monotonic() - begun:.1f} s", flush=True)
        if outcome.essential:
            break
    return Report(suite=suite, outcome=outcome, minutes=(time.monotonic() - started) / 60)


def render(reports: Sequence[Report], *, complete: bool) -> str:
    """Write the table, the problems, the verdict, and the counts alone on the last line."""
    lines = ["", f"{'suite':<12}{'minutes':>8}{'share':>7}{'passed':>8}{'failed':>8}{'skipped':>8}"]
    for report in reports:
        got = report.outcome
        lines.append(
            f"{report.suite.name:<12}{report.minutes:>8.1f}{report.suite.share_minutes:>7.1f}"
            f"{got.passed:>8}{got.failed:>8}{got.skipped:>8}{'  over its share' if report.over else ''}"
        )
    total = sum((report.outcome for report in reports), Outcome())
    minutes = sum(report.minutes for report in reports)
    lines.append(f"{'all':<12}{minutes:>8.1f}{'':>7}{total.passed:>8}{total.failed:>8}{total.skipped:>8}")
    lines += ["", *(f"{report.suite.name}: {problem}" for report in reports for problem in report.outcome.problems)]
    over = [report.suite.name for report in reports if report.over]
    lines.append(f"over their share: {', '.join(over) or 'none'}")
    red = [report.suite.name for report in reports if report.outcome.failed]
    if good(reports):
        lines.append("verdict: GREEN")
    else:
        unfinished = "" if complete else "; the rest did not run"
        lines.append(f"verdict: RED ({', '.join(red) or 'nothing ran'}{unfinished})")
    lines.append(f"tests: {total.passed} passed, {total.failed} failed")
    return "\n".join(lines)


def good(reports: Sequence[Report]) -> bool:
    """Whether something ran, and nothing failed."""
    total = sum((report.outcome for report in reports), Outcome())
    return total.passed > 0 and total.failed == 0


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
    reports: list[Report] = []
    with INTERRUPTS.heard():
        for suite in chosen:
            reports.append(run_suite(suite, rules))
            if reports[-1].outcome.essential:
                break
    print(render(reports, complete=len(reports) == len(chosen)), flush=True)
    return 0 if good(reports) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
