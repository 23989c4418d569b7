"""Decide which steps of ``tests/suites.toml`` a target runs, what they came to, and how that is written.

Only the standard library is imported: the first suite makes the environment that the others run in.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
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
PROOF: Final = "proof-"
"""A test case whose property begins so counts that number of what the rest of the name says."""
STARVED_WAIT: Final = "starved-wait"
"""A test case has this property once for each phase in which its wait ran out while starvation was measured."""
ALWAYS_RED: Final = ("tests/unit/", "tests/property/", "tests/simulation/")
"""A failure of what neither waits nor shares a machine with anything is never called unsteady."""
MOST_UNSTEADY: Final = 2
TRACE_LINES: Final = 10
"""Of each failure so many lines stand beside the verdict: the whole is far above, and a log may have lost it."""
TRACE_COLUMNS: Final = 240


class Target(StrEnum):
    """A set of steps to run; each has the steps of the one before."""

    CHECK = "check"
    TEST = "test"
    ALL = "all"
    LONG = "long"

    def has(self, least: Target) -> bool:
        """Return whether this target runs what is marked with the least target that runs it."""
        order = tuple(Target)
        return order.index(self) >= order.index(least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Minutes of a target: what it is to take on two idle cores, and after what it ends itself."""

    minutes: float
    ends_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command of a suite, or one pytest run; exactly one of the two is given.

    Args:
        name: For what is printed.
        run: The command.
        pytest: Arguments of the pytest run.
        in_test: The command, or the arguments, instead in the target ``test``; none: the same.
        beyond: Beginnings of ids of tests that the target ``test`` leaves out.
        target: The least target that runs this step.
        track: Steps of different tracks run at the same time, those of one track in turn.
        alone: It runs after all tracks, with nothing beside it: it measures times.
        counts: The command says on its last line what passed.
        essential: Nothing that follows can run when it fails.
        shares: Its tests use the clusters of the run, which start before it.
        proves: What its output counts: a noun, and a regular expression whose first group is the number.
    """

    name: str
    run: tuple[str, ...] = ()
    pytest: tuple[str, ...] = ()
    in_test: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    target: Target = Target.TEST
    track: str = ""
    alone: bool = False
    counts: bool = False
    essential: bool = False
    shares: bool = False
    proves: Mapping[str, str] = field(default_factory=dict)

    def takes(self, test: str) -> bool:
        """Return whether the arguments of its pytest run take a test, by its id or by its file's path."""
        taken = [word for word in self.pytest if not word.startswith("-")]
        left = [word.partition("=")[2] for word in self.pytest if word.startswith(("--ignore=", "--deselect="))]
        return _below(test, taken) and not _below(test, left)

    def in_target(self, target: Target) -> Step | None:
        """Return the step as a target runs it; ``None``: it does not."""
        if not target.has(self.target):
            return None
        if target is not Target.TEST:
            return self
        instead = self.in_test
        if self.run:
            return replace(self, run=instead or self.run)
        return replace(self, pytest=(*(instead or self.pytest), *(f"--deselect={each}" for each in self.beyond)))


def _below(test: str, roots: Sequence[str]) -> bool:
    return any(test == root or test.startswith((f"{root}/", f"{root}::", f"{root}[")) for root in roots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Steps that prove one thing."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All of ``tests/suites.toml``.

    Args:
        suites: In the order of the file.
        servers: The command that keeps the clusters of a run; it is given their folder.
        limits: Of each target.
        allowed_skips: Regular expressions of reasons for a skip that are fine under CI.
    """

    suites: tuple[Suite, ...]
    servers: tuple[str, ...]
    limits: Mapping[Target, Limit]
    allowed_skips: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A test that failed by a wait that ran out while the machine was starved.

    Args:
        test: Its id.
        trace: What pytest wrote of the failure.
        problem: The line of the outcome that names it.
    """

    test: str
    trace: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one step, or the sum of several.

    Args:
        passed: Cases.
        failed: Cases, the suspects among them.
        skipped: Cases.
        problems: Lines for people.
        essential: The rest cannot run.
        suspects: Failures that may be the machine's.
        proof: Noun → number of what was tried.
        traces: Problem → the lines of the output that tell why.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problems: tuple[str, ...] = ()
    essential: bool = False
    suspects: tuple[Suspect, ...] = ()
    proof: Mapping[str, int] = field(default_factory=dict)
    traces: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            problems=self.problems + other.problems,
            essential=self.essential or other.essential,
            suspects=self.suspects + other.suspects,
            proof=dict(Counter(self.proof) + Counter(other.proof)),
            traces={**self.traces, **other.traces},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One step that ran.

    Args:
        suite: The name of its suite.
        step: The step.
        outcome: What it came to.
        minutes: From its beginning to its end.
        cpu_minutes: Of the processor, by it and all processes that it has waited for.
    """

    suite: str
    step: Step
    outcome: Outcome
    minutes: float = 0.0
    cpu_minutes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How to judge.

    Args:
        ci: Whether this is CI: a skip is a failure.
        target: What is run.
        allowed_skips: Which reasons for a skip are fine under CI.
        seed: Of the order of tests and of random data.
    """

    ci: bool = False
    target: Target = Target.ALL
    allowed_skips: tuple[str, ...] = ()
    seed: int = 0

    @property
    def long(self) -> bool:
        """Whether tests marked ``slow`` run."""
        return self.target is Target.LONG


def load(file: Path) -> Table:
    """Read the table.

    Raises:
        ValueError: A key is unknown or missing, or a value is none of those that are known.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        suites = tuple(_suite(**suite) for suite in table.pop("suite"))
        servers, allowed = tuple(table.pop("servers")), tuple(table.pop("allowed_skips"))
        limits = {Target(name): Limit(**limit) for name, limit in table.pop("limits").items()}
    except (KeyError, TypeError, ValueError) as exc:
        message = f"{file.name}: {exc}"
        raise ValueError(message) from exc
    if table:
        message = f"{file.name}: unknown keys {sorted(table)}"
        raise ValueError(message)
    sharing = {step.track for suite in suites for step in suite.steps if step.shares}
    if len(sharing) > 1:
        message = (
            f"{file.name}: steps that share the clusters of the run stand in more than one track: {sorted(sharing)}"
        )
        raise ValueError(message)
    return Table(suites=suites, servers=servers, limits=limits, allowed_skips=allowed)


def _suite(*, name: str, steps: Sequence[Mapping[str, object]], track: str = "") -> Suite:
    made = tuple(_step(**{"track": track or name, **step}) for step in steps)  # type: ignore[arg-type]  # a wrong key is a TypeError
    return Suite(name=name, steps=made)


def _step(
    *,
    name: str,
    track: str,
    run: Sequence[str] = (),
    pytest: Sequence[str] = (),
    in_test: Sequence[str] = (),
    beyond: Sequence[str] = (),
    target: str = Target.TEST,
    alone: bool = False,
    counts: bool = False,
    essential: bool = False,
    shares: bool = False,
    proves: Mapping[str, str] | None = None,
) -> Step:
    if bool(run) == bool(pytest):
        message = f"step {name} needs either 'run' or 'pytest'"
        raise TypeError(message)
    if (counts or proves) and not run:
        message = f"step {name}: pytest is counted in any case"
        raise TypeError(message)
    if beyond and not pytest:
        message = f"step {name}: only pytest can leave tests out"
        raise TypeError(message)
    if essential and alone:
        message = f"step {name}: the others run before it, so it cannot be essential"
        raise TypeError(message)
    return Step(
        name=name,
        run=tuple(run),
        pytest=tuple(pytest),
        in_test=tuple(in_test),
        beyond=tuple(beyond),
        target=Target(target),
        track=track,
        alone=alone,
        counts=counts,
        essential=essential,
        shares=shares,
        proves=dict(proves or {}),
    )


def chosen(table: Table, target: Target, names: Sequence[str] = ()) -> tuple[Suite, ...]:
    """Return the suites with the steps that a target runs; only the named ones when some are named.

    Raises:
        ValueError: No suite of this name has a step in the target.
    """
    found = []
    for suite in table.suites:
        steps = tuple(step for each in suite.steps if (step := each.in_target(target)) is not None)
        if steps and (not names or suite.name in names):
            found.append(replace(suite, steps=steps))
    if unknown := set(names) - {suite.name for suite in found}:
        message = f"no such suite in '{target}': {', '.join(sorted(unknown))}"
        raise ValueError(message)
    return tuple(found)


def read_junit(file: Path, rules: Rules) -> Outcome:
    """Count the cases of a JUnit report; a case that failed and then failed to tear down is one failure.

    An expected failure counts as passed. A skip is counted as skipped; under CI also as failed, unless allowed.
    """
    cases: dict[tuple[str, str], list[ElementTree.Element]] = {}
    for case in ElementTree.parse(file).iter("testcase"):
        cases.setdefault((case.get("classname", ""), case.get("name", "")), []).append(case)
    return sum((_case("::".join(filter(None, key)), found, rules) for key, found in cases.items()), Outcome())


def _case(name: str, parts: Sequence[ElementTree.Element], rules: Rules) -> Outcome:
    """Judge one case; a failure to tear down is a part of its own, which has the properties of those before it."""
    properties = [(each.get("name", ""), each.get("value", "")) for each in parts[-1].iter("property")]
    proof = {key.removeprefix(PROOF): int(value) for key, value in properties if key.startswith(PROOF)}
    failures = [found for part in parts for tag in ("failure", "error") for found in part.findall(tag)]
    if failures:
        waits = [value for key, value in properties if key == STARVED_WAIT]
        trace = "\n".join(each.text or "" for each in failures)
        suspected = len(waits) >= len(failures) and not waits[0].startswith(ALWAYS_RED)
        problem = f"failed: {name}"
        suspects = (Suspect(test=waits[0], trace=trace, problem=problem),) if suspected else ()
        return Outcome(
            failed=1,
            problems=(problem,),
            suspects=suspects,
            proof=proof,
            traces={problem: shortened(trace.splitlines())},
        )
    skip = parts[-1].find("skipped")
    reason = "" if skip is None else skip.get("message", "")
    if skip is None or skip.get("type") == "pytest.xfail":
        return Outcome(passed=1, proof=proof)
    if rules.ci and not any(re.search(pattern, reason) for pattern in rules.allowed_skips):
        return Outcome(failed=1, skipped=1, problems=(f"skipped under CI: {name}: {reason}",))
    return Outcome(skipped=1, problems=(f"skipped: {name}: {reason}",))


def shortened(said: Sequence[str]) -> str:
    """Return the lines of an output that tell why it failed: pytest's own, else its last ones; long ones are cut."""
    lines = [line.rstrip() for line in said if line.strip()]
    own = [line for line in lines if line.startswith("E ")][:TRACE_LINES]
    return "\n".join(f"    {line[:TRACE_COLUMNS]}" for line in own or lines[-TRACE_LINES:])


def read_counts(lines: Sequence[str]) -> Outcome:
    """Count what a command has counted: its last line says how much passed and failed; without one nothing did."""
    counted = COUNTED.fullmatch(lines[-1].strip()) if lines else None
    if counted is None:
        return Outcome()
    problems = tuple(f"failed: {line.removeprefix('FAIL').strip()}" for line in lines if line.startswith("FAIL"))
    return Outcome(passed=int(counted[1]), failed=int(counted[2]), problems=problems)


def judged(step: Step, status: int | None, junit: Path, rules: Rules, said: Sequence[str]) -> Outcome:
    """Return what a step that has ended came to.

    Args:
        step: The step.
        status: Its exit status; ``None`` when it was ended at the deadline.
        junit: The report of a pytest run.
        rules: How to judge.
        said: The lines of its output.
    """
    if step.pytest and junit.exists():
        outcome = read_junit(junit, rules)
    elif step.counts:
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
        problem = f"failed: {step.name}: {cause}"
        outcome += Outcome(failed=1, problems=(problem,), traces={problem: shortened(said)})
    proof = {noun: int(found[1].replace(",", "")) for noun, found in _proofs(step, said)}
    return replace(outcome + Outcome(proof=proof), essential=step.essential and outcome.failed > 0)


def _proofs(step: Step, said: Sequence[str]) -> list[tuple[str, re.Match[str]]]:
    text = "\n".join(said)
    pairs = [(noun, re.search(pattern, text, re.MULTILINE)) for noun, pattern in step.proves.items()]
    return [(noun, found) for noun, found in pairs if found is not None]


def unsteady(reports: Sequence[Report], steady_alone: Mapping[str, bool]) -> tuple[list[Report], list[Suspect]]:
    """Count as passed each suspect that passed twice alone, if these are at most two.

    Args:
        reports: Of all steps.
        steady_alone: Id of a suspect → whether both of its plays alone passed.

    Returns:
        The reports, and the tests that are unsteady: none when they are more than two, which are all red then.
    """
    found = [suspect for report in reports for suspect in report.outcome.suspects if steady_alone.get(suspect.test)]
    if len(found) > MOST_UNSTEADY:
        return list(reports), []
    return [_counted_as_passed(report, found) for report in reports], found


def _counted_as_passed(report: Report, found: Sequence[Suspect]) -> Report:
    own = {each.problem: each for each in report.outcome.suspects if each in found}
    problems = (
        f"unsteady, and passed twice alone: {own[line].test}" if line in own else line
        for line in report.outcome.problems
    )
    outcome = replace(
        report.outcome,
        passed=report.outcome.passed + len(own),
        failed=report.outcome.failed - len(own),
        problems=tuple(problems),
        suspects=(),
    )
    return replace(report, outcome=outcome)


def render(
    reports: Sequence[Report], *, target: Target, limit: Limit, minutes: float, seed: int, complete: bool
) -> str:
    """Write the table, the problems, what was tried, the verdict, and the counts alone on the last line.

    Where there are traces, the problems are listed once more after them, a line each: often only the end of an output
    is kept.
    """
    lines = ["", f"{'suite':<12}{'minutes':>8}{'cpu':>7}{'passed':>8}{'failed':>8}{'skipped':>8}"]
    names = dict.fromkeys(report.suite for report in reports)
    for name in names:
        own = [report for report in reports if report.suite == name]
        got = sum((report.outcome for report in own), Outcome())
        lines.append(
            f"{name:<12}{sum(each.minutes for each in own):>8.1f}{sum(each.cpu_minutes for each in own):>7.1f}"
            f"{got.passed:>8}{got.failed:>8}{got.skipped:>8}"
        )
    total = sum((report.outcome for report in reports), Outcome())
    cpu = sum(report.cpu_minutes for report in reports)
    lines.append(f"{'all':<12}{minutes:>8.1f}{cpu:>7.1f}{total.passed:>8}{total.failed:>8}{total.skipped:>8}")
    lines.append("")
    for report in reports:
        for problem in report.outcome.problems:
            lines.append(f"{report.suite}: {problem}")
            lines += [trace] if (trace := report.outcome.traces.get(problem)) else []
    if total.traces:
        lines += ["", *(_in_short(report, problem) for report in reports for problem in report.outcome.problems)]
    if total.proof:
        lines.append(f"tried: {', '.join(f'{number} {noun}' for noun, number in sorted(total.proof.items()))}")
    over = "" if minutes <= limit.minutes else ": over its limit"
    lines.append(f"target: {target}, seed {seed}, {minutes:.1f} of {limit.minutes:g} minutes{over}")
    if good(reports) and complete:
        lines.append("verdict: GREEN")
    else:
        red = [name for name in names if any(each.outcome.failed for each in reports if each.suite == name)]
        unfinished = "" if complete else "; the rest did not run"
        lines.append(f"verdict: RED ({', '.join(red) or 'nothing ran'}{unfinished})")
    lines.append(f"tests: {total.passed} passed, {total.failed} failed")
    return "\n".join(lines)


def _in_short(report: Report, problem: str) -> str:
    """Write a problem, with the beginning of its trace, as one line."""
    first = report.outcome.traces.get(problem, "").partition("\n")[0].strip().removeprefix("E ").strip()
    return ": ".join(filter(None, (report.suite, problem, first)))[:TRACE_COLUMNS]


def good(reports: Sequence[Report]) -> bool:
    """Return whether something ran, and nothing failed."""
    total = sum((report.outcome for report in reports), Outcome())
    return total.passed > 0 and total.failed == 0
