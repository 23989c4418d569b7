"""Snapshots on schedule: the process of the job, watched, stopped, found again; with a stand-in for Spark."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from syncer import snapshotting
from syncer.config import load
from syncer.config.sample import sample
from syncer.daemon import Daemon
from syncer.errors import ConfigError
from syncer.model import Millis
from syncer.snapshotting import RETRY_MS, Schedule, SchedulePlan, commands

DEADLINE_S = 30.0
T0 = 1_700_000_000_000
SAYS = 'import sys; print(\'{"phase": "read", "rows": 7, "rate": 3.5, "eta_s": 2.0}\', flush=True)'
WAITS = f"{SAYS}; import time; time.sleep(600)"


class Clock:
    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> Millis:
        return Millis(self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """The place of a job; whatever still runs at the end is ended."""
    place = tmp_path / "a place" / "job"
    yield place
    if (place / "process").exists() and not (place / "exit").exists():
        pid = int((place / "process").read_text().split()[0])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        until(lambda: not alive(pid))


def alive(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)


def schedule(work: Path, clock: Clock, *scripts: str, active: bool = True, limit_ms: int = 10**9) -> Schedule:
    plan = SchedulePlan(
        interval_ms=Millis(3_600_000),
        time_limit_ms=Millis(limit_ms),
        work=work,
        commands=tuple((sys.executable, "-c", script) for script in scripts),
    )
    return Schedule(plan, lambda: active, clock)


def ended(made: Schedule) -> dict[str, Any]:
    """Look until the job is over; how it stands then."""

    def over() -> bool:
        made.look()
        return not made.report()["running"]

    until(over)
    return made.report()


def test_a_job_is_begun_watched_and_noted(work: Path, clock: Clock) -> None:
    made = schedule(work, clock, SAYS, "print('pruned')")
    assert made.report()["next_at_ms"] == 0
    made.look()
    assert made.report()["running"] is True
    clock.now += 5_000
    found = ended(made)
    assert (found["last_succeeded"], found["trouble"]) == (True, "")
    assert (found["last_began_at_ms"], found["last_ended_at_ms"]) == (T0, T0 + 5_000)
    assert found["next_at_ms"] == T0 + 3_600_000
    assert b"pruned" in (work / "progress").read_bytes()
    made.look()
    assert not made.report()["running"], "the next one is not due"
    clock.now = T0 + 3_600_000
    made.look()
    assert made.report()["running"]
    ended(made)


def test_progress_is_told_while_it_runs(work: Path, clock: Clock) -> None:
    made = schedule(work, clock, WAITS)
    made.look()
    until(lambda: made.report()["rows"] == 7)
    found = made.report()
    assert (found["phase"], found["rate"], found["eta_s"]) == ("read", 3.5, 2.0)
    made.look()
    assert made.report()["running"], "one at a time"


def test_it_works_at_low_priority_apart_from_the_daemon(work: Path, clock: Clock) -> None:
    made = schedule(work, clock, "import os; print(os.getpriority(os.PRIO_PROCESS, 0), os.getsid(0))")
    made.look()
    ended(made)
    nice, session = (work / "progress").read_text().split()
    assert int(nice) >= 10
    assert int(session) != os.getsid(0)


@pytest.mark.parametrize("scripts", [("raise SystemExit(5)",), ("import sys; sys.exit('no store')", "1/0")])
def test_a_failure_is_told_with_what_it_said_and_tried_again_sooner(
    work: Path, clock: Clock, scripts: tuple[str, ...]
) -> None:
    made = schedule(work, clock, *scripts)
    made.look()
    found = ended(made)
    assert found["last_succeeded"] is False
    assert found["trouble"] == ("exit status 5" if len(scripts) == 1 else "exit status 1: no store")
    assert found["next_at_ms"] == T0 + RETRY_MS


def test_a_refused_snapshot_is_told_whole_and_nothing_is_removed_after_it(work: Path, clock: Clock) -> None:
    """As 'snapshot take' says of a store that lost most of what it held; the pruning after it never runs."""
    says = (
        "import sys; print('error: holds 12 paths', 'hint: --accept-shrunken', sep='\\n', file=sys.stderr); sys.exit(5)"
    )
    made = schedule(work, clock, says, f"open({str(work / 'pruned')!r}, 'w')")
    made.look()
    assert ended(made)["trouble"] == "exit status 5: error: holds 12 paths hint: --accept-shrunken"
    assert not (work / "pruned").exists()


def test_a_job_that_takes_too_long_is_stopped_with_all_that_it_started(work: Path, clock: Clock) -> None:
    made = schedule(work, clock, WAITS, limit_ms=60_000)
    made.look()
    until(lambda: made.report()["rows"] == 7)
    pid = int((work / "process").read_text().split()[0])
    clock.now += 61_000
    found = ended(made)
    assert "longer than 60 s" in found["trouble"]
    until(lambda: not alive(pid))


def test_a_job_that_does_not_listen_is_killed(work: Path, clock: Clock) -> None:
    deaf = f"import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid()); {WAITS}"
    made = schedule(work, clock, deaf, limit_ms=60_000)
    made.look()
    until(lambda: made.report()["rows"] == 7)
    pid = int((work / "progress").read_text().split()[0])
    clock.now += 61_000
    made.look()
    assert alive(pid)
    clock.now += 16_000
    found = ended(made)
    assert "longer than 60 s" in found["trouble"]
    until(lambda: not alive(pid))


def test_what_a_vanished_job_has_left_behind_is_ended(work: Path, clock: Clock) -> None:
    made = schedule(work, clock, f"import os; print(os.getpid()); {WAITS}")
    made.look()
    until(lambda: made.report()["rows"] == 7)
    left = int((work / "progress").read_text().split()[0])
    os.kill(int((work / "process").read_text().split()[0]), signal.SIGKILL)
    assert "vanished" in ended(made)["trouble"]
    until(lambda: not alive(left))


def test_another_daemon_finds_the_job_and_its_result(work: Path, clock: Clock) -> None:
    schedule(work, clock, WAITS).look()
    again = schedule(work, clock, "1/0")
    until(lambda: again.report()["rows"] == 7)
    again.look()
    assert again.report()["running"], "it is not begun again"
    pid = int((work / "process").read_text().split()[0])
    os.killpg(pid, signal.SIGKILL)
    found = ended(again)
    assert "vanished" in found["trouble"]
    other = work.with_name("other")
    schedule(other, clock, "print('done')").look()
    until((other / "exit").exists)  # its daemon is gone by then
    assert ended(schedule(other, clock, "1/0"))["last_succeeded"] is True


def test_a_number_that_another_process_has_now_is_not_the_job(work: Path, clock: Clock) -> None:
    work.mkdir(parents=True)
    (work / "job.json").write_bytes(orjson.dumps({"began_at_ms": T0}))
    (work / "process").write_text(f"{os.getpid()} 1")
    made = schedule(work, clock, SAYS)
    made.look()
    assert "vanished" in str(made.report()["trouble"])
    (work / "process").unlink()


def test_a_job_of_which_nothing_was_heard_is_given_up(work: Path, clock: Clock) -> None:
    work.mkdir(parents=True)
    (work / "job.json").write_bytes(orjson.dumps({"began_at_ms": T0}))
    made = schedule(work, clock, SAYS)
    made.look()
    assert made.report()["running"], "it may be on its way"
    clock.now += 20_000
    made.look()
    assert made.report()["running"] is False


def test_only_the_active_daemon_begins_one(work: Path, clock: Clock) -> None:
    made = schedule(work, clock, SAYS, active=False)
    made.look()
    assert not work.exists()


async def test_a_place_that_cannot_be_used_is_trouble_and_not_the_end(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "file").write_text("no directory")
    made = schedule(tmp_path / "file" / "job", clock, SAYS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.run)
        await anyio.to_thread.run_sync(until, lambda: made.report()["trouble"])
        tasks.cancel_scope.cancel()


# -- by the configuration


def configured(tmp_path: Path, text: str) -> Daemon:
    file = tmp_path / "config.toml"
    head, _, tables = sample(store="sqlite", bus="embedded", region="east").partition("[store]")
    before, _, after = text.partition("---")
    tables = tables if "[snapshots]" not in after else tables.replace("\n[snapshots]\n", "\n")
    file.write_text(f"{head}{before}[store]{tables}{after}", encoding="utf-8")
    return Daemon(load(file, check_adapters=False), config_file=file)


def test_the_schedule_comes_from_the_configuration(tmp_path: Path) -> None:
    daemon = configured(
        tmp_path, 'snapshot_interval = "6h"\n---\n[snapshots]\nfolder = "/snap shots"\nkeep = 3\nmemory = "800m"\n'
    )
    made = daemon._make_schedule()
    assert made is not None
    assert made._plan.work == Path("/snap shots/.job")
    assert made._plan.interval_ms == 6 * 3_600_000
    take, prune = made._plan.commands
    assert take[:3] == (sys.executable, "-m", "spark_snapshot")
    assert take[3:] == (
        "--config",
        str(tmp_path / "config.toml"),
        "take",
        "--folder",
        "/snap shots",
        "--memory",
        "800m",
    )
    assert prune[5:] == ("prune", "--folder", "/snap shots", "--region", "east", "--keep", "3")
    assert configured(tmp_path, "---")._make_schedule() is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('snapshot_interval = "6h"\n---\n', "snapshots.folder"),
        ('snapshot_interval = "6h"\n---\n[snapshots]\nfolder = "s3a://bucket/x"\n', "snapshots.work"),
        ('snapshot_interval = "5s"\n---\n[snapshots]\nfolder = "/x"\n', "snapshot_interval"),
        ('---\n[snapshots]\nmemory = "much"\n', "snapshots.memory"),
    ],
)
def test_a_schedule_that_cannot_work_is_bad_configuration(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configured(tmp_path, text)


def test_a_daemon_without_a_file_takes_none(tmp_path: Path) -> None:
    daemon = configured(tmp_path, 'snapshot_interval = "6h"\n---\n[snapshots]\nfolder = "/x"\n')
    daemon.config_file = None
    assert daemon._make_schedule() is None


def test_commands_are_quoted_for_the_shell() -> None:
    odd = commands("py thon", Path("/a'b"), "$(x)", region="e;f", keep=1, memory="2g")
    script = snapshotting._script(Path("/w w"), odd)
    assert "'py thon' -m spark_snapshot --config '/a'\"'\"'b' take --folder '$(x)'" in script
    assert "--region 'e;f'" in script
    assert ">'/w w/progress'" in script
