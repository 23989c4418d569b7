"""The part of a database in memory about jobs; plain data goes through JSON, as it does in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson

from syncer.model import Millis
from syncer.state.contract.jobs import SCHEDULE, JobEnd, JobRow, JobState
from syncer.state.encoding import dumps_plain, storable
from syncer.state.memory.database import UndoLog


class JobTables(UndoLog):
    """The part of a transaction that is about jobs."""

    def ask_job(self, job: JobRow) -> int:
        """Queue a job behind all others; its number."""
        number = self._number("jobs")
        kept = JobRow(
            id=number,
            kind=job.kind,
            arguments=_plain(job.arguments),
            asked_by=storable(job.asked_by),
            reason=storable(job.reason),
            asked_at_ms=job.asked_at_ms,
        )
        self._put(self._db.jobs, number, kept)
        return number

    def job(self, number: int) -> JobRow | None:
        """A job by its number."""
        return self._db.jobs.get(number)

    def open_jobs(self) -> list[JobRow]:
        """Jobs that are not over, in the order in which they were asked for."""
        return [job for _, job in sorted(self._db.jobs.items()) if not job.over]

    def last_job(self, asked_by: str) -> JobRow | None:
        """The job of the greatest number that is over, of all that one has asked for."""
        theirs = (number for number, job in self._db.jobs.items() if job.over and job.asked_by == asked_by)
        latest = max(theirs, default=None)
        return self._db.jobs[latest] if latest is not None else None

    def begin_job(self, number: int, host: str, run: str, now: Millis) -> bool:
        """A queued job runs from now on, on that machine, with its files in that directory there."""
        job = self._in(number, JobState.QUEUED)
        if job is None:
            return False
        begun = replace(
            job, state=JobState.RUNNING, host=storable(host), run=run, attempts=job.attempts + 1, began_at_ms=now
        )
        self._put(self._db.jobs, number, begun)
        return True

    def requeue_job(self, number: int, run: str) -> bool:
        """The process of a running job has never begun: the job is queued again, in its old place."""
        job = self._in(number, JobState.RUNNING)
        if job is None or job.run != run:
            return False
        self._put(self._db.jobs, number, replace(job, state=JobState.QUEUED, host="", run="", began_at_ms=None))
        return True

    def ask_end_of_job(self, number: int, asked_by: str) -> bool:
        """A running job is to be ended; who asked first is kept."""
        job = self._in(number, JobState.RUNNING)
        if job is None:
            return False
        self._put(self._db.jobs, number, replace(job, cancel_asked_by=job.cancel_asked_by or storable(asked_by)))
        return True

    def end_job(self, number: int, run: str, how: JobEnd) -> bool:
        """A job that is not over, and whose directory this is, ends."""
        job = self._in(number, JobState.QUEUED, JobState.RUNNING)
        if job is None or job.run != run:
            return False
        ended = replace(
            job, state=how.state, ended_at_ms=how.at_ms, detail=storable(how.detail), output=_plain(how.output)
        )
        self._put(self._db.jobs, number, ended)
        return True

    def prune_jobs(self, keep: int) -> int:
        """Drop jobs that are over but for the latest ``keep``, and the latest of the schedule; how many went."""
        over = sorted((number for number, job in self._db.jobs.items() if job.over), reverse=True)
        of_schedule = self.last_job(SCHEDULE)
        old = [number for number in over[keep:] if of_schedule is None or number != of_schedule.id]
        for number in old:
            self._drop(self._db.jobs, number)
        return len(old)

    def _in(self, number: int, *states: JobState) -> JobRow | None:
        """A job by its number, if it is in one of these states."""
        job = self._db.jobs.get(number)
        return job if job is not None and job.state in states else None


def _plain(document: Mapping[str, object]) -> dict[str, object]:
    plain: dict[str, object] = orjson.loads(dumps_plain(document))
    return plain
