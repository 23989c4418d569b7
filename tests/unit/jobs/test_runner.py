"""Jobs as processes: begun, watched, stopped, found again, on schedule and asked for; with a stand-in for Spark."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from syncer.config import load
from syncer.config.sample import sample
from syncer.daemon import Daemon
from syncer.errors import ConfigError
from syncer.jobs.commands import commands_of
from syncer.jobs.processes import OUTPUT_BYTES, script_of
from syncer.jobs.queue import GRACE_MS, MAX_ATTEMPTS, PATIENCE_MS
from syncer.jobs.runner import JobPlan, JobRunner
from syncer.jobs.schedule import RETRY_MS, Schedule
from syncer.model import Millis
from syncer.state.contract.jobs import JobKind, JobRow, JobState
from syncer.state.sql.database import SqlState
from syncer.state.sql.presence import DaemonRole, Presence
from syncer.state.sql.work.job_board import JobBoard
from syncer.waiting import wait_until
from tests.unit.state.test_contract import EAST

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
    """The place of jobs; whatever still runs at the end is ended."""
    place = tmp_path / "a place" / "job"
    yield place
    for file in place.parent.rglob("process"):
        if file.is_file() and not file.with_name("exit").exists():
            pid = int(wait_until(file.read_text, "it has told which one it is").split()[0])
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: not alive(pid), "it has ended")  # type: ignore[misc]  # bound now


@pytest.fixture
def state(tmp_path: Path, clock: Clock) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", EAST, clock=clock)) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def runners(state: SqlState, tmp_path: Path, clock: Clock) -> Iterator[Runners]:
    with contextlib.ExitStack() as stack:
        yield Runners(state, f"sqlite:///{tmp_path / 'state.db'}", clock, stack)


@dataclass(slots=True)
class Runners:
    """Daemons on one database, as far as they run jobs."""

    state: SqlState
    url: str
    clock: Clock
    stack: contextlib.ExitStack

    def make(
        self,
        work: Path,
        *scripts: str,
        active: bool = True,
        limit_ms: int = 10**9,
        scheduled: bool = True,
        host: str = "h1",
        pid: int = 1,
    ) -> JobRunner:
        plan = JobPlan(
            work=work,
            host=host,
            region="east",
            time_limit_ms=Millis(limit_ms),
            commands=lambda _: tuple((sys.executable, "-c", script) for script in scripts),
            schedule=Schedule(Millis(3_600_000)) if scheduled else None,
        )
        board = self.stack.enter_context(closing(JobBoard(self.url, host=host, pid=pid, clock=self.clock)))
        return JobRunner(plan, board, self.state.transaction, lambda: active, self.clock)

    def present(self, host: str, pid: int) -> Presence:
        there = Presence(self.url, host=host, pid=pid, version="1", clock=self.clock)
        self.stack.enter_context(closing(there))
        there.report(DaemonRole.STANDBY)
        return there

    def ask(self, kind: JobKind = JobKind.TAKE) -> int:
        row = JobRow(id=0, kind=kind, arguments={}, asked_by="ann", reason="", asked_at_ms=self.clock())
        with self.state.transaction() as tx:
            return tx.ask_job(row)

    def job(self, number: int = 1) -> JobRow:
        with self.state.transaction() as tx:
            found = tx.job(number)
        assert found is not None
        return found

    def cancel(self, number: int) -> None:
        with self.state.transaction() as tx:
            assert tx.ask_end_of_job(number, "ben")


def file(work: Path, name: str) -> Path:
    """A file of the only run."""
    (found,) = work.glob(f"*/{name}")
    return found


def alive(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def looked(made: JobRunner) -> bool:
    made.look()
    return True


def ended(made: JobRunner) -> dict[str, Any]:
    """Look until the job is over; how it stands then."""

    def over() -> bool:
        made.look()
        return not made.report()["running"]

    wait_until(over, "the job is over")
    made.look()
    return dict(made.report())


def test_a_job_is_begun_watched_and_noted(work: Path, clock: Clock, runners: Runners) -> None:
    pruned = work.with_name("pruned")
    made = runners.make(work, SAYS, f"open({str(pruned)!r}, 'w')")
    assert made.report()["next_at_ms"] == 0
    made.look()
    assert made.report()["running"] is True
    clock.now += 5_000
    found = ended(made)
    assert (found["last_succeeded"], found["trouble"]) == (True, "")
    assert (found["last_began_at_ms"], found["last_ended_at_ms"]) == (T0, T0 + 5_000)
    assert found["next_at_ms"] == T0 + 3_600_000
    assert pruned.exists()
    assert list(work.iterdir()) == [], "nothing of it is left"
    made.look()
    assert not made.report()["running"], "the next one is not due"
    clock.now = T0 + 3_600_000
    made.look()
    assert made.report()["running"]
    ended(made)


def test_progress_is_told_while_it_runs(work: Path, clock: Clock, runners: Runners) -> None:
    made = runners.make(work, WAITS)
    made.look()
    wait_until(lambda: made.report()["rows"] == 7, "its progress is read")
    found = made.report()
    assert (found["phase"], found["rate"], found["eta_s"]) == ("read", 3.5, 2.0)
    made.look()
    assert made.report()["running"], "one at a time"


def test_it_works_at_low_priority_apart_from_the_daemon(work: Path, runners: Runners) -> None:
    says = "import json, os; print(json.dumps({'nice': os.getpriority(os.PRIO_PROCESS, 0), 'session': os.getsid(0)}))"
    made = runners.make(work, says, "print('{}')")
    made.look()
    ended(made)
    output = runners.job().output
    assert int(str(output["nice"])) >= 10
    assert output["session"] != os.getsid(0)


@pytest.mark.parametrize("scripts", [("raise SystemExit(5)",), ("import sys; sys.exit('no store')", "1/0")])
def test_a_failure_is_told_with_what_it_said_and_tried_again_sooner(
    work: Path, runners: Runners, scripts: tuple[str, ...]
) -> None:
    made = runners.make(work, *scripts)
    made.look()
    found = ended(made)
    assert found["last_succeeded"] is False
    assert found["trouble"] == ("exit status 5" if len(scripts) == 1 else "exit status 1: no store")
    assert found["next_at_ms"] == T0 + RETRY_MS


def test_a_refused_snapshot_is_told_whole_and_nothing_is_removed_after_it(
    work: Path, clock: Clock, runners: Runners
) -> None:
    """As 'snapshot take' says of a store that lost most of what it held; the pruning after it never runs."""
    says = (
        "import sys; print('error: holds 12 paths', 'hint: --accept-shrunken', sep='\\n', file=sys.stderr); sys.exit(5)"
    )
    made = runners.make(work, says, f"open({str(work / 'pruned')!r}, 'w')")
    made.look()
    assert ended(made)["trouble"] == "exit status 5: error: holds 12 paths hint: --accept-shrunken"
    assert not (work / "pruned").exists()


def test_a_job_that_takes_too_long_is_stopped_with_all_that_it_started(
    work: Path, clock: Clock, runners: Runners
) -> None:
    made = runners.make(work, WAITS, limit_ms=60_000)
    made.look()
    wait_until(lambda: made.report()["rows"] == 7, "its progress is read")
    pid = int(file(work, "process").read_text().split()[0])
    clock.now += 61_000
    found = ended(made)
    assert "longer than 60 s" in found["trouble"]
    wait_until(lambda: not alive(pid), "it has ended")


def test_a_job_that_does_not_listen_is_killed(work: Path, clock: Clock, runners: Runners) -> None:
    deaf = f"import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid()); {WAITS}"
    made = runners.make(work, deaf, limit_ms=60_000)
    made.look()
    wait_until(lambda: made.report()["rows"] == 7, "its progress is read")
    pid = int(file(work, "progress").read_text().split()[0])
    clock.now += 61_000
    made.look()
    assert alive(pid)
    clock.now += 16_000
    found = ended(made)
    assert "longer than 60 s" in found["trouble"]
    wait_until(lambda: not alive(pid), "it has ended")


def test_what_a_vanished_job_has_left_behind_is_ended(work: Path, clock: Clock, runners: Runners) -> None:
    made = runners.make(work, f"import os; print(os.getpid()); {WAITS}")
    made.look()
    wait_until(lambda: made.report()["rows"] == 7, "its progress is read")
    left = int(file(work, "progress").read_text().split()[0])
    os.kill(int(file(work, "process").read_text().split()[0]), signal.SIGKILL)
    assert "vanished" in ended(made)["trouble"]
    wait_until(lambda: not alive(left), "it has ended")


def test_another_daemon_finds_the_job_and_its_result(work: Path, runners: Runners) -> None:
    runners.make(work, WAITS).look()
    again = runners.make(work, "1/0")
    again.look()
    wait_until(lambda: again.report()["rows"] == 7, "its progress is read")
    again.look()
    assert again.report()["running"], "it is not begun again"
    pid = int(file(work, "process").read_text().split()[0])
    os.killpg(pid, signal.SIGKILL)
    assert "vanished" in ended(again)["trouble"]
    number = runners.ask()
    runners.make(work, "print('{\"id\": 7}')", scheduled=False).look()
    wait_until(lambda: list(work.glob("*/exit")), "it has exited")  # its daemon is gone by then
    another = runners.make(work, "1/0", scheduled=False)
    wait_until(lambda: looked(another) and runners.job(number).over, "the job is over")  # its process may be ending
    assert (runners.job(number).state, runners.job(number).output) == (JobState.SUCCEEDED, {"id": 7})


def test_a_standby_tells_the_end_of_what_runs_on_its_machine(work: Path, runners: Runners) -> None:
    """The role went to another machine meanwhile: there nobody sees the process, and nobody begins another job."""
    first, second = runners.ask(), runners.ask()
    runners.make(work, WAITS, scheduled=False).look()
    wait_until(lambda: list(work.glob("*/process")), "it has begun")
    runners.present("h1", 1)
    standby = runners.make(work, "1/0", scheduled=False, active=False)
    other = runners.make(work.with_name("elsewhere"), SAYS, scheduled=False, host="h2", pid=2)
    for each in (other, standby, other):
        each.look()
    assert (runners.job(first).state, runners.job(second).state) == (JobState.RUNNING, JobState.QUEUED)
    runners.cancel(first)
    wait_until(lambda: looked(standby) and runners.job(first).over, "the job is over")
    assert (runners.job(first).state, runners.job(first).detail) == (JobState.CANCELLED, "cancelled by ben")
    wait_until(lambda: looked(other) and runners.job(second).over, "the job is over")
    assert (runners.job(second).state, runners.job(second).host) == (JobState.SUCCEEDED, "h2")


def test_a_job_whose_machine_has_gone_is_lost_and_the_next_one_begins(
    work: Path, clock: Clock, runners: Runners
) -> None:
    first, second = runners.ask(), runners.ask()
    runners.make(work, WAITS, scheduled=False).look()
    there = runners.present("h1", 1)
    other = runners.make(work.with_name("elsewhere"), SAYS, scheduled=False, host="h2", pid=2)
    other.look()
    assert runners.job(first).state is JobState.RUNNING
    there.leave()
    other.look()
    assert runners.job(first).state is JobState.LOST
    assert "the daemon of h1 that began it is not there any more" in runners.job(first).detail
    wait_until(lambda: looked(other) and runners.job(second).over, "the job is over")
    pid = int(file(work, "process").read_text().split()[0])
    back = runners.make(work, "1/0", scheduled=False, active=False)
    clock.now += GRACE_MS + 1_000  # what still lives there when its daemon comes back is ended
    wait_until(lambda: looked(back) and not alive(pid), "what still lived is ended")
    wait_until(lambda: looked(back) and not list(work.iterdir()), "nothing is left")
    assert runners.job(first).state is JobState.LOST


def test_jobs_run_one_at_a_time_in_the_order_of_asking_and_keep_what_they_say(work: Path, runners: Runners) -> None:
    numbers = [runners.ask(kind) for kind in (JobKind.TAKE, JobKind.DIFF, JobKind.TAKE)]
    made = runners.make(
        work, 'print(\'{"phase": "x"}\'); print(\'{"paths": 2}\'); raise SystemExit(3)', scheduled=False
    )
    assert made.counts == {"queued": 0, "running": 0}
    made.look()
    assert made.counts == {"queued": 2, "running": 1}
    wait_until(lambda: looked(made) and runners.job(numbers[-1]).over, "the job is over")
    took = [runners.job(number) for number in numbers]
    assert [job.state for job in took] == [JobState.FAILED, JobState.SUCCEEDED, JobState.FAILED]
    assert took[1].output == {"paths": 2}, "3: something differs"
    assert made.counts == {"queued": 0, "running": 0}


@pytest.mark.parametrize(("status", "different"), [(0, False), (3, True)])
def test_of_a_comparison_too_long_to_keep_its_exit_status_says_whether_something_differs(
    status: int, different: bool, work: Path, runners: Runners
) -> None:
    number = runners.ask(JobKind.DIFF)
    code = f'print(\'{{"paths": "\' + "x" * {OUTPUT_BYTES} + \'"}}\'); raise SystemExit({status})'
    made = runners.make(work, code, scheduled=False)
    wait_until(lambda: looked(made) and runners.job(number).over, "the job is over")
    assert (runners.job(number).state, runners.job(number).output) == (JobState.SUCCEEDED, {"different": different})


def test_a_job_that_never_began_is_queued_again_and_given_up_in_the_end(
    work: Path, clock: Clock, runners: Runners, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncer.jobs.processes.script_of", lambda *_: "exit 1")
    number = runners.ask()
    made = runners.make(work, SAYS, scheduled=False)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        made.look()
        assert (runners.job(number).state, runners.job(number).attempts) == (JobState.RUNNING, attempt)
        clock.now += PATIENCE_MS + 1
        made.look()
    assert runners.job(number).state is JobState.FAILED
    assert "could not be begun, 3 times" in runners.job(number).detail
    assert list(work.iterdir()) == []


def test_what_was_cut_short_between_its_directory_and_its_process_is_begun_again(
    work: Path, clock: Clock, runners: Runners, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = runners.ask()
    with monkeypatch.context() as patch:
        patch.setattr("os.posix_spawn", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            runners.make(work, SAYS, scheduled=False).look()
    again = runners.make(work, SAYS, scheduled=False)
    clock.now += PATIENCE_MS + 1
    wait_until(lambda: looked(again) and runners.job(number).over, "the job is over")
    assert (runners.job(number).state, runners.job(number).attempts) == (JobState.SUCCEEDED, 2)


def test_daemons_of_other_regions_and_machines_may_share_the_directory(
    work: Path, clock: Clock, runners: Runners
) -> None:
    for name, facts in (("a1", {"region": "west", "host": "h1"}), ("b2", {"region": "east", "host": "h9"})):
        (work / name).mkdir(parents=True)
        (work / name / "job.json").write_bytes(orjson.dumps({**facts, "prepared_at_ms": 0}))
    runners.make(work, SAYS, scheduled=False).look()
    assert sorted(each.name for each in work.iterdir()) == ["a1", "b2"]


# -- a directory that an earlier version has left


def test_a_job_that_an_earlier_version_has_begun_is_watched_to_its_end(
    work: Path, clock: Clock, runners: Runners
) -> None:
    work.mkdir(parents=True)
    (work / "job.json").write_bytes(orjson.dumps({"began_at_ms": T0 - 5_000}))
    pid = os.posix_spawn(
        "/bin/sh", ["sh", "-c", script_of(work, [[sys.executable, "-c", WAITS]])], os.environ, setsid=True
    )
    wait_until((work / "process").exists, "it goes on")
    runners.make(work, "1/0", active=False).look()
    made = runners.make(work, "1/0")
    made.look()
    wait_until(lambda: made.report()["rows"] == 7, "its progress is read")
    assert (made.report()["running"], made.report()["began_at_ms"]) == (True, T0 - 5_000)
    assert alive(pid)
    clock.now += 10
    os.killpg(pid, signal.SIGKILL)
    assert "vanished" in ended(made)["trouble"]
    assert list(work.iterdir()) == []


def test_a_number_that_another_process_has_now_is_not_the_job(work: Path, runners: Runners) -> None:
    work.mkdir(parents=True)
    (work / "job.json").write_bytes(orjson.dumps({"began_at_ms": T0}))
    (work / "process").write_text(f"{os.getpid()} 1")
    made = runners.make(work, SAYS)
    made.look()
    assert "vanished" in str(made.report()["trouble"])


def test_how_the_last_one_of_an_earlier_version_ended_still_counts(work: Path, runners: Runners) -> None:
    work.mkdir(parents=True)
    last = {"began_at_ms": T0 - 60_000, "ended_at_ms": T0 - 50_000, "succeeded": True, "detail": ""}
    (work / "last.json").write_bytes(orjson.dumps(last))
    made = runners.make(work, SAYS)
    made.look()
    assert not made.report()["running"]
    assert made.report()["next_at_ms"] == T0 - 60_000 + 3_600_000


def test_only_the_active_daemon_begins_one(work: Path, runners: Runners) -> None:
    runners.ask()
    runners.make(work, SAYS, active=False).look()
    assert not work.exists()


async def test_a_place_that_cannot_be_used_is_trouble_and_not_the_end(
    tmp_path: Path, clock: Clock, runners: Runners
) -> None:
    (tmp_path / "file").write_text("no directory")
    made = runners.make(tmp_path / "file" / "job", SAYS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.run)
        await anyio.to_thread.run_sync(wait_until, lambda: made.report()["trouble"], "it is told")
        tasks.cancel_scope.cancel()


# -- by the configuration


def configured(tmp_path: Path, text: str) -> Daemon:
    file = tmp_path / "config.toml"
    head, _, tables = sample(store="sqlite", bus="embedded", region="east").partition("[store]")
    before, _, after = text.partition("---")
    tables = tables if "[snapshots]" not in after else tables.replace("\n[snapshots]\n", "\n")
    file.write_text(f"{head}{before}[store]{tables}{after}", encoding="utf-8")
    return Daemon(load(file, check_adapters=False), config_file=file)


def test_jobs_and_their_schedule_come_from_the_configuration(tmp_path: Path) -> None:
    tables = '[snapshots]\nfolder = "/snap shots"\nkeep = 3\nmemory = "800m"\n'
    plan = configured(tmp_path, f'snapshot_interval = "6h"\n---\n{tables}')._job_plan()
    assert plan is not None
    assert (plan.work, plan.schedule) == (Path("/snap shots/.job"), Schedule(Millis(6 * 3_600_000)))
    take, prune = plan.commands(a_job(JobKind.TAKE, tenants=["acme"]))
    assert take[:5] == (sys.executable, "-m", "spark_snapshot", "--config", str(tmp_path / "config.toml"))
    assert take[5:] == ("take", "--folder", "/snap shots", "--memory", "800m", "--tenant=acme")
    assert prune[5:] == ("prune", "--folder", "/snap shots", "--region", "east", "--keep", "3")
    (diff,) = plan.commands(a_job(JobKind.DIFF, snapshots=["east", "west"]))
    assert diff[5:] == ("diff", "--folder", "/snap shots", "--memory", "800m", "--limit=100", "--", "east", "west")
    asked_only = configured(tmp_path, f"---\n{tables}")._job_plan()
    assert asked_only is not None
    assert asked_only.schedule is None
    assert configured(tmp_path, "---")._job_plan() is None


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
    assert daemon._job_plan() is None


def test_commands_are_quoted_for_the_shell() -> None:
    commands = commands_of("py thon", Path("/a'b"), "$(x)", Path("/w w"), region="e;f", keep=1, memory="2g")
    script = script_of(Path("/w w"), commands(a_job(JobKind.TAKE)))
    assert "'py thon' -m spark_snapshot --config '/a'\"'\"'b' take --folder '$(x)'" in script
    assert "--region 'e;f'" in script
    assert ">'/w w/progress'" in script


def a_job(kind: JobKind, **arguments: object) -> JobRow:
    return JobRow(id=1, kind=kind, arguments=arguments, asked_by="ann", reason="", asked_at_ms=Millis(1))
