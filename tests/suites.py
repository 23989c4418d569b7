"""The suites of ``tests/suites.toml``: what they are, what their steps came to, and how that is told.

Only the standard library is imported: the first suite makes the environment that the others run in.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit("tests: Python 3.11 or newer is needed; name it: make test PYTHON=python3.12")

REPOSITORY: Final = Path(__file__).resolve().parent.parent
NOTHING_COLLECTED: Final = 5
"""Exit status of pytest when no test ran."""
COUNTED: Final = re.compile(r"(\d+) passed, (\d+) failed")
"""The last line of a command that counts by itself; before it, a line that begins with ``FAIL`` for each failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command of a suite, or one pytest run; exactly one of the two is given.

    Args:
        name: For what is printed.
        run: The command.
        pytest: Arguments of the pytest run.
        counts: The command says on its last line what passed.
        essential: Nothing that follows can run when it fails.
        until: It runs beside what follows, in time that nobody else wants, up to the end of this suite.
    """

    name: str
    run: tuple[str, ...] = ()
    pytest: tuple[str, ...] = ()
    counts: bool = False
    essential: bool = False
    until: str = ""


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
    names = {suite.name for suite in suites}
    if unknown := {step.until for suite in suites for step in suite.steps if step.until} - names:
        message = f"{file.name}: 'until' names suites that are not there: {sorted(unknown)}"
        raise ValueError(message)
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
    until: str = "",
) -> Step:
    if bool(run) == bool(pytest):
        message = f"step {name} needs either 'run' or 'pytest'"
        raise TypeError(message)
    if counts and not run:
        message = f"step {name}: pytest is counted in any case"
        raise TypeError(message)
    if essential and until:
        message = f"step {name}: what runs beside others is not what they need"
        raise TypeError(message)
    return Step(name=name, run=tuple(run), pytest=tuple(pytest), counts=counts, essential=essential, until=until)


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


def judged(step: Step, status: int | None, junit: Path, rules: Rules, said: Sequence[str] | None) -> Outcome:
    """Say what a step that has ended came to; ``status``: ``None`` when it was ended at its deadline."""
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
