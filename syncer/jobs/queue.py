"""The queue of jobs: what is to be done next, decided of what the database, the machine and the clock say.

    what is seen                                        what is done
    queued, nothing runs, this daemon is active         begin the next
    runs here, its process lives: too long, unwanted    stop it
    runs here, its process is over                      note its end
    runs here, its process never began                  queue it again; after a few attempts it failed
    runs on a machine where no daemon is left           note that it is lost
    files here of what no longer runs by the database   clear them, and end what lives of it

The next is the one that was asked for first, but for the schedule's: that is begun before the others, unless the one
before was the schedule's too. So neither keeps the other waiting for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.model import Millis
from syncer.state.contract.jobs import SCHEDULE, JobEnd, JobKind, JobRow, JobState

PATIENCE_MS: Final = 15_000
"""How long a process that was asked to stop may take until it is killed, and one that was begun until it says so."""
GRACE_MS: Final = 60_000
"""Files that are younger than that may be of a job that another daemon of this machine begins just now."""
MAX_ATTEMPTS: Final = 3
DETAIL_CHARACTERS: Final = 1000
_DIFFERENT: Final = 3
"""Exit status of a comparison that found differences: it succeeded."""


class ProcessState(StrEnum):
    """State of a job's process; ``silent``: nothing was heard of it yet; ``vanished``: over, and nobody knows how."""

    SILENT = "silent"
    ALIVE = "alive"
    EXITED = "exited"
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """Files of a job on this machine.

    Args:
        process: How its process is.
        prepared_at_ms: When its directory was made.
        status: Its exit status, once it has exited.
        errors: The end of what it said on stderr.
        output: What it said at its end.
    """

    process: ProcessState
    prepared_at_ms: Millis
    status: int | None = None
    errors: str = ""
    output: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSeen:
    """All that a daemon decides by.

    Args:
        jobs: That are not over, in the order in which they were asked for.
        runs: By the name of their directories: what lies on this machine.
        hosts: Machines where another daemon of this database is there.
        active: Whether this daemon is its region's writer.
        after_schedule: Whether the job that was begun last was the schedule's.
        now: The time.
        time_limit_ms: A job that takes longer is stopped.
    """

    jobs: Sequence[JobRow]
    runs: Mapping[str, RunSeen]
    hosts: Collection[str]
    active: bool
    now: Millis
    time_limit_ms: Millis
    after_schedule: bool = False


@dataclass(frozen=True, slots=True)
class BeginJob:
    """Begin a job."""

    job: JobRow


@dataclass(frozen=True, slots=True)
class StopJob:
    """Ask the process of a job to end, and end it if it does not."""

    job: JobRow
    reason: str


@dataclass(frozen=True, slots=True)
class NoteEnd:
    """Note how a job ended; its files go."""

    job: JobRow
    end: JobEnd


@dataclass(frozen=True, slots=True)
class QueueAgain:
    """Queue a job again whose process never began; its files go, so that it cannot begin later."""

    job: JobRow


@dataclass(frozen=True, slots=True)
class ClearRun:
    """End what lives of a run that the database does not know as running, and remove its files."""

    run: str


Step = BeginJob | StopJob | NoteEnd | QueueAgain | ClearRun


def next_steps(seen: JobsSeen) -> list[Step]:
    """Decide what is to be done now. Every step is safe to be left out: it is decided again at the next look."""
    running = [job for job in seen.jobs if job.state is JobState.RUNNING]
    steps: list[Step] = [step for job in running if (step := _of_running(job, seen)) is not None]
    known = {job.run for job in running}
    steps += [
        ClearRun(run)
        for run, found in sorted(seen.runs.items())
        if run not in known and seen.now - found.prepared_at_ms > GRACE_MS
    ]
    busy = running or any(found.process is ProcessState.ALIVE for found in seen.runs.values())
    if seen.active and not busy:
        job = next_job(seen.jobs, after_schedule=seen.after_schedule)
        if job is not None:
            steps.append(BeginJob(job))
    return steps


def next_job(jobs: Sequence[JobRow], *, after_schedule: bool) -> JobRow | None:
    """The queued job whose turn it is; see the module."""
    queued = [job for job in jobs if job.state is JobState.QUEUED]
    scheduled = [job for job in queued if job.asked_by == SCHEDULE]
    others = [job for job in queued if job.asked_by != SCHEDULE]
    first, second = (others, scheduled) if after_schedule else (scheduled, others)
    return next(iter(first), None) or next(iter(second), None)


def _of_running(job: JobRow, seen: JobsSeen) -> Step | None:
    found = seen.runs.get(job.run)
    if found is None:
        return _of_absent(job, seen)
    took_ms = seen.now - (job.began_at_ms or seen.now)
    match found.process:
        case ProcessState.ALIVE if job.cancel_asked_by:
            return StopJob(job, f"cancelled by {job.cancel_asked_by}")
        case ProcessState.ALIVE if took_ms > seen.time_limit_ms:
            return StopJob(job, _too_long(seen))
        case ProcessState.SILENT if took_ms > PATIENCE_MS:
            if job.cancel_asked_by:
                return _ended(job, seen, JobState.CANCELLED, f"cancelled by {job.cancel_asked_by}")
            if job.attempts >= MAX_ATTEMPTS:
                return _ended(job, seen, JobState.FAILED, f"its process could not be begun, {job.attempts} times")
            return QueueAgain(job)
        case ProcessState.EXITED | ProcessState.VANISHED:
            return _of_over(job, found, seen)
        case _:
            return None


def _of_absent(job: JobRow, seen: JobsSeen) -> NoteEnd | None:
    """A job that runs, and not here: elsewhere, or nowhere any more."""
    if not seen.active:
        return None
    overdue = seen.now - (job.began_at_ms or seen.now) > seen.time_limit_ms + 2 * GRACE_MS
    if job.host in seen.hosts and not overdue:
        return None
    why = "told nothing of it in time" if overdue else "is not there any more"
    return _ended(job, seen, JobState.LOST, f"the daemon of {job.host} that began it {why}")


def _of_over(job: JobRow, found: RunSeen, seen: JobsSeen) -> NoteEnd:
    """A job whose process is over."""
    well = {0, _DIFFERENT} if job.kind is JobKind.DIFF else {0}
    if found.process is ProcessState.EXITED and found.status in well:
        told = {"different": found.status == _DIFFERENT} if job.kind is JobKind.DIFF else {}
        end = JobEnd(state=JobState.SUCCEEDED, at_ms=seen.now, output=found.output or told)
        return NoteEnd(job, end)
    if job.cancel_asked_by:
        return _ended(job, seen, JobState.CANCELLED, f"cancelled by {job.cancel_asked_by}")
    if seen.now - (job.began_at_ms or seen.now) > seen.time_limit_ms:
        return _ended(job, seen, JobState.FAILED, _too_long(seen))
    if found.process is ProcessState.VANISHED:
        detail = "its process has vanished: it was killed, or the machine was started anew"
        return _ended(job, seen, JobState.FAILED, detail)
    said = f"exit status {found.status}"
    return _ended(job, seen, JobState.FAILED, f"{said}: {found.errors}" if found.errors else said)


def _ended(job: JobRow, seen: JobsSeen, state: JobState, detail: str) -> NoteEnd:
    return NoteEnd(job, JobEnd(state=state, at_ms=seen.now, detail=detail[-DETAIL_CHARACTERS:]))


def _too_long(seen: JobsSeen) -> str:
    return f"it took longer than {seen.time_limit_ms / 1000:g} s (snapshots.time_limit), and was stopped"
