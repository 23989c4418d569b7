"""The runner of jobs: looks every second at the database, the machine and the clock, and does what is due.

    read what is kept ─▶ look at the runs here ─▶ ask for what the schedule wants ─▶ next_steps ─▶ do them

A job works apart from the daemon: at low priority, one at a time, for a limited time, with a bound on its memory. It
writes its snapshot itself, whole or not at all, so its result stands whatever becomes of the daemon. A daemon that
starts, or that is not active any more, goes on watching what runs on its machine, and tells its end. Only the active
one begins a job: its directory is made first, then the database says that it runs, then its process is started. So
whatever is cut short in between is found again, and a job that was asked for is begun by the next daemon.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, assert_never

import anyio
import anyio.to_thread
import structlog

from syncer.errors import SyncerError
from syncer.jobs.commands import Commands
from syncer.jobs.plans import make_room
from syncer.jobs.processes import FORMER, RunFiles, runs_in
from syncer.jobs.queue import (
    DETAIL_CHARACTERS,
    PATIENCE_MS,
    BeginJob,
    ClearRun,
    JobsSeen,
    NoteEnd,
    ProcessState,
    QueueAgain,
    RunSeen,
    Step,
    StopJob,
    next_steps,
)
from syncer.jobs.schedule import LastTake, Schedule, former_last, last_of
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.jobs import KEPT, SCHEDULE, JobEnd, JobKind, JobRow, JobState, JobTransaction

log = structlog.get_logger()

LOOK_S: Final = 1.0


class Kept(Protocol):
    """What the database says at one moment: open jobs, the schedule's last, machines with other daemons."""

    @property
    def jobs(self) -> list[JobRow]: ...  # noqa: D102 - told above

    @property
    def last(self) -> JobRow | None: ...  # noqa: D102

    @property
    def hosts(self) -> frozenset[str]: ...  # noqa: D102


class Board(Protocol):
    """Where jobs are seen, and their ends told; :class:`syncer.state.sql.work.job_board.JobBoard` implements it."""

    def read(self) -> Kept | None:
        """What the database says now; ``None``: it keeps no jobs yet."""
        ...

    def end(self, job: JobRow, how: JobEnd) -> bool:
        """Tell how a job ended."""
        ...

    def requeue(self, job: JobRow) -> bool:
        """Queue a job again that never began."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """How jobs are run.

    Args:
        work: Directory of this machine for their files.
        host: Name of this machine.
        region: Whose jobs these are; daemons of several regions may share a directory.
        time_limit_ms: A job that takes longer is stopped.
        commands: What performs a job.
        schedule: Asks for snapshots; ``None``: nobody does but operators.
    """

    work: Path
    host: str
    region: str
    time_limit_ms: Millis
    commands: Callable[[JobRow], Commands]
    schedule: Schedule | None = None


class JobRunner:
    """Runs the jobs of a region on this machine.

    Args:
        plan: How.
        board: Where they are seen.
        transaction: Begins a transaction of the region's writer.
        active: Whether this daemon is that writer now.
        clock: The clock.
    """

    def __init__(
        self,
        plan: JobPlan,
        board: Board,
        transaction: Callable[[], AbstractContextManager[JobTransaction]],
        active: Callable[[], bool],
        clock: Callable[[], Millis],
    ) -> None:
        self._plan = plan
        self._board = board
        self._transaction = transaction
        self._active = active
        self._clock = clock
        self._stopping: dict[str, Millis] = {}
        self._trouble = ""
        self._jobs: list[JobRow] = []
        self._last: LastTake | None = None
        self._after_schedule = False

    async def run(self) -> None:
        """Look every second, until cancelled. A job that runs then goes on."""
        while True:
            try:
                await anyio.to_thread.run_sync(self.look)
                self._trouble = ""
            except (OSError, SyncerError) as exc:
                if str(exc) != self._trouble:
                    log.warning("jobs_not_run", cause=str(exc))
                self._trouble = str(exc)[:DETAIL_CHARACTERS]
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Do what is due.

        Raises:
            OSError: The directory cannot be used.
            Fenced: Another daemon has become active; nothing was begun.
            StateUnavailable: The database cannot be used now.
        """
        kept, active = self._board.read(), self._active()
        if kept is None:
            return
        runs = self._runs()
        if active and (self._adopt(kept, runs) or self._ask_for_schedule(kept)):
            kept = self._board.read() or kept
        if not active and all(job.run != FORMER for job in kept.jobs):
            runs.pop(FORMER, None)  # it is the active one's to take over
        seen = JobsSeen(
            jobs=kept.jobs,
            runs={run: found for run, (_, found) in runs.items()},
            hosts=kept.hosts,
            active=active,
            now=self._clock(),
            time_limit_ms=self._plan.time_limit_ms,
            after_schedule=self._after_schedule,
        )
        steps = next_steps(seen)
        try:
            for step in steps:
                self._do(step)
        finally:
            kept = (self._board.read() if steps else None) or kept
            self._jobs, self._last = kept.jobs, self._last_in(kept)

    @property
    def counts(self) -> dict[str, int]:
        """How many jobs wait, and run, as of the last look."""
        states = [job.state for job in self._jobs]
        return {each: states.count(JobState(each)) for each in ("queued", "running")}

    @property
    def scheduled(self) -> bool:
        """Whether snapshots are taken on schedule."""
        return self._plan.schedule is not None

    def report(self) -> Mapping[str, object]:
        """How the taking of snapshots on schedule stands, as plain data, as of the last look."""
        schedule, jobs = self._plan.schedule or Schedule(Millis(0)), self._jobs
        run = next((job.run for job in jobs if job.asked_by == SCHEDULE and job.state is JobState.RUNNING), None)
        said: Mapping[str, Any] = RunFiles(self._plan.work, run).progress() if run is not None else {}
        return schedule.report(jobs, self._last, said, self._trouble)

    # -- what there is

    def _runs(self) -> dict[str, tuple[RunFiles, RunSeen]]:
        """Runs of this region's jobs whose files lie on this machine; a shared directory holds others' too."""
        found = {}
        for files in runs_in(self._plan.work):
            facts, seen = files.facts() or {}, files.look()
            mine = facts.get("host", self._plan.host) == self._plan.host
            if mine and facts.get("region", self._plan.region) == self._plan.region and seen is not None:
                found[files.run] = (files, seen)
        return found

    def _last_in(self, kept: Kept) -> LastTake | None:
        return last_of(kept.last) if kept.last is not None else former_last(self._plan.work)

    # -- what is asked for

    def _adopt(self, kept: Kept, runs: Mapping[str, object]) -> bool:
        """Take over what a version before jobs were kept in the database has begun: it is watched to its end."""
        if FORMER not in runs or any(job.state is JobState.RUNNING for job in kept.jobs):
            return False
        facts = RunFiles(self._plan.work, FORMER).facts() or {}
        began_at_ms = Millis(int(facts.get("began_at_ms", self._clock())))
        former = JobRow(
            id=0,
            kind=JobKind.TAKE,
            arguments={},
            asked_by=SCHEDULE,
            reason="begun by an earlier version",
            asked_at_ms=began_at_ms,
        )
        with self._transaction() as tx:
            tx.begin_job(tx.ask_job(former), self._plan.host, FORMER, began_at_ms)
        return True

    def _ask_for_schedule(self, kept: Kept) -> bool:
        schedule = self._plan.schedule
        wish = schedule.wish(kept.jobs, self._last_in(kept), self._clock()) if schedule is not None else None
        if wish is None:
            return False
        with self._transaction() as tx:
            tx.ask_job(wish)
        return True

    # -- what is done

    def _do(self, step: Step) -> None:
        match step:
            case BeginJob(job):
                self._begin(job)
            case StopJob(job, reason):
                self._stop(RunFiles(self._plan.work, job.run), reason)
            case NoteEnd(job, end):
                self._end(job, end)
            case QueueAgain(job):
                files = RunFiles(self._plan.work, job.run)
                if files.keep_from_beginning() and self._board.requeue(job):
                    log.warning("job_queued_again", job=job.id, attempts=job.attempts)
                    files.clear()
            case ClearRun(run):
                files = RunFiles(self._plan.work, run)
                seen = files.look()
                if seen is not None and seen.process is ProcessState.ALIVE:
                    self._stop(files, "the database does not know it as running")
                elif files.keep_from_beginning():
                    files.clear()
                    self._stopping.pop(run, None)
            case _:
                assert_never(step)

    def _begin(self, job: JobRow) -> None:
        plan, now = self._plan, self._clock()
        files = RunFiles(plan.work, secrets.token_hex(8))
        if job.arguments.get("plan") is True:
            make_room(plan.work)
        files.prepare({"job": job.id, "host": plan.host, "region": plan.region, "prepared_at_ms": now})
        with self._transaction() as tx:  # when nobody can tell whether this landed, the files tell the next look
            tx.prune_jobs(KEPT)
            begun = tx.begin_job(job.id, plan.host, files.run, now)
        if not begun:
            files.clear()
            return
        self._after_schedule = job.asked_by == SCHEDULE
        pid = files.begin(plan.commands(replace(job, run=files.run)))
        log.info("job_begun", job=job.id, kind=job.kind.value, asked_by=job.asked_by, process=pid)

    def _stop(self, files: RunFiles, reason: str) -> None:
        """Ask it to end, and end it if it does not."""
        now = self._clock()
        since = self._stopping.get(files.run)
        if since is None:
            self._stopping[files.run] = now
            log.warning("job_stopped", run=files.run, cause=reason)
            files.signal(signal.SIGTERM)
        elif now - since > PATIENCE_MS:
            files.signal(signal.SIGKILL)

    def _end(self, job: JobRow, end: JobEnd) -> None:
        files = RunFiles(self._plan.work, job.run)
        if end.state is not JobState.LOST and not files.keep_from_beginning():
            return
        self._board.end(job, end)
        if end.state is not JobState.LOST:
            files.clear()
        self._stopping.pop(job.run, None)
        took_s = (end.at_ms - (job.began_at_ms or end.at_ms)) / 1000
        if end.state is JobState.SUCCEEDED:
            log.info("job_done", job=job.id, kind=job.kind.value, duration_s=took_s)
        else:
            log.error("job_not_done", job=job.id, kind=job.kind.value, state=end.state.value, cause=end.detail)
