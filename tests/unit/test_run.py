"""The runner of the suites counts what really ran, and is green only for the right reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from syncer.waiting import WAIT_S, wait_until
from tests import run as suite_runner
from tests.run import run_step
from tests.suites import REPOSITORY, Outcome, Rules, load, read_junit
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


def suites(file: Path, body: str) -> Path:
    """Write a table of suites."""
    file.write_text(f"allowed_skips = []\n{body}", encoding="utf-8")
    return file


def one_suite(file: Path, *steps: str, share: float = 1.0) -> Path:
    """Write a table of one suite called 'it'."""
    return suites(file, f'[[suite]]\nname = "it"\nshare_minutes = {share}\nsteps = [{", ".join(steps)}]\n')


def run(file: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the runner itself, outside CI unless told."""
    return subprocess.run(
        [sys.executable, "-m", "tests.run", "--file", str(file)],
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
    outcome = run_step(step, deadline_s=60, rules=Rules())
    assert (outcome.passed, outcome.failed) == counts
    assert any(cause in problem for problem in outcome.problems)


def test_green_needs_something_that_passed(tmp_path: Path) -> None:
    result = run(one_suite(tmp_path / "suites.toml", '{ name = "lint", run = ["true"] }'))
    assert (result.returncode, last(result)) == (0, "tests: 1 passed, 0 failed")
    assert "verdict: GREEN" in result.stdout
    assert "over their share: none" in result.stdout

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
        '[[suite]]\nname = "setup"\nshare_minutes = 1\nsteps = [{ name = "e", run = ["false"], essential = true }]\n'
        f'[[suite]]\nname = "rest"\nshare_minutes = 1\nsteps = [{{ name = "r", run = ["touch", "{marker}"] }}]\n'
    )
    result = run(suites(tmp_path / "suites.toml", body))
    assert "verdict: RED (setup; the rest did not run)" in result.stdout
    assert not marker.exists()


def test_a_hung_step_is_ended_and_named(tmp_path: Path) -> None:
    result = run(one_suite(tmp_path / "suites.toml", '{ name = "hung", run = ["sleep", "600"] }', share=0.001))
    assert (result.returncode, last(result)) == (1, "tests: 0 passed, 1 failed")
    assert "did not end in time" in result.stdout
    assert "over their share: it" in result.stdout


def test_no_step_outlives_an_ended_run(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    file = one_suite(
        tmp_path / "suites.toml", f'{{ name = "s", run = ["sh", "-c", "echo $$ >{pid_file}; sleep 600"] }}'
    )
    with subprocess.Popen([sys.executable, "-m", "tests.run", "--file", file], cwd=REPOSITORY) as runner:
        wait_until(lambda: pid_file.exists() and pid_file.read_text().strip() != "", "the step has begun")
        step = int(pid_file.read_text())
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(timeout=WAIT_S) == 130
    wait_until(lambda: not Path(f"/proc/{step}").exists(), "the step has ended")


ONE_STEP = 'allowed_skips = []\n[[suite]]\nname = "a"\nshare_minutes = 1\nsteps = [{{ name = "x", run = ["t"], {} }}]\n'

TWO_SUITES = """
[[suite]]
name = "first"
share_minutes = 1
steps = [{{ name = "slow", run = ["sh", "{slow}"], counts = true, until = "{until}" }}]
[[suite]]
name = "second"
share_minutes = 1
steps = [{{ name = "quick", run = ["sh", "{quick}"] }}]
"""


def test_a_step_that_runs_beside_others_counts_for_its_own_suite_and_is_shown_at_the_end(tmp_path: Path) -> None:
    slow, quick, met = tmp_path / "slow.sh", tmp_path / "quick.sh", tmp_path / "met"
    slow.write_text(f"touch {met}\nnice\necho FAIL two: it ended\necho 7 passed, 1 failed\nexit 1\n", encoding="utf-8")
    quick.write_text(f"while [ ! -e {met} ]; do sleep 0.01; done\necho quick is over\n", encoding="utf-8")

    result = run(suites(tmp_path / "suites.toml", TWO_SUITES.format(slow=slow, quick=quick, until="second")))

    assert (result.returncode, last(result)) == (1, "tests: 8 passed, 1 failed")
    assert "verdict: RED (first)" in result.stdout
    assert result.stdout.index("quick is over") < result.stdout.index("FAIL two")
    assert "\n19\n" in result.stdout, "it takes what nobody else wants"


def test_without_its_last_suite_a_step_beside_others_is_waited_for_at_the_end(tmp_path: Path) -> None:
    slow = tmp_path / "slow.sh"
    slow.write_text("sleep 0.2\necho 7 passed, 0 failed\n", encoding="utf-8")
    file = suites(tmp_path / "suites.toml", TWO_SUITES.format(slow=slow, quick="/dev/null", until="second"))
    command = [sys.executable, "-m", "tests.run", "--file", str(file), "first"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=WAIT_S, check=True)
    assert done.stdout.splitlines()[-1] == "tests: 7 passed, 0 failed"


def test_no_step_beside_others_outlives_an_ended_run(tmp_path: Path) -> None:
    slow, pid_file = tmp_path / "slow.sh", tmp_path / "pid"
    slow.write_text(f"echo $$ >{pid_file}\nsleep 600\n", encoding="utf-8")
    (tmp_path / "quick.sh").write_text("sleep 600\n", encoding="utf-8")
    body = TWO_SUITES.format(slow=slow, quick=tmp_path / "quick.sh", until="second")
    file = suites(tmp_path / "suites.toml", body)
    with subprocess.Popen([sys.executable, "-m", "tests.run", "--file", file], cwd=REPOSITORY) as runner:
        wait_until(lambda: pid_file.exists() and pid_file.read_text().strip() != "", "the step has begun")
        step = int(pid_file.read_text())
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(timeout=WAIT_S) == 130
    wait_until(lambda: not Path(f"/proc/{step}").exists(), "the step has ended")


def test_an_interrupt_waits_until_nobody_waits_for_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of a wait it would leave the lock of the process taken, so that nobody sees it end any more."""
    interrupts = suite_runner.Interrupts()
    monkeypatch.setattr(suite_runner, "INTERRUPTS", interrupts)
    waiting = subprocess.Popen.wait
    came: list[bool] = []

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        came.append(interrupts._waits)
        return waiting(process, timeout)

    with interrupts.heard(), subprocess.Popen(["sleep", "600"]) as step:
        monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            suite_runner._waited(step, WAIT_S)
        monkeypatch.undo()
        step.terminate()
        assert step.wait(timeout=WAIT_S) == -signal.SIGTERM
    assert came == [True], "it came while the step was waited for"


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
    assert run_step(step, deadline_s=60, rules=Rules()) == Outcome(passed=1)
    assert run_step(step, deadline_s=60, rules=Rules(long=True)) == Outcome(passed=2)


@pytest.mark.parametrize(
    "body",
    [
        "allowed_skips = []\nsurprise = 1\nsuite = []\n",
        "suite = []\n",
        'allowed_skips = []\n[[suite]]\nname = "a"\nshare_minutes = 1\nsteps = [{ name = "x" }]\n',
        'allowed_skips = []\n[[suite]]\nname = "a"\nshare_minutes = 1\nsteps = [{ name = "x", runs = ["true"] }]\n',
        'allowed_skips = []\n[[suite]]\nname = "a"\nsteps = []\n',
        'suite = [{name = "a", share_minutes = 1, steps = [{name = "x", pytest = ["t"], counts = true}]}]',
        ONE_STEP.format('until = "no such"'),
        ONE_STEP.format('until = "a", essential = true'),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, body: str) -> None:
    file = tmp_path / "suites.toml"
    file.write_text(body, encoding="utf-8")
    with pytest.raises(ValueError, match=r"suites\.toml"):
        load(file)
