"""The runner of the suites counts what really ran, and is green only for the right reason."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from syncer.waiting import WAIT_S, wait_until
from tests import run as suite_runner
from tests.run import RunningStep, run_step
from tests.suites import (
    REPOSITORY,
    STARVED_WAIT,
    TRACE_LINES,
    Outcome,
    Report,
    Rules,
    Suspect,
    Target,
    chosen,
    load,
    read_junit,
    unsteady,
)
from tests.suites import Step as SuiteStep

MIXED = """
import pytest

def test_good(): pass
def test_bad(): assert False
@pytest.mark.skip(reason="no such server")
def test_skipped(): pass
@pytest.mark.xfail(strict=True)
def test_expected(): assert False
@pytest.fixture
def broken():
    yield
    raise RuntimeError
def test_bad_twice(broken): assert False
"""


BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
"""The runs inside these tests need no plugin, and start faster without."""


def suites(file: Path, body: str, *, ends_after: float = 10.0) -> Path:
    """Write a table of suites."""
    limits = "\n".join(f"{each} = {{ minutes = 1, ends_after = {ends_after} }}" for each in Target)
    file.write_text(f"allowed_skips = []\nservers = []\n[limits]\n{limits}\n{body}", encoding="utf-8")
    return file


def one_suite(file: Path, *steps: str, ends_after: float = 10.0) -> Path:
    """Write a table of one suite called 'it'."""
    return suites(file, f'[[suite]]\nname = "it"\nsteps = [{", ".join(steps)}]\n', ends_after=ends_after)


def run(file: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the runner itself, outside CI unless told."""
    return subprocess.run(
        [sys.executable, "-m", "tests.run", "--file", str(file), *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "CI": "", **BARE, **environment},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def last(result: subprocess.CompletedProcess[str]) -> str:
    return result.stdout.splitlines()[-1]


def test_counts_cases_and_steps(tmp_path: Path) -> None:
    (tmp_path / "test_mixed.py").write_text(MIXED, encoding="utf-8")
    steps = [f'{{ name = "mixed", pytest = ["{tmp_path}"] }}', '{ name = "lint", run = ["true"] }']

    result = run(one_suite(tmp_path / "suites.toml", *steps))

    assert result.returncode == 1
    assert last(result) == "tests: 3 passed, 2 failed"
    assert "verdict: RED (it)" in result.stdout
    assert "test_skipped: no such server" in result.stdout


def test_a_command_that_counts_by_itself_is_counted_as_it_says(tmp_path: Path) -> None:
    script = tmp_path / "attacks.sh"
    script.write_text("echo PASS one\necho FAIL two: it ended\necho 7 passed, 1 failed\nexit 1\n", encoding="utf-8")
    steps = [f'{{ name = "attacks", run = ["sh", "{script}"], counts = true }}', '{ name = "lint", run = ["true"] }']

    result = run(one_suite(tmp_path / "suites.toml", *steps))

    assert (result.returncode, last(result)) == (1, "tests: 8 passed, 1 failed")
    assert "PASS one" in result.stdout
    assert "it: failed: two: it ended" in result.stdout


def test_why_something_failed_stands_beside_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_sum() -> None:\n    print('before ' * 200)\n    assert 1 + 1 == 3\n", encoding="utf-8"
    )
    (tmp_path / "it.sh").write_text("seq 100; echo the disk is full; exit 2\n", encoding="utf-8")
    steps = [f'{{ name = "sums", pytest = ["{tmp_path}"] }}', f'{{ name = "disk", run = ["sh", "{tmp_path}/it.sh"] }}']

    result = run(one_suite(tmp_path / "suites.toml", *steps))

    verdict = result.stdout[result.stdout.index("\nsuite ") :].splitlines()
    assert "    E       assert (1 + 1) == 3" in verdict
    assert any(re.fullmatch(r"it: failed: \S+: assert \(1 \+ 1\) == 3", line) for line in verdict), (
        "once more, in short"
    )
    assert verdict[verdict.index("it: failed: disk: exit status 2") + TRACE_LINES] == "    the disk is full"
    assert "    92" in verdict
    assert "    91" not in verdict


@pytest.mark.parametrize(
    ("script", "cause", "counts"),
    [
        ("echo 7 passed, 0 failed; exit 3", "exit status 3", (7, 1)),
        ("echo 7 passed, 0 failed; echo and then it broke", "it counted nothing", (0, 1)),
        ("exit 0", "it counted nothing", (0, 1)),
        ("exit 3", "exit status 3", (0, 1)),
    ],
)
def test_a_command_that_should_count_and_does_not_has_failed(
    tmp_path: Path, script: str, cause: str, counts: tuple[int, int]
) -> None:
    (tmp_path / "it.sh").write_text(script, encoding="utf-8")
    step = SuiteStep(name="attacks", run=("sh", str(tmp_path / "it.sh")), counts=True)
    outcome = run_step(step, rules=Rules()).outcome
    assert (outcome.passed, outcome.failed) == counts
    assert any(cause in problem for problem in outcome.problems)


def test_green_needs_something_that_passed(tmp_path: Path) -> None:
    result = run(one_suite(tmp_path / "suites.toml", '{ name = "lint", run = ["true"] }'))
    assert (result.returncode, last(result)) == (0, "tests: 1 passed, 0 failed")
    assert "verdict: GREEN" in result.stdout

    (tmp_path / "empty").mkdir()
    nothing = run(one_suite(tmp_path / "suites.toml", f'{{ name = "none", pytest = ["{tmp_path / "empty"}"] }}'))
    assert (nothing.returncode, last(nothing)) == (1, "tests: 0 passed, 1 failed")
    assert "no test ran" in nothing.stdout


@pytest.mark.parametrize(
    ("step", "cause"),
    [
        ('{ name = "lint", run = ["false"] }', "exit status 1"),
        ('{ name = "lint", run = ["no-such-program"] }', "exit status 127"),
        ('{ name = "unit", pytest = ["--no-such-option"] }', "exit status 4"),
    ],
)
def test_a_step_that_fails_is_one_failure(tmp_path: Path, step: str, cause: str) -> None:
    result = run(one_suite(tmp_path / "suites.toml", step))
    assert (result.returncode, last(result)) == (1, "tests: 0 passed, 1 failed")
    assert cause in result.stdout


def test_an_essential_failure_ends_the_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    body = (
        '[[suite]]\nname = "setup"\nsteps = [{ name = "e", run = ["false"], essential = true }]\n'
        f'[[suite]]\nname = "rest"\nsteps = [{{ name = "r", run = ["touch", "{marker}"] }}]\n'
    )
    result = run(suites(tmp_path / "suites.toml", body))
    assert "verdict: RED (setup; the rest did not run)" in result.stdout
    assert not marker.exists()


HANGS = """
import time

def test_that_hangs():
    the_line_that_hangs()

def the_line_that_hangs():
    time.sleep(500)
"""


def test_a_run_beyond_its_limit_ends_with_stacks_and_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "test_hang.py").write_text(HANGS, encoding="utf-8")
    step = f'{{ name = "hung", pytest = ["-p", "tests", "{tmp_path}"] }}'
    result = run(one_suite(tmp_path / "suites.toml", step, ends_after=0.1))
    assert result.returncode == 1
    assert "it: failed: hung: it did not end in time" in result.stdout
    assert "under way: it: hung" in result.stdout
    assert "in the_line_that_hangs" in result.stdout
    assert "verdict: RED (it" in result.stdout


def test_a_run_beyond_its_limit_says_that_the_rest_did_not_run(tmp_path: Path) -> None:
    steps = ['{ name = "hung", run = ["sleep", "500"] }', '{ name = "next", run = ["true"] }']
    result = run(one_suite(tmp_path / "suites.toml", *steps, ends_after=0.01))
    assert (result.returncode, last(result)) == (1, "tests: 0 passed, 1 failed")
    assert "verdict: RED (it; the rest did not run)" in result.stdout


def test_no_step_outlives_an_ended_run(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    file = one_suite(tmp_path / "suites.toml", f'{{ name = "s", run = ["sh", "-c", "echo $$ >{pid_file}; sleep 50"] }}')
    with subprocess.Popen([sys.executable, "-m", "tests.run", "--file", file], cwd=REPOSITORY) as runner:
        wait_until(lambda: pid_file.exists() and pid_file.read_text().strip() != "", "the step runs")
        step = int(pid_file.read_text())
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(timeout=WAIT_S) == 130
    wait_until(lambda: not Path(f"/proc/{step}").exists(), "the step has ended")


ONE_STEP = 'allowed_skips = []\nservers = []\n[limits]\n[[suite]]\nname = "a"\nsteps = [{{ name = "x", {} }}]\n'

EMPTY = "allowed_skips = []\nservers = []\nsuite = []\n"

TWO_TRACKS = """
[[suite]]
name = "first"
track = "work"
steps = [{{ name = "slow", run = ["sh", "{slow}"], counts = true }}]
[[suite]]
name = "second"
track = "servers"
steps = [{{ name = "quick", run = ["sh", "{quick}"] }}]
"""


def test_tracks_run_at_the_same_time_and_each_counts_for_its_own_suite(tmp_path: Path) -> None:
    slow, quick, met, over = (tmp_path / name for name in ("slow.sh", "quick.sh", "met", "over"))
    ending = f"while [ ! -e {over} ]; do sleep 0.01; done\necho FAIL two: it ended\necho 7 passed, 1 failed\nexit 1\n"
    slow.write_text(f"touch {met}\n{ending}", encoding="utf-8")
    quick.write_text(f"while [ ! -e {met} ]; do sleep 0.01; done\necho quick is over\ntouch {over}\n", encoding="utf-8")

    result = run(suites(tmp_path / "suites.toml", TWO_TRACKS.format(slow=slow, quick=quick)))

    assert (result.returncode, last(result)) == (1, "tests: 8 passed, 1 failed")
    assert "verdict: RED (first)" in result.stdout
    assert "first: failed: two: it ended" in result.stdout
    assert "quick is over" in result.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take a nice value back")
def test_what_only_works_yields_until_nothing_else_is_left(tmp_path: Path) -> None:
    slow, quick, seen, told = (tmp_path / name for name in ("slow.sh", "quick.sh", "seen", "told"))
    until = "while [ ! -e {} ]; do sleep 0.01; done\n"
    nice = "while [ $(nice) != {} ]; do sleep 0.01; done\n"
    own = os.nice(0)
    first, then = nice.format(own + suite_runner.YIELDS), nice.format(own)
    slow.write_text(f"{first}touch {seen}\n{then}echo 1 passed, 0 failed\n", encoding="utf-8")
    quick.write_text(f"{until.format(seen)}nice >{told}\n", encoding="utf-8")

    result = run(suites(tmp_path / "suites.toml", TWO_TRACKS.format(slow=slow, quick=quick)))

    assert (result.returncode, last(result)) == (0, "tests: 2 passed, 0 failed")
    assert told.read_text(encoding="utf-8") == f"{os.nice(0)}\n"


LEAVES = """
import os, subprocess, sys
from pathlib import Path

child = subprocess.Popen([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.5: pass"])
Path(__file__).with_name("pid").write_text(str(child.pid))
os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody takes note
os._exit(0)
"""


def test_what_a_step_leaves_behind_is_buried_and_its_time_is_counted(tmp_path: Path) -> None:
    """A process table full of the dead would let a test wait for the end of a process that has ended."""
    (tmp_path / "leaves.py").write_text(LEAVES, encoding="utf-8")
    gone = f"while [ -e /proc/$(cat {tmp_path / 'pid'}) ]; do sleep 0.01; done"
    steps = [
        f'{{ name = "leaves", run = ["{sys.executable}", "{tmp_path / "leaves.py"}"] }}',
        f'{{ name = "looks", run = ["sh", "-c", "{gone}"] }}',
    ]
    result = run(one_suite(tmp_path / "suites.toml", *steps))
    assert (result.returncode, last(result)) == (0, "tests: 2 passed, 0 failed"), result.stdout
    worked = re.search(r"it: leaves: \S+ s, (\S+) s of the processor", result.stdout)
    assert worked is not None
    assert float(worked[1]) >= 0.5


def test_what_measures_times_runs_after_all_tracks(tmp_path: Path) -> None:
    folder = tmp_path / "under-way"
    body = f"""
[[suite]]
name = "measured"
steps = [{{ name = "alone", run = ["mkdir", "{folder}"], alone = true }}]
[[suite]]
name = "others"
steps = [
    {{ name = "a", run = ["sh", "-c", "sleep 0.5; test ! -e {folder}"], track = "a" }},
    {{ name = "b", run = ["sh", "-c", "sleep 0.5; test ! -e {folder}"], track = "b" }},
]
"""
    result = run(suites(tmp_path / "suites.toml", body))
    assert (result.returncode, last(result)) == (0, "tests: 3 passed, 0 failed")


KEEPER = """
echo up >$1/ready
trap 'echo ended >{ended}; exit 0' TERM
while :; do sleep 0.01; done
"""


def test_steps_that_share_find_the_servers_of_the_run_and_these_end_with_the_last_of_them(tmp_path: Path) -> None:
    keeper, ended = tmp_path / "keeper.sh", tmp_path / "ended"
    keeper.write_text(KEEPER.format(ended=ended), encoding="utf-8")
    asks = "while [ ! -e $TEST_SERVERS/ready ]; do sleep 0.01; done"
    body = f"""
[[suite]]
name = "s"
steps = [
    {{ name = "a", run = ["sh", "-c", "{asks}"], shares = true }},
    {{ name = "b", run = ["sh", "-c", "{asks}"], shares = true }},
    {{ name = "c", run = ["sh", "-c", "test -z \\"$TEST_SERVERS\\" && test -e {ended}"] }},
]
"""
    file = suites(tmp_path / "suites.toml", body)
    table = file.read_text(encoding="utf-8").replace("servers = []", f'servers = ["sh", "{keeper}"]')
    file.write_text(table, encoding="utf-8")
    result = run(file)
    assert (result.returncode, last(result)) == (0, "tests: 3 passed, 0 failed"), result.stdout
    assert ended.read_text(encoding="utf-8") == "ended\n"


TARGETS = """
[[suite]]
name = "s"
steps = [
    { name = "quick", run = ["echo", "quick"], target = "check" },
    { name = "real", pytest = ["t"], beyond = ["t/a.py::one", "t/b.py"] },
    { name = "drawn", run = ["echo", "1000"], in_test = ["echo", "100"] },
    { name = "more", run = ["echo", "more"], target = "all" },
    { name = "hours", run = ["echo", "hours"], target = "long" },
]
"""


def test_a_target_runs_what_the_ones_before_it_run_and_more(tmp_path: Path) -> None:
    table = load(suites(tmp_path / "suites.toml", TARGETS))

    def of(target: Target) -> dict[str, tuple[str, ...]]:
        (suite,) = chosen(table, target)
        return {step.name: step.run or step.pytest for step in suite.steps}

    assert list(of(Target.CHECK)) == ["quick"]
    assert of(Target.TEST) == {
        "quick": ("echo", "quick"),
        "real": ("t", "--deselect=t/a.py::one", "--deselect=t/b.py"),
        "drawn": ("echo", "100"),
    }
    assert of(Target.ALL) == {
        "quick": ("echo", "quick"),
        "real": ("t",),
        "drawn": ("echo", "1000"),
        "more": ("echo", "more"),
    }
    assert list(of(Target.LONG)) == ["quick", "real", "drawn", "more", "hours"]
    with pytest.raises(ValueError, match="no such suite in 'test': no"):
        chosen(table, Target.TEST, ["no"])


LAWS = """
import os, random
from hypothesis import given, settings, strategies

drawn = []

@given(strategies.integers())
@settings(max_examples=7, database=None)
def test_law(number):
    drawn.append(number)

def test_drawn():
    with open(os.environ["DRAWN"], "a") as told:
        print(random.random(), drawn, file=told)
"""


def test_a_seed_gives_the_same_order_and_the_same_random_data(tmp_path: Path) -> None:
    folder = REPOSITORY / "tests" / "unit"
    told = tmp_path / "told"
    (tmp_path / "test_laws.py").write_text(LAWS, encoding="utf-8")
    step = f'{{ name = "laws", pytest = ["-p", "tests.conftest", "--rootdir={folder}", "{tmp_path}"] }}'
    file = one_suite(tmp_path / "suites.toml", step)
    further = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "DRAWN": str(told)}

    results = [run(file, "--seed", str(seed), **further) for seed in (17, 17, 18)]

    assert [last(result) for result in results] == ["tests: 2 passed, 0 failed"] * 3, results[0].stdout
    assert "again: SEED=17" in results[0].stdout
    assert "tried: 7 examples" in results[0].stdout
    first, second, third = told.read_text(encoding="utf-8").splitlines()
    assert first == second != third


def case(*children: str, name: str = "one") -> str:
    """A case of a JUnit report."""
    return f'<testcase classname="tests.shell.test_a" name="{name}">{"".join(children)}</testcase>'


FAILED = '<failure message="no">the trace</failure>'


def waited(test: str = "tests/shell/test_a.py::one") -> str:
    """The property of a test whose wait ran out while starvation was measured."""
    return f'<properties><property name="{STARVED_WAIT}" value="{test}"/></properties>'


def outcome_of(folder: Path, *cases: str) -> Outcome:
    """Read a report of these cases."""
    report = folder / "junit.xml"
    report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>", encoding="utf-8")
    return read_junit(report, Rules(ci=True))


def test_a_failure_is_suspected_where_all_of_it_is_a_wait_that_starved(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, case(waited(), FAILED), case(name="two"))
    assert (outcome.passed, outcome.failed) == (1, 1)
    (suspect,) = outcome.suspects
    assert (suspect.test, suspect.trace) == ("tests/shell/test_a.py::one", "the trace")
    assert suspect.problem in outcome.problems


@pytest.mark.parametrize(
    "cases",
    [
        [case(FAILED)],
        [case(waited(), FAILED, '<error message="no">torn down</error>')],
        [case(waited(), FAILED), case(waited(), '<error message="no">torn down</error>')],
        [case(waited("tests/unit/test_a.py::one"), FAILED)],
        [case(waited("tests/property/test_a.py::one"), FAILED)],
        [case(waited("tests/simulation/test_a.py::one"), FAILED)],
    ],
    ids=["no wait", "and an error", "and an error of its own", "unit", "property", "simulation"],
)
def test_no_other_failure_is_suspected(tmp_path: Path, cases: list[str]) -> None:
    outcome = outcome_of(tmp_path, *cases)
    assert (outcome.failed, outcome.suspects) == (1, ())


def reported(*tests: str) -> Report:
    """A step in which these tests failed by waits that starved, and one more failed otherwise."""
    suspects = tuple(Suspect(test=test, trace="t", problem=f"failed: {test}") for test in tests)
    outcome = Outcome(
        passed=5,
        failed=len(tests) + 1,
        problems=(*(each.problem for each in suspects), "failed: other"),
        suspects=suspects,
    )
    return Report(suite="s", step=SuiteStep(name="x", run=("true",)), outcome=outcome)


def test_at_most_two_unsteady_tests_count_as_passed_and_are_named() -> None:
    (report,), found = unsteady([reported("a", "b", "c")], {"a": True, "b": False, "c": True})
    assert [each.test for each in found] == ["a", "c"]
    assert (report.outcome.passed, report.outcome.failed) == (7, 2)
    assert report.outcome.problems == (
        "unsteady, and passed twice alone: a",
        "failed: b",
        "unsteady, and passed twice alone: c",
        "failed: other",
    )


def test_more_than_two_unsteady_tests_are_all_red() -> None:
    before = [reported("a", "b"), reported("c")]
    assert unsteady(before, {"a": True, "b": True, "c": True}) == (before, [])


WAITS_IN_VAIN = """
from pathlib import Path
import pytest
from syncer.waiting import WaitTimedOut, wait_until
from syncer.waiting.starvation import Starvation

played = Path(__file__).with_name("played")

@pytest.fixture
def torn():
    yield
    {teardown}

def test_slow(torn):
    times = len(played.read_text()) if played.exists() else 0
    played.write_text("x" * (times + 1))
    if times in {fails}:
        raise WaitTimedOut("the server answers", 300.0, "it did not", Starvation(pressure={pressure}, delay=0.0))
"""


@pytest.mark.parametrize(
    ("said", "ci", "status", "plays"),
    [
        ({}, "true", 0, 3),
        ({}, "", 1, 1),
        ({"fails": (0, 1)}, "true", 1, 3),
        ({"pressure": 0.1}, "true", 1, 1),
        ({"teardown": "raise RuntimeError"}, "true", 1, 1),
    ],
    ids=["unsteady", "local", "again", "not starved", "torn down"],
)
def test_a_starved_wait_is_played_twice_alone_under_ci_and_only_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: dict[str, object],
    ci: str,
    status: int,
    plays: int,
) -> None:
    values: dict[str, object] = {"fails": (0,), "pressure": 0.9, "teardown": "", **said}
    (tmp_path / "test_waits.py").write_text(WAITS_IN_VAIN.format(**values), encoding="utf-8")
    file = one_suite(tmp_path / "suites.toml", '{ name = "waits", pytest = ["test_waits.py"] }')
    monkeypatch.setattr(suite_runner, "REPOSITORY", tmp_path)
    further = {"PYTEST_ADDOPTS": "-p tests.conftest -p anyio --rootdir=.", "PYTHONPATH": str(REPOSITORY)}
    for name, value in {**BARE, **further, "CI": ci}.items():
        monkeypatch.setenv(name, value)

    assert suite_runner.main(["--file", str(file)]) == status

    told = capsys.readouterr().out
    assert len((tmp_path / "played").read_text(encoding="utf-8")) == plays
    assert ("unsteady, and passed twice alone: " in told) == (status == 0)
    if status == 0:
        assert "the trace of its failure" in told
        assert told.splitlines()[-1] == "tests: 1 passed, 0 failed"


def test_no_step_of_another_track_outlives_an_ended_run(tmp_path: Path) -> None:
    slow, quick = tmp_path / "slow.sh", tmp_path / "quick.sh"
    for script in (slow, quick):
        script.write_text(f"echo $$ >{script}.pid\nsleep 500\n", encoding="utf-8")
    pid_files = [Path(f"{script}.pid") for script in (slow, quick)]
    file = suites(tmp_path / "suites.toml", TWO_TRACKS.format(slow=slow, quick=quick))
    with subprocess.Popen([sys.executable, "-m", "tests.run", "--file", file], cwd=REPOSITORY) as runner:
        wait_until(lambda: all(each.exists() and each.read_text().strip() for each in pid_files), "both steps run")
        steps = [int(each.read_text()) for each in pid_files]
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(timeout=WAIT_S) == 130
    wait_until(lambda: not any(Path(f"/proc/{step}").exists() for step in steps), "both steps have ended")


def test_an_interrupt_waits_until_a_step_that_has_ended_is_known_to_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the look its exit status would be lost."""
    interrupts = suite_runner.Interrupts()
    monkeypatch.setattr(suite_runner, "INTERRUPTS", interrupts)
    looking = os.wait4
    came: list[bool] = []

    def interrupted(pid: int, options: int) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        came.append(interrupts._waits)
        return looking(pid, options)

    step = RunningStep(suite_runner.Planned("s", SuiteStep(name="x", run=("true",))), Rules())
    try:
        with interrupts.heard():
            monkeypatch.setattr(os, "wait4", interrupted)
            with pytest.raises(KeyboardInterrupt):
                wait_until(step.over, "the step has ended")
            monkeypatch.undo()
    finally:
        step.close()
    assert came
    assert all(came), "it came while the step was looked at"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules(), (1, 0, 1)),
        (Rules(ci=True), (1, 1, 1)),
        (Rules(ci=True, allowed_skips=("^no such",)), (1, 0, 1)),
        (Rules(ci=True, allowed_skips=("^something else",)), (1, 1, 1)),
    ],
)
def test_a_skip_fails_under_ci_unless_allowed(tmp_path: Path, rules: Rules, expected: tuple[int, int, int]) -> None:
    report = tmp_path / "junit.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="a" name="one"/><testcase classname="a" name="two">'
        '<skipped type="pytest.skip" message="no such server"/></testcase></testsuite></testsuites>',
        encoding="utf-8",
    )
    outcome = read_junit(report, rules)
    assert (outcome.passed, outcome.failed, outcome.skipped) == expected


def test_the_short_form_leaves_slow_tests_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in BARE.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n", encoding="utf-8")
    (tmp_path / "test_two.py").write_text(
        "import os, pytest\n"
        "def test_form(): assert os.environ['TEST_FORM'] in ('short', 'long')\n"
        "@pytest.mark.slow\ndef test_slow(): assert os.environ['TEST_FORM'] == 'long'\n",
        encoding="utf-8",
    )
    step = SuiteStep(name="two", pytest=(str(tmp_path),))
    assert run_step(step, rules=Rules(target=Target.TEST)).outcome == Outcome(passed=1)
    assert run_step(step, rules=Rules(target=Target.LONG)).outcome == Outcome(passed=2)


@pytest.mark.parametrize(
    "body",
    [
        f"{EMPTY}surprise = 1\n[limits]\n",
        EMPTY.replace("allowed_skips = []", "") + "[limits]\n",
        EMPTY,
        f"{EMPTY}[limits]\nnever = {{ minutes = 1, ends_after = 1 }}\n",
        f"{EMPTY}[limits]\ntest = {{ minutes = 1 }}\n",
        ONE_STEP.format(""),
        ONE_STEP.format('runs = ["true"]'),
        ONE_STEP.format('run = ["true"], pytest = ["t"]'),
        ONE_STEP.format('pytest = ["t"], counts = true'),
        ONE_STEP.format('pytest = ["t"], proves = { seeds = "1" }'),
        ONE_STEP.format('run = ["t"], beyond = ["t"]'),
        ONE_STEP.format('run = ["t"], target = "never"'),
        ONE_STEP.format('run = ["t"], alone = true, essential = true'),
        ONE_STEP.format(
            'run = ["t"], shares = true, track = "a" }, { name = "y", run = ["t"], shares = true, track = "b"'
        ),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, body: str) -> None:
    file = tmp_path / "suites.toml"
    file.write_text(body, encoding="utf-8")
    with pytest.raises(ValueError, match=r"suites\.toml"):
        load(file)


def test_what_a_command_counts_beside_its_cases_is_told(tmp_path: Path) -> None:
    steps = [
        f'{{ name = "{name}", run = ["echo", "{number} schedules"], proves = {{ schedules = "([0-9,]+) schedules" }} }}'
        for name, number in (("a", "1,200"), ("b", "60"))
    ]
    result = run(one_suite(tmp_path / "suites.toml", *steps))
    assert "tried: 1260 schedules" in result.stdout


# -- where its files are


def test_files_are_kept_in_memory_where_it_has_room_and_every_user_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(suite_runner, "IN_MEMORY", tmp_path)
    monkeypatch.setattr(suite_runner, "_roomy", lambda: True)
    with suite_runner.place_of_files():
        place = Path(os.environ["TMPDIR"])
        assert place.parent == tmp_path
        assert place.stat().st_mode & 0o1777 == 0o1777
        assert Path(tempfile.mkdtemp()).parent == place
    assert not place.exists()
    assert "TMPDIR" not in os.environ
    monkeypatch.setattr(suite_runner, "_roomy", lambda: False)
    with suite_runner.place_of_files():
        assert "TMPDIR" not in os.environ
    monkeypatch.setenv("TMPDIR", str(tmp_path / "own"))
    monkeypatch.setattr(suite_runner, "_roomy", lambda: True)
    with suite_runner.place_of_files():
        assert os.environ["TMPDIR"] == str(tmp_path / "own")


def test_memory_without_room_or_that_is_a_disk_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_runner, "IN_MEMORY", tmp_path)
    assert not suite_runner._roomy(), "no mount"
    monkeypatch.setattr(suite_runner, "IN_MEMORY", Path("/proc"))
    assert not suite_runner._roomy(), "another kind of file system"
    monkeypatch.setattr(suite_runner, "IN_MEMORY", Path("/dev/shm"))
    monkeypatch.setattr(suite_runner, "ROOM_BYTES", 1 << 60)
    assert not suite_runner._roomy(), "no room"


# -- the interpreter


@pytest.mark.parametrize(
    ("times", "taken"),
    [
        ({"a": 100, "b": 95}, "a"),
        ({"a": 100, "b": 89}, "b"),
        ({"a": 100, "b": 80, "c": 60}, "c"),
        ({"a": None, "b": 100, "c": 95}, "b"),
        ({"a": None}, None),
    ],
)
def test_the_first_interpreter_is_taken_unless_another_one_is_much_faster(
    tmp_path: Path, times: dict[str, int | None], taken: str | None
) -> None:
    for name, took in times.items():
        (tmp_path / name).mkdir()
        program = tmp_path / name / "python3"
        program.write_text(f"#!/bin/sh\n{f'echo {took} {name}' if took is not None else 'exit 1'}\n", encoding="utf-8")
        program.chmod(0o755)
    path = ":".join(str(tmp_path / name) for name in times)
    found = subprocess.run(
        ["/bin/bash", REPOSITORY / "requirements" / "interpreter.sh"],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.stdout.strip() or None, found.returncode) == (taken, 0 if taken is not None else 1)
