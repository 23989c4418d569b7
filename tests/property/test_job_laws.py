"""Laws of the queue of jobs, over any course of things: one at a time, in order, none forgotten, each ended once."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.jobs.queue import (
    GRACE_MS,
    MAX_ATTEMPTS,
    PATIENCE_MS,
    BeginJob,
    ClearRun,
    JobsSeen,
    NoteEnd,
    ProcessState,
    QueueAgain,
    RunSeen,
    StopJob,
    next_steps,
)
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.jobs import KEPT, SCHEDULE, JobEnd, JobKind, JobRow, JobState
from syncer.state.memory import MemoryDatabase, MemoryState
from tests.unit.state.test_contract import EAST

LIMIT = Millis(600_000)
HOSTS = ("h1", "h2")
EVENTS = (
    "ask",
    "schedule",
    "diff",
    "cancel",
    "live",
    "exit",
    "fail",
    "die",
    "look",
    "look",
    "wait",
    "long",
    "switch",
    "down",
    "up",
)


@dataclass(slots=True)
class World:
    """Two machines with a daemon each, on one database; processes live and die as they are told."""

    state: MemoryState
    now: int = 1_000_000
    active: str = "h1"
    down: set[str] = field(default_factory=set)
    runs: dict[str, dict[str, RunSeen]] = field(default_factory=lambda: {host: {} for host in HOSTS})
    begun: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    ends: dict[int, list[JobState]] = field(default_factory=dict)
    after_schedule: bool = False

    def happen(self, event: str) -> None:
        match event:
            case "ask" | "schedule" | "diff":
                self.ask(SCHEDULE if event == "schedule" else "ann", JobKind.DIFF if event == "diff" else JobKind.TAKE)
            case "cancel":
                self.cancel()
            case "live":
                self.processes(RunSeen(process=ProcessState.ALIVE, prepared_at_ms=Millis(0)))
            case "exit" | "fail":
                status = 0 if event == "exit" else 5
                self.processes(RunSeen(process=ProcessState.EXITED, prepared_at_ms=Millis(0), status=status))
            case "die":
                self.processes(RunSeen(process=ProcessState.VANISHED, prepared_at_ms=Millis(0)))
            case "wait" | "long":
                self.now += PATIENCE_MS + GRACE_MS if event == "wait" else LIMIT
            case "switch":
                self.active = next(host for host in HOSTS if host != self.active)
            case "down":
                self.down.add(self.active)
                self.runs[self.active] = {}
            case "up":
                self.down.clear()
            case _:
                for host in HOSTS:
                    if host not in self.down:
                        self.look(host)
        self.check()

    def ask(self, asked_by: str, kind: JobKind) -> None:
        row = JobRow(id=0, kind=kind, arguments={}, asked_by=asked_by, reason="", asked_at_ms=Millis(self.now))
        with self.state.transaction() as tx:
            if asked_by != SCHEDULE or all(job.asked_by != SCHEDULE for job in tx.open_jobs()):
                self.asked.append(tx.ask_job(row))

    def cancel(self) -> None:
        with self.state.transaction() as tx:
            for job in tx.open_jobs()[-1:]:
                if job.state is JobState.QUEUED:
                    self.end(job, JobEnd(state=JobState.CANCELLED, at_ms=Millis(self.now)))
                    tx.end_job(job.id, "", JobEnd(state=JobState.CANCELLED, at_ms=Millis(self.now)))
                else:
                    tx.ask_end_of_job(job.id, "ben")

    def processes(self, seen: RunSeen) -> None:
        """What began and is not over becomes that."""
        for runs in self.runs.values():
            for run, found in runs.items():
                if found.process in {ProcessState.SILENT, ProcessState.ALIVE}:
                    runs[run] = replace(seen, prepared_at_ms=found.prepared_at_ms)

    def look(self, host: str) -> None:
        with self.state.transaction() as tx:
            seen = JobsSeen(
                jobs=tx.open_jobs(),
                runs=self.runs[host],
                hosts={other for other in HOSTS if other != host and other not in self.down},
                active=host == self.active,
                now=Millis(self.now),
                time_limit_ms=LIMIT,
                after_schedule=self.after_schedule,
            )
            for step in next_steps(seen):
                match step:
                    case BeginJob(job):
                        run = f"{job.id}-{job.attempts}"
                        self.runs[host][run] = RunSeen(process=ProcessState.SILENT, prepared_at_ms=Millis(self.now))
                        assert tx.begin_job(job.id, host, run, Millis(self.now))
                        self.after_schedule = job.asked_by == SCHEDULE
                        self.in_order(job)
                    case StopJob(job):
                        self.runs[host][job.run] = replace(self.runs[host][job.run], process=ProcessState.VANISHED)
                    case NoteEnd(job, end):
                        assert tx.end_job(job.id, job.run, end)
                        self.runs[host].pop(job.run, None)
                        self.end(job, end)
                    case QueueAgain(job):
                        assert job.attempts < MAX_ATTEMPTS
                        assert tx.requeue_job(job.id, job.run)
                        del self.runs[host][job.run]
                    case ClearRun(run):
                        del self.runs[host][run]
            tx.prune_jobs(KEPT)

    def in_order(self, job: JobRow) -> None:
        """Those that an operator asked for begin in the order of asking."""
        if job.asked_by != SCHEDULE and job.attempts == 0:
            assert all(earlier < job.id for earlier in self.begun)
            self.begun.append(job.id)

    def end(self, job: JobRow, end: JobEnd) -> None:
        assert end.state.over
        self.ends.setdefault(job.id, []).append(end.state)

    def check(self) -> None:
        with self.state.transaction() as tx:
            open_ = tx.open_jobs()
        assert sum(job.state is JobState.RUNNING for job in open_) <= 1, "never two at a time"
        assert sorted([*(job.id for job in open_), *self.ends]) == self.asked, "none is forgotten"
        assert all(len(states) == 1 for states in self.ends.values()), "each ends once"
        over = sum(job.over for job in self.state.database.jobs.values())
        assert over <= KEPT + 1 + len(self.asked)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_whatever_happens_jobs_run_one_at_a_time_in_order_and_end_once(events: list[str]) -> None:
    state = MemoryState(MemoryDatabase(EAST, "f" * 32))
    state.activate()
    world = World(state)
    for event in events:
        world.happen(event)
    world.happen("up")
    for _ in range(4 * len(events) + 4):  # whatever has happened, once things go well all that was asked for is done
        for event in ("wait", "look", "live", "exit", "look"):
            world.happen(event)
    assert sorted(world.ends) == world.asked
    with state.transaction() as tx:
        assert tx.open_jobs() == []


def test_neither_the_schedule_nor_operators_wait_for_ever() -> None:
    state = MemoryState(MemoryDatabase(EAST, "f" * 32))
    state.activate()
    world = World(state)
    for _ in range(6):
        world.ask("ann", JobKind.TAKE)
    order = []
    for _ in range(8):
        world.ask(SCHEDULE, JobKind.TAKE)
        world.happen("look")
        with state.transaction() as tx:
            order.append(next(job.asked_by for job in tx.open_jobs() if job.state is JobState.RUNNING))
        world.happen("exit")
        world.happen("look")
        with state.transaction() as tx:
            order += [job.asked_by for job in tx.open_jobs() if job.state is JobState.RUNNING]
        world.happen("exit")
        world.happen("look")
    assert SCHEDULE in order[:2]
    assert "ann" in order[:2]
